#pragma once
// Reads one quota of a document into a definition. For the readers of config and of the simulator's
// stories. Functions without state, for any thread. They write to the caller's diagnostics.

#include <string_view>

#include "config/diagnostics.h"
#include "config/document.h"
#include "limiter/definition.h"

namespace weir::config {

/// Members that cannot be read keep their default; the diagnostics then have an error.
[[nodiscard]] limiter::QuotaDefinition read_quota(NodeRef node, Diagnostics& diagnostics);

/// The unit as documents spell it: "requests", "request-bytes" …
[[nodiscard]] std::string_view unit_word(limiter::Unit unit);

}  // namespace weir::config

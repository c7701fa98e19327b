#pragma once
// One quota of a document: located node to definition. Internal to config.

#include <string_view>

#include "config/diagnostics.h"
#include "config/document.h"
#include "limiter/definition.h"

namespace weir::config {

/// What could not be read is left at its default; the diagnostics then have an error.
[[nodiscard]] limiter::QuotaDefinition read_quota(NodeRef node, Diagnostics& diagnostics);

/// As documents spell it: "requests", "request-bytes" …
[[nodiscard]] std::string_view unit_word(limiter::Unit unit);

}  // namespace weir::config

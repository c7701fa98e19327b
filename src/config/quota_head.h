#pragma once
// Reads what a set of quotas says besides its quotas. Internal to config. Functions without state,
// for any thread. They write to the caller's diagnostics.

#include "config/diagnostics.h"
#include "config/document.h"
#include "config/quota_document.h"

namespace weir::config {

/// The file, the name and the generation of a set. Its quotas must be there; they are not read.
[[nodiscard]] QuotaSet read_set_head(NodeRef root, Diagnostics& diagnostics);

}  // namespace weir::config

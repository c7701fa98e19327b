#pragma once
// `weir validate` reads what `weir run` would read, opens no socket, and prints every error.

#include <string>
#include <vector>

#include "node/loader.h"

namespace weir::app {

/// Reads the sidecar's own file with its quota files, if `source` has a file or overrides, and the
/// quota documents that are given by name. With `strict` warnings count as errors. Returns the exit
/// code: 0, or 1 when there are errors.
[[nodiscard]] int validate(const node::ConfigSource& source,
                           const std::vector<std::string>& documents, bool strict);

/// Whether these diagnostics are those of a good configuration. If not, prints why.
[[nodiscard]] bool tell_if_bad(const config::Diagnostics& diagnostics, bool strict);

}  // namespace weir::app

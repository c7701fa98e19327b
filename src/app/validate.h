#pragma once
// `weir validate`: reads what `weir run` would read, opens no socket, tells every error.

#include <string>
#include <vector>

#include "node/loader.h"

namespace weir::app {

/// The sidecar's own file with its quota files (if there is a source with a file or overrides),
/// and quota documents given by name. Exit code 0, or 1 when there are errors.
[[nodiscard]] int validate(const node::ConfigSource& source,
                           const std::vector<std::string>& documents);

}  // namespace weir::app

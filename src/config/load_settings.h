#pragma once
// Turns the text of the sidecar's own file, and what flags and variables override in it, into
// validated Settings. It is pure: the caller reads files and the environment. docs/configuration.md
// lists the keys.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "config/quota_document.h"
#include "config/settings.h"

namespace weir::config {

/// The value of one key that was given outside the file. It wins over the file, and over an earlier
/// override of the same key.
struct Override {
    std::string key;     ///< "cluster.name"; "routes" (flag_routes.h)
    std::string source;  ///< "--cluster-name" or "WEIR_CLUSTER_NAME", for error messages
    std::string text;    ///< its value; the elements of a list are separated by commas
};

/// Who reads the settings. Only a sidecar needs an upstream. An embedding program's settings of the
/// proxy are checked as well, so that one file may serve both; its role is always that of a
/// sidecar, because it decides about requests.
enum class Reader { sidecar, embedding };

/// Loads and checks the settings. The result must not be used if `diagnostics` has errors
/// afterwards. Without a file everything comes from overrides and defaults.
[[nodiscard]] Settings load_settings(const std::optional<SourceText>& file,
                                     const std::vector<Override>& overrides,
                                     Diagnostics& diagnostics, Reader reader = Reader::sidecar);

/// Whether the address is a loopback address or a unix socket.
[[nodiscard]] bool is_local(const ListenAddress& address);

}  // namespace weir::config

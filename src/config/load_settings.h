#pragma once
// The sidecar's own file, with what flags and variables override, to validated Settings. Pure:
// reading files and the environment is the caller's part. docs/configuration.md lists the keys.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "config/quota_document.h"
#include "config/settings.h"

namespace weir::config {

/// One key given outside the file. Later ones win, all of them win over the file.
struct Override {
    std::string key;     ///< "cluster.name"
    std::string source;  ///< "--cluster-name" or "WEIR_CLUSTER_NAME", for error messages
    std::string text;    ///< lists with commas
};

/// Who reads the settings: only a sidecar needs an upstream. What concerns its proxy is checked for
/// both, so that one file may serve both.
enum class Reader { sidecar, embedding };

/// Worth nothing if `diagnostics` has errors afterwards. Without a file (`file` is nothing) all
/// comes from overrides and defaults.
[[nodiscard]] Settings load_settings(const std::optional<SourceText>& file,
                                     const std::vector<Override>& overrides,
                                     Diagnostics& diagnostics, Reader reader = Reader::sidecar);

/// A loopback address or a unix socket.
[[nodiscard]] bool is_local(const ListenAddress& address);

}  // namespace weir::config

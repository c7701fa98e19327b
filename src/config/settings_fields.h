#pragma once
// Every key of the sidecar's own file, in one table: how it is read, and what docs and --help say
// of it. Flags ("--cluster-key-file") and variables ("WEIR_CLUSTER_KEY_FILE") are named after the
// keys ("cluster.key_file"), so a key exists in all four places or in none. Immutable.

#include <span>
#include <string>
#include <string_view>

#include "config/diagnostics.h"
#include "config/document.h"
#include "config/settings.h"

namespace weir::config {

struct SettingField {
    std::string_view key;  ///< with its sections: "cluster.key_file"
    std::string_view type;
    std::string_view default_text;
    std::string_view bounds;
    std::string_view meaning;
    bool is_list = false;  ///< of scalars; commas between them in flags and variables
    void (*read)(NodeRef node, Settings& settings, Diagnostics& diagnostics) = nullptr;
};

/// In the order of the documentation.
[[nodiscard]] std::span<const SettingField> setting_fields();

/// The optional section ("cluster", "check") is wanted, even if nothing stands in it. Of other
/// sections nothing happens.
void ask_for(std::string_view section, Settings& settings);

/// "--cluster-key-file" for "cluster.key_file".
[[nodiscard]] std::string flag_name(std::string_view key);
/// "WEIR_CLUSTER_KEY_FILE" for "cluster.key_file".
[[nodiscard]] std::string variable_name(std::string_view key);

}  // namespace weir::config

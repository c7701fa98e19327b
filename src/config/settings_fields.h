#pragma once
// All keys of the sidecar's own file in one table: how a key is read, what happens when its value
// has changed at a reload, and what docs and --help say of it. Flags ("--cluster-key-file") and
// variables ("WEIR_CLUSTER_KEY_FILE") are named after the keys ("cluster.key_file"), so a key
// exists in all four places or in none. The table is immutable. Any thread may read it. Its texts
// are literals and live as long as the program.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "config/diagnostics.h"
#include "config/document.h"
#include "config/settings.h"

namespace weir::config {

/// What happens to a changed value when the settings are read again.
enum class AtReload : std::uint8_t {
    /// It applies to requests that arrive from then on: proxy::Snapshot carries it.
    next_request,
    /// The part of the sidecar that uses it gets the new value at once: log, memory watch, upstream
    /// look-up or quota files.
    at_once,
    /// It takes effect after a restart, and reports name the key.
    needs_restart,
    /// It takes effect after a restart, and reports name the key's section ("cluster").
    section_needs_restart,
};

/// Compares and copies the value of one key between two Settings.
struct SettingValue {
    bool (*same)(const Settings& one, const Settings& other) = nullptr;
    /// False when `from` or `to` does not have the section to which the key belongs.
    bool (*copy)(const Settings& from, Settings& to) = nullptr;
};

/// One key of the table.
struct SettingField {
    std::string_view key;  ///< with its sections: "cluster.key_file"
    std::string_view type;
    std::string_view default_text;
    std::string_view bounds;
    std::string_view meaning;
    bool is_list;  ///< of scalars, separated by commas in flags and variables
    AtReload at_reload;
    void (*read)(NodeRef node, Settings& settings, Diagnostics& diagnostics);
    SettingValue value;
};

/// All keys, in the order of the documentation.
[[nodiscard]] std::span<const SettingField> setting_fields();

/// Makes the optional section ("cluster", "check"), which was given, even if it is empty. Does
/// nothing for other sections.
void ask_for(std::string_view section, Settings& settings);

/// The flag of a key: "--cluster-key-file" for "cluster.key_file".
[[nodiscard]] std::string flag_name(std::string_view key);
/// The variable of a key: "WEIR_CLUSTER_KEY_FILE" for "cluster.key_file".
[[nodiscard]] std::string variable_name(std::string_view key);

}  // namespace weir::config

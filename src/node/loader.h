#pragma once
// Reads everything that a start, a reload and `weir validate` need: the sidecar's own file with its
// overrides, and the quota files. It also checks the rules that concern both. Files that change
// while they are read are read again. The functions block on files and have no other side effects;
// a running member calls them on a helper thread. What they return belongs to the caller.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/load_settings.h"
#include "config/quota_document.h"
#include "config/settings.h"

namespace weir::node {

/// The configuration that the command line or the embedding program gives.
struct ConfigSource {
    std::optional<std::string> file;
    std::vector<config::Override> overrides;
    /// Quota documents besides those of the files.
    std::vector<config::SourceText> documents = {};
    config::Reader reader = config::Reader::sidecar;
    /// Long quota files are left for later, so that requests are served meanwhile.
    bool long_quotas_later = false;
    /// Warnings are not needed, so long sets are read without ever having all of their quotas in
    /// memory but in encoded form. Beside settings with errors no quotas are read.
    bool without_warnings = false;
    /// How many bytes may be taken while the files are read; nothing if there is no bound. Files
    /// that would take more are refused before they are read.
    std::optional<std::uint64_t> room = std::nullopt;
    /// What was noticed about flags and variables, to be told with the warnings.
    std::vector<config::Diagnostic> notes = {};
};

/// Quota files with more bytes than this together are long. Shorter ones are read within a second.
inline constexpr std::uint64_t kLongQuotas = std::uint64_t{4} << 20U;

struct Loaded {
    config::Settings settings;
    std::vector<config::QuotaSet> sets;
    std::vector<std::string> quota_files;
    std::vector<std::string> empty_folders;  ///< named for quotas, without a document
    config::Diagnostics diagnostics;
    /// Hashes of the settings' text and overrides, and of the quota files. An equal hash means that
    /// nothing has changed.
    std::uint64_t settings_hash = 0;
    std::uint64_t quotas_hash = 0;
    /// The quota files have not changed and so were not parsed.
    bool quotas_unchanged = false;
    /// The quota files are long and were not read (ConfigSource::long_quotas_later).
    bool quotas_later = false;
    /// The settings have no errors; the quotas may have some.
    bool settings_good = false;
    /// The settings' file or a quota file could not be read, so nothing is known about its content.
    bool unreadable = false;
    /// The quota files were refused, because reading them would take more memory than is left.
    bool no_room = false;

    [[nodiscard]] bool good() const { return !diagnostics.has_errors(); }
};

[[nodiscard]] Loaded load(const ConfigSource& source);

/// The hash that load() would find for the settings now; nothing if their file cannot be read.
[[nodiscard]] std::optional<std::uint64_t> settings_hash_on_disk(const ConfigSource& source);

/// Reads only the quota files (and the other documents) of settings that were loaded before. It
/// stops early, with quotas_unchanged, when their hash is `known_hash`.
[[nodiscard]] Loaded load_quotas(const config::Settings& settings, std::uint64_t known_hash,
                                 const std::vector<config::SourceText>& documents = {},
                                 std::optional<std::uint64_t> room = std::nullopt);

}  // namespace weir::node

#pragma once
// Reads everything that a start, a reload and `weir validate` need: the sidecar's own file with its
// overrides, and the quota files. It also checks the rules that concern both. Files that change
// while they are read are read again. The functions block on files and have no other side effects;
// a running member calls them on a helper thread.

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
};

struct Loaded {
    config::Settings settings;
    std::vector<config::QuotaSet> sets;
    std::vector<std::string> quota_files;
    config::Diagnostics diagnostics;
    /// Hashes of the settings' text and overrides, and of the quota files. An equal hash means that
    /// nothing has changed.
    std::uint64_t settings_hash = 0;
    std::uint64_t quotas_hash = 0;
    /// The quota files have not changed and so were not parsed.
    bool quotas_unchanged = false;
    /// The quota files could not be read, so nothing is known about their content.
    bool unreadable = false;

    [[nodiscard]] bool good() const { return !diagnostics.has_errors(); }
};

[[nodiscard]] Loaded load(const ConfigSource& source);

/// Reads only the quota files (and the other documents) of settings that were loaded before. It
/// stops early, with quotas_unchanged, when their hash is `known_hash`.
[[nodiscard]] Loaded load_quotas(const config::Settings& settings, std::uint64_t known_hash,
                                 const std::vector<config::SourceText>& documents = {});

}  // namespace weir::node

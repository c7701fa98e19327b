#pragma once
// Everything that a start, a reload and `weir validate` read: the sidecar's own file with its
// overrides, the quota files, and what only both together can tell. Blocks on files, which are read
// again if they changed meanwhile; pure apart from that. Used on a helper thread while running.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/load_settings.h"
#include "config/quota_document.h"
#include "config/settings.h"

namespace weir::node {

/// What the command line or the embedding program said about configuration.
struct ConfigSource {
    std::optional<std::string> file;
    std::vector<config::Override> overrides;
    /// Quota documents beside those of the files.
    std::vector<config::SourceText> documents = {};
    config::Reader reader = config::Reader::sidecar;
};

struct Loaded {
    config::Settings settings;
    std::vector<config::QuotaSet> sets;
    std::vector<std::string> quota_files;
    config::Diagnostics diagnostics;
    /// Of the settings' text and overrides / of the quota files: equal means that nothing changed.
    std::uint64_t settings_hash = 0;
    std::uint64_t quotas_hash = 0;
    /// The quota files were not parsed, since they are what they were.
    bool quotas_unchanged = false;
    /// Not what is in the quota files is wrong: they could not be read.
    bool unreadable = false;

    [[nodiscard]] bool good() const { return !diagnostics.has_errors(); }
};

[[nodiscard]] Loaded load(const ConfigSource& source);

/// Only the quota files (and the documents beside them), of settings loaded before. Stops early,
/// with quotas_unchanged, when their hash is the one known.
[[nodiscard]] Loaded load_quotas(const config::Settings& settings, std::uint64_t known_hash,
                                 const std::vector<config::SourceText>& documents = {});

}  // namespace weir::node

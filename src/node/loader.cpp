#include "node/loader.h"

#include <algorithm>

#include "base/hash.h"
#include "definitions/codec.h"
#include "node/file_stamp.h"
#include "node/files.h"
#include "node/weight_warnings.h"

namespace weir::node {
namespace {

/// A hash that only shows changes. It needs no secret key: nobody gains from collisions in one's
/// own file.
std::uint64_t add_to_hash(std::uint64_t hash, std::string_view text) {
    return mix(hash ^ keyed_hash(text, HashKey{}));
}

std::vector<config::SourceText> read_quota_texts(const config::Settings& settings,
                                                 const std::vector<config::SourceText>& documents,
                                                 Stamps& stamps, Loaded& loaded) {
    const std::size_t errors_before = loaded.diagnostics.error_count();
    stamps.note(settings.quotas);
    loaded.quota_files = expand_quota_paths(settings.quotas, loaded.diagnostics);
    std::vector<config::SourceText> sources = read_sources(loaded.quota_files, loaded.diagnostics);
    loaded.unreadable = loaded.diagnostics.error_count() != errors_before;
    sources.insert(sources.end(), documents.begin(), documents.end());
    for (const config::SourceText& source : sources) {
        loaded.quotas_hash = add_to_hash(add_to_hash(loaded.quotas_hash, source.file), source.text);
    }
    return sources;
}

/// Encoding a long document takes a while, so it is done on this thread, for which no request
/// waits.
void encode_long(Loaded& loaded) {
    constexpr std::size_t kLong = 8192;
    for (config::QuotaSet& set : loaded.sets) {
        if (!loaded.good() || set.quotas.size() <= kLong) {
            continue;
        }
        auto encoded = definitions::encode_document(set.quotas);
        if (!encoded) {
            loaded.diagnostics.add({config::Severity::error,
                                    set.file,
                                    {},
                                    {},
                                    "the set '" + set.name + "': " + encoded.error().message,
                                    {}});
            continue;
        }
        set.encoded_hash = definitions::document_hash(*encoded);
        set.encoded = std::make_shared<const std::vector<std::byte>>(std::move(*encoded));
        set.quotas = {};
    }
}

Loaded load_once(const ConfigSource& source, Stamps& stamps) {
    Loaded loaded;
    std::optional<config::SourceText> text;
    if (source.file) {
        stamps.note({*source.file});
        auto content = read_file(*source.file);
        if (!content) {
            report_file(*source.file, content.error().message, loaded.diagnostics);
            return loaded;
        }
        text = config::SourceText{*source.file, std::move(*content)};
        loaded.settings_hash = add_to_hash(loaded.settings_hash, text->text);
    }
    for (const config::Override& one : source.overrides) {
        loaded.settings_hash = add_to_hash(add_to_hash(loaded.settings_hash, one.key), one.text);
    }
    loaded.settings =
        config::load_settings(text, source.overrides, loaded.diagnostics, source.reader);
    loaded.sets = config::parse_quota_sets(
        read_quota_texts(loaded.settings, source.documents, stamps, loaded), loaded.diagnostics);
    if (loaded.good()) {
        warn_about_weights(loaded.settings, loaded.sets, source.file.value_or("settings"),
                           loaded.diagnostics);
    }
    encode_long(loaded);
    return loaded;
}

Loaded load_quotas_once(const config::Settings& settings, std::uint64_t known_hash,
                        const std::vector<config::SourceText>& documents, Stamps& stamps) {
    Loaded loaded;
    const std::vector<config::SourceText> sources =
        read_quota_texts(settings, documents, stamps, loaded);
    loaded.quotas_unchanged = loaded.good() && loaded.quotas_hash == known_hash;
    if (!loaded.quotas_unchanged) {
        loaded.sets = config::parse_quota_sets(sources, loaded.diagnostics);
        encode_long(loaded);
    }
    return loaded;
}

}  // namespace

Loaded load(const ConfigSource& source) {
    return read_at_rest([&](Stamps& stamps) { return load_once(source, stamps); });
}

Loaded load_quotas(const config::Settings& settings, std::uint64_t known_hash,
                   const std::vector<config::SourceText>& documents) {
    return read_at_rest(
        [&](Stamps& stamps) { return load_quotas_once(settings, known_hash, documents, stamps); });
}

}  // namespace weir::node

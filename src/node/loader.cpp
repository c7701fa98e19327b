#include "node/loader.h"

#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <span>
#include <utility>

#include "base/hash.h"
#include "config/long_quotas.h"
#include "definitions/codec.h"
#include "node/file_stamp.h"
#include "node/files.h"
#include "node/route_findings.h"
#include "node/weight_warnings.h"

namespace weir::node {
namespace {

/// A hash that only shows changes. It needs no secret key: nobody gains from collisions in one's
/// own file.
std::uint64_t add_to_hash(std::uint64_t hash, std::string_view text) {
    return mix(hash ^ keyed_hash(text, HashKey{}));
}

std::uint64_t bytes_of(const std::string& file) {
    std::error_code failure;
    const auto size = std::filesystem::file_size(file, failure);
    return failure ? 0 : size;  // what is wrong with the file will show when it is read
}

/// How many times its size a text takes while it is read: as a whole, with a tree of its values
/// and all definitions, or in pieces and quota by quota (config/long_quotas.h).
constexpr std::uint64_t kTimesAsAWhole = 24;
constexpr std::uint64_t kTimesByQuota = 2;

std::string no_room_to_read(std::uint64_t bytes, std::uint64_t room) {
    return "reading it would take " + std::to_string((bytes >> 20U) + 1) + " MiB of memory, and " +
           std::to_string(room >> 20U) + " MiB are left under the memory limit";
}

/// Whether reading these files would take no more memory than is left. If not, reports it.
bool have_room(const std::vector<std::string>& files, std::optional<std::uint64_t> room,
               Loaded& loaded) {
    std::uint64_t bytes = 0;
    for (const std::string& file : files) {
        bytes += bytes_of(file) * (file.ends_with(".json") ? kTimesByQuota : kTimesAsAWhole);
    }
    // A reading of a few megabytes is what the rest of the room is for.
    if (!room || bytes <= *room || bytes <= kLongQuotas) {
        return true;
    }
    report_file(files.front(), no_room_to_read(bytes, *room), loaded.diagnostics);
    loaded.no_room = true;
    return false;
}

/// Those of the paths that are folders in which none of the files is.
std::vector<std::string> empty_folders(const std::vector<std::string>& paths,
                                       const std::vector<std::string>& files) {
    std::vector<std::string> empty;
    std::copy_if(paths.begin(), paths.end(), std::back_inserter(empty), [&](const auto& path) {
        std::error_code failure;
        return std::filesystem::is_directory(path, failure) &&
               std::none_of(files.begin(), files.end(), [&](const std::string& file) {
                   return std::filesystem::path(file).parent_path() ==
                          (std::filesystem::path(path) / "x").parent_path();
               });
    });
    return empty;
}

/// The quota files that these settings name, if there is room to read them.
std::vector<std::string> find_quota_files(const config::Settings& settings,
                                          std::optional<std::uint64_t> room, Stamps& stamps,
                                          Loaded& loaded) {
    const std::size_t errors_before = loaded.diagnostics.error_count();
    stamps.note(settings.quotas);
    loaded.quota_files = expand_quota_paths(settings.quotas, loaded.diagnostics);
    loaded.unreadable = loaded.diagnostics.error_count() != errors_before;
    if (!loaded.unreadable) {
        loaded.empty_folders = empty_folders(settings.quotas, loaded.quota_files);
    }
    return have_room(loaded.quota_files, room, loaded) ? loaded.quota_files
                                                       : std::vector<std::string>();
}

/// The texts of quota files and other documents, to be read in pieces, once.
std::vector<config::LongSource> in_pieces(const std::vector<std::string>& files,
                                          const std::vector<config::SourceText>& documents) {
    std::vector<config::LongSource> sources;
    sources.reserve(files.size() + documents.size());
    for (const std::string& file : files) {
        sources.push_back({file, bytes_of(file), read_in_pieces(file)});
    }
    std::transform(documents.begin(), documents.end(), std::back_inserter(sources),
                   config::long_source);
    return sources;
}

/// It does not depend on how many bytes a source gives at a time.
std::uint64_t add_to_hash(std::uint64_t hash, const config::LongSource& source) {
    std::vector<char> piece(64U * 1024);
    hash = add_to_hash(hash, source.file);
    for (bool over = false; !over;) {
        std::size_t size = 0;
        while (size < piece.size() && !over) {
            const std::size_t more = source.read(std::span(piece).subspan(size));
            over = more == 0;
            size += more;
        }
        hash = add_to_hash(hash, std::string_view(piece.data(), size));
    }
    return hash;
}

std::uint64_t hash_of(const std::vector<config::LongSource>& sources) {
    std::uint64_t hash = 0;
    for (const config::LongSource& source : sources) {
        hash = add_to_hash(hash, source);
    }
    return hash;
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
        set.encoded_quotas = std::exchange(set.quotas, {}).size();
    }
}

/// Whether these quota files are long.
bool are_long(const std::vector<std::string>& paths) {
    config::Diagnostics ignored;
    std::uint64_t bytes = 0;
    for (const std::string& file : expand_quota_paths(paths, ignored)) {
        bytes += bytes_of(file);
    }
    return bytes > kLongQuotas;
}

/// Whether these texts are long, and can be read more than once, as pipes cannot.
bool are_long(const std::vector<std::string>& files,
              const std::vector<config::SourceText>& documents) {
    std::uint64_t bytes = 0;
    for (const config::SourceText& document : documents) {
        bytes += document.text.size();
    }
    for (const std::string& file : files) {
        std::error_code failure;
        if (!std::filesystem::is_regular_file(file, failure)) {
            return false;
        }
        bytes += bytes_of(file);
    }
    return bytes > kLongQuotas;
}

/// Reads long texts quota by quota. False if they have to be read as a whole, for they have errors
/// or are not all JSON of one set.
bool read_by_quota(const std::vector<std::string>& files,
                   const std::vector<config::SourceText>& documents,
                   std::optional<std::uint64_t> known_hash, Loaded& loaded) {
    loaded.quotas_hash = hash_of(in_pieces(files, documents));
    loaded.quotas_unchanged = loaded.good() && loaded.quotas_hash == known_hash;
    if (loaded.quotas_unchanged) {
        return true;
    }
    auto set = config::read_long_set(in_pieces(files, documents));
    if (set) {
        loaded.sets = {std::move(*set)};
    }
    return set.has_value();
}

/// Whether there is room for long texts as a whole. If not, reports it.
bool have_room_for_errors(const std::vector<std::string>& files, std::optional<std::uint64_t> room,
                          Loaded& loaded) {
    std::uint64_t bytes = 0;
    for (const std::string& file : files) {
        bytes += bytes_of(file) * kTimesAsAWhole;
    }
    if (!room || bytes <= *room) {
        return true;
    }
    loaded.no_room = true;
    report_file(files.front(),
                "has errors, or quotas of several sets: " + no_room_to_read(bytes, *room) +
                    "; 'weir validate' shows errors with their places",
                loaded.diagnostics);
    return false;
}

/// Reads all texts as a whole. They are not parsed if their hash is the one that is known.
void read_as_a_whole(const std::vector<std::string>& files,
                     const std::vector<config::SourceText>& documents,
                     std::optional<std::uint64_t> known_hash, Loaded& loaded) {
    const std::size_t errors_before = loaded.diagnostics.error_count();
    std::vector<config::SourceText> sources = read_sources(files, loaded.diagnostics);
    loaded.unreadable = loaded.unreadable || loaded.diagnostics.error_count() != errors_before;
    sources.insert(sources.end(), documents.begin(), documents.end());
    loaded.quotas_hash = 0;
    for (const config::SourceText& source : sources) {
        loaded.quotas_hash = add_to_hash(loaded.quotas_hash, config::long_source(source));
    }
    loaded.quotas_unchanged = loaded.good() && loaded.quotas_hash == known_hash;
    if (!loaded.quotas_unchanged) {
        loaded.sets = config::parse_quota_sets(sources, loaded.diagnostics);
    }
}

/// Reads the quota files of these settings and other documents, long ones quota by quota.
void read_quotas(const config::Settings& settings, const std::vector<config::SourceText>& documents,
                 std::optional<std::uint64_t> known_hash, std::optional<std::uint64_t> room,
                 Stamps& stamps, Loaded& loaded) {
    const std::vector<std::string> files = find_quota_files(settings, room, stamps, loaded);
    const bool are_files_long = are_long(files, documents);
    if (are_files_long && read_by_quota(files, documents, known_hash, loaded)) {
        return;
    }
    if (!are_files_long || have_room_for_errors(files, room, loaded)) {
        read_as_a_whole(files, documents, known_hash, loaded);
        encode_long(loaded);
    }
}

std::uint64_t settings_hash_of(const std::optional<config::SourceText>& file,
                               const std::vector<config::Override>& overrides) {
    std::uint64_t hash = file ? add_to_hash(0, file->text) : 0;
    for (const config::Override& one : overrides) {
        hash = add_to_hash(add_to_hash(hash, one.key), one.text);
    }
    return hash;
}

Loaded load_once(const ConfigSource& source, Stamps& stamps) {
    Loaded loaded;
    for (const config::Diagnostic& note : source.notes) {
        loaded.diagnostics.add(note);
    }
    std::optional<config::SourceText> text;
    if (source.file) {
        stamps.note({*source.file});
        auto content = read_file(*source.file);
        if (!content) {
            report_file(*source.file, content.error().message, loaded.diagnostics);
            loaded.unreadable = true;
            return loaded;
        }
        text = config::SourceText{*source.file, std::move(*content)};
    }
    loaded.settings_hash = settings_hash_of(text, source.overrides);
    loaded.settings =
        config::load_settings(text, source.overrides, loaded.diagnostics, source.reader);
    loaded.settings_good = loaded.good();
    if (source.without_warnings && !loaded.settings_good) {
        return loaded;  // a running member reads its quotas alone
    }
    if (source.long_quotas_later && loaded.good() && are_long(loaded.settings.quotas)) {
        loaded.quotas_later = true;
        return loaded;
    }
    if (source.without_warnings) {
        read_quotas(loaded.settings, source.documents, std::nullopt, source.room, stamps, loaded);
        return loaded;
    }
    read_as_a_whole(find_quota_files(loaded.settings, source.room, stamps, loaded),
                    source.documents, std::nullopt, loaded);
    // The routes of an anchor have no effect.
    if (loaded.good() && loaded.settings.role == config::MemberRole::sidecar) {
        if (source.reader == config::Reader::sidecar) {
            warn_about_routes(loaded.settings, loaded.sets, source.file.value_or("settings"),
                              loaded.diagnostics);
        }
        warn_about_weights(loaded.settings, loaded.sets, source.file.value_or("settings"),
                           loaded.diagnostics);
    }
    encode_long(loaded);
    return loaded;
}

Loaded load_quotas_once(const config::Settings& settings, std::uint64_t known_hash,
                        const std::vector<config::SourceText>& documents,
                        std::optional<std::uint64_t> room, Stamps& stamps) {
    Loaded loaded;
    read_quotas(settings, documents, known_hash, room, stamps, loaded);
    return loaded;
}

/// Gives the memory that reading has taken back to the system, where it would count as used by
/// definitions.
Loaded tidied(Loaded loaded) {
    const bool was_long =
        std::any_of(loaded.sets.begin(), loaded.sets.end(),
                    [](const config::QuotaSet& set) { return set.encoded != nullptr; });
    if (was_long || (!loaded.good() && are_long(loaded.quota_files))) {
        ::malloc_trim(0);
    }
    return loaded;
}

}  // namespace

Loaded load(const ConfigSource& source) {
    return tidied(read_at_rest([&](Stamps& stamps) { return load_once(source, stamps); }));
}

std::optional<std::uint64_t> settings_hash_on_disk(const ConfigSource& source) {
    std::optional<config::SourceText> text;
    if (source.file) {
        auto content = read_file(*source.file);
        if (!content) {
            return std::nullopt;
        }
        text = config::SourceText{*source.file, std::move(*content)};
    }
    return settings_hash_of(text, source.overrides);
}

Loaded load_quotas(const config::Settings& settings, std::uint64_t known_hash,
                   const std::vector<config::SourceText>& documents,
                   std::optional<std::uint64_t> room) {
    return tidied(read_at_rest([&](Stamps& stamps) {
        return load_quotas_once(settings, known_hash, documents, room, stamps);
    }));
}

}  // namespace weir::node

#include "config/quota_document.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "config/parse.h"
#include "config/quota_head.h"
#include "config/quota_reader.h"
#include "config/reader.h"
#include "config/values.h"
#include "definitions/codec.h"
#include "definitions/rules.h"

namespace weir::config {
namespace {

/// A set as it was read, with the place of each quota for the errors of the validation.
struct LocatedSet {
    QuotaSet set;
    NodeRef root;
    std::vector<NodeRef> places;
    std::vector<bool> incomplete;  ///< has an error of its own
};

void check_constant(MapReader& reader, std::string_view key, std::string_view expected,
                    Diagnostics& diagnostics) {
    const auto node = reader.require(key);
    const auto text = node ? read_text(*node, diagnostics) : std::nullopt;
    if (text && *text != expected) {
        diagnostics.error(*node, "'" + std::string(text->substr(0, 80)) + "' must be '" +
                                     std::string(expected) + "'");
    }
}

std::string read_set_name(MapReader& reader, Diagnostics& diagnostics) {
    const auto node = reader.require("name");
    const auto text = node ? read_text(*node, diagnostics) : std::nullopt;
    if (!text) {
        return {};
    }
    if (text->empty() || text->size() > definitions::kMaximumSetName) {
        diagnostics.error(*node, "must have from 1 to " +
                                     std::to_string(definitions::kMaximumSetName) + " bytes");
    }
    return std::string(*text);
}

/// Reads the members of a set besides its quotas.
QuotaSet read_head(MapReader& reader, NodeRef root, Diagnostics& diagnostics) {
    constexpr std::uint64_t kMaxGeneration = 9'007'199'254'740'991;  // exact in every JSON reader
    QuotaSet set;
    check_constant(reader, "apiVersion", "weir/v1", diagnostics);
    check_constant(reader, "kind", "QuotaSet", diagnostics);
    set.file = root.document().file();
    set.name = read_set_name(reader, diagnostics);
    if (const auto node = reader.take("generation")) {
        const bool is_auto = node->is_scalar() && (*node)->text == "auto";
        if (!is_auto) {
            set.generation = read_unsigned(*node, 1, kMaxGeneration, diagnostics);
        }
    }
    return set;
}

LocatedSet read_set(NodeRef root, Diagnostics& diagnostics) {
    LocatedSet located{{}, root, {}, {}};
    MapReader reader(root, diagnostics);
    if (!reader.is_map()) {
        return located;
    }
    located.set = read_head(reader, root, diagnostics);
    if (const auto node = reader.require("quotas")) {
        for (const NodeRef quota : read_list(*node, diagnostics)) {
            const std::size_t errors = diagnostics.error_count();
            limiter::QuotaDefinition definition = read_quota(quota, diagnostics);
            const bool incomplete = diagnostics.error_count() != errors;
            if (incomplete && definition.name.empty() && !definition.parent) {
                continue;  // the rules have nothing to add about it, and there may be very many
            }
            located.set.quotas.push_back(std::move(definition));
            located.places.push_back(quota);
            located.incomplete.push_back(incomplete);
        }
    }
    reader.finish();
    return located;
}

/// Checks that all files of one set have the same generation: a directory of which only some files
/// were changed is refused until all are.
void check_parts(const std::vector<LocatedSet>& sets, Diagnostics& diagnostics) {
    const auto generation_text = [](const QuotaSet& set) {
        return set.generation ? "generation " + std::to_string(*set.generation)
                              : std::string("no generation");
    };
    std::map<std::string_view, const QuotaSet*> first_parts;
    for (const LocatedSet& located : sets) {
        const QuotaSet& part = located.set;
        if (part.name.empty()) {
            continue;
        }
        const QuotaSet& first = *first_parts.try_emplace(part.name, &part).first->second;
        if (part.generation != first.generation) {
            diagnostics.error(located.root,
                              "the set '" + part.name + "' has " + generation_text(part) +
                                  " here and " + generation_text(first) + " in " + first.file,
                              "files of one set carry one generation");
        }
    }
}

/// Joins the parts of each set, in the order of the files.
std::vector<QuotaSet> join_parts(std::vector<LocatedSet> located) {
    std::vector<QuotaSet> sets;
    std::map<std::string, std::size_t, std::less<>> places;
    for (LocatedSet& part : located) {
        const auto [place, is_first] = places.try_emplace(part.set.name, sets.size());
        if (is_first) {
            sets.push_back(std::move(part.set));
            continue;
        }
        QuotaSet& first = sets[place->second];
        first.file += ", " + part.set.file;
        std::move(part.set.quotas.begin(), part.set.quotas.end(), std::back_inserter(first.quotas));
    }
    return sets;
}

/// Reports the errors that each quota has by itself, because its parents may be in other places.
void validate_apart(const std::vector<LocatedSet>& sets, Diagnostics& diagnostics) {
    for (const LocatedSet& located : sets) {
        for (std::size_t i = 0; i < located.set.quotas.size(); ++i) {
            if (located.incomplete[i]) {
                continue;
            }
            for (const auto& error : definitions::validate_alone(located.set.quotas[i])) {
                diagnostics.error(find_field(located.places[i], error.field), error.message,
                                  error.suggestion);
            }
        }
    }
}

/// Reports the errors that only all quotas together show, by the rules of the module definitions,
/// each at its place. A quota that could not be read has its errors already; here only its errors
/// in the tree are added.
void validate_together(const std::vector<LocatedSet>& sets, Diagnostics& diagnostics) {
    std::vector<limiter::QuotaDefinition> all;
    std::vector<NodeRef> places;
    std::vector<bool> incomplete;
    for (const LocatedSet& located : sets) {
        all.insert(all.end(), located.set.quotas.begin(), located.set.quotas.end());
        places.insert(places.end(), located.places.begin(), located.places.end());
        incomplete.insert(incomplete.end(), located.incomplete.begin(), located.incomplete.end());
    }
    const definitions::DefinitionErrors errors = definitions::validate(all, incomplete);
    for (const definitions::DefinitionError& error : errors.listed()) {
        diagnostics.error(find_field(places[error.index], error.field), error.message,
                          error.suggestion);
    }
    diagnostics.count_errors(errors.count() - errors.listed().size());
}

}  // namespace

QuotaSet read_set_head(NodeRef root, Diagnostics& diagnostics) {
    MapReader reader(root, diagnostics);
    if (!reader.is_map()) {
        return {};
    }
    QuotaSet set = read_head(reader, root, diagnostics);
    if (const auto quotas = reader.require("quotas")) {
        static_cast<void>(read_list(*quotas, diagnostics));
    }
    reader.finish();
    return set;
}

std::vector<QuotaSet> parse_quota_sets(const std::vector<SourceText>& sources,
                                       Diagnostics& diagnostics, Together together) {
    std::vector<std::vector<Document>> files;
    std::vector<LocatedSet> located;
    for (const SourceText& source : sources) {
        const std::size_t errors = diagnostics.error_count();
        files.push_back(parse_documents(source.text, source.file, ParseLimits{}, diagnostics));
        if (files.back().empty() && diagnostics.error_count() == errors) {
            diagnostics.add({Severity::error, source.file, {}, {}, "holds no quota document", {}});
        }
    }
    for (const std::vector<Document>& documents : files) {
        for (const Document& document : documents) {
            located.push_back(read_set(document.root(), diagnostics));
        }
    }
    check_parts(located, diagnostics);
    if (together == Together::yes) {
        validate_together(located, diagnostics);
    } else {
        validate_apart(located, diagnostics);
    }
    return join_parts(std::move(located));
}

std::optional<limiter::QuotaDefinition> parse_quota(const SourceText& source,
                                                    Diagnostics& diagnostics) {
    const std::vector<Document> documents =
        parse_documents(source.text, source.file, ParseLimits{}, diagnostics);
    if (diagnostics.has_errors()) {
        return std::nullopt;
    }
    if (documents.size() != 1) {
        diagnostics.add({Severity::error, source.file, {}, {}, "must hold exactly one quota", {}});
        return std::nullopt;
    }
    limiter::QuotaDefinition definition = read_quota(documents.front().root(), diagnostics);
    if (diagnostics.has_errors()) {
        return std::nullopt;
    }
    return definition;
}

}  // namespace weir::config

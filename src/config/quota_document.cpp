#include "config/quota_document.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "config/parse.h"
#include "config/quota_reader.h"
#include "config/reader.h"
#include "config/values.h"

namespace weir::config {
namespace {

/// A set as read, with the place of each quota for what the validation of all finds.
struct LocatedSet {
    QuotaSet set;
    NodeRef root;
    std::vector<NodeRef> places;
    std::vector<bool> read_well;  ///< without an error of its own
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
    constexpr std::size_t kMaxBytes = 128;
    const auto node = reader.require("name");
    const auto text = node ? read_text(*node, diagnostics) : std::nullopt;
    if (!text) {
        return {};
    }
    if (text->empty() || text->size() > kMaxBytes) {
        diagnostics.error(*node, "must have from 1 to 128 bytes");
    }
    return std::string(*text);
}

LocatedSet read_set(NodeRef root, Diagnostics& diagnostics) {
    constexpr std::uint64_t kMaxGeneration = 9'007'199'254'740'991;  // exact in every JSON reader
    LocatedSet located{{}, root, {}, {}};
    MapReader reader(root, diagnostics);
    if (!reader.is_map()) {
        return located;
    }
    check_constant(reader, "apiVersion", "weir/v1", diagnostics);
    check_constant(reader, "kind", "QuotaSet", diagnostics);
    located.set.file = root.document().file();
    located.set.name = read_set_name(reader, diagnostics);
    if (const auto node = reader.take("generation")) {
        located.set.generation = read_unsigned(*node, 1, kMaxGeneration, diagnostics);
    }
    if (const auto node = reader.require("quotas")) {
        for (const NodeRef quota : read_list(*node, diagnostics)) {
            const std::size_t errors = diagnostics.error_count();
            located.set.quotas.push_back(read_quota(quota, diagnostics));
            located.places.push_back(quota);
            located.read_well.push_back(diagnostics.error_count() == errors);
        }
    }
    reader.finish();
    return located;
}

void refuse_sets_given_twice(const std::vector<LocatedSet>& sets, Diagnostics& diagnostics) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (sets[i].set.name == sets[j].set.name && !sets[i].set.name.empty()) {
                diagnostics.error(sets[i].root, "the set '" + sets[i].set.name +
                                                    "' is given twice, first in " +
                                                    sets[j].set.file);
                break;
            }
        }
    }
}

/// What only the whole can tell: the limiter's own rules, mapped back to places. A quota that could
/// not be read well has its errors already; only its place in the tree is worth more words.
void validate_together(const std::vector<LocatedSet>& sets, Diagnostics& diagnostics) {
    std::vector<limiter::QuotaDefinition> all;
    std::vector<NodeRef> places;
    std::vector<bool> read_well;
    for (const LocatedSet& located : sets) {
        all.insert(all.end(), located.set.quotas.begin(), located.set.quotas.end());
        places.insert(places.end(), located.places.begin(), located.places.end());
        read_well.insert(read_well.end(), located.read_well.begin(), located.read_well.end());
    }
    for (const limiter::DefinitionError& error : limiter::validate(all)) {
        if (error.index < places.size() && (read_well[error.index] || error.field == "parent")) {
            diagnostics.error(find_field(places[error.index], error.field), error.message,
                              error.suggestion);
        }
    }
}

nlohmann::ordered_json limit_json(const limiter::RateLimit& limit) {
    nlohmann::ordered_json json;
    json["rate"] = format_rate(limit);
    if (limit.unit != limiter::Unit::requests) {
        json["of"] = unit_word(limit.unit);
    }
    const auto burst = [&](const char* key, const std::optional<limiter::BurstSpec>& spec) {
        if (spec) {
            json[key] = format_burst(*spec, limit.unit);
        }
    };
    burst("low", limit.low);
    burst("high", limit.high);
    burst("debt", limit.debt);
    if (limit.law != limiter::Law::adaptive) {
        json["law"] = limiter::to_string(limit.law);
    }
    if (limit.scope != limiter::Scope::fleet) {
        json["scope"] = limiter::to_string(limit.scope);
    }
    return json;
}

}  // namespace

std::vector<QuotaSet> parse_quota_sets(const std::vector<SourceText>& sources,
                                       Diagnostics& diagnostics) {
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
    refuse_sets_given_twice(located, diagnostics);
    validate_together(located, diagnostics);
    std::vector<QuotaSet> sets;
    for (LocatedSet& set : located) {
        sets.push_back(std::move(set.set));
    }
    return sets;
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

std::string quota_json(const limiter::QuotaDefinition& definition, int indent) {
    nlohmann::ordered_json json;
    json["name"] = definition.name;
    if (definition.parent) {
        json["parent"] = *definition.parent;
    }
    if (definition.mode != limiter::Mode::enforce) {
        json["mode"] = limiter::to_string(definition.mode);
    }
    if (definition.max_instances != 0) {
        json["max_instances"] = definition.max_instances;
    }
    if (definition.max_children != 0) {
        json["max_children"] = definition.max_children;
    }
    if (definition.hide_headers) {
        json["headers"] = "hidden";
    }
    json["limits"] = nlohmann::ordered_json::array();
    for (const limiter::RateLimit& limit : definition.limits) {
        json["limits"].push_back(limit_json(limit));
    }
    return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace weir::config

#include "config/quota_document.h"

#include <algorithm>
#include <cmath>
#include <iterator>
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

/// Files of one set carry one generation: a half-changed directory is refused until it is whole.
void check_parts(const std::vector<LocatedSet>& sets, Diagnostics& diagnostics) {
    const auto generation_text = [](const QuotaSet& set) {
        return set.generation ? "generation " + std::to_string(*set.generation) : "no generation";
    };
    for (std::size_t i = 0; i < sets.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const QuotaSet& part = sets[i].set;
            const QuotaSet& first = sets[j].set;
            if (part.name != first.name || part.name.empty()) {
                continue;
            }
            if (part.generation != first.generation) {
                diagnostics.error(sets[i].root,
                                  "the set '" + part.name + "' has " + generation_text(part) +
                                      " here and " + generation_text(first) + " in " + first.file,
                                  "files of one set carry one generation");
            }
            break;
        }
    }
}

/// Parts of one set as one, in the order of the files.
std::vector<QuotaSet> join_parts(std::vector<LocatedSet> located) {
    std::vector<QuotaSet> sets;
    for (LocatedSet& part : located) {
        const auto first = std::find_if(sets.begin(), sets.end(), [&](const QuotaSet& set) {
            return set.name == part.set.name;
        });
        if (first == sets.end()) {
            sets.push_back(std::move(part.set));
            continue;
        }
        first->file += ", " + part.set.file;
        std::move(part.set.quotas.begin(), part.set.quotas.end(),
                  std::back_inserter(first->quotas));
    }
    return sets;
}

/// Of quotas whose parents may be elsewhere: what each has wrong by itself.
void validate_apart(const std::vector<LocatedSet>& sets, Diagnostics& diagnostics) {
    for (const LocatedSet& located : sets) {
        for (std::size_t i = 0; i < located.set.quotas.size(); ++i) {
            if (!located.read_well[i]) {
                continue;
            }
            for (const auto& error : limiter::validate_alone(located.set.quotas[i])) {
                diagnostics.error(find_field(located.places[i], error.field), error.message,
                                  error.suggestion);
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
    if (limit.safe) {
        limiter::RateLimit safe;
        safe.unit = limit.unit;
        safe.amount = *limit.safe;
        json["safe"] = format_rate(safe);
    }
    return json;
}

/// One word as a word, several as a list.
nlohmann::ordered_json headers_json(const limiter::QuotaDefinition& definition) {
    nlohmann::ordered_json words = nlohmann::ordered_json::array();
    if (definition.hide_headers) {
        words.push_back("hidden");
    }
    if (const auto& forms = definition.options->headers) {
        if (forms->ietf) {
            words.push_back("ietf");
        }
        if (forms->x_ratelimit) {
            words.push_back("x-ratelimit");
        }
        if (!forms->ietf && !forms->x_ratelimit) {
            words.push_back("none");
        }
    }
    return words.size() == 1 ? words.front() : words;
}

nlohmann::ordered_json refusal_json(const limiter::RefusalForm& form) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    if (form.status != 0) {
        json["status"] = form.status;
    }
    if (!form.content_type.empty()) {
        json["content_type"] = form.content_type;
    }
    if (form.body) {
        json["body"] = *form.body;
    }
    return json;
}

void put_modes(nlohmann::ordered_json& json, const limiter::QuotaDefinition& definition) {
    if (definition.mode != limiter::Mode::enforce) {
        json["mode"] = limiter::to_string(definition.mode);
    }
    if (definition.enforced_share != 1) {
        json["enforce"] = format_percentage(definition.enforced_share);
    }
    if (!definition.options->enforced_by.empty()) {
        json["enforce_by"] = "header:" + definition.options->enforced_by;
    }
    if (definition.when_isolated != limiter::IsolationMode::safe) {
        json["when_isolated"] = limiter::to_string(definition.when_isolated);
    }
}

}  // namespace

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

std::string quota_json(const limiter::QuotaDefinition& definition, int indent) {
    nlohmann::ordered_json json;
    json["name"] = definition.name;
    if (definition.parent) {
        json["parent"] = *definition.parent;
    }
    put_modes(json, definition);
    if (definition.max_instances != 0) {
        json["max_instances"] = definition.max_instances;
    }
    if (definition.max_children != 0) {
        json["max_children"] = definition.max_children;
    }
    if (auto headers = headers_json(definition); !headers.empty()) {
        json["headers"] = std::move(headers);
    }
    if (definition.options->refusal != limiter::RefusalForm{}) {
        json["refusal"] = refusal_json(definition.options->refusal);
    }
    json["limits"] = nlohmann::ordered_json::array();
    for (const limiter::RateLimit& limit : definition.limits) {
        json["limits"].push_back(limit_json(limit));
    }
    return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace weir::config

#pragma once
// Turns quota definitions into the JSON that quota documents use, and back, so that what GET shows
// can be sent back with PUT. The functions are pure.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "definitions/store.h"
#include "limiter/definition.h"

namespace weir::admin {

[[nodiscard]] nlohmann::ordered_json definition_to_json(const limiter::QuotaDefinition& definition);

struct ParsedDefinition {
    /// The definition; nothing if there are errors or `absent` is true.
    std::optional<limiter::QuotaDefinition> definition;
    /// The body was `{"absent": true}`: the quota of the files is to be hidden.
    bool absent = false;
    std::vector<config::Diagnostic> errors;
};

/// Reads the body of a PUT as a whole definition. The body may leave the name out; a name other
/// than `name` is an error.
[[nodiscard]] ParsedDefinition parse_definition(std::string_view body, std::string_view name);

/// Several definitions, each with the entity tag of the definition that it is to replace, if one
/// was given.
struct ParsedDefinitions {
    /// Not to be used if there are errors.
    std::vector<definitions::WantedDefinition> wanted;
    std::vector<config::Diagnostic> errors;
};

/// Reads a body of the form {"quotas": [{"definition": {…}, "etag": "…"}, …]}.
[[nodiscard]] ParsedDefinitions parse_definitions(std::string_view body);

/// Applies the body of a PUT, a merge patch (RFC 7396), to the definition.
[[nodiscard]] ParsedDefinition patch_definition(const limiter::QuotaDefinition& current,
                                                std::string_view patch);

}  // namespace weir::admin

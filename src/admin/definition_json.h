#pragma once
// One quota definition to and from the JSON that quota documents use, so that what GET shows can
// be sent back with PUT. Pure.

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
    /// Nothing if there are errors.
    std::optional<limiter::QuotaDefinition> definition;
    /// `{"absent": true}`: hide the file layer's quota.
    bool absent = false;
    std::vector<config::Diagnostic> errors;
};

/// The body of a PUT as a whole definition. Its name may be left out; another one than
/// `name` is an error.
[[nodiscard]] ParsedDefinition parse_definition(std::string_view body, std::string_view name);

/// Several definitions, each with the tag that it is to replace if there is one.
struct ParsedDefinitions {
    /// Worth nothing if there are errors.
    std::vector<definitions::WantedDefinition> wanted;
    std::vector<config::Diagnostic> errors;
};

/// {"quotas": [{"definition": {…}, "etag": "…"}, …]}
[[nodiscard]] ParsedDefinitions parse_definitions(std::string_view body);

/// The body of a PUT as a merge patch (RFC 7386) of the definition.
[[nodiscard]] ParsedDefinition patch_definition(const limiter::QuotaDefinition& current,
                                                std::string_view patch);

}  // namespace weir::admin

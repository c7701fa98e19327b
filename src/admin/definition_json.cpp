#include "admin/definition_json.h"

#include <utility>

#include "config/parse.h"
#include "config/quota_document.h"

namespace weir::admin {
namespace {

using Json = nlohmann::ordered_json;

/// What errors name as the file; the ending says that it is JSON.
constexpr std::string_view kBody = "body.json";

config::Diagnostic body_error(std::string path, std::string what) {
    return {.severity = config::Severity::error,
            .file = std::string(kBody),
            .place = {},
            .path = std::move(path),
            .what = std::move(what),
            .suggestion = {}};
}

ParsedDefinition failed(config::Diagnostic error) {
    ParsedDefinition result;
    result.errors.push_back(std::move(error));
    return result;
}

std::vector<config::Diagnostic> errors_of(const config::Diagnostics& diagnostics) {
    auto all = diagnostics.sorted();
    std::erase_if(all, [](const auto& one) { return one.severity != config::Severity::error; });
    return all;
}

/// Adds the name as the last member, so that the places of the others stay right. The body is known
/// to be one JSON object.
std::string with_name(std::string_view body, std::string_view name) {
    const auto brace = body.rfind('}');
    const bool is_empty = body.find_first_not_of(" \t\r\n{") == brace;
    std::string text(body.substr(0, brace));
    text += is_empty ? "\"name\": " : ", \"name\": ";
    text += Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
    text += body.substr(brace);
    return text;
}

ParsedDefinition parse_named(std::string text, std::string_view name) {
    config::Diagnostics diagnostics;
    ParsedDefinition result;
    result.definition =
        config::parse_quota({.file = std::string(kBody), .text = std::move(text)}, diagnostics);
    result.errors = errors_of(diagnostics);
    if (result.definition && result.definition->name != name) {
        result.errors.push_back(body_error("name", "is not the name in the path"));
    }
    if (!result.definition && result.errors.empty()) {
        result.errors.push_back(body_error("", "not a quota definition"));
    }
    if (!result.errors.empty()) result.definition.reset();
    return result;
}

}  // namespace

Json definition_to_json(const limiter::QuotaDefinition& definition) {
    return Json::parse(config::quota_json(definition, -1), nullptr, false);
}

ParsedDefinition parse_definition(std::string_view body, std::string_view name) {
    const Json value = Json::parse(body, nullptr, false);
    // Broken JSON and other kinds of value get their errors, with places, from config's parser.
    if (!value.is_object()) return parse_named(std::string(body), name);
    if (value.contains("absent")) {
        if (value.size() != 1 || value["absent"] != true) {
            return failed(body_error("absent", "must be true and alone"));
        }
        ParsedDefinition hidden;
        hidden.absent = true;
        return hidden;
    }
    // Put into the text and not into the value, so that places and doubled keys stay visible.
    return parse_named(value.contains("name") ? std::string(body) : with_name(body, name), name);
}

ParsedDefinition patch_definition(const limiter::QuotaDefinition& current, std::string_view patch) {
    // This parser finds doubled keys and bounds the depth, on which merge_patch recurses.
    config::Diagnostics diagnostics;
    static_cast<void>(
        config::parse_documents(patch, std::string(kBody), config::ParseLimits{}, diagnostics));
    if (diagnostics.has_errors()) {
        ParsedDefinition result;
        result.errors = errors_of(diagnostics);
        return result;
    }
    const Json changes = Json::parse(patch, nullptr, false);
    if (!changes.is_object()) return failed(body_error("", "a merge patch is a JSON object"));
    Json value = definition_to_json(current);
    value.merge_patch(changes);
    auto result =
        parse_named(value.dump(-1, ' ', false, Json::error_handler_t::replace), current.name);
    // Places in the patched whole mean nothing to whoever sent the patch.
    for (auto& error : result.errors) error.place = {};
    return result;
}

}  // namespace weir::admin

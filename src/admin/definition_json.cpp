#include "admin/definition_json.h"

#include <utility>

#include "base/planted.h"
#include "config/parse.h"
#include "config/quota_document.h"

namespace weir::admin {
namespace {

using Json = nlohmann::ordered_json;

/// The file name in errors. Its ending tells the parser that the text is JSON.
constexpr std::string_view kBody = "body.json";

config::Diagnostic body_error(std::string path, std::string what) {
    return {.severity = config::Severity::error,
            .file = std::string(kBody),
            .place = {},
            .path = std::move(path),
            .what = std::move(what),
            .suggestion = {}};
}

ParsedDefinition failed(std::vector<config::Diagnostic> errors) {
    ParsedDefinition result;
    result.errors = std::move(errors);
    return result;
}

ParsedDefinition failed(config::Diagnostic error) {
    return failed(std::vector<config::Diagnostic>{std::move(error)});
}

std::vector<config::Diagnostic> errors_of(const config::Diagnostics& diagnostics) {
    auto all = diagnostics.sorted();
    std::erase_if(all, [](const auto& one) { return one.severity != config::Severity::error; });
    return all;
}

/// The errors that config's parser finds in the text, such as doubled keys or too much depth. The
/// JSON library would silently take the last of two equal keys.
std::vector<config::Diagnostic> text_errors(std::string_view text) {
    config::Diagnostics diagnostics;
    static_cast<void>(
        config::parse_documents(text, std::string(kBody), config::ParseLimits{}, diagnostics));
    return errors_of(diagnostics);
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

ParsedDefinition parse_named(std::string text, std::optional<std::string_view> name) {
    config::Diagnostics diagnostics;
    ParsedDefinition result;
    result.definition =
        config::parse_quota({.file = std::string(kBody), .text = std::move(text)}, diagnostics);
    result.errors = errors_of(diagnostics);
    const bool other = result.definition && name && result.definition->name != *name;
    if (other && !planted(Planted::other_name)) {
        result.errors.push_back(body_error("name", "is not the name in the path"));
    }
    if (!result.definition && result.errors.empty()) {
        result.errors.push_back(body_error("", "not a quota definition"));
    }
    if (!result.errors.empty()) {
        result.definition.reset();
    }
    return result;
}

constexpr std::string_view kTogether = R"(send {"quotas": [{"definition": {...}, "etag": "..."}]})";

/// Reads one of several definitions. The paths of its errors begin with the path of the definition.
void read_wanted(const Json& item, const std::string& path, ParsedDefinitions& result) {
    const bool tagged = item.is_object() && item.contains("etag");
    if (!item.is_object() || !item.contains("definition") || item.size() != (tagged ? 2U : 1U) ||
        (tagged && !item["etag"].is_string())) {
        result.errors.push_back(body_error(path, std::string(kTogether)));
        return;
    }
    auto parsed = parse_named(
        item["definition"].dump(-1, ' ', false, Json::error_handler_t::replace), std::nullopt);
    for (auto& error : parsed.errors) {
        error.path = path + ".definition" + (error.path.empty() ? "" : "." + error.path);
        error.place = {};
        result.errors.push_back(std::move(error));
    }
    if (!parsed.definition) {
        return;
    }
    result.wanted.push_back(
        {std::move(*parsed.definition),
         tagged ? std::optional(item["etag"].get<std::string>()) : std::nullopt});
}

}  // namespace

ParsedDefinitions parse_definitions(std::string_view body) {
    ParsedDefinitions result;
    result.errors = text_errors(body);
    if (!result.errors.empty()) {
        return result;
    }
    const Json value = Json::parse(body, nullptr, false);
    if (!value.is_object() || value.size() != 1 || !value.contains("quotas") ||
        !value["quotas"].is_array() || value["quotas"].empty()) {
        result.errors.push_back(body_error("", std::string(kTogether)));
        return result;
    }
    // The number is checked first, because reading definitions takes longer than making them.
    if (const std::size_t count = value["quotas"].size(); count > definitions::kMaximumTogether) {
        result.errors.push_back(
            body_error("quotas", "are " + std::to_string(count) + ", and one change sets at most " +
                                     std::to_string(definitions::kMaximumTogether) +
                                     ": make several changes, or put them into a file of a set"));
        return result;
    }
    std::size_t number = 0;
    for (const Json& item : value["quotas"]) {
        read_wanted(item, "quotas[" + std::to_string(number++) + "]", result);
    }
    return result;
}

Json definition_to_json(const limiter::QuotaDefinition& definition) {
    return Json::parse(config::quota_json(definition, -1), nullptr, false);
}

ParsedDefinition parse_definition(std::string_view body, std::string_view name) {
    const Json value = Json::parse(body, nullptr, false);
    // For broken JSON and for values of other kinds config's parser gives errors with places.
    if (!value.is_object()) {
        return parse_named(std::string(body), name);
    }
    if (value.contains("absent")) {
        if (auto doubled = text_errors(body); !doubled.empty()) {
            return failed(std::move(doubled));
        }
        if (value.size() != 1 || value["absent"] != true) {
            return failed(body_error("absent", "must be true and alone"));
        }
        ParsedDefinition hidden;
        hidden.absent = true;
        return hidden;
    }
    // The name is added to the text and not to the value, so that errors keep their places and
    // doubled keys are noticed.
    return parse_named(value.contains("name") ? std::string(body) : with_name(body, name), name);
}

ParsedDefinition patch_definition(const limiter::QuotaDefinition& current, std::string_view patch) {
    // This also bounds the depth, which merge_patch needs because it is recursive.
    if (auto errors = text_errors(patch); !errors.empty()) {
        return failed(std::move(errors));
    }
    const Json changes = Json::parse(patch, nullptr, false);
    if (!changes.is_object()) {
        return failed(body_error("", "a merge patch is a JSON object"));
    }
    Json value = definition_to_json(current);
    value.merge_patch(changes);
    auto result =
        parse_named(value.dump(-1, ' ', false, Json::error_handler_t::replace), current.name);
    // Places are those of the patched definition, which the sender of the patch has never seen.
    for (auto& error : result.errors) {
        error.place = {};
    }
    return result;
}

}  // namespace weir::admin

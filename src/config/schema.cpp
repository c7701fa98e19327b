#include "config/schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <variant>
#include <vector>

#include "config/settings_fields.h"
#include "config/values.h"
#include "definitions/codec.h"
#include "definitions/fields.h"
#include "limiter/definition.h"

namespace weir::config {
namespace {

using SchemaJson = nlohmann::ordered_json;

constexpr const char* kNumberPattern = "[0-9]+(\\.[0-9]+)?";
constexpr const char* kTimePattern = "(ms|s|m|h|d|w)";
constexpr const char* kWindowTimePattern = "((1)?month|([0-9]+(\\.[0-9]+)?)?(s|m|h|d|w))";
constexpr const char* kBytesPattern = "(B|KiB|MiB|GiB|kB|MB|GB)";
constexpr const char* kStatusPattern = "^([1-5]xx|[1-5][0-9]{2}(-[1-5][0-9]{2})?)$";

SchemaJson text() { return {{"type", "string"}}; }

SchemaJson pattern(const std::string& expression) {
    return {{"type", "string"}, {"pattern", "^" + expression + "$"}};
}

SchemaJson one_of(const std::vector<std::string>& words) {
    return {{"type", "string"}, {"enum", words}};
}

SchemaJson either(std::initializer_list<SchemaJson> some) {
    SchemaJson all = SchemaJson::array();
    for (const SchemaJson& one : some) {
        all.push_back(one);
    }
    return {{"anyOf", all}};
}

SchemaJson list_of(const SchemaJson& element) { return {{"type", "array"}, {"items", element}}; }

SchemaJson one_or_list_of(const SchemaJson& element) { return either({element, list_of(element)}); }

SchemaJson whole_number(std::uint64_t least, std::uint64_t most) {
    return {{"type", "integer"}, {"minimum", least}, {"maximum", most}};
}

SchemaJson duration() { return pattern(std::string(kNumberPattern) + kTimePattern); }

SchemaJson rate() {
    const std::string amount = std::string(kNumberPattern) + "(r|c|" + kBytesPattern + ")";
    const std::string time = "/(" + std::string(kNumberPattern) + ")?" + kTimePattern;
    return either({pattern("(0|" + amount + time + ")"), {{"const", 0}}});
}

SchemaJson window() {
    return pattern(std::string(kNumberPattern) + "(r|c|" + kBytesPattern + ")/" +
                   kWindowTimePattern);
}

SchemaJson burst() {
    const std::string amount =
        std::string(kNumberPattern) + "(r|c|" + kBytesPattern + "|" + kTimePattern + ")";
    return either({pattern("(0|" + amount + ")"), {{"const", 0}}});
}

SchemaJson status() {
    return either({whole_number(100, 599), {{"type", "string"}, {"pattern", kStatusPattern}}});
}

SchemaJson closed_map(const SchemaJson& properties) {
    return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
}

/// A text for people, without Markdown's signs.
std::string plain_text(std::string_view meaning) {
    std::string all(meaning);
    std::erase(all, '`');
    return all;
}

std::vector<std::string> split(std::string_view words, std::string_view between) {
    std::vector<std::string> parts;
    while (!words.empty()) {
        const std::size_t end = std::min(words.find(between), words.size());
        parts.emplace_back(words.substr(0, end));
        words.remove_prefix(std::min(end + between.size(), words.size()));
    }
    return parts;
}

/// A number between the bounds of a row, such as "0 to 64".
SchemaJson bounded_number(const char* type, std::string_view bounds) {
    SchemaJson schema = {{"type", type}};
    const std::vector<std::string> ends = split(bounds, " to ");
    if (ends.size() == 2) {
        schema["minimum"] = SchemaJson::parse(ends[0]);
        schema["maximum"] = SchemaJson::parse(ends[1]);
    }
    return schema;
}

/// The schema of a value of this type of the table of settings.
SchemaJson value_of(std::string_view type, std::string_view bounds) {
    if (type == "true or false") {
        return {{"type", "boolean"}};
    }
    if (type == "count") {
        return bounded_number("integer", bounds);
    }
    if (type == "number") {
        return bounded_number("number", bounds);
    }
    if (type == "word") {
        return one_of(split(bounds, ", "));
    }
    if (type == "duration") {
        return duration();
    }
    if (type == "size") {
        return pattern(std::string(kNumberPattern) + kBytesPattern);
    }
    if (type == "list of words") {
        return list_of(one_of(split(bounds, ", ")));
    }
    if (type == "list of statuses") {
        return list_of(status());
    }
    return type.starts_with("list of ") ? list_of(text()) : text();
}

/// The default as a value, if the text of the table is one.
SchemaJson default_of(const SettingField& field) {
    const SchemaJson parsed = SchemaJson::parse(field.default_text, nullptr, false);
    const bool is_word = field.default_text != "none" && field.default_text != "required" &&
                         field.default_text.find(' ') == std::string_view::npos;
    if (!is_word || field.is_list) {
        return nullptr;
    }
    const bool is_value = parsed.is_number() || parsed.is_boolean();
    return is_value ? parsed : SchemaJson(field.default_text);
}

SchemaJson setting(const SettingField& field) {
    SchemaJson schema = value_of(field.type, field.bounds);
    schema["description"] = plain_text(field.meaning);
    if (SchemaJson value = default_of(field); !value.is_null()) {
        schema["default"] = std::move(value);
    }
    return schema;
}

SchemaJson match() {
    return closed_map({{"host", one_or_list_of(text())},
                       {"path", text()},
                       {"methods", one_or_list_of(text())},
                       {"headers",
                        {{"type", "object"},
                         {"additionalProperties", {{"type", {"string", "number", "null"}}}}}}});
}

SchemaJson weight() {
    const SchemaJson number = {{"type", "number"}, {"minimum", 0}};
    return either({number,
                   pattern("(request-bytes|header:.+|" + std::string(kNumberPattern) + ")"),
                   {{"type", "object"}, {"additionalProperties", number}}});
}

SchemaJson route() {
    return closed_map({{"preset", one_of({"s3"})},
                       {"domain", one_or_list_of(text())},
                       {"match", match()},
                       {"quota", one_or_list_of(text())},
                       {"quotas", list_of(list_of(text()))},
                       {"weight", weight()},
                       {"refund", one_or_list_of(status())},
                       {"ambiguous_path", one_of({"refuse", "allow"})}});
}

/// Puts the schema at its place below `root`, such as "cluster.name".
void put(SchemaJson& root, std::string_view key, SchemaJson schema) {
    const std::size_t dot = key.find('.');
    if (dot == std::string_view::npos) {
        root["properties"][std::string(key)] = std::move(schema);
        return;
    }
    SchemaJson& section = root["properties"][std::string(key.substr(0, dot))];
    if (section.is_null()) {
        section = closed_map(SchemaJson::object());
    }
    put(section, key.substr(dot + 1), std::move(schema));
}

/// A whole schema with its title.
SchemaJson titled(const char* title, const SchemaJson& schema) {
    SchemaJson all = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
    all.update(schema);
    return all;
}

std::vector<std::string> words_of(std::span<const std::string_view> words) {
    return {words.begin(), words.end()};
}

SchemaJson limit_field(const definitions::LimitField& field) {
    using limiter::RateLimit;
    return std::visit(
        definitions::Overloaded{
            [](const definitions::RateValue&) { return rate(); },
            [](const definitions::WindowValue&) { return window(); },
            [](const definitions::ConcurrencyValue& value) { return whole_number(0, value.most); },
            [](const definitions::CapacityValue&) { return rate(); },
            [](const definitions::BurstValue&) { return burst(); },
            [](const definitions::UnitValue& value) { return one_of(words_of(value.words)); },
            [](const definitions::TimeZoneValue& value) {
                return SchemaJson{{"type", "string"}, {"maxLength", value.most}};
            },
            [](const definitions::WordValue<RateLimit>& value) {
                return one_of(words_of(value.words));
            },
        },
        field.value);
}

/// A map with the fields of a table, which has those that are required, and exactly one of those of
/// which one is.
template <class Fields, class MakeSchema>
SchemaJson map_of_fields(const Fields& fields, MakeSchema make) {
    SchemaJson map = closed_map(SchemaJson::object());
    SchemaJson required = SchemaJson::array();
    SchemaJson one_of_these = SchemaJson::array();
    for (const auto& field : fields) {
        SchemaJson schema = make(field);
        schema["description"] = plain_text(field.meaning);
        put(map, field.key, std::move(schema));
        if (field.required()) {
            required.push_back(field.key);
        }
        if (field.one_of_these()) {
            one_of_these.push_back({{"required", {field.key}}});
        }
    }
    if (!required.empty()) {
        map["required"] = required;
    }
    if (!one_of_these.empty()) {
        map["oneOf"] = one_of_these;
    }
    return map;
}

SchemaJson quota_field(const definitions::QuotaField& field) {
    using limiter::QuotaDefinition;
    return std::visit(
        definitions::Overloaded{
            [](const definitions::TextValue<QuotaDefinition>& value) {
                return SchemaJson{{"type", "string"}, {"maxLength", value.most}};
            },
            [](const definitions::WordValue<QuotaDefinition>& value) {
                return one_of(words_of(value.words));
            },
            [](const definitions::CountValue<QuotaDefinition>& value) {
                return whole_number(value.least, value.most);
            },
            [](const definitions::DurationValue&) { return duration(); },
            [](const definitions::ShareValue&) {
                return pattern(std::string(kNumberPattern) + "%");
            },
            [](const definitions::KeyValue&) { return pattern("(quota|header:.+)"); },
            [](const definitions::FlagValue&) {
                return SchemaJson{{"type", "boolean"}};
            },
            [](const definitions::NumberValue& value) {
                return SchemaJson{
                    {"type", "number"}, {"minimum", value.least}, {"maximum", value.most}};
            },
            [](const definitions::HeadersValue&) {
                return one_or_list_of(one_of({"shown", "hidden", "ietf", "x-ratelimit", "none"}));
            },
            [](const definitions::LimitsValue&) {
                return list_of(map_of_fields(definitions::limit_fields(), &limit_field));
            },
        },
        field.value);
}

}  // namespace

std::string settings_schema() {
    SchemaJson root = closed_map(SchemaJson::object());
    for (const SettingField& field : setting_fields()) {
        put(root, field.key, setting(field));
    }
    SchemaJson routes = list_of(route());
    routes["description"] = "The first route that matches a request decides.";
    put(root, "routes", std::move(routes));
    return titled("Settings of a weir sidecar", root).dump(2);
}

std::string quotas_schema() {
    SchemaJson root = closed_map(
        {{"apiVersion", {{"const", "weir/v1"}}},
         {"kind", {{"const", "QuotaSet"}}},
         {"name",
          {{"type", "string"}, {"minLength", 1}, {"maxLength", definitions::kMaximumSetName}}},
         {"generation",
          {{"anyOf",
            SchemaJson::array({{{"type", "integer"}, {"minimum", 1}}, {{"const", "auto"}}})}}},
         {"quotas", list_of(map_of_fields(definitions::quota_fields(), &quota_field))}});
    root["required"] = {"apiVersion", "kind", "name", "quotas"};
    return titled("A quota document of weir", root).dump(2);
}

}  // namespace weir::config

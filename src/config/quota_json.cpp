// Turns one definition back into JSON and text, field by field by the table of fields.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>

#include "config/quota_document.h"
#include "config/quota_reader.h"
#include "config/values.h"
#include "definitions/fields.h"

namespace weir::config {
namespace {

using definitions::LimitField;
using definitions::Overloaded;
using definitions::QuotaField;
using limiter::QuotaDefinition;
using limiter::RateLimit;
using Json = nlohmann::ordered_json;

/// Writes one word as a text, several words as a list.
Json headers_json(const QuotaDefinition& definition) {
    Json words = Json::array();
    for (const std::string_view word : definitions::header_words(definition)) {
        words.push_back(word);
    }
    return words.size() == 1 ? words.front() : words;
}

/// Writes a number as a number, everything else as a text.
Json limit_value_json(const LimitField& field, const RateLimit& limit) {
    const std::string text = limit_value_text(field, limit);
    return std::holds_alternative<definitions::ConcurrencyValue>(field.value) ? Json::parse(text)
                                                                              : Json(text);
}

Json limits_json(const QuotaDefinition& definition) {
    Json limits = Json::array();
    for (const RateLimit& limit : definition.limits) {
        Json json = Json::object();
        for (const LimitField& field : definitions::limit_fields()) {
            if (definitions::is_set(field, limit)) {
                json[std::string(field.key)] = limit_value_json(field, limit);
            }
        }
        limits.push_back(std::move(json));
    }
    return limits;
}

Json json_of(const QuotaField& field, const QuotaDefinition& definition) {
    return std::visit(
        Overloaded{
            [&](const definitions::TextValue<QuotaDefinition>& value) {
                return Json(value.get(definition).value_or(std::string_view()));
            },
            [&](const definitions::WordValue<QuotaDefinition>& value) {
                return Json(value.words[value.get(definition)]);
            },
            [&](const definitions::CountValue<QuotaDefinition>& value) {
                return Json(value.get(definition));
            },
            [&](const definitions::DurationValue& value) {
                return Json(format_duration(*value.get(definition)));
            },
            [&](const definitions::ShareValue& value) {
                return Json(format_percentage(value.get(definition)));
            },
            [&](const definitions::KeyValue& value) {
                return Json(std::string(definitions::kHeaderKey) + value.get(definition));
            },
            [&](const definitions::FlagValue& value) { return Json(*value.get(definition)); },
            [&](const definitions::NumberValue& value) { return Json(value.get(definition)); },
            [&](const definitions::HeadersValue&) { return headers_json(definition); },
            [&](const definitions::LimitsValue&) { return limits_json(definition); },
        },
        field.value);
}

}  // namespace

std::string limit_value_text(const LimitField& field, const RateLimit& limit) {
    return std::visit(
        Overloaded{
            [&](const definitions::RateValue&) { return format_rate(limit); },
            [&](const definitions::WindowValue&) { return format_window(limit); },
            [&](const definitions::ConcurrencyValue&) { return format_in_flight(limit); },
            [&](const definitions::UnitValue& value) {
                return std::string(value.words[static_cast<std::size_t>(limit.unit)]);
            },
            [&](const definitions::BurstValue& value) {
                return format_burst(*(limit.*value.member), limit.unit);
            },
            [&](const definitions::WordValue<RateLimit>& value) {
                return std::string(value.words[value.get(limit)]);
            },
            [&](const definitions::CapacityValue& value) {
                return format_capacity(*(limit.*value.member), limit.unit);
            },
            [&](const definitions::TimeZoneValue&) { return limit.timezone; },
        },
        field.value);
}

std::string quota_json(const QuotaDefinition& definition, int indent) {
    Json json;
    for (const QuotaField& field : definitions::quota_fields()) {
        const bool always = std::holds_alternative<definitions::LimitsValue>(field.value);
        if (!always && !definitions::is_set(field, definition)) {
            continue;
        }
        const std::string_view group = definitions::group_of(field.key);
        Json& map = group.empty() ? json : json[std::string(group)];
        map[std::string(definitions::member_of(field.key))] = json_of(field, definition);
    }
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weir::config

#include "app/quota_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "app/joined.h"
#include "config/quota_document.h"
#include "config/values.h"
#include "definitions/fields.h"

namespace weir::app {
namespace {

using definitions::LimitField;
using definitions::Overloaded;
using definitions::QuotaField;
using limiter::QuotaDefinition;
using limiter::RateLimit;

/// A limit as text, such as "100r/s low=50r": the rate, then the fields that differ from their
/// defaults. The unit is named only if the letters of the rate do not tell it. A window begins as
/// "window 1000r/h", a limit of requests in flight as "concurrency 64".
std::string limit_text(const RateLimit& limit) {
    std::string text;
    for (const LimitField& field : definitions::limit_fields()) {
        if (!definitions::is_set(field, limit)) {
            continue;
        }
        if (field.one_of_these() && !limit.is_rate()) {
            text += std::string(field.key) + " " + config::limit_value_text(field, limit);
        } else if (std::holds_alternative<definitions::RateValue>(field.value)) {
            text += config::limit_value_text(field, limit);
        } else if (!std::holds_alternative<definitions::UnitValue>(field.value)) {
            text += " " + std::string(field.key) + "=" + config::limit_value_text(field, limit);
        } else if (config::measure_of(limit.unit) == config::Measure::bytes) {
            text += " " + std::string(field.key) + " " + config::limit_value_text(field, limit);
        }
    }
    return text;
}

/// The beginning of a body, on one line.
std::string body_text(const std::string& body) {
    constexpr std::size_t kShown = 40;
    auto end = std::min(body.size(), kShown);
    // The text must not be cut within a character of UTF-8.
    while (end > 0 && end < body.size() &&
           (static_cast<unsigned char>(body[end]) & 0xC0U) == 0x80) {
        --end;
    }
    std::string text = body.substr(0, end);
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < 0x20) {
            c = ' ';
        }
    }
    const bool cut = body.size() > kShown;
    return "'" + text + (cut ? "…' (" + std::to_string(body.size()) + " bytes)" : "'");
}

std::string field_text(const QuotaField& field, const QuotaDefinition& definition) {
    return std::visit(
        Overloaded{
            [&](const definitions::TextValue<QuotaDefinition>& value) {
                const std::string text(value.get(definition).value_or(std::string_view()));
                return value.is_long ? body_text(text) : text;
            },
            [&](const definitions::WordValue<QuotaDefinition>& value) {
                return std::string(value.words[value.get(definition)]);
            },
            [&](const definitions::CountValue<QuotaDefinition>& value) {
                return std::to_string(value.get(definition));
            },
            [&](const definitions::DurationValue& value) {
                return config::format_duration(*value.get(definition));
            },
            [&](const definitions::ShareValue& value) {
                return config::format_percentage(value.get(definition));
            },
            [&](const definitions::KeyValue& value) {
                return std::string(definitions::kHeaderKey) + value.get(definition);
            },
            [&](const definitions::FlagValue& value) {
                return std::string(*value.get(definition) ? "true" : "false");
            },
            [&](const definitions::NumberValue& value) {
                return Json(value.get(definition)).dump();
            },
            [&](const definitions::HeadersValue&) {
                return joined(definitions::header_words(definition), " ");
            },
            [&](const definitions::LimitsValue&) { return limits_text(definition); },
        },
        field.value);
}

}  // namespace

std::string limits_text(const QuotaDefinition& definition) {
    std::string text;
    for (const RateLimit& limit : definition.limits) {
        text += (text.empty() ? "" : "; ") + limit_text(limit);
    }
    return text.empty() ? "none" : text;
}

std::string mode_text(const QuotaDefinition& definition) {
    std::string text(to_string(definition.mode));
    if (definition.enforced_share < 1) {
        text += " " + config::format_percentage(definition.enforced_share);
    }
    const std::string& field = definition.options->enforced_by;
    return field.empty() ? text : text + " by header:" + field;
}

std::string options_text(const QuotaDefinition& definition) {
    std::string text;
    std::string_view last_group;
    for (const QuotaField& field : definitions::quota_fields()) {
        if (field.shown != definitions::Shown::options || !definitions::is_set(field, definition)) {
            continue;
        }
        // The group's name is written once: "refusal status 503 content_type text/plain".
        const std::string_view group = definitions::group_of(field.key);
        if (group.empty() || group != last_group) {
            text += text.empty() ? "" : ",";
            text += group.empty() ? "" : (text.empty() ? "" : " ") + std::string(group);
        }
        last_group = group;
        text += text.empty() ? "" : " ";
        text +=
            std::string(definitions::member_of(field.key)) + " " + field_text(field, definition);
    }
    return text;
}

std::string definition_text(const QuotaDefinition& definition) {
    std::string text = limits_text(definition);
    if (definition.parent) {
        text += ", parent " + *definition.parent;
    }
    if (const std::string mode = mode_text(definition); mode != "enforce") {
        text += ", mode " + mode;
    }
    const std::string more = options_text(definition);
    return more.empty() ? text : text + ", " + more;
}

std::string time_left(double seconds) {
    constexpr std::array<std::pair<std::int64_t, char>, 4> kUnits = {
        {{86'400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}}};
    auto left = static_cast<std::int64_t>(std::ceil(seconds));
    std::string text;
    for (std::size_t i = 0, shown = 0; i < kUnits.size() && shown < 2; ++i) {
        const std::int64_t count = left / kUnits[i].first;
        left -= count * kUnits[i].first;
        if (count > 0) {
            text += (text.empty() ? "" : " ") + std::to_string(count) + kUnits[i].second;
        }
        shown += count > 0 || !text.empty() ? 1U : 0U;
    }
    return text.empty() ? "0s" : text;
}

std::string expires_text(const Json& row) {
    if (!row.is_object() || !row.contains("expires_in_seconds")) {
        return {};
    }
    return time_left(number_of(row, "expires_in_seconds"));
}

}  // namespace weir::app

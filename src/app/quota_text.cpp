#include "app/quota_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "config/values.h"

namespace weir::app {
namespace {

using limiter::QuotaDefinition;

std::string limit_text(const limiter::RateLimit& limit) {
    std::string text = config::format_rate(limit);
    if (config::measure_of(limit.unit) == config::Measure::bytes) {
        text +=
            limit.unit == limiter::Unit::request_bytes ? " of request-bytes" : " of response-bytes";
    }
    const auto add = [&](const char* key, const std::optional<limiter::BurstSpec>& burst) {
        if (burst) {
            text += std::string(" ") + key + "=" + config::format_burst(*burst, limit.unit);
        }
    };
    add("low", limit.low);
    add("high", limit.high);
    add("debt", limit.debt);
    if (limit.law != limiter::Law::adaptive) {
        text += " law=linear";
    }
    if (limit.scope != limiter::Scope::fleet) {
        text += " scope=sidecar";
    }
    if (limit.safe) {
        limiter::RateLimit safe;
        safe.unit = limit.unit;
        safe.amount = *limit.safe;
        text += " safe=" + config::format_rate(safe);
    }
    return text;
}

std::string headers_text(const QuotaDefinition& definition) {
    std::string text = definition.hide_headers ? " hidden" : "";
    if (const auto& forms = definition.options->headers) {
        text += forms->ietf ? " ietf" : "";
        text += forms->x_ratelimit ? " x-ratelimit" : "";
        text += !forms->ietf && !forms->x_ratelimit ? " none" : "";
    }
    return text;
}

/// The beginning of a body, on one line.
std::string body_text(const std::string& body) {
    constexpr std::size_t kShown = 40;
    auto end = std::min(body.size(), kShown);
    // Not within a character of UTF-8.
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

std::string refusal_text(const limiter::RefusalForm& form) {
    std::string text;
    if (form.status != 0) {
        text += " status " + std::to_string(form.status);
    }
    if (!form.content_type.empty()) {
        text += " content_type " + form.content_type;
    }
    if (form.body) {
        text += " body " + body_text(*form.body);
    }
    return text;
}

}  // namespace

std::string limits_text(const QuotaDefinition& definition) {
    std::string text;
    for (const limiter::RateLimit& limit : definition.limits) {
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
    const auto add = [&](const std::string& one) { text += (text.empty() ? "" : ", ") + one; };
    if (definition.when_isolated != limiter::IsolationMode::safe) {
        add("when_isolated " + std::string(to_string(definition.when_isolated)));
    }
    if (definition.max_instances != 0) {
        add("max_instances " + std::to_string(definition.max_instances));
    }
    if (definition.max_children != 0) {
        add("max_children " + std::to_string(definition.max_children));
    }
    if (const std::string headers = headers_text(definition); !headers.empty()) {
        add("headers" + headers);
    }
    if (const std::string refusal = refusal_text(definition.options->refusal); !refusal.empty()) {
        add("refusal" + refusal);
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

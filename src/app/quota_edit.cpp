#include "app/quota_edit.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "config/values.h"

namespace weir::app {
namespace {

using limiter::QuotaDefinition;
using limiter::RateLimit;
using limiter::Unit;

Error bad(std::string_view flag, const std::string& what) {
    return error(ErrorCode::invalid_argument, "--" + std::string(flag) + ": " + what);
}

struct UnitWord {
    std::string_view word;
    Unit unit;
};
constexpr std::array<UnitWord, 4> kUnits = {{{"requests", Unit::requests},
                                             {"request-bytes", Unit::request_bytes},
                                             {"response-bytes", Unit::response_bytes},
                                             {"cost", Unit::cost}}};

Result<Unit> parse_unit(const std::string& text) {
    for (const UnitWord& candidate : kUnits) {
        if (candidate.word == text) {
            return candidate.unit;
        }
    }
    return bad("of", "'" + text + "' must be requests, request-bytes, response-bytes or cost");
}

/// A word of a list as its position.
Result<std::size_t> parse_word(std::string_view flag, const std::string& text,
                               const std::vector<std::string_view>& words) {
    const auto found = std::find(words.begin(), words.end(), text);
    if (found != words.end()) {
        return static_cast<std::size_t>(found - words.begin());
    }
    std::string list;
    for (const std::string_view word : words) {
        list += (list.empty() ? "" : " or ") + std::string(word);
    }
    return bad(flag, "'" + text + "' must be " + list);
}

/// Bytes may be of requests or responses: the existing limits say which, or --of does.
Result<Unit> unit_of(const QuotaDefinition& definition, const QuotaEdit& edit,
                     config::Measure measure) {
    if (edit.of) {
        return parse_unit(*edit.of);
    }
    std::vector<Unit> fitting;
    for (const RateLimit& limit : definition.limits) {
        const bool fits =
            measure == config::Measure::none || config::measure_of(limit.unit) == measure;
        if (fits && std::find(fitting.begin(), fitting.end(), limit.unit) == fitting.end()) {
            fitting.push_back(limit.unit);
        }
    }
    if (fitting.size() == 1) {
        return fitting.front();
    }
    if (measure == config::Measure::requests) {
        return Unit::requests;
    }
    if (measure == config::Measure::cost) {
        return Unit::cost;
    }
    if (measure == config::Measure::none && fitting.empty()) {
        return Unit::requests;
    }
    return bad("of", "is needed: say what the limit counts (" +
                         std::string(fitting.empty() ? "request-bytes or response-bytes"
                                                     : "the quota has limits of several units") +
                         ")");
}

std::string list_limits(const QuotaDefinition& definition, Unit unit) {
    std::string list;
    for (const RateLimit& limit : definition.limits) {
        if (limit.unit == unit) {
            list += (list.empty() ? "" : ", ") + config::format_rate(limit);
        }
    }
    return list;
}

/// The limit that is meant; added when there is none and there is a rate to give it.
Result<RateLimit*> find_limit(QuotaDefinition& definition, Unit unit,
                              const std::optional<config::Rate>& rate) {
    std::vector<RateLimit*> fitting;
    for (RateLimit& limit : definition.limits) {
        if (limit.unit == unit) {
            fitting.push_back(&limit);
        }
    }
    if (fitting.size() > 1 && rate) {
        const auto same = std::find_if(fitting.begin(), fitting.end(), [&](RateLimit* limit) {
            return limit->period == rate->period;
        });
        if (same != fitting.end()) {
            return *same;
        }
    }
    if (fitting.size() > 1) {
        return bad("rate", "there are several such limits (" + list_limits(definition, unit) +
                               "): give the rate with the period of one of them");
    }
    if (fitting.size() == 1) {
        return fitting.front();
    }
    if (!rate) {
        return bad("rate", "is needed: the quota has no such limit yet");
    }
    RateLimit added;
    added.unit = unit;
    definition.limits.push_back(added);
    return &definition.limits.back();
}

Result<void> edit_burst(std::string_view flag, const std::optional<std::string>& text, Unit unit,
                        std::optional<limiter::BurstSpec>& burst) {
    if (!text) {
        return {};
    }
    if (*text == "default") {
        burst.reset();
        return {};
    }
    const auto parsed = config::parse_burst(*text);
    if (!parsed) {
        return bad(flag, parsed.error().message);
    }
    if (parsed->measure != config::Measure::none && parsed->measure != config::measure_of(unit)) {
        return bad(flag, "'" + *text + "' is in another unit than the limit");
    }
    burst = parsed->spec;
    return {};
}

Result<void> edit_rate(RateLimit& limit, const config::Rate& rate) {
    if (rate.measure != config::Measure::none && rate.measure != config::measure_of(limit.unit)) {
        return bad("rate", "is in another unit than --of says");
    }
    limit.amount = rate.amount;
    if (rate.measure != config::Measure::none) {
        limit.period = rate.period;
    }
    return {};
}

Result<void> edit_safe(RateLimit& limit, const std::optional<std::string>& text) {
    if (!text) {
        return {};
    }
    if (*text == "default") {
        limit.safe.reset();
        return {};
    }
    const auto rate = config::parse_rate(*text);
    if (!rate) {
        return bad("safe", rate.error().message);
    }
    if (rate->measure != config::Measure::none && rate->measure != config::measure_of(limit.unit)) {
        return bad("safe", "'" + *text + "' is in another unit than the limit");
    }
    limit.safe = rate->amount * 1e9 / static_cast<double>(rate->period.count());
    return {};
}

Result<void> edit_words(RateLimit& limit, const QuotaEdit& edit) {
    if (edit.law) {
        const auto word = parse_word("law", *edit.law, {"linear", "adaptive"});
        if (!word) {
            return word.error();
        }
        limit.law = static_cast<limiter::Law>(*word);
    }
    if (edit.scope) {
        const auto word = parse_word("scope", *edit.scope, {"fleet", "sidecar"});
        if (!word) {
            return word.error();
        }
        limit.scope = static_cast<limiter::Scope>(*word);
    }
    return {};
}

bool touches_limit(const QuotaEdit& edit) {
    return edit.rate || edit.of || edit.low || edit.high || edit.debt || edit.law || edit.scope ||
           edit.safe;
}

Result<void> edit_limit(QuotaDefinition& definition, const QuotaEdit& edit) {
    std::optional<config::Rate> rate;
    if (edit.rate) {
        const auto parsed = config::parse_rate(*edit.rate);
        if (!parsed) {
            return bad("rate", parsed.error().message);
        }
        rate = *parsed;
    }
    const auto unit = unit_of(definition, edit, rate ? rate->measure : config::Measure::none);
    if (!unit) {
        return unit.error();
    }
    const auto found = find_limit(definition, *unit, rate);
    if (!found) {
        return found.error();
    }
    RateLimit& limit = **found;
    if (rate) {
        if (auto done = edit_rate(limit, *rate); !done) {
            return done;
        }
    }
    if (auto done = edit_burst("low", edit.low, *unit, limit.low); !done) {
        return done;
    }
    if (auto done = edit_burst("high", edit.high, *unit, limit.high); !done) {
        return done;
    }
    if (auto done = edit_burst("debt", edit.debt, *unit, limit.debt); !done) {
        return done;
    }
    if (auto done = edit_safe(limit, edit.safe); !done) {
        return done;
    }
    return edit_words(limit, edit);
}

Result<void> edit_share(QuotaDefinition& definition, const QuotaEdit& edit) {
    if (edit.enforce) {
        const auto share = config::parse_percentage(*edit.enforce);
        if (!share) {
            return bad("enforce", share.error().message);
        }
        definition.enforced_share = *share;
    }
    if (!edit.enforce_by) {
        return {};
    }
    constexpr std::string_view kHeader = "header:";
    limiter::QuotaOptions options = *definition.options;
    if (edit.enforce_by->starts_with(kHeader)) {
        options.enforced_by = edit.enforce_by->substr(kHeader.size());
    } else if (*edit.enforce_by == "quota") {
        options.enforced_by.clear();
    } else {
        return bad("enforce-by", "'" + *edit.enforce_by + "' must be quota or header:<name>");
    }
    definition.options = std::move(options);
    return {};
}

Result<void> edit_quota(QuotaDefinition& definition, const QuotaEdit& edit) {
    if (edit.parent) {
        definition.parent = *edit.parent == "none" ? std::nullopt : std::optional(*edit.parent);
    }
    if (edit.mode) {
        const auto word = parse_word("mode", *edit.mode, {"enforce", "shadow", "off"});
        if (!word) {
            return word.error();
        }
        definition.mode = static_cast<limiter::Mode>(*word);
        definition.enforced_share = 1;
    }
    if (auto done = edit_share(definition, edit); !done) {
        return done;
    }
    if (edit.when_isolated) {
        const auto word =
            parse_word("when-isolated", *edit.when_isolated, {"safe", "optimistic", "pessimistic"});
        if (!word) {
            return word.error();
        }
        definition.when_isolated = static_cast<limiter::IsolationMode>(*word);
    }
    if (edit.headers) {
        const auto word = parse_word("headers", *edit.headers, {"shown", "hidden"});
        if (!word) {
            return word.error();
        }
        definition.hide_headers = *word == 1;
    }
    if (edit.max_instances) {
        const auto count = config::parse_unsigned(*edit.max_instances);
        if (!count) {
            return bad("max-instances", count.error().message);
        }
        definition.max_instances = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(*count, std::numeric_limits<std::uint32_t>::max()));
    }
    return {};
}

}  // namespace

bool QuotaEdit::empty() const {
    return !touches_limit(*this) && !parent && !mode && !enforce && !enforce_by && !when_isolated &&
           !headers && !max_instances;
}

Result<QuotaDefinition> apply_edit(QuotaDefinition definition, const QuotaEdit& edit) {
    if (auto done = edit_quota(definition, edit); !done) {
        return done.error();
    }
    if (touches_limit(edit)) {
        if (auto done = edit_limit(definition, edit); !done) {
            return done.error();
        }
    }
    return definition;
}

}  // namespace weir::app

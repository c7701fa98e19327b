#include "app/limit_edit.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/edit_words.h"
#include "config/values.h"
#include "definitions/fields.h"

namespace weir::app {
namespace {

using definitions::LimitField;
using definitions::LimitKinds;
using definitions::Overloaded;
using limiter::LimitKind;
using limiter::QuotaDefinition;
using limiter::RateLimit;
using limiter::Unit;

Result<Unit> parse_unit(const definitions::UnitValue& value, const std::string& text) {
    const auto found = std::find(value.words.begin(), value.words.end(), text);
    if (found == value.words.end()) {
        return bad_flag("of",
                        "'" + text + "' must be requests, request-bytes, response-bytes or cost");
    }
    return static_cast<Unit>(found - value.words.begin());
}

/// The unit that is meant. Bytes may be those of requests or of responses: the existing limits
/// decide, or the flag --of.
Result<Unit> unit_of(const QuotaDefinition& definition, const QuotaEdit& edit,
                     config::Measure measure) {
    for (const LimitField& field : definitions::limit_fields()) {
        const auto* const units = std::get_if<definitions::UnitValue>(&field.value);
        const std::string* const text = units != nullptr ? edit.find(field.key) : nullptr;
        if (text != nullptr) {
            return parse_unit(*units, *text);
        }
    }
    std::vector<Unit> fitting;
    for (const RateLimit& limit : definition.limits) {
        if (limit.is_concurrency()) {
            continue;
        }
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
    return bad_flag("of",
                    "is needed: say what the limit counts (" +
                        std::string(fitting.empty() ? "request-bytes or response-bytes"
                                                    : "the quota has limits of several units") +
                        ")");
}

bool is_rate_of(const RateLimit& limit, Unit unit) {
    return !limit.is_concurrency() && limit.unit == unit;
}

std::string list_limits(const QuotaDefinition& definition, Unit unit) {
    std::string list;
    for (const RateLimit& limit : definition.limits) {
        if (is_rate_of(limit, unit)) {
            list += (list.empty() ? "" : ", ") + config::format_rate(limit);
        }
    }
    return list;
}

/// The rate that is meant. It is added when it does not exist and a rate is given.
Result<RateLimit*> find_limit(QuotaDefinition& definition, Unit unit,
                              const std::optional<config::Rate>& rate) {
    std::vector<RateLimit*> fitting;
    for (RateLimit& limit : definition.limits) {
        if (is_rate_of(limit, unit)) {
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
        return bad_flag("rate", "there are several such limits (" + list_limits(definition, unit) +
                                    "): give the rate with the period of one of them");
    }
    if (fitting.size() == 1) {
        return fitting.front();
    }
    if (!rate) {
        return bad_flag("rate", "is needed: the quota has no such limit yet");
    }
    RateLimit added;
    added.unit = unit;
    definition.limits.push_back(added);
    return &definition.limits.back();
}

/// Fails when the letters of the amount stand for another unit than the limit's.
Result<void> check_unit(std::string_view flag, const std::string& text, config::Measure measure,
                        Unit unit) {
    if (measure != config::Measure::none && measure != config::measure_of(unit)) {
        return bad_flag(flag, "'" + text + "' is in another unit than the limit");
    }
    return {};
}

Result<void> edit_burst(std::string_view flag, const std::string& text, Unit unit,
                        std::optional<limiter::BurstSpec>& burst) {
    if (text == kDefault) {
        burst.reset();
        return {};
    }
    const auto parsed = config::parse_burst(text);
    if (!parsed) {
        return bad_flag(flag, parsed.error().message);
    }
    if (auto fits = check_unit(flag, text, parsed->measure, unit); !fits) {
        return fits;
    }
    burst = parsed->spec;
    return {};
}

Result<void> edit_capacity(std::string_view flag, const std::string& text, Unit unit,
                           std::optional<double>& capacity) {
    if (text == kDefault) {
        capacity.reset();
        return {};
    }
    const auto rate = config::parse_rate(text);
    if (!rate) {
        return bad_flag(flag, rate.error().message);
    }
    if (auto fits = check_unit(flag, text, rate->measure, unit); !fits) {
        return fits;
    }
    capacity = rate->per_second();
    return {};
}

Result<void> edit_rate(RateLimit& limit, const config::Rate& rate) {
    if (rate.measure != config::Measure::none && rate.measure != config::measure_of(limit.unit)) {
        return bad_flag("rate", "is in another unit than --of says");
    }
    limit.amount = rate.amount;
    if (rate.measure != config::Measure::none) {
        limit.period = rate.period;
    }
    return {};
}

/// Changes one field of a limit. The fields that say which limit is meant are handled before.
Result<void> edit_limit_field(const LimitField& field, const std::string& text, RateLimit& limit) {
    const std::string flag = flag_of(field.key);
    return std::visit(Overloaded{
                          [](const definitions::RateValue&) { return Result<void>(); },
                          [](const definitions::ConcurrencyValue&) { return Result<void>(); },
                          [](const definitions::UnitValue&) { return Result<void>(); },
                          [&](const definitions::BurstValue& value) {
                              return edit_burst(flag, text, limit.unit, limit.*value.member);
                          },
                          [&](const definitions::WordValue<RateLimit>& value) {
                              return edit_word(flag, text, value, limit);
                          },
                          [&](const definitions::CapacityValue& value) {
                              return edit_capacity(flag, text, limit.unit, limit.*value.member);
                          },
                      },
                      field.value);
}

/// Changes the limit's own fields and, if `shared` is true, those that limits of all kinds have.
Result<void> edit_fields(RateLimit& limit, const QuotaEdit& edit, bool shared) {
    for (const LimitField& field : definitions::limit_fields()) {
        const std::string* const text = edit.find(field.key);
        const bool meant =
            definitions::fits(field, limit.kind) && (shared || field.kinds != LimitKinds::all);
        if (text == nullptr || !meant) {
            continue;
        }
        if (auto done = edit_limit_field(field, *text, limit); !done) {
            return done;
        }
    }
    return {};
}

Result<void> edit_rate_limit(QuotaDefinition& definition, const QuotaEdit& edit, bool shared) {
    std::optional<config::Rate> rate;
    if (const std::string* const text = edit.find("rate")) {
        const auto parsed = config::parse_rate(*text);
        if (!parsed) {
            return bad_flag("rate", parsed.error().message);
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
    if (rate) {
        if (auto done = edit_rate(**found, *rate); !done) {
            return done;
        }
    }
    return edit_fields(**found, edit, shared);
}

/// Changes the limit of requests in flight, which is added when it does not exist and a number is
/// given. The bounds are those of the rules, which name the field.
Result<void> edit_concurrency(QuotaDefinition& definition, const QuotaEdit& edit, bool shared) {
    auto& limits = definition.limits;
    auto limit = std::find_if(limits.begin(), limits.end(),
                              [](const RateLimit& one) { return one.is_concurrency(); });
    if (const std::string* const text = edit.find("concurrency")) {
        const auto most = config::parse_unsigned(*text);
        if (!most) {
            return bad_flag("concurrency", most.error().message);
        }
        if (limit == limits.end()) {
            limit = limits.insert(limits.end(), RateLimit::in_flight(0));
        }
        limit->amount = static_cast<double>(*most);
    }
    return edit_fields(*limit, edit, shared);
}

/// Whether a flag is given whose field belongs to these kinds of limits only.
bool touches(const QuotaEdit& edit, LimitKinds kinds) {
    const auto fields = definitions::limit_fields();
    return std::any_of(fields.begin(), fields.end(), [&](const LimitField& field) {
        return field.kinds == kinds && edit.find(field.key) != nullptr;
    });
}

/// The kind of the limit for which the flags that all kinds have are meant, such as --scope: that
/// of the other flags or, without any, that of the quota's limits.
Result<LimitKind> kind_meant(const QuotaDefinition& definition, const QuotaEdit& edit, bool rate,
                             bool concurrency) {
    const auto& limits = definition.limits;
    if (!rate && !concurrency) {
        concurrency = std::any_of(limits.begin(), limits.end(),
                                  [](const RateLimit& limit) { return limit.is_concurrency(); });
        rate = std::any_of(limits.begin(), limits.end(),
                           [](const RateLimit& limit) { return !limit.is_concurrency(); });
    }
    if (!rate || !concurrency) {
        return concurrency ? LimitKind::concurrency : LimitKind::rate;
    }
    for (const LimitField& field : definitions::limit_fields()) {
        if (field.kinds == LimitKinds::all && edit.find(field.key) != nullptr) {
            return bad_flag(flag_of(field.key),
                            "is it meant for the rate or for the requests in flight? Give either "
                            "--rate or --concurrency with it");
        }
    }
    return LimitKind::rate;
}

}  // namespace

Result<void> edit_limits(QuotaDefinition& definition, const QuotaEdit& edit) {
    const std::string* const most = edit.find("concurrency");
    const bool removed = most != nullptr && *most == kNone;
    if (removed) {
        std::erase_if(definition.limits,
                      [](const RateLimit& limit) { return limit.is_concurrency(); });
    }
    const bool rate = touches(edit, LimitKinds::rate);
    const bool concurrency = most != nullptr && !removed;
    const bool shared = touches(edit, LimitKinds::all);
    const auto kind = kind_meant(definition, edit, rate, concurrency);
    if (!kind) {
        return kind.error();
    }
    const bool of_rate = shared && *kind == LimitKind::rate;
    const bool of_concurrency = shared && *kind == LimitKind::concurrency;
    if (rate || of_rate) {
        if (auto done = edit_rate_limit(definition, edit, of_rate); !done) {
            return done;
        }
    }
    if (concurrency || of_concurrency) {
        return edit_concurrency(definition, edit, of_concurrency);
    }
    return {};
}

}  // namespace weir::app

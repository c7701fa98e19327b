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

/// The unit that is meant. Bytes may be those of requests or of responses: the existing limits of
/// this kind decide, or the flag --of.
Result<Unit> unit_of(const QuotaDefinition& definition, const QuotaEdit& edit, LimitKind kind,
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
        const bool fits = limit.kind == kind && (measure == config::Measure::none ||
                                                 config::measure_of(limit.unit) == measure);
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

/// The flag that tells that a limit of this kind is meant: "rate".
std::string_view flag_of_kind(LimitKind kind) { return definitions::field_of(kind).key; }

/// The text of that flag; null if it is not given, or if it removes the limits of this kind.
const std::string* amount_text(const QuotaEdit& edit, LimitKind kind) {
    const std::string* const text = edit.find(flag_of_kind(kind));
    const bool removes = kind != LimitKind::rate && text != nullptr && *text == kNone;
    return removes ? nullptr : text;
}

std::string list_limits(const std::vector<RateLimit*>& limits) {
    std::string list;
    for (const RateLimit* limit : limits) {
        list += list.empty() ? "" : ", ";
        list += limit->is_window() ? config::format_window(*limit) : config::format_rate(*limit);
    }
    return list;
}

/// The rate or the window that is meant. It is added when it does not exist and an amount is given.
Result<RateLimit*> find_limit(QuotaDefinition& definition, LimitKind kind, Unit unit,
                              const std::optional<config::Rate>& amount) {
    const std::string flag(flag_of_kind(kind));
    std::vector<RateLimit*> fitting;
    for (RateLimit& limit : definition.limits) {
        if (limit.kind == kind && limit.unit == unit) {
            fitting.push_back(&limit);
        }
    }
    if (fitting.size() > 1 && amount) {
        const auto same = std::find_if(fitting.begin(), fitting.end(), [&](RateLimit* limit) {
            return limit->period == amount->period;
        });
        if (same != fitting.end()) {
            return *same;
        }
    }
    if (fitting.size() > 1) {
        return bad_flag(flag, "there are several such limits (" + list_limits(fitting) +
                                  "): give the " + flag + " with the period of one of them");
    }
    if (fitting.size() == 1) {
        return fitting.front();
    }
    if (!amount) {
        return bad_flag(flag, "is needed: the quota has no such limit yet");
    }
    RateLimit added =
        kind == LimitKind::window ? RateLimit::in_window(0, amount->period) : RateLimit();
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

/// Whether the limit is a window that begins where windows of its length do unless they say more.
bool begins_as_usual(const RateLimit& limit) {
    return limit.is_window() && limit.timezone.empty() &&
           limit.from == RateLimit::in_window(limit.amount, limit.period).from;
}

Result<void> edit_amount(RateLimit& limit, const config::Rate& amount) {
    if (amount.measure != config::Measure::none &&
        amount.measure != config::measure_of(limit.unit)) {
        return bad_flag(flag_of_kind(limit.kind), "is in another unit than --of says");
    }
    const bool as_usual = begins_as_usual(limit);
    limit.amount = amount.amount;
    if (amount.measure != config::Measure::none) {
        limit.period = amount.period;
    }
    if (as_usual) {
        limit.from = RateLimit::in_window(limit.amount, limit.period).from;
    }
    return {};
}

/// Changes one field of a limit. The fields that say which limit is meant are handled before.
Result<void> edit_limit_field(const LimitField& field, const std::string& text, RateLimit& limit) {
    const std::string flag = flag_of(field.key);
    return std::visit(Overloaded{
                          [](const definitions::RateValue&) { return Result<void>(); },
                          [](const definitions::WindowValue&) { return Result<void>(); },
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
                          [&](const definitions::TimeZoneValue&) {
                              limit.timezone = text == kDefault ? std::string() : text;
                              return Result<void>();
                          },
                      },
                      field.value);
}

/// Changes the limit's own fields and, if `shared` is true, those that limits of other kinds have,
/// too.
Result<void> edit_fields(RateLimit& limit, const QuotaEdit& edit, bool shared) {
    for (const LimitField& field : definitions::limit_fields()) {
        const std::string* const text = edit.find(field.key);
        const bool meant =
            definitions::fits(field, limit.kind) && (shared || field.kinds.size() == 1);
        if (text == nullptr || !meant) {
            continue;
        }
        if (auto done = edit_limit_field(field, *text, limit); !done) {
            return done;
        }
    }
    return {};
}

/// Changes a limit that is an amount per time: a rate or a window.
Result<void> edit_per_time(QuotaDefinition& definition, const QuotaEdit& edit, LimitKind kind,
                           bool shared) {
    std::optional<config::Rate> amount;
    if (const std::string* const text = amount_text(edit, kind)) {
        const auto parsed =
            kind == LimitKind::window ? config::parse_window(*text) : config::parse_rate(*text);
        if (!parsed) {
            return bad_flag(flag_of_kind(kind), parsed.error().message);
        }
        amount = *parsed;
    }
    const auto unit =
        unit_of(definition, edit, kind, amount ? amount->measure : config::Measure::none);
    if (!unit) {
        return unit.error();
    }
    const auto found = find_limit(definition, kind, *unit, amount);
    if (!found) {
        return found.error();
    }
    if (amount) {
        if (auto done = edit_amount(**found, *amount); !done) {
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
    if (const std::string* const text = amount_text(edit, LimitKind::concurrency)) {
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

Result<void> edit_limit(QuotaDefinition& definition, const QuotaEdit& edit, LimitKind kind,
                        bool shared) {
    return kind == LimitKind::concurrency ? edit_concurrency(definition, edit, shared)
                                          : edit_per_time(definition, edit, kind, shared);
}

/// The kinds of limits that the flags name which belong to one kind only.
LimitKinds kinds_named(const QuotaEdit& edit) {
    LimitKinds named;
    for (const LimitField& field : definitions::limit_fields()) {
        const std::string* const text = edit.find(field.key);
        const bool removes = field.one_of_these() && text != nullptr && *text == kNone &&
                             field.kinds != definitions::kRates;
        if (text != nullptr && !removes && field.kinds.size() == 1) {
            named = named | field.kinds;
        }
    }
    return named;
}

/// The one kind in the set, if it has exactly one.
std::optional<LimitKind> only_kind(LimitKinds kinds) {
    const auto found =
        std::find_if(definitions::kLimitKinds.begin(), definitions::kLimitKinds.end(),
                     [kinds](LimitKind kind) { return kinds.contains(kind); });
    return kinds.size() == 1 ? std::optional(*found) : std::nullopt;
}

/// "the rate, for the window or for the requests in flight", for these kinds.
std::string list_kinds(LimitKinds kinds) {
    std::string list;
    int left = kinds.size();
    for (const LimitKind kind : definitions::kLimitKinds) {
        if (kinds.contains(kind)) {
            --left;
            list += list.empty() ? "" : left == 0 ? " or for the " : ", for the ";
            list += kind == LimitKind::concurrency ? "requests in flight" : flag_of_kind(kind);
        }
    }
    return list;
}

/// The flags of these kinds: "--rate or --window".
std::string list_flags(LimitKinds kinds) {
    std::string list;
    for (const LimitKind kind : definitions::kLimitKinds) {
        if (kinds.contains(kind)) {
            list += (list.empty() ? "--" : " or --") + std::string(flag_of_kind(kind));
        }
    }
    return list;
}

/// The kind of the limit for which a flag is meant that limits of several kinds have, such as
/// --scope: that of the other flags or, without any, that of the quota's limits.
Result<LimitKind> kind_meant(const QuotaDefinition& definition, const LimitField& field,
                             LimitKinds named) {
    LimitKinds candidates = named & field.kinds;
    if (candidates.empty()) {
        for (const RateLimit& limit : definition.limits) {
            candidates = candidates | (LimitKinds{limit.kind} & field.kinds);
        }
    }
    if (candidates.empty()) {
        return LimitKind::rate;
    }
    if (const auto kind = only_kind(candidates)) {
        return *kind;
    }
    return bad_flag(flag_of(field.key), "is it meant for the " + list_kinds(candidates) +
                                            "? Give either " + list_flags(candidates) + " with it");
}

/// --of chooses among limits and changes none, so all limits that other flags name may share it.
bool chooses(const LimitField& field) {
    return std::holds_alternative<definitions::UnitValue>(field.value);
}

/// The kind for which the flags are meant that limits of several kinds have; nothing without such
/// flags. Such a flag is an error where two kinds may be meant.
Result<std::optional<LimitKind>> shared_kind(const QuotaDefinition& definition,
                                             const QuotaEdit& edit, LimitKinds named) {
    std::optional<LimitKind> shared;
    for (const LimitField& field : definitions::limit_fields()) {
        const bool served = chooses(field) && !(named & field.kinds).empty();
        if (edit.find(field.key) == nullptr || field.kinds.size() == 1 || served) {
            continue;
        }
        const auto kind = kind_meant(definition, field, named);
        if (!kind) {
            return kind.error();
        }
        shared = *kind;
        named = chooses(field) ? named | LimitKinds{*kind} : named;
    }
    return shared;
}

/// Removes the limits of this kind if the text of its flag says so.
void remove_limits(QuotaDefinition& definition, const QuotaEdit& edit, LimitKind kind) {
    const std::string* const text = edit.find(flag_of_kind(kind));
    if (kind != LimitKind::rate && text != nullptr && *text == kNone) {
        std::erase_if(definition.limits, [kind](const RateLimit& one) { return one.kind == kind; });
    }
}

}  // namespace

Result<void> edit_limits(QuotaDefinition& definition, const QuotaEdit& edit) {
    for (const LimitKind kind : definitions::kLimitKinds) {
        remove_limits(definition, edit, kind);
    }
    const LimitKinds named = kinds_named(edit);
    const auto shared = shared_kind(definition, edit, named);
    if (!shared) {
        return shared.error();
    }
    for (const LimitKind kind : definitions::kLimitKinds) {
        const bool has_shared = *shared == kind;
        if (!named.contains(kind) && !has_shared) {
            continue;
        }
        if (auto done = edit_limit(definition, edit, kind, has_shared); !done) {
            return done;
        }
    }
    return {};
}

}  // namespace weir::app

#include "app/quota_edit.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "base/closest.h"
#include "config/values.h"
#include "definitions/fields.h"

namespace weir::app {
namespace {

using definitions::LimitField;
using definitions::Overloaded;
using definitions::QuotaField;
using limiter::QuotaDefinition;
using limiter::RateLimit;
using limiter::Unit;

/// The text that removes a value.
constexpr std::string_view kDefault = "default";
constexpr std::string_view kNone = "none";

Error bad(std::string_view flag, const std::string& what) {
    return error(ErrorCode::invalid_argument, "--" + std::string(flag) + ": " + what);
}

Result<Unit> parse_unit(const definitions::UnitValue& value, const std::string& text) {
    const auto found = std::find(value.words.begin(), value.words.end(), text);
    if (found == value.words.end()) {
        return bad("of", "'" + text + "' must be requests, request-bytes, response-bytes or cost");
    }
    return static_cast<Unit>(found - value.words.begin());
}

/// The index of a word in a list.
Result<std::size_t> parse_word(std::string_view flag, const std::string& text,
                               std::span<const std::string_view> words) {
    const auto found = std::find(words.begin(), words.end(), text);
    if (found != words.end()) {
        return static_cast<std::size_t>(found - words.begin());
    }
    std::string list;
    for (const std::string_view word : words) {
        list += (list.empty() ? "" : " or ") + std::string(word);
    }
    const std::string_view guess = closest(text, words);
    const std::string meant = guess.empty() ? "" : ", did you mean '" + std::string(guess) + "'?";
    return bad(flag, "'" + text + "' must be " + list + meant);
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

/// The limit that is meant. It is added when it does not exist and a rate is given.
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

/// Fails when the letters of the amount stand for another unit than the limit's.
Result<void> check_unit(std::string_view flag, const std::string& text, config::Measure measure,
                        Unit unit) {
    if (measure != config::Measure::none && measure != config::measure_of(unit)) {
        return bad(flag, "'" + text + "' is in another unit than the limit");
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
        return bad(flag, parsed.error().message);
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
        return bad(flag, rate.error().message);
    }
    if (auto fits = check_unit(flag, text, rate->measure, unit); !fits) {
        return fits;
    }
    capacity = rate->per_second();
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

/// A field of T that takes one word of a list.
template <class T>
Result<void> edit_word(std::string_view flag, const std::string& text,
                       const definitions::WordValue<T>& value, T& target) {
    const auto word = parse_word(flag, text, value.words);
    if (!word) {
        return word.error();
    }
    value.set(target, *word);
    return {};
}

/// Changes one field of a limit. Rate and unit are handled before, because they say which limit is
/// meant.
Result<void> edit_limit_field(const LimitField& field, const std::string& text, RateLimit& limit) {
    const std::string flag = flag_of(field.key);
    return std::visit(Overloaded{
                          [](const definitions::RateValue&) { return Result<void>(); },
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

bool touches_limit(const QuotaEdit& edit) {
    const auto fields = definitions::limit_fields();
    return std::any_of(fields.begin(), fields.end(),
                       [&](const LimitField& field) { return edit.find(field.key) != nullptr; });
}

Result<void> edit_limit(QuotaDefinition& definition, const QuotaEdit& edit) {
    std::optional<config::Rate> rate;
    if (const std::string* const text = edit.find("rate")) {
        const auto parsed = config::parse_rate(*text);
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
    for (const LimitField& field : definitions::limit_fields()) {
        const std::string* const text = edit.find(field.key);
        if (text == nullptr) {
            continue;
        }
        if (auto done = edit_limit_field(field, *text, limit); !done) {
            return done;
        }
    }
    return {};
}

Result<void> edit_share(std::string_view flag, const std::string& text,
                        const definitions::ShareValue& value, QuotaDefinition& definition) {
    const auto share = config::parse_percentage(text);
    if (!share) {
        return bad(flag, share.error().message);
    }
    value.set(definition, *share);
    return {};
}

Result<void> edit_key(std::string_view flag, const std::string& text,
                      const definitions::KeyValue& value, QuotaDefinition& definition) {
    if (text.starts_with(definitions::kHeaderKey)) {
        value.set(definition, text.substr(definitions::kHeaderKey.size()));
    } else if (text == definitions::kQuotaKey) {
        value.set(definition, {});
    } else {
        return bad(flag, "'" + text + "' must be quota or header:<name>");
    }
    return {};
}

Result<void> edit_count(std::string_view flag, const std::string& text,
                        const definitions::CountValue<QuotaDefinition>& value,
                        QuotaDefinition& definition) {
    const auto count = config::parse_unsigned(text);
    if (!count) {
        return bad(flag, count.error().message);
    }
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    value.set(definition, std::min(*count, kMost));
    return {};
}

/// Bounds are those of the rules, which name the field.
Result<void> edit_duration(std::string_view flag, const std::string& text,
                           const definitions::DurationValue& value, QuotaDefinition& definition) {
    if (text == kDefault) {
        value.set(definition, std::nullopt);
        return {};
    }
    const auto time = config::parse_duration(text);
    if (!time) {
        return bad(flag, time.error().message);
    }
    value.set(definition, *time);
    return {};
}

Result<void> edit_flag(std::string_view flag, const std::string& text,
                       const definitions::FlagValue& value, QuotaDefinition& definition) {
    if (text == kDefault) {
        value.set(definition, std::nullopt);
        return {};
    }
    const auto given = config::parse_boolean(text);
    if (!given) {
        return bad(flag, given.error().message);
    }
    value.set(definition, *given);
    return {};
}

/// Bounds are those of the rules, which name the field.
Result<void> edit_number(std::string_view flag, const std::string& text,
                         const definitions::NumberValue& value, QuotaDefinition& definition) {
    const auto number = config::parse_number(text);
    if (!number) {
        return bad(flag, number.error().message);
    }
    value.set(definition, *number);
    return {};
}

/// Changes whether answers name the quota; the families of fields stay as they are.
Result<void> edit_headers(std::string_view flag, const std::string& text,
                          QuotaDefinition& definition) {
    constexpr std::array<std::string_view, 2> kWords = {"shown", "hidden"};
    const auto word = parse_word(flag, text, kWords);
    if (!word) {
        return word.error();
    }
    definitions::set_headers(definition, *word == 1, definition.options->headers);
    return {};
}

Result<void> edit_quota_field(const QuotaField& field, const std::string& text,
                              QuotaDefinition& definition) {
    const std::string flag = flag_of(field.key);
    return std::visit(
        Overloaded{
            [&](const definitions::TextValue<QuotaDefinition>& value) {
                value.set(definition, text == kNone ? std::nullopt : std::optional(text));
                return Result<void>();
            },
            [&](const definitions::WordValue<QuotaDefinition>& value) {
                return edit_word(flag, text, value, definition);
            },
            [&](const definitions::CountValue<QuotaDefinition>& value) {
                return edit_count(flag, text, value, definition);
            },
            [&](const definitions::DurationValue& value) {
                return edit_duration(flag, text, value, definition);
            },
            [&](const definitions::ShareValue& value) {
                return edit_share(flag, text, value, definition);
            },
            [&](const definitions::KeyValue& value) {
                return edit_key(flag, text, value, definition);
            },
            [&](const definitions::FlagValue& value) {
                return edit_flag(flag, text, value, definition);
            },
            [&](const definitions::NumberValue& value) {
                return edit_number(flag, text, value, definition);
            },
            [&](const definitions::HeadersValue&) { return edit_headers(flag, text, definition); },
            [](const definitions::LimitsValue&) { return Result<void>(); },  // edit_limit()
        },
        field.value);
}

Result<void> edit_quota(QuotaDefinition& definition, const QuotaEdit& edit) {
    if (edit.find("mode") != nullptr) {
        definition.enforced_share = 1;  // unless --enforce says otherwise
    }
    for (const QuotaField& field : definitions::quota_fields()) {
        const std::string* const text = edit.find(field.key);
        if (text == nullptr) {
            continue;
        }
        if (auto done = edit_quota_field(field, *text, definition); !done) {
            return done;
        }
    }
    return {};
}

}  // namespace

std::optional<std::string>& QuotaEdit::operator[](std::string_view key) {
    return values_[std::string(key)];
}

const std::string* QuotaEdit::find(std::string_view key) const {
    const auto found = values_.find(key);
    return found == values_.end() || !found->second ? nullptr : &*found->second;
}

bool QuotaEdit::empty() const {
    return std::none_of(values_.begin(), values_.end(),
                        [](const auto& one) { return one.second.has_value(); });
}

std::string flag_of(std::string_view key) {
    std::string flag(key);
    std::replace_if(
        flag.begin(), flag.end(), [](char c) { return c == '_' || c == '.'; }, '-');
    return flag;
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

#include "config/quota_reader.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>

#include "config/reader.h"
#include "config/values.h"
#include "definitions/fields.h"
#include "definitions/rules.h"
#include "limiter/window_schedule.h"

namespace weir::config {
namespace {

using definitions::LimitField;
using definitions::Overloaded;
using definitions::QuotaField;
using limiter::QuotaDefinition;
using limiter::RateLimit;
using limiter::Unit;

std::string_view measure_letter(Measure measure) {
    return measure == Measure::bytes  ? "bytes, like 5MiB"
           : measure == Measure::cost ? "cost, like 20c"
                                      : "requests, like 100r";
}

/// Whether the unit letters of an amount fit the limit's unit; 0 without letters fits every unit.
bool fits(NodeRef node, Measure measure, Unit unit, Diagnostics& diagnostics) {
    if (measure == Measure::none || measure == measure_of(unit)) {
        return true;
    }
    if (unit == Unit::requests) {
        diagnostics.error(node,
                          measure == Measure::bytes
                              ? "counts bytes: say 'of: request-bytes' or 'of: response-bytes'"
                              : "counts cost: say 'of: cost'");
        return false;
    }
    diagnostics.error(node, "must be in " + std::string(measure_letter(measure_of(unit))) +
                                ", since it is of " + std::string(unit_word(unit)));
    return false;
}

std::optional<limiter::BurstSpec> read_burst(NodeRef node, Unit unit, Diagnostics& diagnostics) {
    const auto burst = read_parsed(node, &parse_burst, diagnostics);
    if (!burst || !fits(node, burst->measure, unit, diagnostics)) {
        return std::nullopt;
    }
    return burst->spec;
}

/// Reads a rate as weight per second.
std::optional<double> read_capacity(NodeRef node, Unit unit, Diagnostics& diagnostics) {
    const auto rate = read_parsed(node, &parse_rate, diagnostics);
    if (!rate || !fits(node, rate->measure, unit, diagnostics)) {
        return std::nullopt;
    }
    return rate->per_second();
}

/// Whether the limit is of a kind that is planned for a later version; reports it then.
bool refuse_later_kinds(MapReader& reader) {
    bool found = false;
    for (const std::string_view kind : {"lease"}) {
        found = reader.refuse_later(kind) || found;
    }
    return found;
}

void read_rate(NodeRef node, RateLimit& limit, Diagnostics& diagnostics) {
    const auto rate = read_parsed(node, &parse_rate, diagnostics);
    if (!rate || !fits(node, rate->measure, limit.unit, diagnostics)) {
        return;
    }
    limit.amount = rate->amount;
    limit.period = rate->period;
}

void read_window(NodeRef node, RateLimit& limit, Diagnostics& diagnostics) {
    limit.kind = limiter::LimitKind::window;
    const auto window = read_parsed(node, &parse_window, diagnostics);
    if (!window || !fits(node, window->measure, limit.unit, diagnostics)) {
        return;
    }
    limit.amount = window->amount;
    limit.period = window->period;
    limit.from = RateLimit::in_window(limit.amount, limit.period).from;
}

/// Reads the name of a time zone. This machine has to know it: otherwise the windows would begin at
/// other times than was meant.
void read_time_zone(NodeRef node, const definitions::TimeZoneValue& value, RateLimit& limit,
                    Diagnostics& diagnostics) {
    const auto name = read_text(node, diagnostics);
    if (!name) {
        return;
    }
    if (name->size() > value.most || !limiter::knows_time_zone(*name)) {
        const std::string shown(name->substr(0, value.most));
        diagnostics.error(node, "no time zone '" + shown + "' is known",
                          "take an IANA name, such as Europe/Berlin");
        return;
    }
    limit.timezone = std::string(*name);
}

void read_concurrency(NodeRef node, const definitions::ConcurrencyValue& value, RateLimit& limit,
                      Diagnostics& diagnostics) {
    limit.kind = limiter::LimitKind::concurrency;
    limit.period = Duration::zero();
    if (const auto count = read_unsigned(node, 0, value.most, diagnostics)) {
        limit.amount = static_cast<double>(*count);
    }
}

/// The index of the node's word in the list; nothing, after reporting it, for any other word.
std::optional<std::size_t> read_word_of(NodeRef node, std::span<const std::string_view> words,
                                        Diagnostics& diagnostics) {
    return read_word(node, std::vector(words.begin(), words.end()), diagnostics);
}

void read_limit_value(const LimitField& field, NodeRef node, RateLimit& limit,
                      Diagnostics& diagnostics) {
    std::visit(Overloaded{
                   [&](const definitions::RateValue&) { read_rate(node, limit, diagnostics); },
                   [&](const definitions::WindowValue&) { read_window(node, limit, diagnostics); },
                   [&](const definitions::ConcurrencyValue& value) {
                       read_concurrency(node, value, limit, diagnostics);
                   },
                   [&](const definitions::UnitValue& value) {
                       if (const auto word = read_word_of(node, value.words, diagnostics)) {
                           limit.unit = static_cast<Unit>(*word);
                       }
                   },
                   [&](const definitions::BurstValue& value) {
                       limit.*value.member = read_burst(node, limit.unit, diagnostics);
                   },
                   [&](const definitions::WordValue<RateLimit>& value) {
                       if (const auto word = read_word_of(node, value.words, diagnostics)) {
                           value.set(limit, *word);
                       }
                   },
                   [&](const definitions::CapacityValue& value) {
                       limit.*value.member = read_capacity(node, limit.unit, diagnostics);
                   },
                   [&](const definitions::TimeZoneValue& value) {
                       read_time_zone(node, value, limit, diagnostics);
                   },
               },
               field.value);
}

// What people look for who know other programs.
constexpr std::string_view kAdviceOnBurst =
    "say 'low' (no refusals up to this level) and 'high' (every request is refused from it on)";
constexpr std::string_view kAdviceOnRate = "say an amount per time: 'rate: 100r/s'";
constexpr std::string_view kAdviceOnWindow =
    "say an amount for each window: 'window: 1000r/h', 'window: 100000r/month'";
constexpr std::string_view kAdviceOnStart =
    "say where windows begin: 'from: name', 'from: calendar' or 'from: first'";
constexpr std::string_view kAdviceOnConcurrency =
    "say how many requests may be in flight at once: 'concurrency: 64'";
constexpr std::string_view kAdviceOnTimeZone =
    "say 'timezone: Europe/Berlin', together with 'from: calendar'";
constexpr std::string_view kAdviceOnKey =
    "a quota has an instance for each value of a capture in its name, like 'shop/{tenant}'";
constexpr std::array<KeyHint, 43> kLimitHints = {
    {{"burst", kAdviceOnBurst},
     {"bucket", kAdviceOnBurst},
     {"capacity", kAdviceOnBurst},
     {"size", kAdviceOnBurst},
     {"limit", kAdviceOnRate},
     {"requests", kAdviceOnRate},
     {"requests_per_second", kAdviceOnRate},
     {"requests_per_minute", kAdviceOnRate},
     {"requests_per_unit", kAdviceOnRate},
     {"requestsPerUnit", kAdviceOnRate},
     {"rps", kAdviceOnRate},
     {"qps", kAdviceOnRate},
     {"per", kAdviceOnRate},
     {"period", kAdviceOnRate},
     {"interval", kAdviceOnRate},
     {"requests_per_hour", kAdviceOnWindow},
     {"requests_per_day", kAdviceOnWindow},
     {"requests_per_month", kAdviceOnWindow},
     {"minute", kAdviceOnWindow},
     {"hour", kAdviceOnWindow},
     {"day", kAdviceOnWindow},
     {"week", kAdviceOnWindow},
     {"month", kAdviceOnWindow},
     {"daily", kAdviceOnWindow},
     {"monthly", kAdviceOnWindow},
     {"fixed_window", kAdviceOnWindow},
     {"window_size", kAdviceOnWindow},
     {"reset", kAdviceOnStart},
     {"align", kAdviceOnStart},
     {"start", kAdviceOnStart},
     {"tz", kAdviceOnTimeZone},
     {"time_zone", kAdviceOnTimeZone},
     {"max_connections", kAdviceOnConcurrency},
     {"maxconn", kAdviceOnConcurrency},
     {"connections", kAdviceOnConcurrency},
     {"in_flight", kAdviceOnConcurrency},
     {"max_in_flight", kAdviceOnConcurrency},
     {"max_requests", kAdviceOnConcurrency},
     {"max_pending_requests", kAdviceOnConcurrency},
     {"max_concurrency", kAdviceOnConcurrency},
     {"max_concurrent_requests", kAdviceOnConcurrency},
     {"key", kAdviceOnKey},
     {"unit", "say 'of: request-bytes' and the like"}}};
constexpr std::string_view kAdviceOnLimits = "put it into a limit: 'limits: [{rate: 100r/s}]'";
constexpr std::string_view kAdviceOnQuotaWindow =
    "put it into a limit: 'limits: [{window: 1000r/h, from: calendar}]'";
constexpr std::string_view kAdviceOnQuotaConcurrency =
    "put it into a limit: 'limits: [{concurrency: 64}]'";
constexpr std::string_view kAdviceOnQuotaBurst =
    "say it in a limit, with low (no refusals up to this level) and high (all are refused): "
    "'limits: [{rate: 100r/s, low: 50r, high: 150r}]'";
constexpr std::string_view kAdviceOnTree = "a quota names the one above it: 'parent: shop'";
constexpr std::array<KeyHint, 26> kQuotaHints = {
    {{"rate", kAdviceOnLimits},
     {"burst", kAdviceOnQuotaBurst},
     {"rps", kAdviceOnLimits},
     {"requests_per_second", kAdviceOnLimits},
     {"requests_per_minute", kAdviceOnLimits},
     {"requests_per_unit", kAdviceOnLimits},
     {"requestsPerUnit", kAdviceOnLimits},
     {"low", kAdviceOnLimits},
     {"high", kAdviceOnLimits},
     {"children", kAdviceOnTree},
     {"quotas", kAdviceOnTree},
     {"key", kAdviceOnKey},
     {"window", kAdviceOnQuotaWindow},
     {"from", kAdviceOnQuotaWindow},
     {"timezone", kAdviceOnQuotaWindow},
     {"requests_per_day", kAdviceOnQuotaWindow},
     {"requests_per_month", kAdviceOnQuotaWindow},
     {"monthly", kAdviceOnQuotaWindow},
     {"concurrency", kAdviceOnQuotaConcurrency},
     {"max_concurrency", kAdviceOnQuotaConcurrency},
     {"max_connections", kAdviceOnQuotaConcurrency},
     {"maxconn", kAdviceOnQuotaConcurrency},
     {"in_flight", kAdviceOnQuotaConcurrency},
     {"max_in_flight", kAdviceOnQuotaConcurrency},
     {"max_requests", kAdviceOnQuotaConcurrency},
     {"max_pending_requests", kAdviceOnQuotaConcurrency}}};

/// Complains unless the limit has exactly one of the fields that tell its kind; `given` are those
/// that it has.
void check_kinds(NodeRef node, const std::vector<NodeRef>& given, Diagnostics& diagnostics) {
    if (given.empty()) {
        diagnostics.error(node, "a limit needs its 'rate', its 'window' or its 'concurrency'");
    }
    if (given.size() > 1) {
        diagnostics.error_at_key(
            given.back(), "a limit has one of 'rate', 'window' and 'concurrency'",
            "make a limit of each: [{rate: 100r/s}, {window: 1000r/h}, {concurrency: 64}]");
    }
}

RateLimit read_limit(NodeRef node, Diagnostics& diagnostics) {
    RateLimit limit;
    MapReader reader(node, diagnostics);
    if (!reader.is_map()) {
        return limit;
    }
    const bool later_kind = refuse_later_kinds(reader);
    std::vector<NodeRef> kinds;
    // The unit is read first, because it decides how the amounts are read.
    for (const bool units : {true, false}) {
        for (const LimitField& field : definitions::limit_fields()) {
            if (std::holds_alternative<definitions::UnitValue>(field.value) != units) {
                continue;
            }
            if (const auto value = reader.take(field.key)) {
                read_limit_value(field, *value, limit, diagnostics);
                if (field.one_of_these()) {
                    kinds.push_back(*value);
                }
            }
        }
    }
    if (!later_kind) {
        check_kinds(node, kinds, diagnostics);
    }
    reader.finish(kLimitHints);
    return limit;
}

/// Reads the key by which a quota is partly enforced: "quota", or "header:" and a name.
void read_key(NodeRef node, const definitions::KeyValue& value, QuotaDefinition& quota,
              Diagnostics& diagnostics) {
    const auto text = read_text(node, diagnostics);
    const std::string_view name = text && text->starts_with(definitions::kHeaderKey)
                                      ? text->substr(definitions::kHeaderKey.size())
                                      : std::string_view();
    if (!name.empty()) {
        value.set(quota, std::string(name));
    } else if (text && *text != definitions::kQuotaKey) {
        diagnostics.error(node, "must be quota or header:<name>");
    }
}

/// Reads `hidden`, `x-ratelimit` and so on, or several of these words in a list.
void read_headers(NodeRef node, QuotaDefinition& quota, Diagnostics& diagnostics) {
    enum Word : std::size_t { shown, hidden, ietf, x_ratelimit, none };
    const std::vector<NodeRef> elements =
        node->kind == NodeKind::list ? read_list(node, diagnostics) : std::vector{node};
    std::array<bool, 5> said{};
    for (const NodeRef element : elements) {
        const auto word =
            read_word(element, {"shown", "hidden", "ietf", "x-ratelimit", "none"}, diagnostics);
        if (word) {
            said[*word] = true;
        }
    }
    if (said[shown] && said[hidden]) {
        diagnostics.error(node, "'shown' and 'hidden' exclude each other");
    }
    if (said[none] && (said[ietf] || said[x_ratelimit])) {
        diagnostics.error(node, "'none' excludes 'ietf' and 'x-ratelimit'");
    }
    const bool families = said[none] || said[ietf] || said[x_ratelimit];
    definitions::set_headers(
        quota, said[hidden],
        families ? std::optional(limiter::HeaderForms{said[ietf], said[x_ratelimit]})
                 : std::nullopt);
}

/// Reads at most a hundred limits, and keeps one more than a quota may have, which the rules
/// refuse.
void read_limits(NodeRef node, QuotaDefinition& quota, Diagnostics& diagnostics) {
    constexpr std::size_t kMostRead = 100;
    const std::vector<NodeRef> limits = read_list(node, diagnostics);
    const std::size_t errors = diagnostics.error_count();
    for (std::size_t i = 0; i < std::min(limits.size(), kMostRead); ++i) {
        const RateLimit limit = read_limit(limits[i], diagnostics);
        if (quota.limits.size() <= limiter::kMaxLimitsPerQuota) {
            quota.limits.push_back(limit);
        }
    }
    // The rules do not look at a quota with errors of its own.
    if (diagnostics.error_count() != errors && limits.size() > limiter::kMaxLimitsPerQuota) {
        diagnostics.error(node, definitions::too_many_limits());
    }
}

void read_quota_value(const QuotaField& field, NodeRef node, QuotaDefinition& quota,
                      Diagnostics& diagnostics) {
    std::visit(
        Overloaded{
            [&](const definitions::TextValue<QuotaDefinition>& value) {
                if (const auto text = read_text(node, diagnostics)) {
                    value.set(quota, std::string(*text));
                }
            },
            [&](const definitions::WordValue<QuotaDefinition>& value) {
                if (const auto word = read_word_of(node, value.words, diagnostics)) {
                    value.set(quota, *word);
                }
            },
            [&](const definitions::CountValue<QuotaDefinition>& value) {
                if (const auto count = read_unsigned(node, value.least, value.most, diagnostics)) {
                    value.set(quota, *count);
                }
            },
            [&](const definitions::DurationValue& value) {
                if (const auto time = read_duration(node, value.least, value.most, diagnostics)) {
                    value.set(quota, *time);
                }
            },
            [&](const definitions::ShareValue& value) {
                if (const auto share = read_parsed(node, &parse_percentage, diagnostics)) {
                    value.set(quota, *share);
                }
            },
            [&](const definitions::KeyValue& value) { read_key(node, value, quota, diagnostics); },
            [&](const definitions::FlagValue& value) {
                if (const auto flag = read_boolean(node, diagnostics)) {
                    value.set(quota, *flag);
                }
            },
            [&](const definitions::NumberValue& value) {
                if (const auto number = read_number(node, value.least, value.most, diagnostics)) {
                    value.set(quota, *number);
                }
            },
            [&](const definitions::HeadersValue&) { read_headers(node, quota, diagnostics); },
            [&](const definitions::LimitsValue&) { read_limits(node, quota, diagnostics); },
        },
        field.value);
}

/// Reads the fields whose keys are members of one map, such as those of `refusal`.
void read_group(std::string_view group, NodeRef node, QuotaDefinition& quota,
                Diagnostics& diagnostics) {
    MapReader reader(node, diagnostics);
    if (!reader.is_map()) {
        return;
    }
    for (const QuotaField& field : definitions::quota_fields()) {
        if (definitions::group_of(field.key) != group) {
            continue;
        }
        if (const auto value = reader.take(definitions::member_of(field.key))) {
            read_quota_value(field, *value, quota, diagnostics);
        }
    }
    reader.finish();
}

}  // namespace

std::string_view unit_word(Unit unit) {
    for (const LimitField& field : definitions::limit_fields()) {
        if (const auto* const value = std::get_if<definitions::UnitValue>(&field.value)) {
            return value->words[static_cast<std::size_t>(unit)];
        }
    }
    return limiter::to_string(unit);
}

QuotaDefinition read_quota(NodeRef node, Diagnostics& diagnostics) {
    QuotaDefinition quota;
    MapReader reader(node, diagnostics);
    if (!reader.is_map()) {
        return quota;
    }
    std::string_view last_group;
    for (const QuotaField& field : definitions::quota_fields()) {
        const std::string_view group = definitions::group_of(field.key);
        if (!group.empty()) {
            if (std::exchange(last_group, group) != group) {
                if (const auto value = reader.take(group)) {
                    read_group(group, *value, quota, diagnostics);
                }
            }
            continue;
        }
        const auto value = field.required() ? reader.require(field.key) : reader.take(field.key);
        if (value) {
            read_quota_value(field, *value, quota, diagnostics);
        }
    }
    reader.finish(kQuotaHints);
    return quota;
}

}  // namespace weir::config

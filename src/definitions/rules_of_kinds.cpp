#include "definitions/rules_of_kinds.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>
#include <variant>

#include "base/assert.h"
#include "base/characters.h"
#include "definitions/fields.h"

namespace weir::definitions {
namespace {

using limiter::kMonth;
using limiter::RateLimit;
using limiter::WindowStart;

/// Complains of each field that limits of this kind do not have.
void check_fields(const RateLimit& limit, const std::string& place, const Complain& complain) {
    const std::string kind = "'" + std::string(field_of(limit.kind).key) + "'";
    for (const LimitField& field : limit_fields()) {
        if (fits(field, limit.kind) || !is_set(field, limit)) {
            continue;
        }
        WEIR_ASSERT(!field.one_of_these());
        const std::string where = place + "." + std::string(field.key);
        if (std::holds_alternative<UnitValue>(field.value)) {
            complain(where, kind + " counts requests and nothing else",
                     "leave it out, or limit that with a 'rate'");
            continue;
        }
        const std::string other = field.kinds == kWindows ? "window" : "rate";
        complain(where, "belongs to a " + other + ", and means nothing with " + kind,
                 "leave it out, or give it to a limit with a '" + other + "'");
    }
}

/// The number of requests in flight is whole, and has no time.
void check_concurrency(const RateLimit& limit, const std::string& place, const Complain& complain) {
    WEIR_ASSERT(limit.is_concurrency());
    const double amount = limit.amount;
    if (!(amount >= 0 && amount <= limiter::kMostInFlight) || amount != std::floor(amount)) {
        complain(place, "must be a whole number from 0 to 10000000",
                 "such as 64; 0 refuses everything");
    }
    if (limit.period != Duration::zero()) {
        complain(place, "has no time: it counts the requests in flight now",
                 "such as 64; for requests per time, say 'rate'");
    }
}

/// Whether the calendar can be cut into windows of this length: a part of an hour, of a day, or a
/// whole day, week or month.
bool is_of_calendar(Duration period) {
    using std::chrono::days;
    using std::chrono::hours;
    using std::chrono::minutes;
    WEIR_ASSERT(period >= limiter::kShortestWindow);
    const bool of_hour =
        period % minutes(1) == Duration::zero() && Duration(hours(1)) % period == Duration::zero();
    const bool of_day =
        period % hours(1) == Duration::zero() && Duration(days(1)) % period == Duration::zero();
    return of_hour || of_day || period == Duration(days(7)) || period == kMonth;
}

/// A window lasts whole seconds, and no longer than its kind of start allows.
void check_length(const RateLimit& limit, const std::string& place, const Complain& complain) {
    WEIR_ASSERT(limit.is_window());
    if (limit.period < limiter::kShortestWindow) {
        complain(place, "a window lasts 1m or longer", "for a shorter time, say 'rate'");
    } else if (limit.period > limiter::kLongestWindow) {
        complain(place, "a window lasts 31d at most", "take month, or a shorter time");
    } else if (limit.period % std::chrono::seconds(1) != Duration::zero()) {
        complain(place, "a window lasts whole seconds", "such as 90s");
    } else if (limit.from == WindowStart::calendar && !is_of_calendar(limit.period)) {
        complain(
            place,
            "with 'from: calendar' a window lasts a whole part of an hour (1m, 2m, 3m, 4m, 5m, "
            "6m, 10m, 12m, 15m, 20m, 30m, 1h), a whole part of a day (2h, 3h, 4h, 6h, 8h, 12h, "
            "1d), a week (1w) or a month",
            "take one of these, or leave 'from' out");
    }
}

/// What may be the name of a time zone. Whether there is such a zone is not asked here, because
/// that differs between machines, and all sidecars must keep the same definitions.
bool may_be_zone(std::string_view name) {
    const auto fields = limit_fields();
    const auto row = std::find_if(fields.begin(), fields.end(), [](const LimitField& field) {
        return std::holds_alternative<TimeZoneValue>(field.value);
    });
    WEIR_ASSERT(row != fields.end());
    return name.size() <= std::get<TimeZoneValue>(row->value).most &&
           std::all_of(name.begin(), name.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

void check_start(const RateLimit& limit, const std::string& place, const Complain& complain) {
    WEIR_ASSERT(limit.is_window());
    if (limit.period == kMonth && limit.from != WindowStart::calendar) {
        complain(place + ".from", "a month begins with the calendar",
                 "leave it out, or take 30d instead of month");
    }
    if (limit.timezone.empty()) {
        return;
    }
    if (!may_be_zone(limit.timezone)) {
        complain(place + ".timezone", "is not the name of a time zone",
                 "take an IANA name, such as Europe/Berlin");
    } else if (limit.from != WindowStart::calendar) {
        complain(place + ".timezone", "needs 'from: calendar'",
                 "say so, or leave the time zone out");
    }
}

void check_window(const RateLimit& limit, const std::string& place, const Complain& complain) {
    const std::string field = place + ".window";
    if (!(limit.amount >= 0 && limit.amount <= limiter::kMostInWindow)) {
        complain(field, "the amount must be a number from 0 to 1e15", "");
    }
    check_length(limit, field, complain);
    check_start(limit, place, complain);
}

}  // namespace

void check_kinds(const limiter::QuotaDefinition& definition, const Complain& complain) {
    for (std::size_t i = 0; i < definition.limits.size(); ++i) {
        const RateLimit& limit = definition.limits[i];
        const std::string place = "limits[" + std::to_string(i) + "]";
        if (limit.is_window()) {
            check_window(limit, place, complain);
        } else if (limit.is_concurrency()) {
            check_concurrency(limit, place + ".concurrency", complain);
        }
        check_fields(limit, place, complain);
    }
}

}  // namespace weir::definitions

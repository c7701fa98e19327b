// Windows in quota documents: what may be written, and what is said of the rest.

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <chrono>
#include <string>
#include <vector>

#include "config/guesses.h"
#include "config/helpers.h"
#include "config/quota_document.h"
#include "config/values.h"

namespace weir::config {
namespace {

using limiter::RateLimit;
using limiter::WindowStart;
using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using testing::Lines;
using testing::quota_errors;

const std::string kWindowQuota =
    "apiVersion: weir/v1\nkind: QuotaSet\nname: t\nquotas:\n  - name: a\n";

std::vector<RateLimit> limits_of(const std::string& limits) {
    Diagnostics diagnostics;
    const auto quota = parse_quota({"body", "name: a\nlimits: " + limits}, diagnostics);
    CHECK(testing::lines(diagnostics) == Lines{});
    return quota.value_or(limiter::QuotaDefinition{}).limits;
}

/// The errors of a quota with this list of limits, without the place of the list.
Lines window_errors(const std::string& limits) {
    Lines errors = quota_errors(kWindowQuota + "    limits: " + limits + "\n");
    for (std::string& error : errors) {
        error.erase(0, error.find("limits"));
    }
    return errors;
}

TEST_CASE("windows") {
    CHECK(limits_of("[{window: 1000r/h}]") ==
          std::vector{RateLimit::in_window(1000, Duration(hours(1)))});
    CHECK(limits_of("[{window: 1000000r/30d}]") ==
          std::vector{RateLimit::in_window(1'000'000, Duration(days(30)))});
    RateLimit month = RateLimit::in_window(100'000, limiter::kMonth);
    CHECK(month.from == WindowStart::calendar);
    CHECK(limits_of("[{window: 100000r/month}]") == std::vector{month});
    month.timezone = "UTC";
    CHECK(limits_of("[{window: 100000r/month, from: calendar, timezone: UTC}]") ==
          std::vector{month});
    RateLimit first = RateLimit::in_window(5, Duration(minutes(1)));
    first.from = WindowStart::first;
    first.scope = limiter::Scope::sidecar;
    CHECK(limits_of("[{window: 5r/m, from: first, scope: sidecar}]") == std::vector{first});
    RateLimit bytes = RateLimit::in_window(1024 * 1024, Duration(days(7)));
    bytes.unit = limiter::Unit::response_bytes;
    CHECK(limits_of("[{window: 1MiB/w, of: response-bytes}]") == std::vector{bytes});
    CHECK(limits_of("[{rate: 5r/h}, {window: 5r/h}, {window: 9r/d}, {window: 5c/h, of: cost}]")
              .size() == 4);
}

TEST_CASE("what is written of a window reads back the same") {
    const bool holds = rc::check("windows", [] {
        RateLimit limit;
        limit.kind = limiter::LimitKind::window;
        limit.unit = *rc::gen::element(limiter::Unit::requests, limiter::Unit::request_bytes,
                                       limiter::Unit::response_bytes, limiter::Unit::cost);
        limit.amount = static_cast<double>(*rc::gen::inRange<std::uint64_t>(0, 1ULL << 49));
        limit.period = *rc::gen::oneOf(
            rc::gen::element(limiter::kMonth, Duration(days(7)), Duration(days(1))),
            rc::gen::map(rc::gen::inRange(60, 31 * 86400 + 1),
                         [](int seconds) { return Duration(std::chrono::seconds(seconds)); }));
        const Rate window = parse_window(format_window(limit)).value();
        RC_ASSERT(window.amount == limit.amount);
        RC_ASSERT(window.period == limit.period);
        RC_ASSERT(window.measure == measure_of(limit.unit));
    });
    CHECK(holds);
    for (const std::string text :
         {"1000r/h", "5r/m", "5r/5m", "7c/6h", "1GiB/d", "9r/w", "9r/30d", "100000r/month"}) {
        RateLimit limit;
        const Rate window = parse_window(text).value();
        limit.amount = window.amount;
        limit.period = window.period;
        limit.unit = window.measure == Measure::cost    ? limiter::Unit::cost
                     : window.measure == Measure::bytes ? limiter::Unit::request_bytes
                                                        : limiter::Unit::requests;
        CHECK(format_window(limit) == text);
    }
    CHECK(parse_window("5r/1month").value().period == limiter::kMonth);
    CHECK(parse_window("5r/7d").value().period == parse_window("5r/w").value().period);
}

TEST_CASE("a window lasts from a minute to a month, in whole seconds") {
    const std::string bounds =
        "the time behind the slash must be from 1m to 31d, or month; for a shorter time, say "
        "'rate'";
    for (const std::string wrong : {"5r/s", "5r/59s", "5r/32d", "5r/0m"}) {
        CHECK(window_errors("[{window: " + wrong + "}]") ==
              Lines{"limits[0].window: '" + wrong + "': " + bounds});
    }
    CHECK(window_errors("[{window: 5r/2month}]").at(0).find("is like m, h, d, w, month") !=
          std::string::npos);
    CHECK(window_errors("[{window: 5r/61.5s}]") ==
          Lines{"limits[0].window: a window lasts whole seconds, such as 90s"});
    CHECK(window_errors("[{window: 0}]").at(0).find("a window is an amount and a unit per time") !=
          std::string::npos);
    CHECK(window_errors("[{window: 5MiB/h}]") ==
          Lines{"limits[0].window: counts bytes: say 'of: request-bytes' or 'of: "
                "response-bytes'"});
    CHECK(window_errors("[{window: 1000000000000001r/h}]") ==
          Lines{"limits[0].window: the amount must be a number from 0 to 1e15"});
}

TEST_CASE("where windows begin") {
    CHECK(window_errors("[{window: 5r/month, from: name}]") ==
          Lines{"limits[0].from: a month begins with the calendar, leave it out, or take 30d "
                "instead of month"});
    CHECK(window_errors("[{window: 5r/month, from: first}]").size() == 1);
    for (const std::string good : {"m", "2m", "30m", "h", "2h", "12h", "d", "w", "7d", "month"}) {
        CHECK(window_errors("[{window: 5r/" + good + ", from: calendar}]") == Lines{});
    }
    for (const std::string wrong : {"7m", "90s", "90m", "5h", "2d", "14d", "30d"}) {
        const Lines errors = window_errors("[{window: 5r/" + wrong + ", from: calendar}]");
        REQUIRE(errors.size() == 1);
        CHECK(errors[0] ==
              "limits[0].window: with 'from: calendar' a window lasts a whole part of an hour (1m, "
              "2m, 3m, 4m, 5m, 6m, 10m, 12m, 15m, 20m, 30m, 1h), a whole part of a day (2h, 3h, "
              "4h, 6h, 8h, 12h, 1d), a week (1w) or a month, take one of these, or leave 'from' "
              "out");
    }
    CHECK(window_errors("[{window: 5r/h, timezone: UTC}]") ==
          Lines{"limits[0].timezone: needs 'from: calendar', say so, or leave the time zone out"});
    for (const std::string wrong : {"Mars/Base", "../../etc/passwd", "CEST+"}) {
        CHECK(window_errors("[{window: 5r/h, from: calendar, timezone: '" + wrong + "'}]") ==
              Lines{"limits[0].timezone: no time zone '" + wrong +
                    "' is known, take an IANA name, such as Europe/Berlin"});
    }
    CHECK(window_errors("[{window: 5r/h, from: calendar, timezone: " + std::string(65, 'x') + "}]")
              .at(0)
              .find("no time zone 'xxx") != std::string::npos);
    CHECK(window_errors("[{window: 5r/h, from: midnight}]").at(0).find("name, calendar or first") !=
          std::string::npos);
}

TEST_CASE("a window has nothing of a rate, and a rate has nothing of a window") {
    for (const std::string more :
         {"low: 5r", "high: 5r", "debt: 1s", "law: linear", "safe: 1r/s"}) {
        CAPTURE(more);
        CHECK(window_errors("[{window: 64r/h, " + more + "}]") ==
              Lines{"limits[0]." + more.substr(0, more.find(':')) +
                    ": belongs to a rate, and means nothing with 'window', leave it out, or give "
                    "it to a limit with a 'rate'"});
    }
    for (const std::string kind : {"rate: 5r/s", "concurrency: 5"}) {
        CHECK(window_errors("[{" + kind + ", from: first}]") ==
              Lines{"limits[0].from: belongs to a window, and means nothing with '" +
                    kind.substr(0, kind.find(':')) +
                    "', leave it out, or give it to a limit with a 'window'"});
    }
    CHECK(window_errors("[{window: 64r/h, rate: 1r/s}]") ==
          Lines{"limits[0].window: a limit has one of 'rate', 'window' and 'concurrency', make a "
                "limit of each: [{rate: 100r/s}, {window: 1000r/h}, {concurrency: 64}]"});
    CHECK(window_errors("[{window: 64r/h}, {rate: 1r/h}, {window: 9r/60m, from: first}]") ==
          Lines{"limits[2]: the same unit and period as limits[0], one of the two is enough: the "
                "lower amount"});
}

TEST_CASE("windows as other programs write them come with advice") {
    CHECK(window_errors("[{rate: 1000r/month}]")
              .at(0)
              .ends_with("did you mean 'window: 1000r/month'?"));
    CHECK(window_errors("[{rate: 1000 requests per month}]")
              .at(0)
              .ends_with("did you mean 'window: 1000r/month'?"));
    CHECK(window_errors("[{rate: 1000/week}]").at(0).ends_with("did you mean '1000r/w'?"));
    CHECK(limits_of("[{rate: 1000r/w}]").size() == 1);
    CHECK(window_errors("[{window: 1000/day}]").at(0).ends_with("did you mean '1000r/d'?"));
    CHECK(guess_window("5GB per week") == "5GB/w");
    CHECK(guess_window("1000").empty());
    CHECK(window_meant("1000r/h").empty());
    CHECK(window_meant("month").empty());
    for (const std::string word : {"requests_per_day", "requests_per_month", "monthly", "day"}) {
        CHECK(window_errors("[{" + word + ": 64}]")
                  .at(1)
                  .find("say an amount for each window: 'window: 1000r/h'") != std::string::npos);
    }
    CHECK(window_errors("[{window: 5r/h, time_zone: UTC}]").at(0).find("say 'timezone: Europe") !=
          std::string::npos);
    CHECK(quota_errors(kWindowQuota + "    window: 5r/h\n")
              .at(0)
              .find("put it into a limit: 'limits: [{window: 1000r/h, from: calendar}]'") !=
          std::string::npos);
}

}  // namespace
}  // namespace weir::config

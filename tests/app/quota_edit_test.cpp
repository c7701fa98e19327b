#include "app/quota_edit.h"

#include <doctest/doctest.h>

#include <string>

namespace weir::app {
namespace {

using namespace std::chrono_literals;
using limiter::BurstSpec;
using limiter::QuotaDefinition;
using limiter::RateLimit;
using limiter::Unit;

RateLimit limit_of(Unit unit, double amount, Duration period) {
    RateLimit limit;
    limit.unit = unit;
    limit.amount = amount;
    limit.period = period;
    return limit;
}

QuotaDefinition with(std::vector<RateLimit> limits) {
    QuotaDefinition quota;
    quota.name = "q";
    quota.parent = "p";
    quota.limits = std::move(limits);
    return quota;
}

std::string failure(const QuotaDefinition& quota, const QuotaEdit& edit) {
    const auto edited = apply_edit(quota, edit);
    return edited ? "" : edited.error().message;
}

TEST_CASE("only what is named changes") {
    QuotaDefinition quota = with({limit_of(Unit::requests, 100, 1s)});
    quota.limits[0].low = BurstSpec{BurstSpec::Kind::seconds, 2};
    quota.limits[0].law = limiter::Law::linear;
    QuotaEdit edit;
    CHECK(edit.empty());
    edit["rate"] = "200r/s";
    CHECK_FALSE(edit.empty());
    QuotaDefinition expected = quota;
    expected.limits[0].amount = 200;
    CHECK(apply_edit(quota, edit).value() == expected);

    QuotaEdit bursts;
    bursts["low"] = "default";
    bursts["high"] = "500r";
    bursts["debt"] = "1s";
    expected = quota;
    expected.limits[0].low.reset();
    expected.limits[0].high = BurstSpec{BurstSpec::Kind::amount, 500};
    expected.limits[0].debt = BurstSpec{BurstSpec::Kind::seconds, 1};
    CHECK(apply_edit(quota, bursts).value() == expected);
}

TEST_CASE("a bare 0 keeps the period and with it the limit's identity") {
    QuotaEdit edit;
    edit["rate"] = "0";
    const auto edited = apply_edit(with({limit_of(Unit::requests, 5, 1min)}), edit).value();
    CHECK(edited.limits[0].amount == 0);
    CHECK(edited.limits[0].period == 1min);
}

TEST_CASE("among several limits unit and period choose") {
    const QuotaDefinition quota =
        with({limit_of(Unit::requests, 10, 1s), limit_of(Unit::requests, 100, 1min),
              limit_of(Unit::response_bytes, 1000, 1s)});
    QuotaEdit edit;
    edit["rate"] = "200r/m";
    CHECK(apply_edit(quota, edit).value().limits[1].amount == 200);
    edit["rate"] = "2KiB/s";
    CHECK(apply_edit(quota, edit).value().limits[2].amount == 2048);
    edit["rate"] = "5r/h";
    CHECK(failure(quota, edit) ==
          "--rate: there are several such limits (10r/s, 100r/m): give the rate with the period of "
          "one of them");
    QuotaEdit low;
    low["low"] = "1s";
    CHECK(failure(quota, low).find("--of: is needed") == 0);
    low["of"] = "response-bytes";
    CHECK(apply_edit(quota, low).value().limits[2].low.has_value());
}

TEST_CASE("a limit that is not there is made when it has a rate") {
    QuotaEdit edit;
    edit["rate"] = "10c/s";
    const auto edited = apply_edit(with({limit_of(Unit::requests, 1, 1s)}), edit).value();
    REQUIRE(edited.limits.size() == 2);
    CHECK(edited.limits[1].unit == Unit::cost);
    edit["rate"] = "1MiB/s";
    CHECK(failure(with({}), edit).find("--of: is needed") == 0);
    edit["of"] = "request-bytes";
    CHECK(apply_edit(with({}), edit).value().limits[0].unit == Unit::request_bytes);
    QuotaEdit law;
    law["law"] = "linear";
    CHECK(failure(with({}), law) == "--rate: is needed: the quota has no such limit yet");
}

TEST_CASE("fields of the quota itself") {
    QuotaEdit edit;
    edit["parent"] = "none";
    edit["mode"] = "shadow";
    edit["headers"] = "hidden";
    edit["max_instances"] = "7";
    const auto edited = apply_edit(with({}), edit).value();
    CHECK_FALSE(edited.parent.has_value());
    CHECK(edited.mode == limiter::Mode::shadow);
    CHECK(edited.hide_headers);
    CHECK(edited.max_instances == 7);
    CHECK(edited.limits.empty());
}

TEST_CASE("shares of keys and what holds when isolated") {
    QuotaEdit edit;
    edit["enforce"] = "25%";
    edit["enforce_by"] = "header:x-client";
    edit["when_isolated"] = "safe";
    edit["safe"] = "600r/m";
    const auto partly = apply_edit(with({limit_of(Unit::requests, 100, 1s)}), edit).value();
    CHECK(partly.enforced_share == 0.25);
    CHECK(partly.options->enforced_by == "x-client");
    CHECK(partly.limits[0].safe.value_or(-1) == 10);
    QuotaEdit back;
    back["mode"] = "enforce";
    back["enforce_by"] = "quota";
    back["safe"] = "default";
    const auto whole = apply_edit(partly, back).value();
    CHECK(whole.enforced_share == 1);
    CHECK(whole.options == limiter::QuotaOptions{});
    CHECK_FALSE(whole.limits[0].safe.has_value());
}

TEST_CASE("a limit of requests in flight is added, replaced and removed beside a rate") {
    const QuotaDefinition rated = with({limit_of(Unit::requests, 10, 1s)});
    QuotaEdit edit;
    edit["concurrency"] = "64";
    QuotaDefinition both = apply_edit(rated, edit).value();
    REQUIRE(both.limits.size() == 2);
    CHECK(both.limits[0] == rated.limits[0]);
    CHECK(both.limits[1] == RateLimit::in_flight(64));
    edit["concurrency"] = "9";
    CHECK(apply_edit(both, edit).value().limits.at(1) == RateLimit::in_flight(9));
    edit["rate"] = "20r/s";
    const auto edited = apply_edit(both, edit).value();
    CHECK(edited.limits[0].amount == 20);
    CHECK(edited.limits[1].amount == 9);
    CHECK(apply_edit(with({}), edit).value().limits == edited.limits);

    QuotaEdit removal;
    removal["concurrency"] = "none";
    CHECK(apply_edit(both, removal).value() == rated);
    CHECK(apply_edit(rated, removal).value() == rated);

    QuotaEdit wrong;
    wrong["concurrency"] = "64r";
    CHECK(failure(rated, wrong) == "--concurrency: '64r' is not a whole number");
}

TEST_CASE("flags of rates never mean a limit of requests in flight") {
    const QuotaDefinition quota = with({RateLimit::in_flight(64)});
    QuotaEdit low;
    low["low"] = "5r";
    low["concurrency"] = "9";
    CHECK(failure(quota, low) == "--rate: is needed: the quota has no such limit yet");
    QuotaEdit rate;
    rate["rate"] = "5r/s";
    const auto edited = apply_edit(quota, rate).value();
    REQUIRE(edited.limits.size() == 2);
    CHECK(edited.limits[0] == quota.limits[0]);
    CHECK(edited.limits[1].amount == 5);
}

TEST_CASE("a scope is given to the limit that the other flags name") {
    QuotaEdit edit;
    edit["scope"] = "sidecar";
    const auto scopes = [&](const QuotaDefinition& quota) {
        std::string words;
        for (const RateLimit& limit : apply_edit(quota, edit).value().limits) {
            words += limit.scope == limiter::Scope::sidecar ? 's' : 'f';
        }
        return words;
    };
    const QuotaDefinition both = with({limit_of(Unit::requests, 10, 1s), RateLimit::in_flight(64)});
    const std::string unclear =
        "--scope: is it meant for the rate or for the requests in flight? Give either --rate or "
        "--concurrency with it";
    CHECK(scopes(with({RateLimit::in_flight(64)})) == "s");
    CHECK(scopes(with({limit_of(Unit::requests, 10, 1s)})) == "s");
    CHECK(failure(both, edit) == unclear);
    edit["concurrency"] = "9";
    CHECK(scopes(both) == "fs");
    edit["rate"] = "9r/s";
    CHECK(failure(both, edit) == unclear);
    edit["concurrency"].reset();
    CHECK(scopes(both) == "sf");
    edit["rate"].reset();
    edit["concurrency"] = "none";
    CHECK(scopes(both) == "s");
}

TEST_CASE("a window is added, changed and removed beside a rate") {
    const QuotaDefinition rated = with({limit_of(Unit::requests, 10, 1s)});
    QuotaEdit edit;
    edit["window"] = "1000r/h";
    const QuotaDefinition both = apply_edit(rated, edit).value();
    REQUIRE(both.limits.size() == 2);
    CHECK(both.limits[0] == rated.limits[0]);
    CHECK(both.limits[1] == RateLimit::in_window(1000, 1h));
    edit["window"] = "500r/month";
    CHECK(apply_edit(both, edit).value().limits.at(1) ==
          RateLimit::in_window(500, limiter::kMonth));
    edit["timezone"] = "Europe/Berlin";
    edit["rate"] = "20r/s";
    const auto zoned = apply_edit(both, edit).value();
    CHECK(zoned.limits[0].amount == 20);
    CHECK(zoned.limits[1].timezone == "Europe/Berlin");
    QuotaEdit back;
    back["timezone"] = "default";
    back["window"] = "7r/5m";
    back["from"] = "first";
    const auto first = apply_edit(zoned, back).value();
    CHECK(first.limits[1].timezone.empty());
    CHECK(first.limits[1].period == 5min);
    CHECK(first.limits[1].from == limiter::WindowStart::first);
    QuotaEdit removal;
    removal["window"] = "none";
    CHECK(apply_edit(both, removal).value() == rated);
    CHECK(apply_edit(rated, removal).value() == rated);
    removal["from"] = "first";
    CHECK(failure(both, removal) == "--window: is needed: the quota has no such limit yet");
}

TEST_CASE("a window is found by its unit and, among several, by its period") {
    QuotaDefinition quota =
        with({RateLimit::in_window(5, 1h), RateLimit::in_window(9, limiter::kMonth)});
    QuotaEdit edit;
    edit["window"] = "50r/h";
    CHECK(apply_edit(quota, edit).value().limits[0].amount == 50);
    edit["window"] = "50r/d";
    CHECK(failure(quota, edit) ==
          "--window: there are several such limits (5r/h, 9r/month): give the window with the "
          "period of one of them");
    edit["window"] = "1GiB/d";
    CHECK(failure(quota, edit) ==
          "--of: is needed: say what the limit counts (request-bytes or response-bytes)");
    edit["of"] = "request-bytes";
    CHECK(apply_edit(quota, edit).value().limits.at(2).unit == Unit::request_bytes);
    edit["rate"] = "1MiB/s";  // --of is meant for both
    CHECK(apply_edit(quota, edit).value().limits.size() == 4);
    edit["window"] = "5r/s";
    CHECK(failure(quota, edit).find("from 1m to 31d") != std::string::npos);
}

TEST_CASE("a scope that may be meant for a window as well") {
    QuotaEdit edit;
    edit["scope"] = "sidecar";
    const QuotaDefinition three = with(
        {limit_of(Unit::requests, 10, 1s), RateLimit::in_window(5, 1h), RateLimit::in_flight(64)});
    CHECK(failure(three, edit) ==
          "--scope: is it meant for the rate, for the window or for the requests in flight? Give "
          "either --rate or --window or --concurrency with it");
    edit["from"] = "first";
    const auto edited = apply_edit(three, edit).value();
    CHECK(edited.limits[0] == three.limits[0]);
    CHECK(edited.limits[1].scope == limiter::Scope::sidecar);
    CHECK(edited.limits[1].from == limiter::WindowStart::first);
    CHECK(edited.limits[2] == three.limits[2]);
}

TEST_CASE("errors name the flag") {
    const QuotaDefinition quota = with({limit_of(Unit::requests, 10, 1s)});
    const auto error_of = [&](const char* field, const char* text) {
        QuotaEdit edit;
        edit[field] = text;
        return failure(quota, edit);
    };
    CHECK(error_of("rate", "fast").find("--rate: 'fast'") == 0);
    CHECK(error_of("low", "5").find("--low: '5' lacks its unit") == 0);
    CHECK(error_of("high", "5MiB") == "--high: '5MiB' is in another unit than the limit");
    CHECK(error_of("of", "bytes").find("--of: 'bytes' must be requests") == 0);
    CHECK(error_of("law", "hard") == "--law: 'hard' must be linear or adaptive");
    CHECK(error_of("scope", "pod") == "--scope: 'pod' must be fleet or sidecar");
    CHECK(error_of("mode", "on") == "--mode: 'on' must be enforce or shadow or off");
    CHECK(error_of("headers", "no") == "--headers: 'no' must be shown or hidden");
    CHECK(error_of("enforce", "25") == "--enforce: '25' is not a percentage from 0% to 100%");
    CHECK(error_of("enforce_by", "x") == "--enforce-by: 'x' must be quota or header:<name>");
    CHECK(error_of("when_isolated", "open") ==
          "--when-isolated: 'open' must be safe or optimistic or pessimistic");
    CHECK(error_of("hold", "long") == "--hold: 'long' is not a duration like 250ms, 10s, 5m or 2h");
    CHECK(error_of("safe", "1MiB/s") == "--safe: '1MiB/s' is in another unit than the limit");
    CHECK(error_of("max_instances", "many") == "--max-instances: 'many' is not a whole number");
}

}  // namespace
}  // namespace weir::app

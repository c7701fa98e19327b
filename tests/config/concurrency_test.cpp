// Limits of requests in flight in quota documents: what may be written, and what is said of the
// rest.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "config/helpers.h"
#include "config/quota_document.h"

namespace weir::config {
namespace {

using testing::Lines;
using testing::quota_errors;

const std::string kOneQuota =
    "apiVersion: weir/v1\nkind: QuotaSet\nname: t\nquotas:\n  - name: a\n";

limiter::QuotaDefinition quota_of(const std::string& text) {
    Diagnostics diagnostics;
    const auto quota = parse_quota({"body", text}, diagnostics);
    CHECK(testing::lines(diagnostics) == Lines{});
    return quota.value_or(limiter::QuotaDefinition{});
}

TEST_CASE("limits of requests in flight") {
    const auto quota = quota_of(
        "name: a\nwait: {longest: 1s}\nwhen_isolated: pessimistic\n"
        "limits: [{rate: 10r/s}, {concurrency: 64, scope: sidecar}]");
    REQUIRE(quota.limits.size() == 2);
    auto expected = limiter::RateLimit::in_flight(64);
    expected.scope = limiter::Scope::sidecar;
    CHECK(quota.limits[1] == expected);
    CHECK(quota_of("name: a\nlimits: [{concurrency: 0}]").limits.at(0) ==
          limiter::RateLimit::in_flight(0));
    CHECK(quota_of("name: a\nlimits: [{law: adaptive, of: requests, concurrency: 10000000}]")
              .limits == std::vector{limiter::RateLimit::in_flight(10'000'000)});
}

/// The errors of a quota with this list of limits, without the place of the list.
Lines in_flight_errors(const std::string& limits) {
    Lines errors = quota_errors(kOneQuota + "    limits: " + limits + "\n");
    for (std::string& error : errors) {
        error.erase(0, error.find("limits"));
    }
    return errors;
}

TEST_CASE("a limit of requests in flight is a whole number and has nothing of a rate") {
    CHECK(in_flight_errors("[{concurrency: 64r}]") ==
          Lines{"limits[0].concurrency: '64r' is not a whole number"});
    CHECK(in_flight_errors("[{concurrency: 1.5}]") ==
          Lines{"limits[0].concurrency: '1.5' is not a whole number"});
    CHECK(in_flight_errors("[{concurrency: 10000001}]") ==
          Lines{"limits[0].concurrency: must be from 0 to 10000000"});
    for (const std::string more :
         {"low: 5r", "high: 5r", "debt: 1s", "law: linear", "safe: 1r/s"}) {
        CAPTURE(more);
        CHECK(in_flight_errors("[{concurrency: 64, " + more + "}]") ==
              Lines{"limits[0]." + more.substr(0, more.find(':')) +
                    ": belongs to a rate, and means nothing with 'concurrency', leave it out, or "
                    "give it to a limit with a 'rate'"});
    }
    CHECK(in_flight_errors("[{concurrency: 64, of: cost}]") ==
          Lines{"limits[0].of: 'concurrency' counts requests and nothing else, leave it out, or "
                "limit that with a 'rate'"});
    CHECK(in_flight_errors("[{concurrency: 64, rate: 1r/s}]") ==
          Lines{"limits[0].concurrency: a limit has one of 'rate', 'window' and 'concurrency', "
                "make a limit of each: [{rate: 100r/s}, {window: 1000r/h}, {concurrency: 64}]"});
    CHECK(in_flight_errors("[{concurrency: 64}, {rate: 1r/s}, {concurrency: 9}]") ==
          Lines{"limits[2]: also a 'concurrency', as limits[0], one of the two is enough: the "
                "lower amount"});
}

TEST_CASE("words of other programs for requests in flight come with advice") {
    for (const std::string word : {"max_connections", "maxconn", "max_in_flight", "in_flight",
                                   "max_requests", "max_concurrency", "max_pending_requests"}) {
        CAPTURE(word);
        const Lines errors = in_flight_errors("[{" + word + ": 64}]");
        REQUIRE(errors.size() == 2);
        CHECK(errors[1] == "limits[0]." + word +
                               ": unknown field, say how many requests may be in flight at once: "
                               "'concurrency: 64'");
        CHECK(quota_errors(kOneQuota + "    " + word + ": 64\n")
                  .at(0)
                  .find("put it into a limit: 'limits: [{concurrency: 64}]'") != std::string::npos);
    }
}

}  // namespace
}  // namespace weir::config

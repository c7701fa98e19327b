#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "fixture.h"
#include "limiter/decay.h"
#include "tolerance.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;
using weir::testing::plus_minus;

TEST_CASE("5r/m lets five at once and refuses the sixth") {
    Fixture fixture({quota("login", {per_minute(5)})});
    for (int i = 0; i < 5; ++i) {
        const Decision decision = fixture.check("login");
        CHECK(decision.admitted);
        CHECK(decision.remaining == 4 - i);
    }
    const Decision refused = fixture.check("login");
    CHECK_FALSE(refused.admitted);
    CHECK(refused.quota == "login");
    CHECK(refused.amount == 5);
    CHECK(refused.period == std::chrono::minutes(1));
    CHECK(refused.remaining == 0);
    CHECK(to_seconds(refused.reset) == doctest::Approx(12));
    CHECK(to_seconds(refused.retry_after) == doctest::Approx(12));
    fixture.wait(11.99);
    CHECK_FALSE(fixture.admits("login"));
    fixture.wait(0.02);
    CHECK(fixture.admits("login"));
    CHECK_FALSE(fixture.admits("login"));
}

TEST_CASE("6r/m never refuses a second request") {
    Fixture fixture({quota("q", {per_minute(6)})});
    for (int minute = 0; minute < 100; ++minute) {
        CHECK(fixture.admits("q"));
        CHECK(fixture.admits("q"));
        fixture.wait(61);
    }
}

TEST_CASE("a limit of zero refuses everything, weight 0 too") {
    Fixture fixture({quota("q", {per_second(0)})});
    const Decision decision = fixture.check("q");
    CHECK_FALSE(decision.admitted);
    CHECK(decision.reason == Reason::zero);
    CHECK(decision.retry_after >= std::chrono::seconds(1));
    CHECK_FALSE(fixture.admits("q", 0));
}

TEST_CASE("a request heavier than low passes only when the bucket is empty and is paid in full") {
    Fixture fixture({quota("q", {borders(10, 10, 20)})});
    CHECK(fixture.admits("q", 500));
    CHECK(fixture.level("q") == doctest::Approx(500));
    fixture.wait(48);
    CHECK(fixture.level("q") == plus_minus(20, 0.02));
    CHECK_FALSE(fixture.admits("q", 500));
    fixture.wait(2.001);
    CHECK(fixture.admits("q", 500));
}

TEST_CASE("no level counts for more than the ceiling") {
    QuotaDefinition definition = quota("q", {borders(100, 1000, 1000)});
    Fixture fixture({definition});
    Weights weights;
    for (int i = 0; i < 2'000; ++i) {
        (void)fixture.check("q", weights, CheckMode::charge_without_judging);
    }
    CHECK(fixture.level("q") == doctest::Approx(1020));  // + 0.2 s of the rate
    definition.limits[0].debt = BurstSpec{BurstSpec::Kind::amount, 50};
    REQUIRE(fixture.put(definition).empty());
    for (int i = 0; i < 2'000; ++i) {
        (void)fixture.check("q", weights, CheckMode::charge_without_judging);
    }
    CHECK(fixture.level("q") == doctest::Approx(1050));
}

TEST_CASE("weights that make no sense are clamped and counted") {
    Fixture fixture({quota("q", {borders(1e15, 1e15, 1e15)})});
    CHECK(fixture.admits("q", -5));
    CHECK(fixture.level("q") == 0);
    CHECK(fixture.admits("q", std::nan("")));
    CHECK(fixture.level("q") == doctest::Approx(1e12));
    CHECK(fixture.admits("q", INFINITY));
    CHECK(fixture.limiter.counters().clamped_weights == 3);
}

TEST_CASE("a bucket is a dumb bucket") {
    // Below the ceiling, at a hard edge alone: exactly drain, clamp, add.
    const bool holds = rc::check([] {
        const double rate = *rc::gen::inRange(1, 50);
        const double low = *rc::gen::inRange(1, 100);
        Fixture fixture({quota("q", {borders(rate, low, low)})});
        double level = 0;
        const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
            rc::gen::pair(rc::gen::inRange(0, 3000), rc::gen::inRange(0, 20)));
        for (const auto& [milliseconds, weight] : steps) {
            fixture.now += std::chrono::milliseconds(milliseconds);
            level = std::max(0.0, level - rate * milliseconds * 1e-3);
            const bool expected = level + std::min(double(weight), low) <= low + 1e-6;
            const bool close = std::abs(level + std::min(double(weight), low) - low) < 1e-5;
            const bool admitted = fixture.admits("q", weight);
            RC_ASSERT(close || admitted == expected);
            level += admitted ? weight : 0;
            RC_ASSERT(std::abs(fixture.level("q") - level) < 1e-6);
        }
    });
    CHECK(holds);
}

TEST_CASE("39: after an hour that nobody saw there is one bucket to be had, not more") {
    // A suspended machine: the clock stands still for the process, then has jumped.
    Fixture fixture({quota("few", {per_minute(5)}), quota("many", {borders(100, 100, 200)})});
    const auto burst = [&fixture](std::string_view name) {
        int admitted = 0;
        for (int i = 0; i < 2'000; ++i) {
            admitted += fixture.admits(name) ? 1 : 0;
        }
        return admitted;
    };
    CHECK(burst("few") == 5);
    CHECK(burst("many") <= 200);
    for (const double seconds : {3'600.0, 86'400.0, 31'536'000.0}) {
        fixture.wait(seconds);
        CHECK(burst("few") == 5);
        const int many = burst("many");
        CHECK(many >= 100);
        CHECK(many <= 200);
        fixture.wait(1);
        CHECK(many + burst("many") <= 301);  // what has drained since, and no more
    }
}

TEST_CASE("live edits keep the level, clamped to the new ceiling") {
    Fixture fixture({quota("q", {borders(10, 100, 100)})});
    for (int i = 0; i < 80; ++i) {
        CHECK(fixture.admits("q"));
    }
    fixture.wait(1);
    REQUIRE(fixture.put(quota("q", {borders(20, 100, 100)})).empty());
    CHECK(fixture.level("q") == doctest::Approx(70));
    fixture.wait(1);
    CHECK(fixture.level("q") == doctest::Approx(50));
    REQUIRE(fixture.put(quota("q", {borders(20, 10, 10)})).empty());
    CHECK(fixture.level("q") == doctest::Approx(14));  // 10 + max(0.2*20, 3)
}

TEST_CASE("refund and correction move the level") {
    Fixture fixture({quota("p", {per_second(1000)}), quota("q", {per_second(100)}, "p")});
    Weights weights;
    weights.requests = 30;
    Decision decision = fixture.check("q", weights);
    CHECK(fixture.level("q") == doctest::Approx(30));
    fixture.limiter.correct(fixture.thread, decision.charge, Unit::requests, 50, fixture.now);
    CHECK(fixture.level("q") == doctest::Approx(50));
    CHECK(fixture.level("p") == doctest::Approx(50));
    fixture.limiter.correct(fixture.thread, decision.charge, Unit::requests, 20, fixture.now);
    CHECK(fixture.level("q") == doctest::Approx(20));
    fixture.limiter.refund(fixture.thread, decision.charge, fixture.now);
    CHECK(fixture.level("q") == doctest::Approx(0));
    CHECK(fixture.level("p") == doctest::Approx(0));
    fixture.limiter.refund(fixture.thread, decision.charge, fixture.now);
    CHECK(fixture.level("q") == 0);  // never below
}

TEST_CASE("response bytes are charged by the mean and corrected") {
    RateLimit limit = per_second(1e6);
    limit.unit = Unit::response_bytes;
    Fixture fixture({quota("q", {limit})});
    Decision first = fixture.check("q");
    CHECK(fixture.level("q") == doctest::Approx(1));
    fixture.limiter.correct(fixture.thread, first.charge, Unit::response_bytes, 5000, fixture.now);
    CHECK(fixture.level("q") == doctest::Approx(5000));
    const Decision second = fixture.check("q");
    CHECK(second.charge.response_bytes > 100);
    CHECK(fixture.level("q") ==
          doctest::Approx(5000 + static_cast<double>(second.charge.response_bytes)));
}

TEST_CASE("request bytes and several limits in a quota") {
    RateLimit bytes = borders(1000, 1000, 1000);
    bytes.unit = Unit::request_bytes;
    Fixture fixture({quota("q", {per_second(100), bytes})});
    Weights weights;
    weights.request_bytes = 600;
    CHECK(fixture.check("q", weights).admitted);
    const Decision refused = fixture.check("q", weights);
    CHECK_FALSE(refused.admitted);
    CHECK(refused.unit == Unit::request_bytes);
    CHECK(fixture.level("q", 0) == doctest::Approx(1));  // charged to none
    CHECK(fixture.level("q", 1) == doctest::Approx(600));
}

TEST_CASE("decay is close to the exponential") {
    for (double x = 0; x < 70; x += 0.037) {
        CHECK(decay(x) == doctest::Approx(std::exp(-x)).epsilon(1e-4));
    }
    CHECK(decay(-1) == 1);
    CHECK(decay(1e9) == 0);
}

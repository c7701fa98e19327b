// Charges that are corrected after minutes, and records that rest for weeks.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "fixture.h"
#include "limiter/bucket.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;

namespace {

RateLimit bytes_per_second(double amount) {
    RateLimit limit = per_second(amount);
    limit.unit = Unit::response_bytes;
    return limit;
}

/// Upkeep for so long, a tenth of a second at a time.
void rest(Fixture& fixture, double seconds) {
    for (double passed = 0; passed < seconds; passed += 0.1) {
        fixture.wait(0.1);
        fixture.limiter.quiescent(fixture.thread);
        fixture.limiter.maintain(fixture.now);
    }
}

double admitted(Fixture& fixture, const std::string& definition) {
    return fixture.limiter.statistics_of(definition, fixture.now)->admitted;
}

}  // namespace

TEST_CASE("an instance whose charge is held is not dropped, however idle, and then is") {
    Fixture fixture(
        {quota("all", {bytes_per_second(1e6)}), quota("d/{k}", {bytes_per_second(1e6)}, "all")});
    Decision decision = fixture.check("d/one");
    const Held held = fixture.limiter.hold(decision.charge);
    REQUIRE(held);
    rest(fixture, 130);
    CHECK(fixture.level("d/one") >= 0);
    fixture.limiter.correct(fixture.thread, decision.charge, Unit::response_bytes, 5e6, fixture.now,
                            false);
    CHECK(fixture.level("d/one") == doctest::Approx(5e6));
    CHECK(fixture.level("all") == doctest::Approx(5e6));
    CHECK(admitted(fixture, "d/{k}") == doctest::Approx(5e6));
    CHECK(admitted(fixture, "all") == doctest::Approx(5e6));
    rest(fixture, 130);
    CHECK(fixture.level("d/one") >= 0);
    fixture.limiter.unhold(held);
    rest(fixture, 1);
    CHECK(fixture.level("d/one") == -1);
}

TEST_CASE("a held instance gives nobody its place") {
    LimiterOptions options = Fixture::small();
    options.max_instances = 2;
    Fixture fixture({quota("d/{k}", {bytes_per_second(1e6)})}, options);
    const Decision first = fixture.check("d/1");
    const Decision second = fixture.check("d/2");
    const Held held = fixture.limiter.hold(first.charge);
    const Held again = fixture.limiter.hold(first.charge);
    CHECK(held == again);
    fixture.wait(10);
    CHECK(fixture.find("d/3").overflow_depth == 0);
    CHECK(fixture.level("d/1") >= 0);
    CHECK(fixture.level("d/2") == -1);
    fixture.wait(10);
    fixture.limiter.unhold(held);
    CHECK(fixture.find("d/4").overflow_depth == 0);  // in d/3's place
    CHECK(fixture.level("d/1") >= 0);
    fixture.limiter.unhold(again);
    fixture.wait(10);
    CHECK(fixture.find("d/5").overflow_depth == 0);
    CHECK(fixture.find("d/6").overflow_depth == 0);
    CHECK(fixture.level("d/1") == -1);
    CHECK_FALSE(fixture.limiter.hold(first.charge));  // it is gone
    CHECK_FALSE(fixture.limiter.hold({}));
    (void)second;
}

TEST_CASE("an instance that goes with its definition although it is held leaves no trace") {
    Fixture fixture({quota("d/{k}", {bytes_per_second(1e6)})});
    Decision decision = fixture.check("d/one");
    const Held held = fixture.limiter.hold(decision.charge);
    REQUIRE(fixture.replace({}).empty());
    rest(fixture, 1);
    CHECK(fixture.limiter.memory().instances == 0);
    const std::vector<QuotaDefinition> again = {quota("d/{k}", {bytes_per_second(1e6)})};
    REQUIRE(fixture.replace(again).empty());
    for (int i = 0; i < 200; ++i) {
        CHECK(fixture.check("d/" + std::to_string(i)).admitted);
    }
    fixture.limiter.correct(fixture.thread, decision.charge, Unit::response_bytes, 1e5, fixture.now,
                            false);
    for (int i = 0; i < 200; ++i) {
        CHECK(fixture.level("d/" + std::to_string(i)) < 10);
    }
    fixture.limiter.unhold(held);
    rest(fixture, 70);
    CHECK(fixture.limiter.memory().instances == 0);  // nobody is held for ever
}

TEST_CASE("a charge to an overflow instance never reaches a stranger in its parent's place") {
    QuotaDefinition bucket = quota("s3/{k}", {bytes_per_second(1e6)});
    bucket.max_children = 1;
    Fixture fixture({bucket, quota("s3/{k}/{o}", {bytes_per_second(1e6)}, "s3/{k}")});
    CHECK(fixture.check("s3/one/first").admitted);
    Decision decision = fixture.check("s3/one/second");
    REQUIRE(decision.charge.leaf.overflow_depth == 1);
    REQUIRE(decision.charge.leaf.resume != 0);
    SUBCASE("not held: the parent goes, and what comes in its place is spared") {
        rest(fixture, 70);
        CHECK(fixture.level("s3/one") == -1);
        // Places are used again, the last one first.
        for (int i = 0; i < 10; ++i) {
            CHECK(fixture.check("s3/other" + std::to_string(i)).admitted);
        }
        fixture.limiter.correct(fixture.thread, decision.charge, Unit::response_bytes, 1e5,
                                fixture.now, false);
        for (int i = 0; i < 10; ++i) {
            CHECK(fixture.level("s3/other" + std::to_string(i)) < 10);
        }
    }
    SUBCASE("held: the parent stays and is charged") {
        const Held held = fixture.limiter.hold(decision.charge);
        REQUIRE(held);
        rest(fixture, 70);
        fixture.limiter.correct(fixture.thread, decision.charge, Unit::response_bytes, 1e5,
                                fixture.now, false);
        CHECK(fixture.level("s3/one") == doctest::Approx(1e5).epsilon(1e-3));
        fixture.limiter.unhold(held);
    }
}

TEST_CASE("a limit that rested for weeks has the rate of what comes then") {
    constexpr double kDay = 86'400;
    for (const double days : {0.01, 1.0, 20.0, 26.5, 30.0, 45.0, 51.9, 53.0, 100.0, 1000.0}) {
        CAPTURE(days);
        LimiterOptions options = Fixture::small();
        options.idle_after = std::chrono::hours(24 * 10'000);
        Fixture fixture({quota("q", {per_second(1000)})}, options);
        for (int i = 0; i < 2000; ++i) {
            CHECK(fixture.admits("q"));
            fixture.wait(0.002);
        }
        fixture.wait(days * kDay);
        for (int i = 0; i < 2000; ++i) {  // four seconds, more than the window
            CHECK(fixture.admits("q"));
            fixture.wait(0.002);
        }
        const auto status = fixture.limiter.inspect("q", fixture.now);
        REQUIRE(status.size() == 1);
        CHECK(std::abs(status[0].offered_rate / 500 - 1) < 0.1);
    }
}

TEST_CASE("ticks wrap after 52 days; a clock read a little earlier is no rest of weeks") {
    constexpr std::uint32_t kDay = 86'400'000'000'000ULL >> 20;
    CHECK(ticks_between(5, 5) == 0);
    CHECK(ticks_between(5, 12) == 7);
    CHECK(ticks_between(0xffffffff, 6) == 7);
    CHECK(ticks_between(12, 5) == 0);
    CHECK(ticks_between(60'000, 60'000 - 50'000) == 0);
    CHECK(ticks_between(12, 12 + 25 * kDay) == 25 * kDay);
    CHECK(ticks_between(12, 12 + 27 * kDay) > 20 * kDay);
    CHECK(ticks_between(12, 12 + 51 * kDay) > 20 * kDay);
}

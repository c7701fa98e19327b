// When something that an owned limit keeps comes to an end, to the instant and however little it
// is: rates that were handed over, rates that are held for silent members, a rest. Rate 100,
// low 100, high 200: a ceiling of 220, balance at 150.
#include <doctest/doctest.h>

#include <algorithm>

#include "owned_fixture.h"

namespace weir::sync {
namespace {

using Fixture = test::OwnedFixture;

TEST_CASE("an origin at rest goes on listening if low is more than ten seconds of the rate") {
    const auto listens = [](double low) {
        Fixture fixture;
        fixture.limit.parameters =
            limiter::LimitParameters{1, low, 2 * low, -1, limiter::Law::adaptive};
        fixture.now += 5s;
        fixture.receive(1, fixture.delta(0.5, 0.5, 0));
        const OwnedCell* const cell = fixture.limit.find(1);
        REQUIRE(cell != nullptr);
        CHECK(fixture.limit.listens(fixture.settings, *cell, fixture.now));
        return fixture.limit.listens(fixture.settings, *cell,
                                     fixture.now + fixture.settings.user_memory);
    };
    CHECK_FALSE(listens(10));
    CHECK(listens(10.01));
}

TEST_CASE_FIXTURE(Fixture, "a limit that drains for days is looked at again after one") {
    limit.parameters->rate = 1e-6;
    now += 5s;
    receive(1, delta(0.0863, 0.0863, 0));
    limit.forget_cells(nullptr);
    limit.advanced = now;
    limit.last_use = now;
    CHECK(limit.rest_ends(settings) == now + from_seconds(86'300));
    limit.bucket.level = 0.0865;  // 86,500 seconds, and a day has 86,400
    CHECK(limit.rest_ends(settings) == now + 24h);
    limit.bucket.level = 50;
    CHECK(limit.rest_ends(settings) == now + 24h);
}

TEST_CASE_FIXTURE(Fixture, "handed rates end in time, however small they are") {
    HandoverEntry entry;
    entry.rate = 0.5;
    limit.receive(settings, entry, silence.side(), now);
    pass(1199ms);
    CHECK(limit.bucket.offered_rate == doctest::Approx(0.5));
    pass(1ms);
    CHECK(limit.bucket.offered_rate == 0);
}

TEST_CASE_FIXTURE(Fixture, "what an owner hands over late ends what own views believed") {
    limit.held_rate = 50;
    now += settings.refill_time + 1ms;
    HandoverEntry entry;
    entry.held_rate = 70;
    entry.hold_left = 5s;
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.held_rate == 0);
}

TEST_CASE_FIXTURE(Fixture, "one that hears nobody holds on with a small rate as well") {
    silence.set_seeds({test::member(1).address}, false, now);
    lose_most();
    now += 100ms;
    silence.set_live_others(0, now - 3s, now);
    REQUIRE(silence.side().alone);
    HandoverEntry entry;
    entry.hold_left = 0s;
    SUBCASE("of half a request a second") {
        entry.held_rate = 0.5;
        limit.receive(settings, entry, silence.side(), now);
        CHECK(limit.held_until == now + settings.hold_alone - settings.hold);
        CHECK(limit.bucket.offered_rate == 0.5);
    }
    SUBCASE("but not with none") {
        limit.receive(settings, entry, silence.side(), now);
        CHECK(limit.held_until == now);
    }
}

TEST_CASE("what comes here takes of the held rate when it is more than chance, to the request") {
    // Of 60 a second the standard deviation is 10.
    REQUIRE(limiter::rate_noise(1, 60) == 10);
    const auto held_with = [](double beside) {
        Fixture fixture;
        HandoverEntry entry;
        entry.rate = beside;
        entry.held_rate = 100;
        entry.hold_left = 10s;
        fixture.limit.receive(fixture.settings, entry, fixture.silence.side(), fixture.now);
        fixture.now += 100ms;
        fixture.receive(1, fixture.delta(1, 60, 60));
        return fixture.limit.held_now;
    };
    CHECK(held_with(50) == 100);
    CHECK(held_with(49) == 89);
}

TEST_CASE_FIXTURE(Fixture, "learning the parameters drains for the time since, and only then") {
    const auto parameters = limiter::LimitParameters{10, 100, 100, -1, limiter::Law::adaptive};
    limit.parameters.reset();
    HandoverEntry entry;
    entry.level = 50;
    entry.shedding = true;
    SUBCASE("at once it stays as it was handed over") {
        limit.receive(settings, entry, silence.side(), now);
        limit.know(parameters);
        CHECK(limit.bucket.level == 50);
        CHECK(limit.bucket.shedding);
    }
    SUBCASE("after two seconds") {
        limit.receive(settings, entry, silence.side(), now);
        now += 2s;
        limit.advance(now);
        limit.know(parameters);
        CHECK(limit.bucket.level == doctest::Approx(30));
        CHECK_FALSE(limit.bucket.shedding);
    }
}

}  // namespace
}  // namespace weir::sync

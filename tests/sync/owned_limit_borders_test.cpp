// At which borders a delta is a baseline, late, a leap or a lie. Rate 100, low 100, high 200: a
// ceiling of 220, balance at 150.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "owned_fixture.h"

namespace weir::sync {
namespace {

using test::stop_draining;
using Fixture = test::OwnedFixture;

TEST_CASE("ten times what can have happened is believed, and no more") {
    const auto first = [](double admitted) {
        Fixture fixture;
        fixture.now += 5s;
        return fixture.receive(1, fixture.delta(admitted, admitted, 0));
    };
    // The ceiling of 220 and a second's 100.
    CHECK(first(3200) == DeltaOutcome::counted);
    CHECK(first(3201) == DeltaOutcome::leaping);
    const auto next = [](double increase, Duration after, Duration oldest, double heaviest) {
        Fixture fixture;
        fixture.now += 5s;
        DeltaEntry entry = fixture.delta(7, 7, 0);
        CHECK(fixture.receive(1, entry) == DeltaOutcome::counted);
        fixture.now += after;
        entry.admitted += increase;
        entry.offered = entry.admitted;
        entry.oldest_age = oldest;
        entry.heaviest = heaviest;
        return fixture.receive(1, entry);
    };
    CHECK(next(3200, 100ms, 0s, 0) == DeltaOutcome::counted);
    CHECK(next(3201, 100ms, 0s, 0) == DeltaOutcome::leaping);
    CHECK(next(6200, 4s, 0s, 0) == DeltaOutcome::counted);
    CHECK(next(6201, 4s, 0s, 0) == DeltaOutcome::leaping);
    CHECK(next(8200, 4s, 6s, 0) == DeltaOutcome::counted);
    CHECK(next(8201, 4s, 6s, 0) == DeltaOutcome::leaping);
    CHECK(next(11'000, 0s, 0s, 1000) == DeltaOutcome::counted);
    CHECK(next(11'001, 0s, 0s, 1000) == DeltaOutcome::leaping);
    // What was given back is no part of it; without parameters nobody can say.
    Fixture fixture;
    fixture.now += 5s;
    DeltaEntry entry = fixture.delta(4000, 4000, 0);
    entry.refunded = 1000;
    CHECK(fixture.receive(1, entry) == DeltaOutcome::counted);
    fixture.limit.parameters.reset();
    CHECK(fixture.receive(2, fixture.delta(1e9, 1e9, 0)) == DeltaOutcome::counted);
}

TEST_CASE("a rate is believed up to ten times what the counts found, and a few requests") {
    struct Told {
        double rate;
        double typical = 1;
        bool known = true;
    };
    const auto first = [](Told told) {
        Fixture fixture;
        if (!told.known) {
            fixture.limit.parameters.reset();
        }
        fixture.now += 5s;
        DeltaEntry entry = fixture.delta(0, 300, told.rate);
        entry.typical = told.typical;
        const DeltaOutcome outcome = fixture.receive(1, entry);
        const bool believed = outcome == DeltaOutcome::counted;
        CHECK(fixture.limit.bucket.offered_rate == doctest::Approx(believed ? told.rate : 1000));
        return believed;
    };
    CHECK(first({10 * 300 / 0.3 + 30 / 0.3}));
    CHECK_FALSE(first({10'100.5}));
    CHECK(first({10'199, 2}));
    CHECK_FALSE(first({10'201, 2}));
    CHECK(first({10'099, 0.5}));
    CHECK_FALSE(first({10'101, 0.5}));
    CHECK(first({19'999, 1e6}));  // no heavier than low
    CHECK_FALSE(first({20'001, 1e6}));
    CHECK(first({1e8, 1e6, false}));
    CHECK_FALSE(first({1.001e8, 1e6, false}));

    const auto next = [](double rate, Duration after) {
        Fixture fixture;
        fixture.now += 5s;
        CHECK(fixture.receive(1, fixture.delta(0, 300, 1000)) == DeltaOutcome::counted);
        fixture.now += after;
        const DeltaOutcome outcome = fixture.receive(1, fixture.delta(0, 330, rate));
        const double left = 1000 * std::exp(-0.5 * to_seconds(after) / 0.3);
        const bool believed = outcome == DeltaOutcome::counted;
        CHECK(fixture.limit.bucket.offered_rate == doctest::Approx(believed ? rate : left + 100));
        return believed;
    };
    CHECK(next(11'099, 0ms));
    CHECK_FALSE(next(11'101, 0ms));
    CHECK(next(10 * 606.5 + 1099, 300ms));
    CHECK_FALSE(next(10 * 606.6 + 1101, 300ms));
}

TEST_CASE("a word is late after two and a half keep-alives of silence, and not before") {
    const auto counted = [](Duration quiet, Duration oldest, Duration before, Duration after,
                            std::uint64_t late, double rate = 1e4) {
        Fixture fixture;
        stop_draining(fixture.limit);
        fixture.limit.parameters->rate = rate;
        fixture.now += 5s;
        DeltaEntry entry = fixture.delta(1, 1, 0);
        entry.keep_alive = before;
        fixture.receive(1, entry);
        fixture.now += quiet;
        entry = fixture.delta(1001, 1001, 0);
        entry.oldest_age = oldest;
        entry.keep_alive = after;
        CHECK(fixture.receive(1, entry) == DeltaOutcome::counted);
        CHECK(fixture.statistics.late_lumps == late);
        return fixture.limit.bucket.level - std::max(0.0, 1 - rate * to_seconds(quiet));
    };
    CHECK(counted(2500ms, 10s, 1s, 1s, 0) == doctest::Approx(1000));
    CHECK(counted(2501ms, 10s, 1s, 1s, 1) == doctest::Approx(1000 / 2.501));
    CHECK(counted(10s, 2500ms, 1s, 1s, 0) == doctest::Approx(1000));
    CHECK(counted(10s, 4s, 1s, 1s, 1) == doctest::Approx(250));
    CHECK(counted(4s, 4s, 2s, 1s, 0) == doctest::Approx(1000));  // the longer of two promises
    CHECK(counted(4s, 4s, 1s, 2s, 0) == doctest::Approx(1000));
    // An origin of many limits mentions each of them every 0.6 s at least, whatever its keep-alive.
    CHECK(counted(1500ms, 1500ms, 200ms, 200ms, 0) == doctest::Approx(1000));
    CHECK(counted(1501ms, 1501ms, 200ms, 200ms, 1) == doctest::Approx(1000 / 1.501));
    // No more is forgiven than the limit has drained in that time.
    CHECK(kept_of_late(-1000, 4, 100) == doctest::Approx(-600));
    CHECK(kept_of_late(-1000, 4, 1e4) == doctest::Approx(-250));
    CHECK(counted(10s, 4s, 1s, 1s, 1, 1e-9) == doctest::Approx(1000));
    CHECK(counted(10s, 4s, 1s, 1s, 1, 100) == doctest::Approx(600));
    CHECK(counted(10s, 4s, 1s, 1s, 1, 187) == doctest::Approx(252));
    CHECK(counted(10s, 4s, 1s, 1s, 1, 188) == doctest::Approx(250));
}

TEST_CASE("the first word of a young run is as old as it says") {
    Fixture fixture;
    stop_draining(fixture.limit);
    fixture.limit.parameters->rate = 1e4;
    fixture.now += 50s;
    DeltaEntry entry = fixture.delta(1000, 1000, 0);
    entry.run_age = 20s;
    entry.oldest_age = 10s;
    CHECK(fixture.receive(1, entry) == DeltaOutcome::counted);
    CHECK(fixture.limit.bucket.level == doctest::Approx(100));
    CHECK(fixture.statistics.late_lumps == 1);
}

TEST_CASE("a late lump fills to balance at most, and takes nothing away") {
    const auto level_after = [](double level, double increase, double rate = 0, Duration age = 4s,
                                std::uint64_t late = 1) {
        Fixture fixture;
        fixture.limit.parameters->rate = 1e-9;  // balance at 150 all the same
        fixture.now += 5s;
        DeltaEntry entry = fixture.delta(1, 1, rate);
        fixture.receive(1, entry);
        fixture.now += age;
        fixture.limit.advance(fixture.now);
        fixture.limit.bucket.level = level;
        entry = fixture.delta(1 + increase, 1 + increase, rate);
        entry.oldest_age = age;
        CHECK(fixture.receive(1, entry) == DeltaOutcome::counted);
        CHECK(fixture.statistics.late_lumps == late);
        return fixture.limit.bucket.level;
    };
    CHECK(level_after(100, 40) == doctest::Approx(140));
    CHECK(level_after(100, 1000) == doctest::Approx(150));
    CHECK(level_after(149, 40) == doctest::Approx(150));
    CHECK(level_after(160, 1000) == doctest::Approx(160));
    // A rate that went on counting is put right, in both directions.
    CHECK(level_after(60, 30, 4, 10s, 0) == doctest::Approx(50));
    CHECK(level_after(60, 90, 4, 10s, 0) == doctest::Approx(110));
    // After ten seconds what is beyond it is late. What was reckoned too much is taken back.
    CHECK(level_after(60, 95, 4, 11s) == doctest::Approx(111));
    CHECK(level_after(60, 180, 4, 11s) == doctest::Approx(150));
    CHECK(level_after(60, 30, 4, 11s, 0) == doctest::Approx(46));
}

/// Makes it a hard edge of five requests, which drains for so long after the first ones were told.
void drain_below_empty(Fixture& fixture, double rate, double told, Duration time) {
    fixture.limit.parameters = limiter::LimitParameters{rate, 5, 5, -1, limiter::Law::adaptive};
    fixture.now += 5s;
    fixture.receive(1, fixture.delta(told, told, 0));
    fixture.now += time;
    fixture.limit.advance(fixture.now);
}

TEST_CASE("what a late lump keeps is added to an empty bucket, not to what drained below it") {
    Fixture fixture;
    drain_below_empty(fixture, 1, 1, 10s);
    CHECK(fixture.limit.bucket.level < -2);
    DeltaEntry entry = fixture.delta(16, 16, 0);
    entry.oldest_age = 10s;
    CHECK(fixture.receive(1, entry) == DeltaOutcome::counted);
    CHECK(fixture.statistics.late_lumps == 1);
    CHECK(fixture.limit.bucket.level == doctest::Approx(5));
}

TEST_CASE("what is told together has drained as it came, once") {
    const auto level_after = [](Duration first_age, Duration second_age) {
        Fixture fixture;
        drain_below_empty(fixture, 100, 4, 100ms);
        CHECK(fixture.limit.bucket.level == doctest::Approx(-6));
        DeltaEntry entry = fixture.delta(12, 12, 0);
        entry.oldest_age = first_age;
        CHECK(fixture.receive(1, entry) == DeltaOutcome::counted);
        entry = fixture.delta(5, 5, 0);
        entry.oldest_age = second_age;
        CHECK(fixture.receive(2, entry) == DeltaOutcome::counted);
        return fixture.limit.bucket.level;
    };
    // Ten have drained since there were four, and thirteen have come.
    CHECK(level_after(100ms, 100ms) == doctest::Approx(4 - 10 + 8 + 5));
    // Those of the second origin find what the first one left of it.
    CHECK(level_after(20ms, 20ms) == doctest::Approx(8 - 2 + 5));
    CHECK(level_after(0ms, 0ms) == doctest::Approx(8 + 5));
}

TEST_CASE("a limit does not rest while any rate counts, however small") {
    Fixture fixture;
    fixture.now += 5s;
    CHECK(fixture.receive(1, fixture.delta(1, 1, 0)) == DeltaOutcome::counted);
    OwnedLimit& limit = fixture.limit;
    limit.urgent = false;
    CHECK(limit.at_rest());
    limit.held_rate = 0.5;
    CHECK_FALSE(limit.at_rest());
    limit.held_rate = 0;
    limit.cells.front().rate = 0.5;
    CHECK_FALSE(limit.at_rest());
}

TEST_CASE("of several cells the one is forgotten that was named") {
    Fixture fixture;
    fixture.now += 5s;
    for (const MemberNumber member : {1U, 2U, 3U}) {
        CHECK(fixture.receive(member, fixture.delta(member, member, 0)) == DeltaOutcome::counted);
    }
    fixture.limit.forget_cell(2, nullptr);
    REQUIRE(fixture.limit.cells.size() == 2);
    CHECK(fixture.limit.cells[0].member == 1);
    CHECK(fixture.limit.cells[1].member == 3);
}

TEST_CASE("a limit whose parameters were told is believed for as long as told_memory") {
    Fixture fixture;
    OwnedLimit& limit = fixture.limit;
    limit.parameters_told = true;
    limit.last_use = fixture.now;
    limit.bucket.level = 50;
    fixture.now += fixture.settings.told_memory;
    CHECK_FALSE(limit.idle(fixture.settings, fixture.now));
    CHECK(limit.idle(fixture.settings, fixture.now + 1ms));
}

TEST_CASE("a limit of four requests falls quiet when it is empty, one of five with two left") {
    const auto calm = [](double low, double level) {
        Fixture fixture;
        fixture.limit.parameters = limiter::LimitParameters{100, low, low, -1};
        fixture.limit.bucket.level = level;
        fixture.now += 1min;
        fixture.limit.note_offered(fixture.now);
        return fixture.limit.is_calm(fixture.now);
    };
    CHECK_FALSE(calm(4, 2));
    CHECK(calm(4, 0));
    CHECK(calm(5, 2));
    CHECK_FALSE(calm(5, 2.1));
}

}  // namespace
}  // namespace weir::sync

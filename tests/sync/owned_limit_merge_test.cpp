// What an owner makes of a delta, number by number: what it adds to the level, at which borders it
// is a baseline, late, a leap or a lie, and what is told of the sum. Rate 100, low 100, high 200:
// a ceiling of 220, balance at 150.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "owned_fixture.h"

namespace weir::sync {
namespace {

using test::member;
using Fixture = test::OwnedFixture;

/// A limit from which nothing drains: the level is the sum of what was counted.
void stop_draining(OwnedLimit& limit) {
    limit.parameters = limiter::LimitParameters{1e-9, 1e6, 2e6, -1, limiter::Law::adaptive};
}

TEST_CASE_FIXTURE(Fixture, "an owner that begins anew begins from nothing") {
    HandoverEntry entry;
    entry.level = 150;
    entry.rate = 400;
    entry.held_rate = 100;
    entry.hold_left = 5s;
    limit.receive(settings, entry, now);
    receive(1, delta(10, 90, 300));
    pass(100ms);
    CHECK(limit.holding);
    CHECK(limit.must_publish(settings, settings.publish_error, 0, 50ms));
    limit.note_published();
    limit.note_answered();
    limit.urgent = true;
    now += 1s;
    limit.restart(7, now);
    CHECK(limit.life == 7);
    CHECK(limit.born == now);
    CHECK_FALSE(limit.handed_over);
    CHECK(limit.bucket.level == 0);
    CHECK(limit.bucket.offered_rate == 0);
    CHECK(limit.open_time == 0);
    CHECK(limit.advanced == now);
    CHECK(limit.judged == now);
    CHECK(limit.cells.empty());
    CHECK(limit.origins == 0);
    CHECK(limit.handed_rate == 0);
    CHECK(limit.held_rate == 0);
    CHECK_FALSE(limit.holding);
    CHECK(limit.published.level == 0);
    CHECK_FALSE(limit.answered);
    CHECK(limit.published_probability == 0);
    CHECK_FALSE(limit.was_published);
    CHECK_FALSE(limit.urgent);
}

TEST_CASE_FIXTURE(Fixture,
                  "a run moves only to the same address, from another member, as that run") {
    now += 5s;
    CHECK(receive(2, delta(10, 10, 0)) == DeltaOutcome::counted);
    CHECK_FALSE(limit.adopt_run(3, 5, silence));  // another address
    const MemberNumber renewed = silence.number({member(2).address, 99}, now);
    CHECK_FALSE(limit.adopt_run(renewed, 6, silence));  // another run
    CHECK_FALSE(limit.adopt_run(2, 5, silence));        // itself
    CHECK(limit.cells.size() == 1);
    CHECK(limit.adopt_run(renewed, 5, silence));
    REQUIRE(limit.cells.size() == 1);
    CHECK(limit.find(renewed)->counts.admitted == 10);
    CHECK(limit.find(2) == nullptr);
    CHECK(limit.find(7) == nullptr);
}

TEST_CASE_FIXTURE(Fixture, "cells are ordered by member, whatever the order of arrival") {
    now += 5s;
    for (const MemberNumber from : {4u, 1u, 6u, 0u, 5u}) {
        CHECK(receive(from, delta(from, from, 1)) == DeltaOutcome::counted);
        CHECK(receive(from, delta(from + 1, from + 1, 1)) == DeltaOutcome::counted);
    }
    REQUIRE(limit.cells.size() == 5);
    CHECK(std::is_sorted(limit.cells.begin(), limit.cells.end(),
                         [](const auto& a, const auto& b) { return a.member < b.member; }));
    for (const MemberNumber from : {0u, 1u, 4u, 5u, 6u}) {
        REQUIRE(limit.find(from) != nullptr);
        CHECK(limit.find(from)->counts.admitted == from + 1);
    }
    CHECK(limit.find(2) == nullptr);
    CHECK(limit.find(7) == nullptr);
}

TEST_CASE("a run counts whole if it is young and began after us, to the instant") {
    const auto outcome = [](Duration owned, Duration age) {
        Fixture fixture;
        fixture.now += owned;
        DeltaEntry entry = fixture.delta(30, 30, 0);
        entry.run_age = age;
        const DeltaOutcome result = fixture.receive(1, entry);
        CHECK(fixture.limit.bucket.level == (result == DeltaOutcome::counted ? 30 : 0));
        CHECK(fixture.statistics.baselines == (result == DeltaOutcome::counted ? 0 : 1));
        CHECK(fixture.limit.find(1)->counts.admitted == 30);
        return result;
    };
    CHECK(outcome(100s, 60s - 1ms) == DeltaOutcome::counted);
    CHECK(outcome(100s, 60s) == DeltaOutcome::baseline);
    CHECK(outcome(5s, 5s - 1ms) == DeltaOutcome::counted);
    CHECK(outcome(5s, 5s) == DeltaOutcome::baseline);
}

TEST_CASE("the first word of an origin fills an owner in its first second only") {
    const auto level = [](Duration owned, double believed, bool known) {
        Fixture fixture;
        if (!known) {
            fixture.limit.parameters.reset();
        }
        fixture.now += owned;
        DeltaEntry entry = fixture.delta(500, 500, 0);
        entry.run_age = 10s;
        entry.believed_level = believed;
        CHECK(fixture.receive(1, entry) == DeltaOutcome::baseline);
        return fixture.limit.bucket.level;
    };
    CHECK(level(999ms, 120, true) == 120);
    CHECK(level(1s, 120, true) == 0);
    CHECK(level(500ms, 1e9, true) == 220);  // at most the ceiling
    CHECK(level(500ms, 120, false) == 0);   // of a limit that is not known nothing is believed
}

TEST_CASE_FIXTURE(Fixture, "a new run takes the old one's rate away") {
    stop_draining(limit);
    now += 5s;
    receive(1, delta(10, 10, 50));
    receive(2, delta(10, 10, 7));
    CHECK(limit.bucket.offered_rate == doctest::Approx(57));
    DeltaEntry next = delta(20, 20, 30);
    next.run = 6;
    CHECK(receive(1, next) == DeltaOutcome::counted);
    CHECK(limit.bucket.offered_rate == doctest::Approx(37));
    CHECK(limit.bucket.level == doctest::Approx(40));
    next.run = 8;
    next.run_age = 10s;
    next.rate = 20;
    CHECK(receive(1, next) == DeltaOutcome::baseline);
    CHECK(limit.bucket.offered_rate == doctest::Approx(27));
    CHECK(limit.bucket.level == doctest::Approx(40));
    // What was reckoned of the run before is not taken off the next one.
    now += 1s;
    limit.advance(now);
    next.run = 9;
    next.run_age = 10ms;
    const double before = limit.bucket.level;
    CHECK(receive(1, next) == DeltaOutcome::counted);
    CHECK(limit.bucket.level == doctest::Approx(before + 20));
}

TEST_CASE_FIXTURE(Fixture, "what was reckoned since the last word is part of the next one") {
    stop_draining(limit);
    now += 5s;
    receive(1, delta(10, 10, 50));
    now += 100ms;
    limit.advance(now);
    CHECK(limit.bucket.level == doctest::Approx(15));
    CHECK(receive(1, delta(13, 13, 50)) == DeltaOutcome::counted);
    CHECK(limit.bucket.level == doctest::Approx(13));
    now += 100ms;
    CHECK(receive(1, delta(33, 33, 0)) == DeltaOutcome::counted);
    CHECK(limit.bucket.level == doctest::Approx(33));
    // Refunds take away, though not below nothing.
    DeltaEntry refund = delta(33, 33, 0);
    refund.refunded = 8;
    CHECK(receive(1, refund) == DeltaOutcome::counted);
    CHECK(limit.bucket.level == doctest::Approx(25));
}

TEST_CASE_FIXTURE(Fixture, "of a limit that is not known net counts are added up") {
    limit.parameters.reset();
    now += 5s;
    receive(1, delta(10, 10, 50));
    now += 100ms;
    receive(1, delta(30, 30, 50));
    receive(2, delta(5, 5, 50));
    CHECK(limit.bucket.level == 35);
    DeltaEntry refund = delta(5, 5, 50);
    refund.refunded = 5;
    receive(2, refund);
    CHECK(limit.bucket.level == 30);
    refund = delta(30, 30, 50);
    refund.refunded = 3000;  // more than there ever was
    receive(1, refund);
    CHECK(limit.bucket.level == 0);
    CHECK(limit.bucket.typical == 1);
}

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
                            std::uint64_t late) {
        Fixture fixture;
        stop_draining(fixture.limit);
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
        return fixture.limit.bucket.level - 1;
    };
    CHECK(counted(2500ms, 10s, 1s, 1s, 0) == doctest::Approx(1000));
    CHECK(counted(2501ms, 10s, 1s, 1s, 1) == doctest::Approx(1000 / 2.501));
    CHECK(counted(10s, 2500ms, 1s, 1s, 0) == doctest::Approx(1000));
    CHECK(counted(10s, 4s, 1s, 1s, 1) == doctest::Approx(250));
    CHECK(counted(4s, 4s, 2s, 1s, 0) == doctest::Approx(1000));  // the longer of two promises
    CHECK(counted(4s, 4s, 1s, 2s, 0) == doctest::Approx(1000));
    // Less than a second's silence counts whole even if it is late.
    CHECK(counted(800ms, 800ms, 200ms, 200ms, 0) == doctest::Approx(1000));
    CHECK(counted(801ms, 801ms, 200ms, 200ms, 1) == doctest::Approx(1000));
}

TEST_CASE("the first word of a young run is as old as it says") {
    Fixture fixture;
    stop_draining(fixture.limit);
    fixture.now += 50s;
    DeltaEntry entry = fixture.delta(1000, 1000, 0);
    entry.run_age = 20s;
    entry.oldest_age = 10s;
    CHECK(fixture.receive(1, entry) == DeltaOutcome::counted);
    CHECK(fixture.limit.bucket.level == doctest::Approx(100));
    CHECK(fixture.statistics.late_lumps == 1);
}

TEST_CASE("a late lump fills to balance at most, and takes nothing away") {
    const auto level_after = [](double level, double increase, double rate) {
        Fixture fixture;
        fixture.limit.parameters->rate = 1e-9;  // balance at 150 all the same
        fixture.now += 5s;
        DeltaEntry entry = fixture.delta(1, 1, rate);
        fixture.receive(1, entry);
        fixture.now += 4s;
        fixture.limit.advance(fixture.now);
        fixture.limit.bucket.level = level;
        entry = fixture.delta(1 + increase, 1 + increase, rate);
        entry.oldest_age = 4s;
        CHECK(fixture.receive(1, entry) == DeltaOutcome::counted);
        CHECK(fixture.statistics.late_lumps == 1);
        return fixture.limit.bucket.level;
    };
    CHECK(level_after(100, 40, 0) == doctest::Approx(110));
    CHECK(level_after(100, 1000, 0) == doctest::Approx(150));
    CHECK(level_after(149, 40, 0) == doctest::Approx(150));
    CHECK(level_after(160, 1000, 0) == doctest::Approx(160));
    // Of a share of 40 a second some 40 were reckoned already: no more of it, nor less.
    CHECK(level_after(60, 40, 20) == doctest::Approx(60));
}

TEST_CASE_FIXTURE(Fixture, "what exceeds the ceiling is cut and counted") {
    now += 5s;
    receive(1, delta(220, 220, 0));
    CHECK(limit.bucket.level == 220);
    CHECK(statistics.ceiling_hits == 0);
    receive(1, delta(220.5, 220.5, 0));
    CHECK(limit.bucket.level == 220);
    CHECK(statistics.ceiling_hits == 1);
}

TEST_CASE_FIXTURE(Fixture, "means and heaviest weights of many origins") {
    now += 5s;
    DeltaEntry entry = delta(1, 1, 0);
    entry.typical = 4;
    entry.heaviest = 50;
    receive(1, entry);
    CHECK(limit.bucket.typical == 4);
    CHECK(limit.bucket.heaviest == 50);
    entry.typical = 12;
    entry.heaviest = 30;
    receive(2, entry);
    CHECK(limit.bucket.typical == 5);  // an eighth of the way
    CHECK(limit.bucket.heaviest == 50);
    // Nobody moves them further than a limit can mean: a minute of the rate.
    entry.typical = entry.heaviest = 1e12;
    receive(3, entry);
    CHECK(limit.bucket.typical == doctest::Approx(5 + 5995.0 / 8));
    CHECK(limit.bucket.heaviest == 6000);
    entry.typical = 0;
    const double before = limit.bucket.typical;
    receive(4, entry);
    CHECK(limit.bucket.typical == doctest::Approx(before - before / 8));
}

TEST_CASE("only an edge takes an origin's word that it sheds, and only without room") {
    const auto shedding_after = [](double high, double level, bool says) {
        Fixture fixture;
        fixture.limit.parameters->high = high;
        fixture.now += 5s;
        DeltaEntry entry = fixture.delta(level, level, 0);
        fixture.receive(1, entry);
        entry.shedding = says;
        fixture.receive(1, entry);
        return fixture.limit.bucket.shedding;
    };
    CHECK(shedding_after(100, 90, true));
    CHECK_FALSE(shedding_after(100, 90, false));
    CHECK_FALSE(shedding_after(100, 50, true));  // it has ended: room for 20
    CHECK_FALSE(shedding_after(200, 90, true));
}

TEST_CASE_FIXTURE(Fixture,
                  "rates of what is handed over end when the origins had the time to speak") {
    HandoverEntry entry;
    entry.rate = 400;
    entry.held_rate = 100;
    entry.hold_left = 5s;
    entry.typical = 2;
    entry.heaviest = 1e9;
    limit.receive(settings, entry, now);
    CHECK(limit.bucket.typical == 2);
    CHECK(limit.bucket.heaviest == 6000);
    CHECK(limit.bucket.offered_rate == 500);
    DeltaEntry word = delta(0, 100, 300);
    word.keep_alive = 3s;
    receive(1, word);
    CHECK(limit.bucket.offered_rate == 500);  // 300 of the 400 are this one's
    pass(1199ms);
    CHECK(limit.bucket.offered_rate == doctest::Approx(500));
    pass(1ms);
    CHECK(limit.bucket.offered_rate == doctest::Approx(400));
    // Once they are over, each word adds to the sum of all and to what is held.
    receive(2, delta(0, 100, 50));
    CHECK(limit.bucket.offered_rate == doctest::Approx(450));
    CHECK(limit.holding);
    pass(3799ms);
    CHECK(limit.holding);
    word.offered = 1000;
    receive(1, word);
    receive(2, delta(0, 100, 50));
    pass(1ms);
    CHECK_FALSE(limit.holding);
    CHECK(limit.bucket.offered_rate == doctest::Approx(350));
}

TEST_CASE_FIXTURE(Fixture, "however small they are, rates that are heard replace handed ones") {
    HandoverEntry entry;
    entry.rate = 0.5;
    limit.receive(settings, entry, now);
    receive(1, delta(0, 1, 0.3));
    CHECK(limit.bucket.offered_rate == doctest::Approx(0.5));
    receive(2, delta(0, 1, 0.3));
    CHECK(limit.bucket.offered_rate == doctest::Approx(0.6));
}

TEST_CASE_FIXTURE(Fixture, "a hand-over is believed for the first second") {
    HandoverEntry entry;
    entry.level = 90;
    entry.rate = 10;
    entry.shedding = true;
    now += 1s;
    limit.receive(settings, entry, now);
    CHECK(limit.bucket.level == 90);
    CHECK(limit.bucket.shedding);
    entry.level = 40;
    entry.shedding = false;
    entry.rate = 5;
    entry.typical = 0;
    limit.receive(settings, entry, now);
    CHECK(limit.bucket.level == 90);  // the larger one
    CHECK(limit.bucket.shedding);
    CHECK(limit.bucket.offered_rate == 10);
    CHECK(limit.bucket.typical == 1e-6);
    now += 1ms;
    entry.level = 190;
    limit.receive(settings, entry, now);
    CHECK(limit.bucket.level < 91);
    CHECK(limit.handed_over);
    entry.level = 1e9;
    limit.restart(2, now);
    limit.receive(settings, entry, now);
    CHECK(limit.bucket.level == 220);
}

TEST_CASE_FIXTURE(Fixture,
                  "of two holds that are handed over the shorter one holds, ten seconds at most") {
    HandoverEntry entry;
    entry.held_rate = 100;
    entry.hold_left = 100s;
    limit.receive(settings, entry, now);
    CHECK(limit.held_until == now + 10s);
    entry.hold_left = 3s;
    limit.receive(settings, entry, now);
    CHECK(limit.held_until == now + 3s);
    entry.hold_left = 8s;
    limit.receive(settings, entry, now);
    CHECK(limit.held_until == now + 3s);
    CHECK(limit.bucket.offered_rate == 100);
    limit.when_isolated = limiter::IsolationMode::optimistic;
    limit.receive(settings, entry, now);
    CHECK(limit.bucket.offered_rate == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "a host that says nobody listens: its rate moves away, its reckoning at once") {
    stop_draining(limit);
    now += 5s;
    receive(1, delta(10, 10, 50));
    now += 100ms;
    limit.advance(now);
    CHECK(limit.bucket.level == doctest::Approx(15));
    silence.nobody_there(1, now);
    now += 1ms;
    limit.advance(now);
    REQUIRE(silence.nobody_there(1, now) == Silence::Hint::given_up);
    limit.judged = now;
    const double before = limit.bucket.offered_rate;
    limit.judge_silence(settings, silence, now);
    CHECK(limit.bucket.level == doctest::Approx(10));
    CHECK(limit.bucket.offered_rate == doctest::Approx(before));
    now += 300ms;
    limit.judge_silence(settings, silence, now);
    CHECK(limit.bucket.offered_rate == doctest::Approx(50 * std::exp(-1)));
}

TEST_CASE_FIXTURE(Fixture, "a silent origin's rate falls to a third in a tenth of a second") {
    now += 5s;
    receive(1, delta(10, 10, 50));
    now += 2501ms;
    limit.judged = now;
    limit.judge_silence(settings, silence, now);
    CHECK(limit.bucket.offered_rate == doctest::Approx(50));
    now += 100ms;
    limit.judge_silence(settings, silence, now);
    CHECK(limit.bucket.offered_rate == doctest::Approx(50 * std::exp(-1)));
    // Who promised nothing is not missed.
    receive(2, delta(10, 10, 0));
    const std::uint64_t silent = statistics.silent_origins;
    now += 30s;
    silence.heard(1, now);
    limit.judge_silence(settings, silence, now);
    CHECK(limit.find(2)->fade == 1);
    CHECK(statistics.silent_origins == silent);
}

TEST_CASE_FIXTURE(Fixture,
                  "origins are those that were heard of lately; cells are kept for longer") {
    now += 5s;
    receive(1, delta(10, 10, 0));
    receive(2, delta(10, 10, 0));
    pass(1s);
    receive(2, delta(11, 11, 0));
    pass(1499ms);
    CHECK(limit.origins == 2);
    pass(1ms);
    CHECK(limit.origins == 1);
    CHECK(limit.total(settings, nullptr, 0, now).origins == 1);
    pass(10s);
    CHECK(limit.origins == 0);
    CHECK(limit.total(settings, nullptr, 0, now).origins == 1);
    pass(75s - 12'500ms);
    CHECK(limit.cells.size() == 2);
    pass(1ms);
    CHECK(limit.cells.size() == 1);
    CHECK(limit.find(1) == nullptr);
}

// --- what is told --------------------------------------------------------------------------------

TEST_CASE_FIXTURE(Fixture, "a total carries the state and the cell of its receiver") {
    now += 5s;
    DeltaEntry entry = delta(60, 90, 70);
    entry.refunded = 5;
    entry.heaviest = 50;
    receive(1, entry);
    limit.key.quota = 77;
    limit.bucket.shedding = true;
    const TotalEntry total = limit.total(settings, limit.find(1), 3, now);
    CHECK(total.key.quota == 77);
    CHECK(total.life == 1);
    CHECK(total.filled);
    CHECK(total.shedding);
    CHECK_FALSE(total.held);
    CHECK(total.level == doctest::Approx(55));
    CHECK(total.rate == doctest::Approx(70));
    CHECK(total.heaviest == 50);
    CHECK(total.pace == 3);
    CHECK(total.keep_alive == settings.keep_alive_floor);
    CHECK(total.run == 5);
    CHECK(total.admitted == 60);
    CHECK(total.refunded == 5);
    CHECK(total.offered == 90);
    const TotalEntry other = limit.total(settings, nullptr, 0, now);
    CHECK(other.run == 0);
    CHECK(other.admitted == 0);
    // A weight within the debt is not worth its bytes.
    limit.bucket.heaviest = 20;
    CHECK(limit.total(settings, nullptr, 0, now).heaviest == 0);
    limit.bucket.heaviest = 20.5;
    CHECK(limit.total(settings, nullptr, 0, now).heaviest == 20.5);
    limit.bucket.level = -1;
    CHECK(limit.total(settings, nullptr, 0, now).level == 0);
    limit.parameters.reset();
    CHECK(limit.total(settings, nullptr, 0, now).heaviest == 0);
    CHECK_FALSE(limit.total(settings, nullptr, 0, now).filled);
}

TEST_CASE_FIXTURE(Fixture, "what is handed over keeps what is heard and what is held apart") {
    now += 5s;
    receive(1, delta(1, 20, 50));
    receive(2, delta(1, 20, 30));
    for (int i = 0; i < 60; ++i) {
        pass(50ms);
        silence.heard(3, now);
    }
    receive(3, delta(1, 20, 7));
    CHECK(limit.holding);
    limit.bucket.level = 42;
    limit.bucket.heaviest = 9;
    limit.bucket.typical = 2;
    limit.bucket.shedding = true;
    limit.key.quota = 77;
    HandoverEntry entry = limit.handover(silence, now);
    CHECK(entry.key.quota == 77);
    CHECK(entry.level == 42);
    CHECK(entry.heaviest == 9);
    CHECK(entry.typical == 2);
    CHECK(entry.shedding);
    CHECK(entry.held_rate == doctest::Approx(80));
    CHECK(entry.rate == doctest::Approx(7));
    CHECK(entry.hold_left == silence.hold_left(1, now));
    CHECK(entry.hold_left > 9s);
    // And what was handed over to us goes on, while it holds.
    limit.handed_rate = 500;
    limit.held_rate = 11;
    limit.held_until = now + 12s;
    limit.bucket.level = -1;
    entry = limit.handover(silence, now);
    CHECK(entry.rate == 500);
    CHECK(entry.held_rate == doctest::Approx(91));
    CHECK(entry.hold_left == 12s);
    CHECK(entry.level == 0);
}

TEST_CASE_FIXTURE(Fixture, "a limit is idle when it is empty, without origins, for a minute") {
    now += 5s;
    limit.last_use = now;
    now += 60s;
    CHECK_FALSE(limit.idle(settings, now));
    now += 1ms;
    CHECK(limit.idle(settings, now));
    limit.bucket.level = 0.5;
    CHECK_FALSE(limit.idle(settings, now));
    limit.bucket.level = 0;
    limit.cells.emplace_back();
    CHECK_FALSE(limit.idle(settings, now));
}

// --- when it is told -----------------------------------------------------------------------------

TEST_CASE_FIXTURE(Fixture,
                  "below half of low nothing is published, above it the first time at once") {
    const auto must = [&] { return limit.must_publish(settings, settings.publish_error, 0, 0ms); };
    now += 5s;
    receive(1, delta(50, 50, 0));
    CHECK_FALSE(must());
    receive(1, delta(50.5, 50.5, 0));
    CHECK(must());
    limit.bucket.offered_rate = 1e6;  // no noise
    limit.note_published();
    CHECK_FALSE(must());
    // Fallen below, but still told to be above: that matters as well, until it was told.
    limit.bucket.level = 30;
    CHECK(must());
    limit.note_published();
    CHECK_FALSE(must());
    limit.bucket.level = 10;  // wrong by 20, but nobody reckons that it is above
    CHECK_FALSE(must());
    limit.published.level = 50;  // nor at half
    CHECK_FALSE(must());
    limit.published.level = 30;
    limit.answered = limit.bucket;
    limit.answered->level = 50;
    CHECK_FALSE(must());
    limit.answered.reset();
    // One that was answered while it was above goes on reckoning so.
    limit.bucket.level = 60;
    limit.note_answered();
    limit.bucket.level = 20;
    CHECK(must());
    limit.note_published();
    CHECK_FALSE(limit.answered);
    CHECK_FALSE(must());
    limit.parameters.reset();
    limit.bucket.level = 1000;
    CHECK_FALSE(must());
}

TEST_CASE_FIXTURE(Fixture, "a chance that is told to be above nothing is taken back") {
    now += 5s;
    limit.bucket.level = 180;
    limit.bucket.offered_rate = 1000;
    CHECK(limit.must_publish(settings, settings.publish_error, 0, 0ms));
    CHECK(limit.published_probability > 0.5);
    limit.bucket.level = 10;
    limit.published.level = 0;  // what was told is not even what is reckoned now
    CHECK(limit.must_publish(settings, settings.publish_error, 0, 0ms));
    CHECK(limit.published_probability == 0);
    limit.note_published();
    CHECK_FALSE(limit.must_publish(settings, settings.publish_error, 0, 0ms));
}

TEST_CASE_FIXTURE(Fixture, "who holds and who sheds is always told") {
    now += 5s;
    limit.holding = true;
    CHECK(limit.must_publish(settings, settings.publish_error, 0, 0ms));
    limit.note_published();
    CHECK_FALSE(limit.must_publish(settings, settings.publish_error, 0, 0ms));
    limit.parameters->high = 100;
    limit.bucket.level = 90;
    CHECK(limit.must_publish(settings, settings.publish_error, 0, 0ms));
    limit.note_published();
    limit.bucket.shedding = true;
    CHECK(limit.must_publish(settings, settings.publish_error, 0, 0ms));
}

TEST_CASE_FIXTURE(Fixture, "what others reckon moves on with the time") {
    now += 5s;
    limit.bucket.level = 90;
    limit.bucket.offered_rate = 1;
    limit.bucket.typical = 1e-4;  // many requests: no noise
    limit.note_published();
    limit.note_answered();
    REQUIRE(limit.answered);
    limit.bucket.level = 60.3;  // as everybody reckons, after 0.3 s
    CHECK_FALSE(limit.must_publish(settings, settings.publish_error, 0, 300ms));
    CHECK(limit.published.level == doctest::Approx(60.3));
    CHECK(limit.answered->level == doctest::Approx(60.3));
    CHECK(limit.must_publish(settings, settings.publish_error, 0, 300ms));
    CHECK(limit.published.level == doctest::Approx(30.6));
}

TEST_CASE_FIXTURE(Fixture, "the answer that is furthest from what was published is remembered") {
    limit.bucket.offered_rate = 100;
    limit.note_published();
    limit.bucket.offered_rate = 150;
    limit.note_answered();
    limit.bucket.offered_rate = 120;
    limit.note_answered();
    CHECK(limit.answered->offered_rate == 150);
    limit.bucket.offered_rate = 50;  // as far: the first of them
    limit.note_answered();
    CHECK(limit.answered->offered_rate == 150);
    limit.bucket.offered_rate = 20;
    limit.note_answered();
    CHECK(limit.answered->offered_rate == 20);
}

TEST_CASE_FIXTURE(Fixture, "the oldest word is of who told a rate, however small") {
    silence.set_self(silence.id(0).address);
    now += 5s;
    silence.heard(1, now);
    receive(1, delta(1, 1, 0));
    limit.judge_silence(settings, silence, now);
    CHECK_FALSE(limit.oldest_word);
    receive(1, delta(2, 2, 0.5));
    limit.judge_silence(settings, silence, now);
    CHECK(limit.oldest_word == now);
}

TEST_CASE_FIXTURE(Fixture, "an edge that counts single requests is told of each of them") {
    limit.parameters = limiter::LimitParameters{5, 5, 5, -1, limiter::Law::adaptive};
    limit.bucket.level = 3;
    limit.note_published();
    limit.bucket.level = 3.5;
    CHECK_FALSE(limit.must_publish(settings, settings.publish_error, 0, 0ms));
    limit.bucket.level = 3.6;
    CHECK(limit.must_publish(settings, settings.publish_error, 0, 0ms));
}

TEST_CASE_FIXTURE(Fixture, "the borders of an error in the level and in the chance") {
    // Thousands of requests: no noise. Level bound: 2 * 0.05 of the width of 100, and the pace.
    limit.bucket.offered_rate = 1e6;
    limit.bucket.level = 60;
    limit.note_published();
    const auto must = [&](double level, std::uint8_t pace) {
        limit.bucket.level = level;
        return limit.must_publish(settings, settings.publish_error, pace, 0ms);
    };
    CHECK_FALSE(must(69.9, 0));
    CHECK(must(70.1, 0));
    CHECK_FALSE(must(79.9, 10));
    CHECK(must(80.1, 10));
    CHECK(must(70.1, 0));
    // Few requests: their noise is 1/sqrt(2 * 10 * 0.3) of the width.
    limit.bucket.offered_rate = 10;
    limit.bucket.level = 60;
    limit.note_published();
    CHECK_FALSE(must(60 + 40.7, 0));
    CHECK(must(60 + 40.9, 0));
    limit.bucket.offered_rate = 20;
    limit.bucket.typical = 2;  // as many requests
    limit.bucket.level = 60;
    limit.note_published();
    CHECK_FALSE(must(60 + 40.7, 0));
    CHECK(must(60 + 40.9, 0));
    // The chance: twice 0.05 of what passes. 140 of 1e6... by the linear law it is the level's.
    limit.parameters->law = limiter::Law::linear;
    limit.bucket.typical = 1;
    limit.bucket.offered_rate = 1e6;
    limit.parameters->high = 120;  // a steep one; the width is the rate's: 100
    limit.bucket.level = 109;      // p = 0.5
    limit.note_published();
    CHECK_FALSE(must(109.9, 0));  // 0.545: within 0.1 * 0.455
    CHECK(must(110.1, 0));        // 0.555: beyond 0.1 * 0.445
    limit.bucket.level = 118.5;   // p = 0.975: the bound is 0.1 * 0.1
    limit.note_published();
    CHECK_FALSE(must(118.69, 0));
    CHECK(must(118.71, 0));
}

TEST_CASE_FIXTURE(Fixture,
                  "urgent is what lets through more than the error budget until the next look") {
    limit.parameters->law = limiter::Law::linear;
    limit.bucket.offered_rate = 1000;
    limit.bucket.level = 149;  // p = 0.5, of which nobody knows
    // 0.5 * 1000 * t > 0.1 * 100
    CHECK_FALSE(limit.is_urgent(settings, 19'900us));
    CHECK(limit.is_urgent(settings, 20'100us));
    limit.note_published();
    CHECK_FALSE(limit.is_urgent(settings, 10s));
    limit.bucket.level = 0;  // refused what could pass: as bad
    CHECK(limit.is_urgent(settings, 20'100us));
}

}  // namespace
}  // namespace weir::sync

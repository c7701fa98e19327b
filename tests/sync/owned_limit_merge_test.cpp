// What an owner makes of a delta, number by number: what it adds to the level, and what the sum
// over all origins is. Rate 100, low 100, high 200: a ceiling of 220, balance at 150.
#include <doctest/doctest.h>

#include "owned_fixture.h"

namespace weir::sync {
namespace {

using test::member;
using test::stop_draining;
using Fixture = test::OwnedFixture;

TEST_CASE_FIXTURE(Fixture, "an owner that begins anew begins from nothing") {
    HandoverEntry entry;
    entry.level = 150;
    entry.rate = 400;
    entry.held_rate = 100;
    entry.hold_left = 5s;
    limit.receive(settings, entry, silence.side(), now);
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

TEST_CASE_FIXTURE(Fixture, "a delta of a former run that comes late changes nothing") {
    stop_draining(limit);
    now += 5s;
    DeltaEntry former = delta(10, 10, 50);
    receive(1, former);
    DeltaEntry present = delta(20, 20, 30);
    present.run = former.run + 1;
    CHECK(receive(1, present) == DeltaOutcome::counted);
    CHECK(limit.bucket.level == doctest::Approx(30));
    now += 9s;
    former.admitted = former.offered = 15;
    former.run_age = 10s;
    CHECK(receive(1, former) == DeltaOutcome::old);
    present.admitted = present.offered = 21;
    CHECK(receive(1, present) == DeltaOutcome::counted);
    CHECK(limit.find(1)->counts.admitted == 21);
    CHECK(limit.find(1)->counts.run == present.run);
    // The origin's numbers have come around: this run began after the last word of the other one.
    now += 1s;
    former.run_age = 900ms;
    CHECK(receive(1, former) == DeltaOutcome::counted);
    CHECK(limit.find(1)->counts.run == former.run);
    // No packet is as late as this.
    now += 11s;
    present.run_age = 12s;
    present.run = former.run - 1;
    CHECK(receive(1, present) == DeltaOutcome::counted);
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

}  // namespace
}  // namespace weir::sync

// Rates of origins at an owner: heard, handed over by another owner, held for the silent. Rate 100,
// low 100, high 200: a ceiling of 220, balance at 150.
#include <doctest/doctest.h>

#include <cmath>

#include "owned_fixture.h"

namespace weir::sync {
namespace {

using test::stop_draining;

struct Fixture : test::OwnedFixture {
    /// Makes the limit one by the hour, to which what is added stays, and hands 500 of it over,
    /// with 120 requests a second.
    HandoverEntry hand_over_hour_limit() {
        limit.parameters = limiter::LimitParameters{1, 3600, 7200, -1, limiter::Law::adaptive};
        HandoverEntry entry;
        entry.level = 500;
        entry.rate = 120;
        limit.receive(settings, entry, silence.side(), now);
        return entry;
    }
    /// An origin with an old run is heard for the first time.
    void believe(MemberNumber from, double level) {
        DeltaEntry word = delta(300, 300, 0);
        word.run_age = 60s;
        word.believed_level = level;
        CHECK(receive(from, word) == DeltaOutcome::baseline);
    }
    void hand_over(double level) {
        HandoverEntry entry;
        entry.level = level;
        limit.receive(settings, entry, silence.side(), now);
    }
};

TEST_CASE_FIXTURE(Fixture,
                  "rates of what is handed over end when the origins had the time to speak") {
    HandoverEntry entry;
    entry.rate = 400;
    entry.held_rate = 100;
    entry.hold_left = 5s;
    entry.typical = 2;
    entry.heaviest = 1e9;
    limit.receive(settings, entry, silence.side(), now);
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
    limit.receive(settings, entry, silence.side(), now);
    receive(1, delta(0, 1, 0.3));
    CHECK(limit.bucket.offered_rate == doctest::Approx(0.5));
    receive(2, delta(0, 1, 0.3));
    CHECK(limit.bucket.offered_rate == doctest::Approx(0.6));
}

TEST_CASE_FIXTURE(Fixture, "what handed rates reckoned for origins that are gone is taken back") {
    // Of the 120 a second one origin with 80 reports, and the other one has gone.
    hand_over_hour_limit();
    pass(200ms);
    DeltaEntry word = delta(300, 300, 80);
    word.run_age = 60s;
    word.believed_level = 510;
    CHECK(receive(1, word) == DeltaOutcome::baseline);
    CHECK(limit.bucket.level == doctest::Approx(500 + 0.2 * 119));
    for (int i = 0; i < 9; ++i) {
        pass(100ms);
        word.run_age += 100ms;
        word.admitted = word.offered = word.offered + 8;
        CHECK(receive(1, word) == DeltaOutcome::counted);
    }
    CHECK(limit.bucket.level == doctest::Approx(500 + 1.1 * 119));
    pass(101ms);
    CHECK(limit.handed_rate == 0);
    CHECK(limit.bucket.level == doctest::Approx(500 + 1.2 * 79).epsilon(0.002));
    CHECK(limit.bucket.offered_rate == doctest::Approx(80));
}

TEST_CASE_FIXTURE(Fixture, "what no origin has claimed yet is not handed on with the level") {
    hand_over_hour_limit();
    pass(500ms);
    CHECK(limit.bucket.level == doctest::Approx(500 + 0.5 * 119));
    CHECK(limit.handover(settings, test::member(2), silence, now).level == doctest::Approx(500));
}

TEST_CASE_FIXTURE(Fixture,
                  "a level that an origin or an owner knows better holds nothing to take back") {
    HandoverEntry entry = hand_over_hour_limit();
    SUBCASE("an origin") {
        pass(200ms);
        DeltaEntry word = delta(300, 300, 40);
        word.run_age = 60s;
        word.believed_level = 600;
        CHECK(receive(1, word) == DeltaOutcome::baseline);
    }
    SUBCASE("another owner") {
        pass(200ms);
        entry.level = 600;
        limit.receive(settings, entry, silence.side(), now);
        limit.handed_rate = 1e-9;  // all of it has reported
    }
    CHECK(limit.bucket.level == 600);
    limit.bucket.offered_rate = 0;
    pass(1300ms);
    CHECK(limit.bucket.level > 597);
}

TEST_CASE_FIXTURE(Fixture, "an owner that hands over knows better than origins what was counted") {
    pass(100ms);
    believe(1, 120);
    believe(2, 150);
    CHECK(limit.bucket.level == doctest::Approx(150));
    hand_over(90);
    CHECK(limit.bucket.level == doctest::Approx(90));
    believe(3, 200);
    CHECK(limit.bucket.level == doctest::Approx(90));
    // Of owners the one with the highest level is believed, as always.
    hand_over(95);
    hand_over(80);
    CHECK(limit.bucket.level == doctest::Approx(95));
}

TEST_CASE_FIXTURE(Fixture, "an owner that hands over does not take away what was counted here") {
    pass(100ms);
    believe(1, 50);
    pass(200ms);  // what was believed drains first
    CHECK(limit.bucket.level == doctest::Approx(30));
    DeltaEntry word = delta(330, 330, 0);
    CHECK(receive(1, word) == DeltaOutcome::counted);
    CHECK(limit.bucket.level == doctest::Approx(60));
    hand_over(10);
    CHECK(limit.bucket.level == doctest::Approx(30));
}

TEST_CASE_FIXTURE(Fixture, "what is believed above the ceiling is not taken off what was counted") {
    pass(100ms);
    DeltaEntry word = delta(0, 0, 0);
    receive(1, word);
    word.admitted = word.offered = 30;
    CHECK(receive(1, word) == DeltaOutcome::counted);
    believe(2, 10000);
    CHECK(limit.bucket.level < 1000);
    hand_over(0);
    CHECK(limit.bucket.level == doctest::Approx(30));
}

TEST_CASE_FIXTURE(Fixture, "of a limit that drains slowly origins may know what owners have lost") {
    limit.know({.rate = 1, .low = 600, .high = 1200});
    pass(100ms);
    believe(1, 500);
    hand_over(90);
    CHECK(limit.bucket.level == doctest::Approx(500));
    believe(2, 550);
    CHECK(limit.bucket.level == doctest::Approx(550));
}

TEST_CASE_FIXTURE(Fixture, "of a limit that drains quickly nothing is left to take back") {
    HandoverEntry entry;  // 100 a second, and 150 a second expected
    entry.level = 60;
    entry.rate = 150;
    limit.receive(settings, entry, silence.side(), now);
    pass(1199ms);
    const double before = limit.bucket.level;
    pass(2ms);
    CHECK(before > 100);
    CHECK(limit.bucket.level == doctest::Approx(before).epsilon(0.01));
}

TEST_CASE_FIXTURE(Fixture, "a hand-over is believed for the first second") {
    HandoverEntry entry;
    entry.level = 90;
    entry.rate = 10;
    entry.shedding = true;
    now += 1s;
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.bucket.level == 90);
    CHECK(limit.bucket.shedding);
    entry.level = 40;
    entry.shedding = false;
    entry.rate = 5;
    entry.typical = 0;
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.bucket.level == 90);  // the larger one
    CHECK(limit.bucket.shedding);
    CHECK(limit.bucket.offered_rate == 10);
    CHECK(limit.bucket.typical == 1e-6);
    now += 1ms;
    entry.level = 190;
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.bucket.level < 91);
    CHECK(limit.handed_over);
    entry.level = 1e9;
    limit.restart(2, now);
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.bucket.level == 220);
}

TEST_CASE_FIXTURE(Fixture,
                  "of two holds that are handed over the shorter one holds, ten seconds at most") {
    HandoverEntry entry;
    entry.held_rate = 100;
    entry.hold_left = 100s;
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.held_until == now + 10s);
    entry.hold_left = 3s;
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.held_until == now + 3s);
    entry.hold_left = 8s;
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.held_until == now + 3s);
    CHECK(limit.bucket.offered_rate == 100);
    limit.when_isolated = limiter::IsolationMode::optimistic;
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.bucket.offered_rate == 0);
}

TEST_CASE_FIXTURE(Fixture, "the quota's own hold time takes the place of the settings'") {
    limit.hold = 4s;
    HandoverEntry entry;
    entry.held_rate = 100;
    entry.hold_left = 100s;
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.held_until == now + 4s);
    limit.restart(2, now);
    limit.hold = Duration::zero();
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.bucket.offered_rate == 0);
}

TEST_CASE_FIXTURE(Fixture, "one that hears nobody holds on with what its own views believed") {
    silence.set_seeds({test::member(1).address}, false, now);
    silence.set_live_others(0, now - 3s, now);
    CHECK_FALSE(silence.side().alone);  // nobody is missing: as after a start
    lose_most();
    now += 100ms;
    silence.set_live_others(0, now - 3s, now);
    CHECK(silence.side().alone);
    HandoverEntry entry;
    entry.held_rate = 100;
    entry.hold_left = -5s;  // the owners were last heard 15 s ago
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.bucket.offered_rate == 100);
    CHECK(limit.held_until == now + 45s);
    silence.set_seeds({Endpoint{}}, true, now);
    now += 1s;
    silence.set_live_others(0, now - 4s, now);
    limit.judge_silence(settings, silence, now);
    CHECK(limit.held_until < now);
    CHECK(limit.bucket.offered_rate == 0);
    CHECK_FALSE(limit.holding);
}

TEST_CASE_FIXTURE(Fixture,
                  "of a held rate as much goes as comes here beyond what was heard before") {
    HandoverEntry entry;
    entry.rate = 50;
    entry.held_rate = 100;
    entry.hold_left = 10s;
    limit.receive(settings, entry, silence.side(), now);
    receive(1, delta(1, 20, 50));
    pass(1300ms);
    receive(1, delta(2, 40, 50));
    pass(50ms);
    CHECK(limit.bucket.offered_rate == doctest::Approx(150));
    receive(1, delta(3, 60, 130));
    pass(50ms);
    CHECK(limit.bucket.offered_rate == doctest::Approx(150));
    receive(1, delta(4, 80, 300));
    pass(50ms);
    CHECK(limit.bucket.offered_rate == doctest::Approx(300));
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
    hear_another();
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
    hear_another();
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

/// Origins 1 and 2, of 50 and 30, are cut off with most of the fleet, and origin 3, of 20, goes on;
/// `unit` is the weight of a request. The smaller side of a split holds what it misses.
struct Held : Fixture {
    explicit Held(double weight) : unit(weight) {
        now += 5s;
        lose_most();
        tell(3, 20);
        tell(1, 50);
        tell(2, 30);
        for (int i = 0; i < 60; ++i) {
            pass(50ms);
            tell(3, 20);
        }
        REQUIRE(limit.find(1)->held);
        REQUIRE(limit.find(2)->held);
        REQUIRE(sum() == doctest::Approx(100));
    }
    void tell(MemberNumber from, double rate) {
        silence.heard(from, now);
        DeltaEntry word = delta(0, 0, rate * unit);
        word.typical = unit;
        receive(from, word);
    }
    /// What is reckoned as offered by all, once origin 3 tells this rate.
    double sum_with(double rate) {
        tell(3, rate);
        pass(1ms);
        return sum();
    }
    [[nodiscard]] double share(MemberNumber of) { return limit.find(of)->reckoned_rate() / unit; }
    [[nodiscard]] double sum() const { return limit.bucket.offered_rate / unit; }
    double unit;
};

TEST_CASE("load of dead origins that moves to the others takes the held shares with it") {
    // Whatever the limit counts: a rate below 1 a second is a rate as well.
    for (const double unit : {1.0, 0.001}) {
        CAPTURE(unit);
        Held fixture(unit);
        CHECK(fixture.sum_with(60) == doctest::Approx(100));  // half of the held 80 came here
        CHECK(fixture.share(1) == doctest::Approx(25));
        CHECK(fixture.share(2) == doctest::Approx(15));
        CHECK(fixture.sum_with(100) == doctest::Approx(100));
        CHECK(fixture.share(1) == doctest::Approx(0));
        CHECK(fixture.sum_with(130) == doctest::Approx(130));  // and more than what was held
        CHECK(fixture.share(1) == 0);
        CHECK(fixture.sum_with(20) == doctest::Approx(100));  // it was another load after all
        CHECK(fixture.share(1) == doctest::Approx(50));
        // Less than before is here: what was cut off offers no more for that.
        CHECK(fixture.sum_with(5) == doctest::Approx(85));
    }
}

TEST_CASE("a load that grows by no more than chance takes nothing of the held shares") {
    // Of 26 requests a second the standard deviation is 6.6, of 27 it is 6.7.
    Held fixture(1);
    CHECK(fixture.sum_with(26) == doctest::Approx(106));
    CHECK(fixture.sum_with(27) == doctest::Approx(100));
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

TEST_CASE("an origin that speaks of other limits keeps its rate, unless it was missed") {
    test::OwnedFixture fixture;
    fixture.settings.hold = Duration::zero();
    fixture.now += 5s;
    const auto tell = [&](double counts, Duration age) {
        DeltaEntry delta = fixture.delta(counts, counts, 50);
        delta.oldest_age = age;
        fixture.receive(1, delta);
        return fixture.statistics.late_lumps;
    };
    const auto pass = [&](int tenths, bool heard) {
        for (int i = 0; i < tenths; ++i) {
            fixture.now += 100ms;
            if (heard) {
                fixture.silence.heard(1, fixture.now);
            }
            fixture.limit.advance(fixture.now);
            fixture.limit.judge_silence(fixture.settings, fixture.silence, fixture.now);
        }
        return fixture.limit.bucket.offered_rate;
    };
    CHECK(tell(10, 0ms) == 0);
    CHECK(pass(100, true) == doctest::Approx(50));
    CHECK(pass(10, true) < 1);  // it has left the limit

    CHECK(tell(20, 0ms) == 0);
    CHECK(pass(30, false) < 1);
    CHECK(pass(10, true) < 1);
    CHECK(tell(30, 4s) == 1);
    CHECK(pass(30, true) == doctest::Approx(50));
    CHECK(tell(180, 3s) == 1);
}

}  // namespace
}  // namespace weir::sync

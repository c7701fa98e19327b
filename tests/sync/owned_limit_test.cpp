#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "owned_fixture.h"

namespace weir::sync {
namespace {

using test::member;
using Fixture = test::OwnedFixture;

TEST_CASE_FIXTURE(Fixture,
                  "rule 1: a run older than our ownership is a baseline, a younger one counts") {
    now += 5s;
    DeltaEntry old = delta(5000, 5000, 0);
    old.run_age = 10s;
    CHECK(receive(1, old) == DeltaOutcome::baseline);
    CHECK(limit.bucket.level == 0);
    CHECK(receive(2, delta(30, 30, 0)) == DeltaOutcome::counted);
    CHECK(limit.bucket.level == doctest::Approx(30));
    old.admitted = old.offered = 5010;
    CHECK(receive(1, old) == DeltaOutcome::counted);
    CHECK(limit.bucket.level == doctest::Approx(40));
}

TEST_CASE_FIXTURE(Fixture, "rule 1: a new owner takes the largest level that is believed") {
    now += 500ms;
    DeltaEntry entry = delta(500, 500, 0);
    entry.run_age = 10s;
    entry.believed_level = 120;
    CHECK(receive(1, entry) == DeltaOutcome::baseline);
    CHECK(limit.bucket.level == doctest::Approx(120));
    CHECK_FALSE(limit.filled(settings, now));
    now += 600ms;
    CHECK(limit.filled(settings, now));
    entry.believed_level = 199;
    receive(2, entry);
    CHECK(limit.bucket.level < 121);
}

TEST_CASE_FIXTURE(Fixture, "rule 2: of a late lump only the last second's share counts") {
    now += 5s;
    receive(1, delta(1, 1, 0));
    pass(10s);
    DeltaEntry late = delta(101, 101, 0);
    late.oldest_age = 10s;
    receive(1, late);
    CHECK(limit.bucket.level == doctest::Approx(10));
    CHECK(statistics.late_lumps == 1);
}

TEST_CASE_FIXTURE(Fixture, "rule 2: a big share that was silent for 2 s is late already") {
    now += 5s;
    DeltaEntry word = delta(10, 10, 60);
    word.keep_alive = 200ms;
    receive(1, word);
    for (int i = 0; i < 40; ++i) {
        pass(50ms);  // its share was given up after 0.8 s
    }
    CHECK(limit.bucket.offered_rate < 1);
    const double before = limit.bucket.level;
    word.admitted = word.offered = 130;
    word.oldest_age = 2s;
    receive(1, word);
    CHECK(statistics.late_lumps == 1);
    CHECK(limit.bucket.level <= before + 10);  // a second's share less what had been reckoned
    CHECK(limit.bucket.level >= before);
}

TEST_CASE_FIXTURE(Fixture, "rule 2: lost answers make nobody late") {
    now += 5s;
    DeltaEntry word = delta(10, 10, 0);
    word.keep_alive = 200ms;
    for (int i = 0; i < 40; ++i) {
        receive(1, word);
        word.admitted = word.offered = word.admitted + 5;
        word.oldest_age += 50ms;  // as far as the origin knows
        pass(50ms);
    }
    receive(1, word);
    CHECK(statistics.late_lumps == 0);
    CHECK(limit.bucket.level == doctest::Approx(10));
}

TEST_CASE_FIXTURE(Fixture,
                  "what was reckoned while a rate faded or was held is taken off again, no "
                  "more and no less") {
    limit.parameters->rate = 1e-6;  // nothing drains: the level is the sum of what was counted
    limit.parameters->low = 1e6;
    limit.parameters->high = 2e6;
    receive(1, delta(1, 1, 50));
    receive(2, delta(1, 1, 30));
    for (int i = 0; i < 20; ++i) {  // the first one falls silent, and a little later the second one
        pass(50ms);
        silence.heard(2, now);
    }
    for (int i = 0; i < 100; ++i) {
        pass(50ms);
    }
    CHECK(statistics.splits == 2);
    DeltaEntry word = delta(301, 301, 50);
    word.run_age = 6s;
    receive(1, word);
    word = delta(201, 201, 30);
    receive(2, word);
    CHECK(limit.bucket.level == doctest::Approx(500));
}

TEST_CASE_FIXTURE(Fixture,
                  "rule 3: no level exceeds the ceiling, and it is paid back in ceiling/rate") {
    now += 5s;
    DeltaEntry lie = delta(1, 1, 0);
    receive(1, lie);
    lie.admitted = lie.offered = 1e15;
    lie.heaviest = 1e15;
    lie.typical = 1e15;
    lie.rate = 1e15;
    receive(1, lie);
    const double ceiling = limit.bucket.ceiling(*limit.parameters);
    CHECK(limit.bucket.level <= ceiling);
    CHECK(ceiling <= 200 + 3 * 6000);
    // The liar falls silent.
    for (int i = 0; i < 600; ++i) {
        pass(50ms);
    }
    CHECK(limit.bucket.offered_rate < 1);
    CHECK(limit.bucket.probability(*limit.parameters) <= 1);
    for (int i = 0; i < 6000; ++i) {
        pass(50ms);
    }
    CHECK(limit.bucket.level == 0);
}

TEST_CASE_FIXTURE(Fixture, "a falling count is refused, an old packet changes nothing") {
    now += 5s;
    receive(1, delta(50, 60, 0));
    const double level = limit.bucket.level;
    CHECK(receive(1, delta(60, 55, 0)) == DeltaOutcome::falling);
    CHECK(receive(1, delta(40, 50, 999)) == DeltaOutcome::old);
    CHECK(limit.bucket.level == level);
    CHECK(limit.bucket.offered_rate == 0);
    CHECK(limit.find(1)->counts.admitted == 50);
}

TEST_CASE_FIXTURE(Fixture, "one silent origin fades within 0.2 s, two are held") {
    receive(1, delta(1, 1, 50));
    receive(2, delta(1, 1, 30));
    for (int i = 0; i < 48; ++i) {  // the second one goes on
        pass(50ms);
        silence.heard(2, now);
        receive(2, delta(1 + i, 1 + i, 30));
    }
    pass(150ms);
    for (int i = 0; i < 4; ++i) {
        silence.heard(2, now);
        receive(2, delta(60 + i, 60 + i, 30));
        pass(50ms);
    }
    CHECK(limit.bucket.offered_rate < 30 + 50 * 0.3);
    CHECK(statistics.splits == 0);
}

TEST_CASE_FIXTURE(Fixture, "both silent at once keep their rates for the hold, then fade") {
    lose_most();
    receive(1, delta(1, 1, 50));
    receive(2, delta(1, 1, 30));
    for (int i = 0; i < 60; ++i) {
        pass(50ms);
    }
    CHECK(limit.bucket.offered_rate == doctest::Approx(80));
    for (int i = 0; i < 220; ++i) {
        pass(50ms);
    }
    CHECK(limit.bucket.offered_rate < 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "a goodbye takes the rate away at once and keeps the counts for a while") {
    receive(1, delta(10, 10, 50));
    silence.gone(member(1), now);
    pass(50ms);
    CHECK(limit.bucket.offered_rate == 0);
    CHECK(limit.cells.size() == 1);
    const MemberNumber renewed = silence.number({member(1).address, 99}, now);
    CHECK(limit.adopt_run(renewed, 5, silence));
    CHECK(receive(renewed, delta(12, 12, 50)) == DeltaOutcome::counted);
    CHECK(limit.find(1) == nullptr);
    for (int i = 0; i < 80; ++i) {
        pass(1s);
    }
    CHECK(limit.cells.empty());
    CHECK(limit.idle(settings, now));
}

TEST_CASE_FIXTURE(Fixture, "a hand-over fills level and rates until the origins speak themselves") {
    HandoverEntry entry;
    entry.level = 150;
    entry.rate = 400;
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.filled(settings, now));
    CHECK(limit.bucket.level == doctest::Approx(150));
    CHECK(limit.bucket.offered_rate == doctest::Approx(400));
    receive(1, delta(1, 90, 300));
    CHECK(limit.bucket.offered_rate == doctest::Approx(400));
    for (int i = 0; i < 30; ++i) {
        pass(50ms);
    }
    CHECK(limit.bucket.offered_rate == doctest::Approx(300));
}

TEST_CASE_FIXTURE(Fixture, "more admitted than the bucket can have held adds nothing") {
    now += 5s;
    CHECK(receive(1, delta(90, 90, 50)) == DeltaOutcome::counted);
    const double level = limit.bucket.level;
    now += 100ms;
    // Ceiling 220 and a second's drain, ten times over.
    CHECK(receive(1, delta(90 + 3300, 3400, 50)) == DeltaOutcome::leaping);
    CHECK(limit.bucket.level <= level);
    CHECK(limit.find(1)->counts.admitted == 3390);  // it is acknowledged all the same
    now += 100ms;
    CHECK(receive(1, delta(3390 + 100, 3600, 50)) == DeltaOutcome::counted);
    CHECK(limit.bucket.level > level);
    // A new run that begins with a leap is a lie as well.
    DeltaEntry young = delta(1e9, 1e9, 1);
    CHECK(receive(2, young) == DeltaOutcome::leaping);
    CHECK(limit.bucket.level <= 220);
}

TEST_CASE_FIXTURE(Fixture, "after a long silence as much may come as has drained") {
    now += 5s;
    receive(1, delta(10, 10, 50));
    now += 100s;
    CHECK(receive(1, delta(10'000, 10'000, 50)) == DeltaOutcome::counted);
}

TEST_CASE_FIXTURE(Fixture, "a rate that the counts cannot account for is not believed") {
    now += 5s;
    receive(1, delta(10, 300, 1000));
    CHECK(limit.bucket.offered_rate == doctest::Approx(1000));
    now += 100ms;
    CHECK(receive(1, delta(20, 330, 1e6)) == DeltaOutcome::leaping);
    CHECK(limit.bucket.offered_rate < 1100);
    now += 100ms;
    CHECK(receive(1, delta(30, 3330, 10'000)) == DeltaOutcome::counted);  // ten times, really
    CHECK(limit.bucket.offered_rate == doctest::Approx(10'000));
}

TEST_CASE_FIXTURE(Fixture,
                  "optimistic: silent ones fade even in a split, and totals say that it is one") {
    lose_most();
    limit.when_isolated = limiter::IsolationMode::optimistic;
    now += 2s;
    receive(1, delta(1, 100, 300));
    receive(2, delta(1, 100, 300));
    CHECK_FALSE(limit.total(settings, nullptr, 0, now).held);
    for (int i = 0; i < 80; ++i) {
        pass(50ms);
    }
    CHECK(limit.bucket.offered_rate < 1);
    CHECK(limit.total(settings, nullptr, 0, now).held);
    for (int i = 0; i < 240; ++i) {
        pass(50ms);
    }
    CHECK_FALSE(limit.total(settings, nullptr, 0, now).held);
}

TEST_CASE_FIXTURE(Fixture, "safe: totals say for how long the share of silent ones is held") {
    lose_most();
    now += 2s;
    receive(1, delta(1, 100, 300));
    receive(2, delta(1, 100, 300));
    for (int i = 0; i < 80; ++i) {
        pass(50ms);
    }
    CHECK(limit.bucket.offered_rate == doctest::Approx(600));
    CHECK(limit.total(settings, nullptr, 0, now).held);
    CHECK(limit.handover(settings, test::member(7), silence, now).hold_left > 5s);
    CHECK(limit.must_publish(settings, settings.publish_error, 0, 50ms));
    limit.note_published();
    for (int i = 0; i < 240; ++i) {
        pass(50ms);
    }
    CHECK_FALSE(limit.total(settings, nullptr, 0, now).held);
    CHECK(limit.bucket.offered_rate < 1);
}

TEST_CASE_FIXTURE(Fixture, "a load that leaps over the limit is told before its turn, once") {
    now += 5s;
    receive(1, delta(0, 40, 60));
    CHECK_FALSE(limit.is_urgent(settings, 50ms));
    now += 50ms;
    receive(1, delta(150, 190, 1000));  // in balance at 0.9 refused, and nobody knows
    CHECK(limit.is_urgent(settings, 50ms));
    // A look that is so near sees it in time.
    CHECK_FALSE(limit.is_urgent(settings, 10ms));
    CHECK(limit.must_publish(settings, settings.publish_error, 0, 50ms));
    limit.note_published();
    CHECK_FALSE(limit.is_urgent(settings, 50ms));
    now += 50ms;
    receive(1, delta(155, 240, 1050));
    CHECK_FALSE(limit.is_urgent(settings, 50ms));
}

TEST_CASE_FIXTURE(Fixture,
                  "an owner that slows its origins down publishes for larger errors only") {
    now += 5s;
    receive(1, delta(60, 60, 200));
    CHECK(limit.must_publish(settings, settings.publish_error, 0, 50ms));
    limit.note_published();
    receive(1, delta(80, 80, 200));  // 0.2 of the width more than all reckon
    CHECK(limit.must_publish(settings, settings.publish_error, 0, 0ms));
    CHECK_FALSE(limit.must_publish(settings, settings.publish_error, 20, 0ms));
    receive(1, delta(95, 95, 200));
    CHECK(limit.must_publish(settings, settings.publish_error, 20, 0ms));
}

TEST_CASE_FIXTURE(Fixture, "the limit of which nothing is known is never urgent") {
    limit.parameters.reset();
    now += 5s;
    receive(1, delta(150, 190, 1000));
    CHECK_FALSE(limit.is_urgent(settings, 50ms));
}

TEST_CASE_FIXTURE(Fixture, "of held rates that are handed over the least is believed") {
    HandoverEntry entry;
    entry.held_rate = 500;
    entry.hold_left = 5s;
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.bucket.offered_rate == doctest::Approx(500));
    entry.held_rate = 40;
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.bucket.offered_rate == doctest::Approx(40));
    entry.held_rate = 1e9;
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.bucket.offered_rate == doctest::Approx(40));
}

TEST_CASE_FIXTURE(Fixture, "the number of origins is bounded") {
    settings.maximum_cells_per_limit = 3;
    now += 5s;
    for (MemberNumber i = 0; i < 3; ++i) {
        CHECK(receive(i, delta(1, 1, 1)) == DeltaOutcome::counted);
    }
    CHECK(receive(4, delta(1, 1, 1)) == DeltaOutcome::full);
    CHECK(receive(2, delta(2, 2, 1)) == DeltaOutcome::counted);
}

// --- laws ---------------------------------------------------------------------------------------

CounterCell cell_of(unsigned admitted, unsigned refunded, unsigned offered) {
    return {1, static_cast<double>(admitted), static_cast<double>(refunded),
            static_cast<double>(offered)};
}

TEST_CASE("merging cells is commutative, associative, idempotent and monotone") {
    CHECK(rc::check("laws", [](std::array<std::uint16_t, 9> n) {
        const auto a = cell_of(n[0], n[1], n[2]);
        const auto b = cell_of(n[3], n[4], n[5]);
        const auto c = cell_of(n[6], n[7], n[8]);
        RC_ASSERT(merge(a, b) == merge(b, a));
        RC_ASSERT(merge(a, merge(b, c)) == merge(merge(a, b), c));
        RC_ASSERT(merge(a, a) == a);
        RC_ASSERT(follows(merge(a, b), a));
        RC_ASSERT(follows(merge(a, b), b));
    }));
}

TEST_CASE("lost, doubled and reordered deltas end where the orderly ones do") {
    CHECK(rc::check("a dumb model: the newest state counts once", [] {
        const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 20));
        Fixture fixture;
        fixture.now += 5s;  // our ownership is older than the run
        std::vector<DeltaEntry> sent;
        double admitted = 0;
        for (const int step : steps) {
            admitted += step;
            sent.push_back(fixture.delta(admitted, 2 * admitted, 0));
        }
        auto shuffled = sent;
        for (std::size_t i = 0; i < sent.size(); i += 2) {
            shuffled.push_back(sent[i]);
        }
        const auto seed = *rc::gen::inRange<std::uint64_t>(1, 1'000'000);
        Random random(seed);
        for (std::size_t i = shuffled.size(); i > 1; --i) {
            std::swap(shuffled[i - 1], shuffled[random.below(i)]);
        }
        // At one instant, so that nothing drains: the level is what was admitted, to the ceiling.
        for (const auto& entry : shuffled) {
            fixture.receive(1, entry);
        }
        const double ceiling = fixture.limit.bucket.ceiling(*fixture.limit.parameters);
        if (sent.empty()) {
            return;
        }
        RC_ASSERT(fixture.limit.find(1)->counts.admitted == admitted);
        RC_ASSERT(std::abs(fixture.limit.bucket.level - std::min(ceiling, admitted)) < 1e-6);
    }));
}

}  // namespace
}  // namespace weir::sync

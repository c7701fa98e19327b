// What an owner tells of the sum, and when. Rate 100, low 100, high 200: a ceiling of 220, balance
// at 150.
#include <doctest/doctest.h>

#include "owned_fixture.h"

namespace weir::sync {
namespace {

using Fixture = test::OwnedFixture;

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
    limit.bucket.shedding = false;
    CHECK(limit.total(settings, nullptr, 0, now).level == 0);
    limit.bucket.shedding = true;  // then it is a credit
    CHECK(limit.total(settings, nullptr, 0, now).level == -1);
    limit.parameters.reset();
    CHECK(limit.total(settings, nullptr, 0, now).heaviest == 0);
    CHECK_FALSE(limit.total(settings, nullptr, 0, now).filled);
}

TEST_CASE_FIXTURE(Fixture, "what is handed over keeps what is heard and what is held apart") {
    now += 5s;
    lose_most();
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
    HandoverEntry entry = limit.handover(settings, test::member(7), silence, now);
    CHECK(entry.key.quota == 77);
    CHECK(entry.level == 42);
    CHECK(entry.heaviest == 9);
    CHECK(entry.typical == 2);
    CHECK(entry.shedding);
    CHECK(entry.held_rate == doctest::Approx(80));
    CHECK(entry.rate == doctest::Approx(7));
    CHECK(entry.hold_left == silence.hold_left(1, 10s, now));
    CHECK(entry.hold_left > 9s);
    // Nothing is held for the one who is told: it reports itself.
    const gossip::MemberId back{silence.id(1).address, 4711};
    CHECK(limit.handover(settings, back, silence, now).held_rate ==
          doctest::Approx(80 - limit.find(1)->rate));
    // And what was handed over to us goes on, while it holds.
    limit.handed_rate = 500;
    limit.held_rate = 11;
    limit.heard_beside = 7;
    limit.held_until = now + 12s;
    limit.bucket.level = -1;
    entry = limit.handover(settings, test::member(7), silence, now);
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

TEST_CASE_FIXTURE(Fixture, "how full a limit is, is its level's share of low") {
    limit.bucket.level = 50;
    CHECK(limit.fullness() == 0.5);
    limit.parameters_told = true;  // whoever told them may have lied
    CHECK(limit.fullness() == 0);
    limit.parameters_told = false;
    limit.parameters.reset();
    CHECK(limit.fullness() == 0);
    // One that refuses everything is never full, and is the first that may be forgotten.
    limit.parameters = limiter::LimitParameters{};
    CHECK(limit.fullness() == 0);
    limit.bucket.level = 0;
    CHECK(limit.fullness() == 0);
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

TEST_CASE_FIXTURE(Fixture, "what was told is not told again at the same instant") {
    limit.parameters->high = 100;
    HandoverEntry entry;  // sheds, though there is room enough to stop
    entry.level = 60;
    entry.shedding = true;
    limit.receive(settings, entry, silence.side(), now);
    CHECK(limit.must_publish(settings, settings.publish_error, 0, 50ms));
    limit.note_published();
    CHECK_FALSE(limit.must_publish(settings, settings.publish_error, 0, 0ms));
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

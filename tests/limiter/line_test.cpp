// One limit's record by itself: the line that is read, renewed, charged and given back. Levels are
// worked out by hand; the limiter around it is not there.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "one_limit.h"
#include "tolerance.h"

namespace weir::limiter {
namespace {

using namespace testing;
using weir::testing::plus_minus;

/// Whether this machine has the step that changes level and rate together.
bool swaps_both() {
    LimitRecord record{};
    return swap_both(record, {0, 0}, {1, 1});
}

}  // namespace

TEST_CASE("a reading that was not taken says nothing") {
    const Reading reading;
    CHECK(reading.level == 0);
    CHECK(reading.raw == 0);
    CHECK(reading.drift == 0);
    CHECK(reading.version == 0);
}

TEST_CASE("a line is read without being written") {
    OneLimit line(kSmooth);
    line.record.level.store(50);
    line.wait(2);
    const Reading reading = look_at(line.alone(), line.now);
    CHECK(reading.level == doctest::Approx(30));
    CHECK(reading.raw == 50);
    CHECK(reading.drift == doctest::Approx(-20));
    CHECK(reading.version == 0);
    CHECK(line.record.level.load() == 50);
    // Of a time before the anchor nothing is known: as it was then.
    CHECK(look_at(line.alone(), kHour - kSecond).level == 50);
    line.wait(100);
    CHECK(line.level() == 0);
    line.record.level.store(1e9);
    line.record.anchor.store(line.now);
    CHECK(line.level() == 203);  // high and three requests
    line.record.typical.store(0.5F);
    CHECK(line.level() == 202);  // high and 0.2 s of the rate
}

TEST_CASE("while somebody renews a line the smaller level is believed") {
    OneLimit line(kSmooth);
    line.record.level.store(50);
    REQUIRE(try_lock(line.record));
    CHECK_FALSE(try_lock(line.record));
    line.wait(2);
    const Reading during = look_at(line.alone(), line.now);
    CHECK(during.level == doctest::Approx(30));
    CHECK(during.drift == 0);
    CHECK_FALSE(during.settled);
    CHECK(during.version == kLocked);
    unlock(line.record);
    CHECK(line.record.control.load() == kRenewal);
    CHECK(look_at(line.alone(), line.now).level == doctest::Approx(30));
    CHECK(look_at(line.alone(), line.now).version == kRenewal);
    // Flags of other kinds do not matter to it.
    line.record.control.fetch_or(kQueued | kShedding | kIsolated);
    CHECK(look_at(line.alone(), line.now).level == doctest::Approx(30));
    CHECK(look_at(line.alone(), line.now).version == kRenewal);
}

TEST_CASE("an edge runs below zero by three requests") {
    OneLimit line(kTiny);
    line.record.level.store(0.5);
    line.wait(10);
    CHECK(line.level() == doctest::Approx(-0.5));
    line.wait(1000);
    CHECK(line.level() == -3);
    OneLimit large(kEdge);
    large.wait(1000);
    CHECK(large.level() == -3);
}

TEST_CASE("the heaviest weight lifts the ceiling until it has drained") {
    OneLimit line(kSmooth);
    line.record.level.store(1e9);
    line.record.heaviest.store(100);
    CHECK(line.level() == 300);
    CHECK(clamp_level(line.alone(), 1e9, line.now + 2 * kSecond) == doctest::Approx(280));
    CHECK(clamp_level(line.alone(), 1e9, line.now + 20 * kSecond) == doctest::Approx(203));
    CHECK(clamp_level(line.alone(), 1e9, line.now - kSecond) == 300);
    CHECK(clamp_level(line.alone(), -5, line.now) == 0);
    CHECK(clamp_level(line.alone(), 42, line.now) == 42);
    line.wait(2);
    CHECK(line.renew_alone() == doctest::Approx(280));
    CHECK(line.record.heaviest.load() == doctest::Approx(80));
    line.wait(100);
    line.renew_alone();
    CHECK(line.record.heaviest.load() == 0);
}

TEST_CASE("renewing moves the anchor, drains and always changes the level") {
    OneLimit line(kSmooth);
    line.record.level.store(50);
    line.wait(2);
    CHECK(line.renew_alone() == doctest::Approx(30));
    CHECK(line.record.anchor.load() == line.now);
    CHECK(line.level() == doctest::Approx(30));
    // Nothing has drained: a charger that read before must notice all the same.
    const double before = line.record.level.load();
    const double again = line.renew_alone();
    CHECK(again != before);
    CHECK(again == doctest::Approx(before).epsilon(1e-12));
    // A clock that stands behind the anchor moves neither.
    CHECK(line.renew_alone(-kSecond) == doctest::Approx(before).epsilon(1e-12));
    CHECK(line.record.anchor.load() == line.now);
    line.wait(1000);
    CHECK(line.renew_alone() == 0);
    const double nothing = line.renew_alone();
    CHECK(nothing != 0);
    CHECK(std::abs(nothing) < 1e-9);

    OneLimit tiny(kTiny);
    tiny.wait(1000);
    CHECK(tiny.renew_alone() == -3);
    OneLimit full(kSmooth);
    full.record.level.store(1e9);
    CHECK(full.renew_alone() == 203);
}

TEST_CASE("shedding ends when a renewal finds room enough") {
    OneLimit line(kEdge);
    line.record.control.store(kShedding | kQueued);
    line.record.level.store(98.5);
    line.renew_alone();
    CHECK(line.flags() == (kShedding | kQueued));
    line.record.level.store(95.9);
    note_offered(line.record, 10, line.now);  // more than the rate is offered still
    line.renew_alone();
    CHECK(line.flags() == (kShedding | kQueued));
    line.wait(3);
    line.renew_alone();
    CHECK(line.flags() == kQueued);
}

TEST_CASE("only a line with a view is renewed by its readers, every ten milliseconds") {
    OneLimit line(kSmooth);
    line.view.slope.store(-10);
    line.wait(0.01);
    (void)read_bucket(line.viewed(), line.now);
    CHECK(line.record.anchor.load() == kHour);
    line.now += 1;
    (void)read_bucket(line.alone(), line.now);
    CHECK(line.record.anchor.load() == kHour);
    (void)read_bucket(line.viewed(), line.now);
    CHECK(line.record.anchor.load() == line.now);
    CHECK(line.record.control.load() == kRenewal);
    // Nobody waits for the lock.
    REQUIRE(try_lock(line.record));
    const std::int64_t then = line.now;
    line.wait(1);
    (void)read_bucket(line.viewed(), line.now);
    CHECK(line.record.anchor.load() == then);
}

TEST_CASE("a charge in one step is added to the level that was judged, and to the rate") {
    if (!swaps_both()) {
        return;  // two steps, always
    }
    OneLimit line(kSmooth);
    line.record.typical.store(2);
    line.record.level.store(50);
    line.wait(2);
    const auto charge_two = [&](const Reading& reading) {
        return charge_and_note(line.alone(), reading, 2, 3, line.now);
    };
    const Reading reading = look_at(line.alone(), line.now);
    CHECK(charge_two(reading));
    CHECK(line.level() == doctest::Approx(32));
    CHECK(own_offered_rate(line.record, line.now) == doctest::Approx(10));
    CHECK_FALSE(charge_two(reading));  // the level has changed since
    CHECK(line.level() == doctest::Approx(32));
    // An empty bucket: what would have drained is not owed.
    line.wait(10);
    CHECK(charge_two(look_at(line.alone(), line.now)));
    CHECK(line.level() == doctest::Approx(2));
    CHECK_FALSE(charge_and_note(line.alone(), look_at(line.alone(), line.now), 1, 1, line.now));
    line.limit.parameters.debt = 0;
    CHECK_FALSE(charge_two(look_at(line.alone(), line.now)));
    line.limit.parameters.debt = -1;
    // A renewal in between, or one that is going on.
    const Reading old = look_at(line.alone(), line.now);
    line.record.control.fetch_add(kRenewal);
    CHECK_FALSE(charge_two(old));
    line.record.control.fetch_or(kQueued | kShedding | kIsolated);
    CHECK(charge_two(look_at(line.alone(), line.now)));
    // Up to high and not beyond.
    line.record.level.store(198);
    line.record.anchor.store(line.now);
    CHECK(charge_two(look_at(line.alone(), line.now)));
    CHECK(line.level() == 200);
    CHECK_FALSE(charge_two(look_at(line.alone(), line.now)));
}

TEST_CASE("a charge in two steps comes to the same") {
    for (const bool usual : {true, false}) {
        CAPTURE(usual);
        OneLimit line(kSmooth);
        line.record.typical.store(usual ? 2 : 1);
        line.record.level.store(50);
        line.wait(2);
        const auto charge_two = [&] {
            return charge(line.alone(), look_at(line.alone(), line.now), 2, false, line.now);
        };
        CHECK(charge_two());
        CHECK(line.level() == doctest::Approx(32));
        line.wait(10);
        CHECK(charge_two());
        CHECK(line.level() == doctest::Approx(2));
        // Whatever has been charged since the reading.
        const Reading reading = look_at(line.alone(), line.now);
        CHECK(charge_two());
        CHECK(charge(line.alone(), reading, 2, false, line.now));
        CHECK(line.level() == doctest::Approx(6));
        line.record.level.store(1000);
        line.record.anchor.store(line.now);
        CHECK(charge_two());
        const double most = 200 + 3 * static_cast<double>(line.record.typical.load());
        CHECK(line.level() == doctest::Approx(most));
    }
    // From below the ceiling to it, and no further.
    OneLimit line(kSmooth);
    line.record.typical.store(2);
    line.record.level.store(205);
    CHECK(charge(line.alone(), look_at(line.alone(), line.now), 2, false, line.now));
    CHECK(line.level() == 206);
    line.wait(0.1);
    CHECK(line.level() == doctest::Approx(205));  // what was beyond it need not drain
}

TEST_CASE("a charge after a renewal goes by the new anchor") {
    OneLimit line(kSmooth);
    line.record.typical.store(2);
    line.record.level.store(50);
    line.wait(2);
    const Reading old = look_at(line.alone(), line.now);
    line.renew_both();  // moves the anchor: the old drift holds no more
    CHECK(charge(line.alone(), old, 2, false, line.now));
    CHECK(line.level() == doctest::Approx(32));
    line.wait(100);
    const Reading empty = look_at(line.alone(), line.now);
    line.record.control.fetch_add(kRenewal);
    line.record.anchor.store(line.now);
    CHECK(charge(line.alone(), empty, 2, false, line.now));
    CHECK(line.level() == doctest::Approx(34));
}

TEST_CASE("a judged charge fills a hard edge to the brim, and leaves it when it is full") {
    OneLimit line(kEdge);
    line.record.typical.store(1);
    line.record.level.store(98);
    const auto judged = [&](double weight) {
        return charge(line.alone(), look_at(line.alone(), line.now), weight, true, line.now);
    };
    CHECK(judged(2));
    CHECK(line.record.level.load() == doctest::Approx(100));
    CHECK_FALSE(judged(1));
    CHECK_FALSE(judged(1e-6));
    CHECK(line.record.level.load() == doctest::Approx(100));
    CHECK(line.record.typical.load() == doctest::Approx(1 + 1.0 / 32));  // of the admitted one
    line.wait(0.2);
    CHECK(judged(2));
    CHECK_FALSE(judged(1));
    CHECK(line.level() == doctest::Approx(100));
    // Heavier than low: from an empty bucket, paid in full.
    line.wait(1000);
    CHECK(judged(500));
    CHECK(line.level() == doctest::Approx(500));
    CHECK_FALSE(judged(500));
}

TEST_CASE("what runs below zero is not a credit for a process alone") {
    OneLimit line(kTiny);
    line.record.typical.store(1);
    line.record.control.fetch_or(kShedding);
    line.wait(100);
    CHECK(line.level() == -3);
    CHECK(charge(line.alone(), look_at(line.alone(), line.now), 1, true, line.now));
    CHECK(line.level() == doctest::Approx(1));
    CHECK_FALSE(charge(line.alone(), look_at(line.alone(), line.now), 1, true, line.now));
    // The same with a level that is stored below zero, and without judging.
    OneLimit below(kTiny);
    below.record.level.store(-1);
    CHECK(charge(below.alone(), look_at(below.alone(), below.now), 0.5, false, below.now));
    CHECK(below.level() == doctest::Approx(0.5));
}

TEST_CASE(
    "a weight heavier than the debt lifts the ceiling, and is known for as long as it drains") {
    OneLimit line(kSmooth);
    line.record.typical.store(1);
    line.wait(3600);
    note_heaviest(line.alone(), 3, line.now);  // just the debt
    CHECK(line.record.heaviest.load() == 0);
    CHECK(charge(line.alone(), look_at(line.alone(), line.now), 500, false, line.now));
    CHECK(line.level() == doctest::Approx(500));
    CHECK(line.record.anchor.load() == line.now);  // an hour's drain is more than a float's digits
    CHECK(line.record.heaviest.load() == doctest::Approx(500));
    line.wait(0.5);
    note_heaviest(line.alone(), 400, line.now);
    CHECK(line.record.heaviest.load() == doctest::Approx(500));  // 5 drained: 495 are left
    note_heaviest(line.alone(), 497, line.now);
    CHECK(line.record.heaviest.load() == doctest::Approx(502));
}

TEST_CASE("the anchor comes near for heavy weights only, when it is more than a second away") {
    const auto anchor_after = [](double seconds, double weight) {
        OneLimit line(kSmooth);
        line.record.typical.store(1);
        line.wait(seconds);
        CHECK(charge(line.alone(), look_at(line.alone(), line.now), weight, false, line.now));
        return line.record.anchor.load() - kHour;
    };
    CHECK(anchor_after(1, 500) == 0);
    CHECK(anchor_after(1.5, 500) == kSecond * 3 / 2);
    CHECK(anchor_after(1.5, 2) == 0);
}

TEST_CASE("the running mean moves by a 32nd, and not for weights of nothing") {
    OneLimit line(kSmooth);
    CHECK(typical_of(line.record) == 1);
    line.record.typical.store(0);
    CHECK(typical_of(line.record) == 1);
    line.record.typical.store(-1);
    note_weight(line.alone(), 0.5, line.now);
    CHECK(line.record.typical.load() == 0.5F);
    CHECK(typical_of(line.record) == 0.5);
    note_weight(line.alone(), 1.5, line.now);
    CHECK(line.record.typical.load() == 0.5F + 1.0F / 32);
    note_weight(line.alone(), 0, line.now);
    CHECK(line.record.typical.load() == 0.5F + 1.0F / 32);
    CHECK(line.record.heaviest.load() == 0);
    note_weight(line.alone(), 50, line.now);
    CHECK(line.record.heaviest.load() == 50);
}

TEST_CASE("what is charged later moves W by the total, and not the mean") {
    OneLimit line(kSmooth);
    line.record.typical.store(1);
    line.wait(5);
    charge_more(line.alone(), 40, 60, line.now);
    CHECK(line.level() == doctest::Approx(40));
    CHECK(line.record.heaviest.load() == doctest::Approx(60));
    CHECK(line.record.anchor.load() == line.now);
    CHECK(line.record.typical.load() == 1);
    // It has been let through: no edge is asked again.
    OneLimit edge(kEdge);
    edge.record.level.store(90);
    charge_more(edge.alone(), 40, 60, edge.now);
    CHECK(edge.level() == doctest::Approx(130));
}

TEST_CASE("response bytes are charged by their mean, which that does not move") {
    OneLimit line(kSmooth);
    line.limit.unit = Unit::response_bytes;
    line.record.typical.store(1);
    CHECK(charge(line.alone(), look_at(line.alone(), line.now), 40, false, line.now));
    CHECK(line.record.typical.load() == 1);
    CHECK(line.record.heaviest.load() == 40);
}

TEST_CASE("giving back takes as much as is still there") {
    OneLimit line(kSmooth);
    line.record.level.store(50);
    line.wait(2);
    uncharge(line.alone(), 10, line.now);
    CHECK(line.level() == doctest::Approx(20));
    uncharge(line.alone(), 100, line.now);
    CHECK(line.level() == doctest::Approx(0));
    CHECK(line.record.level.load() == doctest::Approx(20));
    line.wait(1);
    uncharge(line.alone(), 5, line.now);
    CHECK(line.record.level.load() == doctest::Approx(20));
    CHECK(line.record.pending.load() == 0);
    // Counted for the engine where it listens.
    give_back(line.alone(), 3, line.now);
    CHECK(unpack_pending(line.record.pending.load()).admitted == -3);
    CHECK(unpack_pending(line.record.pending.load()).offered == 0);
    give_back(line.viewed(), 4, line.now);
    CHECK(line.view.refunded.load() == 4);
    CHECK(unpack_pending(line.record.pending.load()).admitted == -3);
}

TEST_CASE("the rate of what is offered decays with its window") {
    OneLimit line(kSmooth);
    note_offered(line.record, 3, line.now);
    CHECK(own_offered_rate(line.record, line.now) == doctest::Approx(10));
    CHECK(own_offered_rate(line.record, line.now - kSecond) == doctest::Approx(10));
    line.wait(0.3);
    CHECK(own_offered_rate(line.record, line.now) ==
          plus_minus(10 * std::exp(-1), 0.05 * std::exp(-1)));
    note_offered(line.record, 3, line.now);
    const double both = 10 * std::exp(-1) + 10;
    CHECK(own_offered_rate(line.record, line.now) == plus_minus(both, 0.005 * both));
    note_offered(line.record, 3, line.now - kSecond);  // a thread whose clock was read before
    CHECK(own_offered_rate(line.record, line.now) == plus_minus(both + 10, 0.005 * (both + 10)));
    CHECK(touched_at(line.record, line.now) == line.now);
    line.wait(2);
    CHECK(line.now - touched_at(line.record, line.now) ==
          doctest::Approx(2 * kSecond).epsilon(0.001));
    CHECK(touched_at(line.record, line.now - 5 * kSecond) == line.now - 5 * kSecond);
}

TEST_CASE("a thread that stops while it renews a line refuses nobody") {
    // At its old anchor the level has grown to five times `high`; at any moment it was 5 at most.
    OneLimit one(kSmooth);
    for (int second = 0; second < 200; ++second) {
        CHECK(charge(one.alone(), look_at(one.alone(), one.now), 5, false, one.now));
        one.wait(1);
    }
    CHECK(one.record.level.load() > 5 * kSmooth.high);
    SUBCASE("before it has moved the anchor") {
        REQUIRE(try_lock(one.record));
        const Reading reading = look_at(one.alone(), one.now);
        CHECK(reading.level == 0);
        CHECK(discard_probability(one.alone(), reading, 1, one.now) == 0);
        CHECK(charge(one.alone(), reading, 50, false, one.now));
        (void)renew(one.alone(), one.now);
        unlock(one.record);
        CHECK(one.level() == doctest::Approx(45));  // the last 5 and the 50, less a second's rate
    }
    SUBCASE("after it has moved the anchor") {
        REQUIRE(try_lock(one.record));
        (void)renew(one.alone(), one.now);
        const Reading reading = look_at(one.alone(), one.now);
        CHECK(charge(one.alone(), reading, 50, false, one.now));
        CHECK(look_at(one.alone(), one.now).level == doctest::Approx(50));
        unlock(one.record);
        CHECK(one.level() == doctest::Approx(50));
    }
}

TEST_CASE("counts for the engine wait in the record, or go where there is room for digits") {
    OneLimit line(kSmooth);
    note_pending(line.alone(), 5, 3, line.now);
    note_pending(line.alone(), 0, 1, line.now);
    CHECK(unpack_pending(line.record.pending.load()).offered == 5);
    CHECK(unpack_pending(line.record.pending.load()).admitted == 4);
    CHECK(line.record.control.load() == 0);
    // Alone nothing is settled, however large the sum has become beside a step.
    note_pending(line.alone(), 1 << 22, 0, line.now);
    note_pending(line.alone(), 1, 1, line.now);
    CHECK(line.record.control.load() == 0);

    OneLimit viewed(kSmooth);
    note_pending(viewed.viewed(), 1 << 20, 0, viewed.now);
    CHECK(viewed.view.last_offered.load() == viewed.now);
    CHECK(viewed.view.last_weight.load() == 1 << 20);
    viewed.wait(0.001);
    note_pending(viewed.viewed(), 1, 1, viewed.now);  // 2^20 steps: exact
    CHECK(viewed.record.control.load() == 0);
    note_pending(viewed.viewed(), 1, 1, viewed.now);
    CHECK(viewed.record.control.load() == kRenewal);
    CHECK(viewed.view.offered.load() == (1 << 20) + 1);
    CHECK(viewed.view.admitted.load() == 1);
    CHECK(unpack_pending(viewed.record.pending.load()).offered == 1);
    // What only corrects a charge is no arrival.
    const std::int64_t last = viewed.now;
    viewed.wait(0.001);
    note_pending(viewed.viewed(), 0, -1, viewed.now);
    CHECK(viewed.view.last_offered.load() == last);
    CHECK(viewed.view.last_weight.load() == 1);
    // A step of nothing has no digits to lose.
    const std::uint32_t control = viewed.record.control.load();
    note_pending(viewed.viewed(), 0, 0, viewed.now);
    CHECK(viewed.record.control.load() == control);
}

}  // namespace weir::limiter

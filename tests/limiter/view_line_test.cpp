// One limit's record with a view of the fleet: two levels, of which the larger one is the line.
// Levels are worked out by hand; neither limiter nor engine are there.
#include <doctest/doctest.h>

#include <cmath>

#include "one_limit.h"
#include "tolerance.h"

namespace weir::limiter {

namespace {

using namespace testing;
using weir::testing::plus_minus;

FleetView view_of(double level, double offered, double others) {
    FleetView view;
    view.level = level;
    view.offered_rate = offered;
    view.others_rate = others;
    return view;
}

}  // namespace

TEST_CASE("an installed view is the line where it is the larger one") {
    OneLimit line(kSmooth);
    line.record.level.store(20);
    line.view.local_level.store(20);
    line.view.slope.store(-10);
    line.install(view_of(60, 8, 4));
    CHECK(line.view.installed.load());
    CHECK(line.view.view_in_force.load());
    CHECK(line.view.view_level.load() == doctest::Approx(60));
    CHECK(line.view.local_level.load() == doctest::Approx(20));
    CHECK(line.level_with_view() == doctest::Approx(60));
    CHECK(line.view.slope.load() == doctest::Approx(4 - 10));  // nothing is refused at 60
    line.install(view_of(5, 8, 4));
    CHECK_FALSE(line.view.view_in_force.load());
    CHECK(line.level_with_view() == doctest::Approx(20));
    CHECK(line.view.slope.load() == doctest::Approx(-10));
    // Of two that are alike the view's line holds: it knows of the others.
    OneLimit even(kSmooth);
    even.install(view_of(0, 8, 4));
    CHECK(even.view.view_in_force.load());
    CHECK(even.view.slope.load() == doctest::Approx(-6));
    // A rate of others below nothing is nothing.
    even.install(view_of(10, 8, -4));
    CHECK(even.view.slope.load() == doctest::Approx(-10));
}

TEST_CASE("until the next renewal others fill the burst to its border and no further") {
    // 9,900 a second of others fill it within a millisecond; the line is renewed after ten.
    OneLimit line(LimitParameters{.rate = 100, .low = 10, .high = 20});
    line.install(view_of(4, 10'000, 9'900));
    CHECK(line.view.view_in_force.load());
    const auto level_after = [&](double milliseconds) {
        return look_at(line.viewed(), line.now + static_cast<std::int64_t>(milliseconds * 1e6))
            .level;
    };
    CHECK(level_after(0.2) == plus_minus(5.96, 0.01));
    CHECK(level_after(2) == plus_minus(9.1, 0.1));
    CHECK(level_after(9) == plus_minus(9.1, 0.1));
    // What is charged here takes room from the others, and may be more than they leave.
    CHECK(charge(line.viewed(), look_at(line.viewed(), line.now), 3, false, line.now));
    CHECK(level_after(9) == plus_minus(9.1, 0.1));
    CHECK(charge(line.viewed(), look_at(line.viewed(), line.now), 5, false, line.now));
    CHECK(level_after(9) == doctest::Approx(12));
}

TEST_CASE("what others leave of a burst is what is charged here, whoever comes first") {
    // They would just not fill it by themselves until the next renewal.
    OneLimit line(LimitParameters{.rate = 100, .low = 10, .high = 20});
    line.install(view_of(0, 1'980, 990));
    CHECK(charge(line.viewed(), look_at(line.viewed(), line.now), 8, false, line.now));
    CHECK(look_at(line.viewed(), line.now + 9'000'000).level == plus_minus(9, 0.01));
}

TEST_CASE("a line that comes to no border goes on, whatever is charged meanwhile") {
    OneLimit line(LimitParameters{.rate = 1'000, .low = 1'000, .high = 2'000});
    line.install(view_of(100, 20'000, 11'000));
    CHECK(charge(line.viewed(), look_at(line.viewed(), line.now), 70, false, line.now));
    CHECK(look_at(line.viewed(), line.now + 9'000'000).level == doctest::Approx(100 + 70 + 90));
}

TEST_CASE("by the linear law a line rises to where as much passes as drains") {
    OneLimit line(
        LimitParameters{.rate = 100, .low = 10, .high = 20, .debt = -1, .law = Law::linear});
    line.install(view_of(12, 10'000, 9'900));
    CHECK(look_at(line.viewed(), line.now + 9'000'000).level == plus_minus(18.9, 0.1));
}

TEST_CASE("a view tells of the level up to some count of ours; the rest is added") {
    OneLimit line(kSmooth);
    line.view.admitted.store(50);
    line.view.refunded.store(5);
    line.view.refunded_settled.store(5);
    FleetView view = view_of(60, 0, 0);
    view.admitted_at = 40;
    line.install(view);
    CHECK(line.level_with_view() == doctest::Approx(65));
    view.level = 1e9;
    line.install(view);
    CHECK(line.level_with_view() == doctest::Approx(203));
    view.heaviest = 50;
    line.install(view);
    CHECK(line.level_with_view() == doctest::Approx(250));
    CHECK(line.record.heaviest.load() == 50);
    view.heaviest = 30;
    line.install(view);
    CHECK(line.record.heaviest.load() == 50);
    view.level = -1e9;
    line.install(view);
    CHECK(line.level_with_view() == doctest::Approx(0));
}

TEST_CASE("what is charged while a view is installed stays charged") {
    OneLimit line(kSmooth);
    line.record.level.store(20);
    line.view.local_level.store(20);
    line.view.slope.store(-10);
    CHECK(try_lock(line.record));
    const double renewed = renew(line.viewed(), line.now);
    CHECK(charge(line.viewed(), look_at(line.viewed(), line.now), 7, false, line.now));
    install_view(line.viewed(), view_of(60, 0, 0), renewed);
    unlock(line.record);
    CHECK(line.level_with_view() == doctest::Approx(67));
    CHECK(try_lock(line.record));
    const double again = renew(line.viewed(), line.now);
    CHECK(charge(line.viewed(), look_at(line.viewed(), line.now), 3, false, line.now));
    remove_view(line.viewed(), again);
    unlock(line.record);
    CHECK_FALSE(line.view.installed.load());
    CHECK_FALSE(line.view.view_in_force.load());
    CHECK(line.view.slope.load() == doctest::Approx(-10));
    CHECK(line.level_with_view() == doctest::Approx(23));
}

TEST_CASE("both levels move on with each renewal") {
    OneLimit line(kSmooth);
    line.record.level.store(20);
    line.view.local_level.store(20);
    line.view.slope.store(-10);
    line.install(view_of(60, 8, 4));
    note_pending(line.viewed(), 5, 5, line.now);
    CHECK(charge(line.viewed(), look_at(line.viewed(), line.now), 5, false, line.now));
    line.wait(1);
    CHECK(line.renew_both() == doctest::Approx(65 - 6));
    CHECK(line.view.view_level.load() == doctest::Approx(59));
    CHECK(line.view.local_level.load() == doctest::Approx(15));
    CHECK(line.view.admitted.load() == 5);
    CHECK(line.view.offered.load() == 5);
    give_back(line.viewed(), 2, line.now);
    line.wait(1);
    CHECK(line.renew_both() == doctest::Approx(57 - 6));
    CHECK(line.view.local_level.load() == doctest::Approx(3));
    CHECK(line.view.refunded_settled.load() == 2);
    CHECK(line.view.admitted.load() == 5);
    // Taken back once.
    CHECK(line.renew_both() == doctest::Approx(51));
    CHECK(line.view.local_level.load() == doctest::Approx(3));
}

TEST_CASE("the local level in force, the view goes on below it") {
    OneLimit line(kSmooth);
    line.record.level.store(80);
    line.view.local_level.store(80);
    line.view.slope.store(-10);
    line.install(view_of(50, 8, 4));
    CHECK_FALSE(line.view.view_in_force.load());
    note_pending(line.viewed(), 5, 5, line.now);
    CHECK(charge(line.viewed(), look_at(line.viewed(), line.now), 5, false, line.now));
    line.wait(1);
    CHECK(line.renew_both() == doctest::Approx(75));
    CHECK(line.view.local_level.load() == doctest::Approx(75));
    CHECK(line.view.view_level.load() == doctest::Approx(49));
    // The view drains by 6 a second, we by 10: it is the larger one after seven seconds.
    line.wait(7);
    CHECK(line.renew_both() == doctest::Approx(7));
    CHECK(line.view.local_level.load() == doctest::Approx(5));
    CHECK(line.view.view_in_force.load());
    line.wait(100);
    CHECK(line.renew_both() == doctest::Approx(0));
    CHECK(line.view.local_level.load() == 0);
    // Without a view there is only one level.
    OneLimit none(kSmooth);
    none.record.level.store(80);
    none.wait(1);
    CHECK(none.renew_both() == doctest::Approx(70));
    CHECK(none.view.local_level.load() == doctest::Approx(70));
    CHECK(none.view.view_level.load() == -1);
    CHECK_FALSE(none.view.view_in_force.load());
    CHECK(none.view.slope.load() == doctest::Approx(-10));
}

TEST_CASE("no level of the two is above the ceiling") {
    OneLimit line(kSmooth);
    line.install(view_of(150, 0, 0));
    CHECK(line.view.view_in_force.load());
    note_pending(line.viewed(), 1000, 1000, line.now);
    line.wait(0.02);
    line.renew_both();
    CHECK(line.view.local_level.load() == 203);
    OneLimit local(kSmooth);
    local.record.level.store(190);
    local.view.local_level.store(190);
    local.view.slope.store(-10);
    local.install(view_of(150, 0, 0));
    CHECK_FALSE(local.view.view_in_force.load());
    note_pending(local.viewed(), 1000, 1000, local.now);
    local.wait(0.02);
    local.renew_both();
    CHECK(local.view.view_level.load() == 203);
}

TEST_CASE("a local level below zero is no credit for what is admitted, but is taken back from") {
    OneLimit line(kTiny);
    line.install(view_of(0.9, 0, 0));
    line.wait(100);
    line.renew_both();
    CHECK(line.view.local_level.load() == -3);
    CHECK(line.view.view_level.load() == -3);
    line.install(view_of(0.5, 0, 0));
    CHECK(line.view.view_in_force.load());
    note_pending(line.viewed(), 0.25, 0.25, line.now);
    line.renew_both();
    CHECK(line.view.local_level.load() == doctest::Approx(0.25));
    give_back(line.viewed(), 0.25, line.now);
    line.renew_both();
    CHECK(line.view.local_level.load() == doctest::Approx(0));
}

TEST_CASE("while the fleet's edge sheds, what it left unused is a credit for what is admitted") {
    const auto level_after_request = [](bool shedding) {
        OneLimit line(kTiny);
        line.record.typical.store(1);
        line.record.level.store(-3);
        line.view.local_level.store(-3);
        FleetView view = view_of(-1.5, 0, 0);
        view.shedding = shedding;
        line.install(view);
        REQUIRE(line.view.view_in_force.load());
        const Reading reading = look_at(line.viewed(), line.now);
        REQUIRE(reading.level == doctest::Approx(-1.5));
        CHECK(charge(line.viewed(), reading, 1, false, line.now));
        return line.level_with_view();
    };
    CHECK(level_after_request(true) == doctest::Approx(-0.5));
    CHECK(level_after_request(false) == doctest::Approx(1));
}

TEST_CASE("others' rate fills as far as the law lets it, in steps") {
    // Offered 40 and drained 10 a second: the adaptive law balances at 150 plus a little.
    OneLimit line(kSmooth);
    line.install(view_of(100, 40, 40));
    for (int i = 0; i < 3000; ++i) {
        line.wait(0.01);
        line.renew_both();
    }
    const double balance = line.view.view_level.load();
    CHECK(balance > 130);
    CHECK(balance < 170);
    CHECK(line.view.slope.load() == plus_minus(0, 0.2));
    // In one stretch of a second the law is followed as well as in a hundred short ones.
    OneLimit once(kSmooth);
    once.install(view_of(100, 4000, 4000));
    OneLimit often(kSmooth);
    often.install(view_of(100, 4000, 4000));
    once.wait(1);
    once.renew_both();
    for (int i = 0; i < 100; ++i) {
        often.wait(0.01);
        often.renew_both();
    }
    CHECK(once.view.view_level.load() ==
          plus_minus(often.view.view_level.load(), 0.02 * often.view.view_level.load()));
    // However long it slept it takes 64 steps at most, and ends in balance.
    OneLimit slept(kSmooth);
    slept.install(view_of(0, 8, 8));
    slept.record.level.store(50);
    slept.wait(3600);
    slept.renew_both();
    CHECK(slept.view.view_level.load() == 0);
}

TEST_CASE("a hard edge sheds only while a view is installed") {
    OneLimit line({.rate = 10, .low = 10, .high = 10});
    line.record.typical.store(1);
    line.record.control.fetch_or(kShedding);
    line.record.level.store(8.5);
    const auto chance = [&](const Bucket& bucket) {
        return discard_probability(bucket, look_at(bucket, line.now), 1, line.now);
    };
    CHECK(chance(line.alone()) == 0);
    CHECK(chance(line.viewed()) == 0);
    FleetView view = view_of(8.5, 100, 0);
    line.install(view);
    line.record.control.fetch_or(kShedding);
    CHECK(chance(line.viewed()) == plus_minus(1 - 11.0 / 100, 0.001));
    // With a longer round trip room is handed out more slowly.
    view.round_trip = std::chrono::milliseconds(250);
    line.install(view);
    CHECK(chance(line.viewed()) == plus_minus(1 - 10.5 / 100, 0.001));
    // An owner's word begins it; for limits that shed by themselves it means nothing.
    line.record.control.fetch_and(~kShedding);
    view.shedding = true;
    view.level = 9;
    line.install(view);
    CHECK((line.flags() & kShedding) != 0);
    OneLimit smooth(kSmooth);
    smooth.install(view);
    CHECK(smooth.flags() == 0);
}

TEST_CASE("while it sheds, room below zero counts as room") {
    OneLimit line(kTiny);
    line.record.typical.store(1);
    line.record.level.store(-0.75);
    FleetView view = view_of(-0.5, 10, 0);
    view.shedding = true;
    line.install(view);
    CHECK((line.flags() & kShedding) != 0);
    const Reading reading = look_at(line.viewed(), line.now);
    CHECK(reading.level == doctest::Approx(-0.5));
    const double chance = discard_probability(line.viewed(), reading, 1, line.now);
    CHECK(chance == doctest::Approx(1 - (0.1 + 0.5 / 0.5) / 10));
    // Not while it does not shed: at 0 one request passes, whatever the rates.
    line.record.control.fetch_and(~kShedding);
    CHECK(discard_probability(line.viewed(), reading, 1, line.now) == 0);
}

TEST_CASE("the law goes by the fleet's rate where it is known, else by our own") {
    OneLimit line({.rate = 100, .low = 100, .high = 200});
    line.record.typical.store(1);
    line.record.level.store(149);
    line.view.local_level.store(149);
    line.view.slope.store(-100);
    note_offered(line.record, 60, line.now);  // 200 a second
    const auto chance = [&](const Bucket& bucket) {
        return discard_probability(bucket, look_at(bucket, line.now), 1, line.now);
    };
    CHECK(chance(line.alone()) == doctest::Approx(0.5));
    CHECK(chance(line.viewed()) == doctest::Approx(0.5));
    line.install(view_of(149, 1000, 0));
    CHECK(chance(line.viewed()) == plus_minus(0.9, 0.001));
    // Below low nobody asks for a law; at low it is asked and says nothing.
    line.record.level.store(99);
    CHECK(chance(line.viewed()) == 0);
    line.record.level.store(100);
    CHECK(chance(line.viewed()) > 0.5);
    // Heavier than low counts as low.
    line.record.level.store(0);
    CHECK(discard_probability(line.viewed(), look_at(line.viewed(), line.now), 1e6, line.now) == 0);
}

TEST_CASE("open time is the integral of what passes") {
    OneLimit line(kSmooth);
    line.install(view_of(50, 40, 0));
    line.wait(2);
    line.renew_both();
    CHECK(line.view.open_time.load() == doctest::Approx(2));
    line.install(view_of(149, 1000, 0));
    line.wait(0.1);
    line.renew_both();
    // In five steps, each with the share at its beginning: at 149, 148.8 … 148.2 and one request.
    const double passes = 10.0 + (0 + 0.2 + 0.4 + 0.6 + 0.8) / 5 / 0.5;
    CHECK(line.view.open_time.load() == doctest::Approx(2 + 0.1 * passes / 1000));
}

TEST_CASE("a level is scaled with what was charged to it meanwhile left as it is") {
    OneLimit line(kSmooth);
    line.record.level.store(80);
    line.view.slope.store(-10);
    CHECK(try_lock(line.record));
    const double renewed = renew(line.viewed(), line.now);
    CHECK(charge(line.viewed(), look_at(line.viewed(), line.now), 2, false, line.now));
    scale_level(line.viewed(), renewed, 0.25);
    unlock(line.record);
    CHECK(line.level_with_view() == doctest::Approx(22));
    CHECK(line.view.local_level.load() == doctest::Approx(20));
}

TEST_CASE("the counts that the engine reads") {
    OneLimit line(kSmooth);
    line.record.level.store(30);
    line.view.slope.store(-10);
    line.view.admitted.store(7);
    line.view.offered.store(9);
    line.view.refunded.store(3);
    line.view.refunded_settled.store(2);
    line.view.open_time.store(4);
    line.view.local_level.store(30);
    line.view.view_level.store(12);
    line.record.heaviest.store(40);
    note_offered(line.record, 3, line.now);
    line.view.last_offered.store(line.now);
    line.view.last_weight.store(2);
    LocalCounts counts = local_counts(line.viewed(), line.now);
    CHECK(counts.admitted == 7);
    CHECK(counts.offered == 9);
    CHECK(counts.refunded == 2);
    CHECK(counts.open_time == 4);
    CHECK(counts.level == 30);
    CHECK(counts.local_level == 30);
    CHECK(counts.view_level == -1);  // not installed
    CHECK(counts.heaviest == 40);
    CHECK(counts.typical == 1);
    CHECK_FALSE(counts.shedding);
    CHECK(counts.discard_probability == 0);
    CHECK(counts.last_offered == Instant(Duration(line.now)));
    // The newest arrival is not part of the rate for 50 ms.
    CHECK(counts.offered_rate == doctest::Approx((3 - 2) / 0.3));
    line.now += 49'000'000;
    const double fresh = (3 - 2) / 0.3 * std::exp(-0.049 / 0.3);
    CHECK(local_counts(line.viewed(), line.now).offered_rate == plus_minus(fresh, 0.02 * fresh));
    line.now += 1'000'000;
    const double all = 3 / 0.3 * std::exp(-0.05 / 0.3);
    CHECK(local_counts(line.viewed(), line.now).offered_rate == plus_minus(all, 0.01 * all));
    line.view.last_offered.store(line.now);
    line.view.last_weight.store(1000);
    CHECK(local_counts(line.viewed(), line.now).offered_rate == 0);

    line.view.installed.store(true);
    line.view.offered_rate.store(100);
    line.view.tau.store(0.5);
    line.record.control.fetch_or(kShedding);
    line.record.level.store(149);
    line.record.anchor.store(line.now);
    counts = local_counts(line.viewed(), line.now);
    CHECK(counts.view_level == 12);
    CHECK(counts.shedding);
    CHECK(counts.discard_probability == doctest::Approx(0.9));
    line.limit.parameters = kTiny;
    line.record.level.store(-0.5);
    CHECK(local_counts(line.viewed(), line.now).level == 0);
}

}  // namespace weir::limiter

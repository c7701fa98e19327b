// The model that the limiter and the fleet reckon with between messages: each of its parts by
// itself, and that a limit's record with a view follows it.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>

#include "limiter/reckoned_limit.h"
#include "one_limit.h"
#include "tolerance.h"

namespace weir::limiter {

namespace {

using namespace testing;
using weir::testing::plus_minus;

ReckonedLimit reckoned(double level, double offered) {
    ReckonedLimit limit;
    limit.level = level;
    limit.offered_rate = offered;
    return limit;
}

/// The same in so short steps that nothing changes within one. Returns the open time.
double advance_finely(ReckonedLimit& limit, const LimitParameters& parameters, double inflow,
                      double seconds) {
    constexpr int kParts = 10'000;
    double open = 0;
    for (int i = 0; i < kParts; ++i) {
        open += limit.advance(parameters, inflow, seconds / kParts);
    }
    return open;
}

}  // namespace

TEST_CASE("the ceiling sinks with the heaviest weight while time is reckoned") {
    // A weight of 100 stands above high: it drains like any other, once.
    ReckonedLimit limit = reckoned(300, 0);
    limit.heaviest = 100;
    (void)limit.advance(kSmooth, 0, 1);
    CHECK(limit.level == doctest::Approx(290));
    CHECK(limit.heaviest == doctest::Approx(90));
    // With others that keep it at the ceiling it sinks with that, and stays at high and the debt.
    const LimitParameters unlimited{.rate = 10, .low = 100, .high = 200, .debt = 5};
    limit = reckoned(300, 0);
    limit.heaviest = 100;
    CHECK(limit.advance(unlimited, 1e6, 5) == 0);
    CHECK(limit.level == doctest::Approx(250));
    (void)limit.advance(unlimited, 0, 5);
    CHECK(limit.level == doctest::Approx(200));
    CHECK(limit.heaviest == 0);
}

TEST_CASE("a level that begins above its ceiling is clamped at the end, and drains till then") {
    // What was charged 100 s after the anchor stands 1000 higher there.
    ReckonedLimit limit = reckoned(1150, 500);
    CHECK(limit.advance(kSmooth, 500, 99) <= 99);
    CHECK(limit.level == doctest::Approx(1150 - 990));
    limit = reckoned(1150, 500);
    (void)limit.advance(kSmooth, 500, 50);
    CHECK(limit.level == doctest::Approx(203));
}

TEST_CASE("a hard edge ends shedding in the middle of what is reckoned") {
    // It sheds until the level is four requests below low, which is a second away. Single requests
    // count: nothing is reckoned.
    const LimitParameters edge{.rate = 1, .low = 10, .high = 10};
    ReckonedLimit limit = reckoned(7, 1);
    limit.shedding = true;
    CHECK(limit.advance(edge, 1, 0.9) == 0);
    CHECK(limit.shedding);
    CHECK(limit.advance(edge, 1, 0.38) == 0);
    CHECK_FALSE(limit.shedding);
    CHECK(limit.level == doctest::Approx(7 - 1.28));
    // While more than the rate is offered it goes on.
    ReckonedLimit loaded = reckoned(7, 1.06);
    loaded.shedding = true;
    (void)loaded.advance(edge, 1.06, 2);
    CHECK(loaded.shedding);
    // A level that others fill again has ended shedding all the same.
    const LimitParameters large{.rate = 100, .low = 100, .high = 100};
    ReckonedLimit filled = reckoned(80.5, 105);
    filled.shedding = true;
    (void)filled.advance(large, 50, 0.02);
    CHECK_FALSE(filled.shedding);
    filled.offered_rate = 2000;
    (void)filled.advance(large, 2000, 0.02);
    CHECK(filled.level == plus_minus(99, 2));  // full: the next typical request is refused
    CHECK_FALSE(filled.shedding);
}

TEST_CASE("what came over some time has drained meanwhile, except the last request of it") {
    const LimitParameters edge{.rate = 100, .low = 5, .high = 5};
    double typical = 1;
    const auto level_after = [&](double before, double weight, double seconds, bool shedding) {
        ReckonedLimit limit = reckoned(before, 0);
        limit.shedding = shedding;
        limit.typical = typical;
        limit.add(edge, weight, seconds);
        return limit.level;
    };
    // In the last 0.1 s ten have drained from a level of 4, and eight have come.
    CHECK(level_after(-6, 8, 0.1, false) == doctest::Approx(2));
    // One by one they would find an empty bucket each.
    CHECK(level_after(-6, 3, 0.1, false) == doctest::Approx(1));
    CHECK(level_after(-6, 1, 0.1, false) == doctest::Approx(1));
    CHECK(level_after(-6, 0.5, 0.1, false) == doctest::Approx(0.5));
    // All at once they find the bucket as it is, with the credit that an edge has while it sheds.
    CHECK(level_after(-6, 8, 0, false) == doctest::Approx(8));
    CHECK(level_after(-6, 8, 0, true) == doctest::Approx(8 - kCreditRequests));
    CHECK(level_after(-6, 2, 0.1, true) == doctest::Approx(2 - 1 - kCreditRequests));
    // No more than has drained, however much came; and what is taken away is taken as it is.
    CHECK(level_after(-19, 12, 0.02, false) == doctest::Approx(10));
    CHECK(level_after(-6, -1, 0.1, true) == doctest::Approx(-7));
    CHECK(level_after(3, 2, 0.1, false) == doctest::Approx(5));
    // Of requests that weigh two each the last one weighs two as well.
    typical = 2;
    CHECK(level_after(-6, 8, 0.1, false) == doctest::Approx(2));
    CHECK(level_after(-6, 3, 0.1, false) == doctest::Approx(2));
    CHECK(level_after(-6, 1, 0.1, false) == doctest::Approx(1));
    CHECK(level_after(-6, 8, 0, true) == doctest::Approx(8 - 2 * kCreditRequests));
}

TEST_CASE("a hundred times the limit fills a small burst to its border, and not beyond") {
    // 10,000 a second, of which 9 fill it to its border: within a millisecond.
    const LimitParameters small{.rate = 100, .low = 10, .high = 20};
    for (const double seconds : {0.002, 0.01, 0.02}) {
        CAPTURE(seconds);
        ReckonedLimit limit = reckoned(0, 10'000);
        CHECK(limit.advance(small, 10'000, seconds) < 0.0015);
        CHECK(limit.level == plus_minus(9.1, 0.1));
    }
    // It settles where as much passes as drains: at the middle, less the request itself.
    ReckonedLimit limit = reckoned(0, 10'000);
    CHECK(10'000 * limit.advance(small, 10'000, 30) == doctest::Approx(14 + 100 * 30));
    CHECK(limit.level == plus_minus(14, 0.01));
    // By the linear law that is where 1 in a hundred passes.
    LimitParameters linear = small;
    linear.law = Law::linear;
    limit = reckoned(0, 10'000);
    CHECK(10'000 * limit.advance(linear, 10'000, 0.2) == doctest::Approx(18.9 + 100 * 0.2));
    CHECK(limit.level == plus_minus(18.9, 0.01));
}

TEST_CASE("where too little passes above the border the level stays at it") {
    // Of 3,000 a second others are offered 2,000, and the burst is a thousandth of a second.
    const LimitParameters tiny{.rate = 10'000, .low = 10, .high = 20};
    for (const double seconds : {0.02, 0.2, 2.0, 200.0}) {
        CAPTURE(seconds);
        ReckonedLimit limit = reckoned(0, 300'000);
        CHECK(200'000 * limit.advance(tiny, 200'000, seconds) ==
              doctest::Approx(9 + 10'000 * seconds));
        CHECK(limit.level == plus_minus(9, 0.001));
    }
    const LimitParameters edge{.rate = 100, .low = 100, .high = 100};
    ReckonedLimit full = reckoned(0, 1'000);
    CHECK(1'000 * full.advance(edge, 1'000, 120) == doctest::Approx(99 + 100 * 120));
    CHECK(full.level == plus_minus(99, 0.001));
}

TEST_CASE("an edge that hands out its room, or counts single requests, has no such border") {
    // It sheds, and half of the load is offered here: others get half of what drains.
    const LimitParameters edge{.rate = 100, .low = 100, .high = 100};
    ReckonedLimit shedding = reckoned(99, 2'000);
    shedding.shedding = true;
    CHECK(1'000 * shedding.advance(edge, 1'000, 0.02) == doctest::Approx(1));
    CHECK(shedding.level == doctest::Approx(98));
    // Of what others offer to a small edge nothing is reckoned, wherever its level is.
    const LimitParameters small{.rate = 1, .low = 9, .high = 9};
    ReckonedLimit single = reckoned(8, 50);
    CHECK(single.advance(small, 50, 0.5) == 0);
    CHECK(single.level == doctest::Approx(7.5));
}

TEST_CASE("borders that are next to each other are like a hard edge") {
    // One as narrow as a rounding error, and a large one that is silent for long.
    LimitParameters narrow{.rate = 1'000, .low = 1'100};
    narrow.high = std::nextafter(narrow.low, 2 * narrow.low);
    ReckonedLimit limit = reckoned(0, 30'000);
    CHECK(20'000 * limit.advance(narrow, 20'000, 2) == doctest::Approx(1'099 + 2'000));
    CHECK(limit.level == doctest::Approx(1'099));
    LimitParameters linear{.rate = 2.85e7, .low = 232'960, .high = 232'960.72};
    linear.law = Law::linear;
    limit = reckoned(0, 3.7e9);
    CHECK(3.7e9 * limit.advance(linear, 3.7e9, 10) == doctest::Approx(232'959 + 2.85e8));
}

TEST_CASE("a level below its floor rises from there") {
    // The weights at an edge with credit have become smaller.
    const LimitParameters edge{.rate = 50, .low = 100, .high = 100};
    ReckonedLimit limit = reckoned(-30, 49'000);
    CHECK(49'000 * limit.advance(edge, 49'000, 0.02) == doctest::Approx(99 + 3 + 50 * 0.02));
    CHECK(limit.level == plus_minus(99, 0.001));
}

TEST_CASE("open time is the integral of what passes, not the last moment's share") {
    // 1000 a second are offered to a limit of 10, far above low: the level falls from 190 on, and
    // the share that passes grows from nothing.
    ReckonedLimit coarse = reckoned(190, 1000);
    ReckonedLimit fine = coarse;
    const double last_before = reckoned_share(kSmooth, coarse);
    const double open = coarse.advance(kSmooth, 0, 1.28);
    const double exact = advance_finely(fine, kSmooth, 0, 1.28);
    CHECK(coarse.level == doctest::Approx(fine.level));
    CHECK(open == plus_minus(exact, 0.02 * 1.28 * reckoned_share(kSmooth, coarse) + 1e-4));
    CHECK(open >= 1.28 * last_before);
    CHECK(open <= 1.28 * reckoned_share(kSmooth, coarse) + 1e-12);
}

TEST_CASE("however long nothing was said, at most so many steps are reckoned") {
    for (const double seconds : {1e3, 1e9, 1e18}) {
        ReckonedLimit limit = reckoned(190, 1000);
        const double open = limit.advance(kSmooth, 0, seconds);
        CHECK(limit.level == 0);
        CHECK(open <= seconds);
        CHECK(std::isfinite(open));
    }
    ReckonedLimit none = reckoned(190, 1000);
    CHECK(none.advance(kSmooth, 1000, 0) == 0);
    CHECK(none.level == 190);
}

TEST_CASE("where the share stays what it is, one step is as good as many") {
    const bool agree = rc::check("one long step and many short ones agree", [] {
        const auto pick = [](int from, int to) { return *rc::gen::inRange(from, to) * 0.1; };
        const bool edge = *rc::gen::arbitrary<bool>();
        LimitParameters limit{.rate = pick(1, 500), .low = pick(1, 1000)};
        limit.high = edge ? limit.low : 2 * limit.low;
        ReckonedLimit once = reckoned(pick(0, 1000) * 0.001 * limit.low, pick(0, 500));
        ReckonedLimit often = once;
        const double inflow = pick(0, 1000) * 0.01 * limit.rate;
        const bool stays = counts_singly(limit, once) ||
                           (reckoned_share(limit, once) == 1 && inflow <= limit.rate);
        RC_PRE(stays);
        const double seconds = pick(0, 300);
        const double open = once.advance(limit, inflow, seconds);
        double open_often = 0;
        for (int i = 0; i < 100; ++i) {
            open_often += often.advance(limit, inflow, seconds / 100);
        }
        RC_ASSERT(std::abs(once.level - often.level) <= 1e-6 * limit.low);
        RC_ASSERT(std::abs(open - open_often) <= 1e-6 * (1 + seconds));
    });
    CHECK(agree);
}

TEST_CASE("steps of 20 ms go where much shorter ones go, however large the overload is") {
    const bool agree = rc::check("coarse and fine steps agree", [] {
        const auto pick = [](int from, int to) { return *rc::gen::inRange(from, to) * 0.01; };
        LimitParameters limit{.rate = pick(100, 100'000)};
        limit.low = pick(2, 200) * limit.rate;
        limit.high = limit.low * (1 + *rc::gen::element(0.0, 0.2, 1.0, 3.0));
        limit.law = *rc::gen::element(Law::linear, Law::adaptive);
        const double offered = pick(50, 50'000) * limit.rate;
        ReckonedLimit coarse = reckoned(pick(0, 150) * limit.high, offered);
        coarse.clamp(limit);
        ReckonedLimit fine = coarse;
        const double inflow = offered * pick(1, 101);
        const double seconds = *rc::gen::element(0.002, kReckoningStep, 0.2, 1.2);
        const double open = coarse.advance(limit, inflow, seconds);
        const double open_fine = advance_finely(fine, limit, inflow, seconds);
        // Within a step the level may drain below a border without anybody noticing, and what is
        // between the borders may change the adaptive share a little.
        const double unnoticed = 1.1 * kReckoningStep * limit.rate;
        const double little = 2 * kReckoningStep / kSettleTime * (limit.high - limit.low);
        RC_ASSERT(std::abs(coarse.level - fine.level) <= unnoticed + little + 1e-3);
        RC_ASSERT(inflow * std::abs(open - open_fine) <= unnoticed + little + 1e-3);
    });
    CHECK(agree);
}

TEST_CASE("the record of a limit moves as the model does, whichever level is in force") {
    const bool agree = rc::check("record and model agree", [] {
        const auto pick = [](int from, int to) { return *rc::gen::inRange(from, to) * 0.1; };
        const bool edge = *rc::gen::arbitrary<bool>();
        LimitParameters parameters{.rate = pick(1, 1000), .low = pick(10, 1000)};
        parameters.high = edge ? parameters.low : parameters.low + pick(1, 1000);
        OneLimit line(parameters);
        line.record.typical.store(1);
        const double local = pick(0, 1000) * 0.01 * parameters.high;
        line.record.level.store(local);
        line.view.local_level.store(local);
        FleetView view;
        view.level = pick(0, 1500) * 0.01 * parameters.high;
        view.offered_rate = pick(0, 10'000);
        view.others_rate = view.offered_rate * *rc::gen::inRange(0, 11) * 0.1;
        view.heaviest = *rc::gen::inRange(0, 3) * parameters.high;
        view.shedding = *rc::gen::arbitrary<bool>();
        line.install(view);

        ReckonedLimit fleet = reckoned(line.view.view_level.load(), view.offered_rate);
        fleet.heaviest = view.heaviest;
        fleet.tau = line.view.tau.load();
        fleet.shedding = (line.flags() & kShedding) != 0;
        ReckonedLimit own = fleet;
        own.level = line.view.local_level.load();
        const bool view_in_force = line.view.view_in_force.load();
        const bool shed = fleet.shedding;

        line.wait(pick(0, 30));
        const double seconds = static_cast<double>(line.now - kHour) * 1e-9;
        line.renew_both();
        const double fleet_open = fleet.advance(parameters, view.others_rate, seconds);
        const double own_open = own.advance(parameters, 0, seconds);
        const double slack = 1e-6 * parameters.high;
        RC_ASSERT(std::abs(line.view.view_level.load() - fleet.level) <= slack);
        RC_ASSERT(std::abs(line.view.local_level.load() - own.level) <= slack);
        RC_ASSERT(std::abs(line.view.open_time.load() - (view_in_force ? fleet_open : own_open)) <=
                  1e-6 * (1 + seconds));
        // Shedding ends with the level in force, whatever the level is at the end, unless the owner
        // says that the edge sheds: it decides when that ends.
        const bool sheds = (line.flags() & kShedding) != 0;
        const bool owner_sheds = view.shedding && parameters.edge();
        if (shed && !(view_in_force ? fleet : own).shedding && !owner_sheds) {
            RC_ASSERT(!sheds);
        }
        RC_ASSERT(sheds || !owner_sheds);
        RC_ASSERT(!sheds || shed);
    });
    CHECK(agree);
}

TEST_CASE("the other level of the two gets own weight as the model adds it") {
    // Room below 0 is for nobody: what is admitted is added to 0.
    OneLimit line(kTiny);
    line.record.level.store(0.2);
    line.view.local_level.store(0.2);
    line.install({.level = -0.75});
    CHECK_FALSE(line.view.view_in_force.load());
    note_pending(line.viewed(), 0.5, 0.5, line.now);
    line.renew_both();
    CHECK(line.view.view_level.load() == doctest::Approx(0.5));
}

TEST_CASE("the other level of the two drains while its own weight comes") {
    OneLimit line({.rate = 100, .low = 5, .high = 5});
    line.record.level.store(4);
    line.view.local_level.store(4);
    line.install({.level = -1});
    CHECK_FALSE(line.view.view_in_force.load());
    line.wait(0.1);
    note_pending(line.viewed(), 8, 8, line.now);
    line.renew_both();
    // Ten have drained since there was one less than none, and eight have come.
    CHECK(line.view.view_level.load() == doctest::Approx(8 - 7));
}

TEST_CASE("the chance at a shedding edge is at most 1, however small its rate") {
    const LimitParameters edge{.rate = 1e-10, .low = 10, .high = 10};
    for (const double offered : {1e-12, 1e-10, 1e-9, 1.0, 1e9}) {
        const double p = shedding_edge_probability(edge, edge.low + kLevelSlack, offered, 0.5);
        CHECK(p == 1);
        ReckonedLimit limit = reckoned(edge.low - 1 + kLevelSlack, offered);
        limit.shedding = true;
        CHECK(reckoned_share(edge, limit) == 0);
    }
    CHECK(shedding_edge_probability(edge, edge.low + kLevelSlack, 0, 0.5) == 0);
}

}  // namespace weir::limiter

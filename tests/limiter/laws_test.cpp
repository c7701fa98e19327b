#include "limiter/laws.h"

#include <doctest/doctest.h>

#include "fixture.h"
#include "limiter/reckoned_limit.h"
#include "tolerance.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;
using weir::testing::plus_minus;

namespace {
LawState state_of(double level, double offered) {
    LawState state;
    state.level = level;
    state.offered_rate = offered;
    return state;
}
}  // namespace

TEST_CASE("default borders follow the amount, the unit and the rate") {
    const LimitParameters smooth = per_second(100).resolved();
    CHECK(smooth.low == doctest::Approx(100));
    CHECK(smooth.high == doctest::Approx(200));
    const LimitParameters small = per_minute(6).resolved();
    CHECK(small.low == doctest::Approx(6));
    CHECK(small.edge());
    CHECK(per_second(19).resolved().edge());
    CHECK_FALSE(per_second(20).resolved().edge());
    RateLimit bytes = per_second(19);
    bytes.unit = Unit::request_bytes;
    CHECK(bytes.resolved().high == doctest::Approx(38));
    RateLimit long_period = per_second(1500);
    long_period.period = std::chrono::seconds(10);
    CHECK(long_period.resolved().low == doctest::Approx(1500));
    CHECK(long_period.resolved().high == doctest::Approx(1650));
}

TEST_CASE("borders may be amounts or seconds of the rate") {
    RateLimit limit = per_second(100);
    limit.low = BurstSpec{BurstSpec::Kind::seconds, 0.5};
    limit.high = BurstSpec{BurstSpec::Kind::amount, 70};
    limit.debt = BurstSpec{BurstSpec::Kind::seconds, 2};
    const LimitParameters parameters = limit.resolved();
    CHECK(parameters.low == doctest::Approx(50));
    CHECK(parameters.high == doctest::Approx(70));
    CHECK(parameters.debt == doctest::Approx(200));
}

TEST_CASE("the linear law rises from low to high") {
    LimitParameters limit{.rate = 100, .low = 100, .high = 200, .law = Law::linear};
    CHECK(discard_probability(limit, state_of(99, 1e6), 1) == 0);
    CHECK(discard_probability(limit, state_of(100, 1e6), 1) == doctest::Approx(0.01));
    CHECK(discard_probability(limit, state_of(149, 1e6), 1) == doctest::Approx(0.5));
    CHECK(discard_probability(limit, state_of(199, 1e6), 1) == 1);
}

TEST_CASE("the adaptive law aims for the rate at the middle") {
    LimitParameters limit{.rate = 1000, .low = 1000, .high = 2000};
    CHECK(discard_probability(limit, state_of(1000 - 1, 1e5), 1) == 0);
    // At the middle A = rate: with ten times the rate offered nine tenths are shed.
    CHECK(discard_probability(limit, state_of(1499, 1e4), 1) == doctest::Approx(0.9));
    // Just above low A = rate + 500/0.5 = 2000.
    CHECK(discard_probability(limit, state_of(1000, 1e4), 1) == plus_minus(0.8, 0.0008));
    CHECK(discard_probability(limit, state_of(1999, 1e4), 1) == 1);
    // The load has left: shedding ends at once.
    CHECK(discard_probability(limit, state_of(1499, 900), 1) == 0);
}

TEST_CASE("with fewer than three requests in the window the linear law holds") {
    LimitParameters limit{.rate = 5, .low = 5, .high = 10};
    const double two = 2 / kRateWindow;
    CHECK(discard_probability(limit, state_of(6.5, two), 1) == doctest::Approx(0.5));
    const double four = 4 / kRateWindow;
    CHECK(discard_probability(limit, state_of(6.5, four), 1) == doctest::Approx(1 - 5 / four));
}

TEST_CASE("a longer round trip slows the adaptive law") {
    CHECK(settle_time(0.01) == kSettleTime);
    CHECK(settle_time(0.2) == doctest::Approx(0.8));
    LimitParameters limit{.rate = 1000, .low = 1000, .high = 2000};
    LawState state = state_of(1799, 1e4);
    const double quick = discard_probability(limit, state, 1);
    state.tau = 1;
    CHECK(quick == doctest::Approx(1 - (1000 - 300 / 0.5) / 1e4));
    CHECK(discard_probability(limit, state, 1) == doctest::Approx(1 - (1000 - 300.0) / 1e4));
}

TEST_CASE("a hard edge is hard, and hands out free room while it sheds") {
    LimitParameters limit{.rate = 10, .low = 10, .high = 10};
    LawState state = state_of(9, 100);
    CHECK(discard_probability(limit, state, 1) == 0);
    state.level = 9.1;
    CHECK(discard_probability(limit, state, 1) == 1);
    state.shedding = true;
    CHECK(discard_probability(limit, state, 1) == 1);
    state.level = 8.5;  // room of half a request: A = 10 + 0.5/0.5
    CHECK(discard_probability(limit, state, 1) == doctest::Approx(1 - 11.0 / 100));
    // Whatever the number of requests in the window.
    state.offered_rate = 12;
    CHECK(discard_probability(limit, state, 1) == doctest::Approx(1 - 11.0 / 12));
    CHECK(next_shedding(limit, true, 6.1, 1, 10));
    CHECK_FALSE(next_shedding(limit, true, 6.0, 1, 10));
    CHECK_FALSE(next_shedding(limit, true, 6.0, 1, 10.5));
    CHECK(next_shedding(limit, true, 6.0, 1, 10.51));
    CHECK_FALSE(next_shedding(limit, false, 10, 1, 100));
    LimitParameters soft = limit;
    soft.high = 20;
    CHECK_FALSE(next_shedding(soft, true, 15, 1, 100));
}

TEST_CASE("an edge drains below zero, and a part of that is a credit while it sheds") {
    LimitParameters limit{.rate = 1.0 / 60, .low = 1, .high = 1};
    CHECK(level_floor(limit, 1) == -3);
    CHECK(level_floor(limit, 3) == -11);  // shedding ends there
    CHECK(next_shedding(limit, true, -2.9, 1, 0));
    CHECK_FALSE(next_shedding(limit, true, -3, 1, 0));
    CHECK(level_to_charge(-1.5, 1, true) == -1.5);
    CHECK(level_to_charge(-3, 1, true) == -1.9);
    CHECK(level_to_charge(-9, 3, true) == doctest::Approx(-5.7));
    CHECK(level_to_charge(-1.5, 1, false) == 0);
    CHECK(level_to_charge(0.5, 1, false) == 0.5);
    limit.high = 2;
    CHECK(level_floor(limit, 1) == 0);
}

TEST_CASE("every edge without load ends shedding") {
    for (const double rate : {0.001, 0.5, 1.0, 5.0, 100.0, 1e6}) {
        for (const double low : {0.001, 0.5, 1.0, 10.0, 1e3}) {
            for (const double typical : {0.01, 1.0, 50.0}) {
                CAPTURE(rate);
                CAPTURE(low);
                CAPTURE(typical);
                const LimitParameters limit{.rate = rate, .low = low, .high = low};
                ReckonedLimit model;
                model.level = low;
                model.typical = typical;
                model.shedding = true;
                model.advance(limit, 0, (low + 10 * typical + rate) / rate);
                CHECK_FALSE(model.shedding);
            }
        }
    }
}

TEST_CASE("the model of an edge uses the credit while it sheds, and only then") {
    const LimitParameters limit{.rate = 1, .low = 1, .high = 1};
    ReckonedLimit model;
    model.shedding = true;
    model.offered_rate = 20;
    model.advance(limit, 20, 10);  // nothing of what others offer is reckoned to be admitted
    CHECK(model.level == -3);
    CHECK(model.shedding);
    model.add(limit, 1);
    CHECK(model.level == doctest::Approx(-0.9));
    model.offered_rate = 1;
    model.advance(limit, 1, 2);
    CHECK(model.level == doctest::Approx(-2.9));
    CHECK(model.shedding);
    model.advance(limit, 1, 1);
    CHECK_FALSE(model.shedding);
    model.add(limit, 1);
    CHECK(model.level == 1);
}

TEST_CASE("zero refuses everything before any other rule") {
    LimitParameters limit{.rate = 0, .low = 10, .high = 20};
    CHECK(discard_probability(limit, state_of(0, 0), 0) == 1);
}

TEST_CASE("debt, ceiling and width") {
    LimitParameters limit{.rate = 100, .low = 100, .high = 200};
    CHECK(debt(limit, 1) == doctest::Approx(20));
    CHECK(debt(limit, 10) == doctest::Approx(30));
    CHECK(ceiling(limit, 1, 0) == doctest::Approx(220));
    CHECK(ceiling(limit, 1, 500) == doctest::Approx(700));
    limit.debt = 5;
    CHECK(ceiling(limit, 1, 0) == doctest::Approx(205));
    CHECK(threshold_width(limit, 1) == doctest::Approx(100));
    CHECK(threshold_width(limit, 80) == doctest::Approx(160));
}

TEST_CASE("dead reckoning drains, then clamps") {
    LimitParameters limit{.rate = 100, .low = 100, .high = 200};
    CHECK(reckon(limit, 50, 40, 0.5, 0, 220) == doctest::Approx(20));
    CHECK(reckon(limit, 50, 0, 10, 0, 220) == 0);
    CHECK(reckon(limit, 210, 400, 1, 0, 220) == 220);
}

TEST_CASE("the laws know no smallest unit: all weights times a factor change no chance") {
    const auto chance = [](double scale, Law law, double level, double offered, double weight) {
        const LimitParameters limit{
            .rate = 100 * scale, .low = 100 * scale, .high = 300 * scale, .law = law};
        LawState state = state_of(level * scale, offered * scale);
        state.typical = scale;
        return discard_probability(limit, state, weight * scale);
    };
    for (const Law law : {Law::linear, Law::adaptive}) {
        for (const double level : {0.0, 98.0, 100.0, 150.0, 199.0, 230.0, 249.0, 298.0, 300.0}) {
            for (const double offered : {0.0, 5.0, 20.0, 150.0, 1e4}) {
                const double expected = chance(1, law, level, offered, 1);
                for (const double scale : {1e-6, 1e-3, 1e3}) {
                    CHECK(chance(scale, law, level, offered, 1) == doctest::Approx(expected));
                }
            }
        }
    }
    // A hard edge that sheds, too.
    for (const double scale : {1e-3, 1.0, 1e3}) {
        const LimitParameters limit{.rate = 10 * scale, .low = 10 * scale, .high = 10 * scale};
        LawState state = state_of(8.5 * scale, 100 * scale);
        state.typical = scale;
        state.shedding = true;
        CHECK(discard_probability(limit, state, scale) == doctest::Approx(1 - 11.0 / 100));
    }
}

TEST_CASE("the laws at their borders") {
    const LimitParameters steep{.rate = 1000, .low = 1000, .high = 1100};
    CHECK(adaptive_probability(steep, 1000, 1e4, 0.5) == 0);
    CHECK(adaptive_probability(steep, 1000.001, 1e4, 0.5) > 0.8);
    // Just below high a tenth passes; at high nothing does.
    CHECK(adaptive_probability(steep, 1099.999, 1e4, 0.5) == doctest::Approx(1 - 900 / 1e4));
    CHECK(adaptive_probability(steep, 1100, 1e4, 0.5) == 1);
    // An aim of nothing: nothing passes, even if nobody is known to offer anything.
    const LimitParameters wide{.rate = 100, .low = 100, .high = 300};
    CHECK(adaptive_probability(wide, 250, 0, 0.5) == 1);
    CHECK(adaptive_probability(wide, 249, 0, 0.5) == 0);
    CHECK(adaptive_probability(wide, 260, 1e4, 0.5) == 1);
    const LimitParameters edge{.rate = 10, .low = 10, .high = 10};
    CHECK(linear_probability(edge, 10) == 0);
    CHECK(linear_probability(edge, 10.001) == 1);
    // Rounding decides nothing: what is over by less than the slack is not over.
    const double slack = edge.low + kLevelSlack;
    CHECK(shedding_edge_probability(edge, slack, 100, 0.5) == doctest::Approx(0.9));
    CHECK(shedding_edge_probability(edge, slack + 1e-9, 100, 0.5) == 1);
    CHECK(shedding_edge_probability(edge, 5, 0, 0.5) == 0);
    CHECK(shedding_edge_probability(edge, 5, 1, 0.5) == 0);
    CHECK(discard_probability(edge, state_of(slack, 1e6), 0) == 0);
    CHECK(discard_probability(edge, state_of(slack + 1e-9, 1e6), 0) == 1);
    CHECK_FALSE(next_shedding(edge, true, edge.low - 4 + kLevelSlack, 1, 0));
    CHECK(next_shedding(edge, true, edge.low - 4 + 2 * kLevelSlack, 1, 0));
    // Exactly three requests in the window are enough for the adaptive law.
    LimitParameters limit{.rate = 5, .low = 5, .high = 10};
    CHECK(discard_probability(limit, state_of(6.5, 10), 1) == doctest::Approx(0.5));
    limit.high = 20;  // middle 12.5: far below it the adaptive law lets all of that pass
    CHECK(discard_probability(limit, state_of(6.5, 10), 1) == 0);
    CHECK(discard_probability(limit, state_of(6.5, 9.9), 1) == doctest::Approx(2.5 / 15));
    limit.law = Law::linear;
    CHECK(discard_probability(limit, state_of(6.5, 10), 1) == doctest::Approx(2.5 / 15));
}

TEST_CASE("a model that was told of no heavy weight holds no more than the limit and its debt") {
    const LimitParameters limit{.rate = 10, .low = 100, .high = 200, .debt = 0};
    ReckonedLimit model;
    CHECK(model.ceiling(limit) == 200);
    model.add(limit, 1000);
    CHECK(model.level == 200);
}

TEST_CASE("a weight is judged up to low") {
    const LimitParameters limit{.rate = 5, .low = 5, .high = 10};
    CHECK(judged_level(limit, 2, 3) == 5);
    CHECK(judged_level(limit, 2, 5) == 7);
    CHECK(judged_level(limit, 2, 500) == 7);
}

TEST_CASE("what others offer is reckoned unless an edge counts single requests") {
    const LimitParameters edge{.rate = 10, .low = 10, .high = 10};
    const double many = 10 / kRateWindow;
    CHECK(counts_singly(edge, state_of(5, many - 0.1)));
    CHECK_FALSE(counts_singly(edge, state_of(5, many)));
    const LimitParameters small{.rate = 10, .low = 9.9, .high = 9.9};
    CHECK(counts_singly(small, state_of(5, 1e6)));
    // So much drains between two messages that single requests say nothing.
    const LimitParameters quick{.rate = many, .low = 1, .high = 1};
    CHECK_FALSE(counts_singly(quick, state_of(0, 1e6)));
    CHECK(counts_singly(quick, state_of(0, many - 0.1)));
    const LimitParameters slow{.rate = many - 0.1, .low = 1, .high = 1};
    CHECK(counts_singly(slow, state_of(0, 1e6)));
    const double tenth = kQuickEdgeSeconds * many;
    const LimitParameters shorter{.rate = many, .low = tenth, .high = tenth};
    CHECK_FALSE(counts_singly(shorter, state_of(0, 1e6)));
    const LimitParameters longer{.rate = many, .low = 1.01 * tenth, .high = 1.01 * tenth};
    CHECK(counts_singly(longer, state_of(0, 1e6)));
    LawState shedding = state_of(5, 1);
    shedding.shedding = true;
    CHECK(counts_singly(edge, shedding));
    const LimitParameters smooth{.rate = 5, .low = 5, .high = 10};
    CHECK_FALSE(counts_singly(smooth, state_of(3, 1)));
    LawState heavy = state_of(5, 1e6);
    heavy.typical = 1.01;
    CHECK(counts_singly(edge, heavy));

    CHECK(reckoned_share(edge, state_of(5, 1)) == 0);
    CHECK(reckoned_share(edge, state_of(5, many)) == 1);
    CHECK(reckoned_share(edge, state_of(9.5, many)) == 0);
    const LimitParameters linear{.rate = 100, .low = 100, .high = 200, .law = Law::linear};
    CHECK(reckoned_share(linear, state_of(119, 1e3)) == doctest::Approx(0.8));
    LawState twos = state_of(118, 1e3);
    twos.typical = 2;
    CHECK(reckoned_share(linear, twos) == doctest::Approx(0.8));
}

TEST_CASE("room, width and debt where each of their parts is the largest") {
    LimitParameters limit{.rate = 100, .low = 100, .high = 100};
    CHECK(shedding_room(limit, 1) == doctest::Approx(20));
    CHECK(shedding_room(limit, 4.9) == doctest::Approx(20));
    CHECK(shedding_room(limit, 11) == doctest::Approx(44));
    CHECK(threshold_width(limit, 1) == doctest::Approx(100));
    limit.high = 350;
    CHECK(threshold_width(limit, 1) == doctest::Approx(250));
    CHECK(threshold_width(limit, 150) == doctest::Approx(300));
    CHECK(level_floor(limit, 60) == 0);  // no edge
    limit.debt = 0;                      // as it is written
    CHECK(debt(limit, 1) == 0);
    CHECK(ceiling(limit, 1, 7) == doctest::Approx(357));
}

TEST_CASE("a bucket drains slowly if that takes longer than asked for") {
    CHECK(drains_slowly({.rate = 2, .low = 21, .high = 21}, 10));
    CHECK_FALSE(drains_slowly({.rate = 2, .low = 20, .high = 20}, 10));
    CHECK_FALSE(drains_slowly({.rate = 0, .low = 20, .high = 20}, 10));
    CHECK_FALSE(drains_slowly({.rate = 2, .low = 21, .high = 21, .window = true}, 10));
}

TEST_CASE("parameters and states that say nothing") {
    const LimitParameters limit;
    CHECK(limit.zero());
    CHECK(limit.edge());
    CHECK(limit.low == 0);
    CHECK(limit.high == 0);
    CHECK(limit.debt == -1);
    CHECK_FALSE(LimitParameters{.rate = 0.5}.zero());
    const LawState state;
    CHECK(state.level == 0);
    CHECK(state.offered_rate == 0);
    CHECK(state.typical == 1);
    CHECK(state.tau == kSettleTime);
    CHECK_FALSE(state.shedding);
}

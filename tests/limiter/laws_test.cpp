#include "limiter/laws.h"

#include <doctest/doctest.h>

#include "fixture.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;

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
    CHECK(discard_probability(limit, state_of(1000, 1e4), 1) ==
          doctest::Approx(0.8).epsilon(0.001));
    CHECK(discard_probability(limit, state_of(1999, 1e4), 1) == 1);
    // The load has left: shedding ends at once.
    CHECK(discard_probability(limit, state_of(1499, 900), 1) == 0);
}

TEST_CASE("with fewer than ten requests in the window the linear law holds") {
    LimitParameters limit{.rate = 20, .low = 20, .high = 40};
    const double nine = 9 / kRateWindow;
    CHECK(discard_probability(limit, state_of(29, nine), 1) == doctest::Approx(0.5));
    const double eleven = 11 / kRateWindow;
    CHECK(discard_probability(limit, state_of(29, eleven), 1) == doctest::Approx(1 - 20 / eleven));
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
    CHECK(next_shedding(limit, true, 8.1, 1));
    CHECK_FALSE(next_shedding(limit, true, 8.0, 1));
    CHECK_FALSE(next_shedding(limit, false, 10, 1));
    LimitParameters soft = limit;
    soft.high = 20;
    CHECK_FALSE(next_shedding(soft, true, 15, 1));
}

TEST_CASE("an edge smaller than two requests drains below zero until shedding ends") {
    LimitParameters limit{.rate = 1.0 / 60, .low = 1, .high = 1};
    CHECK(level_floor(limit, 1) == -1);
    CHECK(next_shedding(limit, true, -0.9, 1));
    CHECK_FALSE(next_shedding(limit, true, -1, 1));
    limit.low = limit.high = 5;
    CHECK(level_floor(limit, 1) == 0);
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

#include "tools/arrivals.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tolerance.h"

namespace weir::tools {
namespace {

using weir::testing::plus_minus;

std::vector<double> until(Arrivals& arrivals, double end_s) {
    std::vector<double> times;
    for (; arrivals.next_s() < end_s; arrivals.advance()) {
        times.push_back(arrivals.next_s());
    }
    return times;
}

TEST_CASE("constant arrivals keep their distance, through a change of rate too") {
    Arrivals arrivals(Arrivals::Kind::constant, {{0, 10}, {1, 100}}, Random(1));
    const auto times = until(arrivals, 2.0001);
    REQUIRE(times.size() == 110);
    CHECK(times[0] == doctest::Approx(0.1));
    CHECK(times[9] == doctest::Approx(1.0));
    CHECK(times[10] == doctest::Approx(1.01));
    CHECK(times[109] == doctest::Approx(2.0));
}

TEST_CASE("a rate of nothing pauses, and at the end stops") {
    Arrivals arrivals(Arrivals::Kind::constant, {{0, 10}, {0.25, 0}, {5, 10}, {5.2, 0}}, Random(1));
    const auto times = until(arrivals, 1e9);
    // A quarter of a second leaves half a distance over, which the third step makes up.
    REQUIRE(times.size() == 4);
    CHECK(times[1] == doctest::Approx(0.2));
    CHECK(times[2] == doctest::Approx(5.05));
    CHECK(times[3] == doctest::Approx(5.15));
    CHECK(std::isinf(arrivals.next_s()));
}

TEST_CASE("Poisson arrivals have their rate and their noise, and repeat for a seed") {
    const std::uint64_t seed = 7;
    CAPTURE(seed);
    Arrivals arrivals(Arrivals::Kind::poisson, {{0, 1000}}, Random(seed));
    Arrivals again(Arrivals::Kind::poisson, {{0, 1000}}, Random(seed));
    const auto times = until(arrivals, 100);
    CHECK(times == until(again, 100));
    CHECK(static_cast<double>(times.size()) == plus_minus(1e5, 1e3));
    double squares = 0;
    for (std::size_t i = 1; i < times.size(); ++i) {
        squares += std::pow((times[i] - times[i - 1]) * 1000 - 1, 2);
    }
    CHECK(squares / 1e5 == plus_minus(1, 0.05));
}

TEST_CASE("a rate set while running replaces the steps to come") {
    Arrivals arrivals(Arrivals::Kind::constant, {{0, 10}, {3, 1000}}, Random(1));
    until(arrivals, 1);
    arrivals.set_rate(1, 2);
    CHECK(until(arrivals, 11.01).size() == 20);
}

TEST_CASE("in turns: exact shares with even spacing") {
    Spread spread(Spread::Kind::turns, {{0, {80, 10, 10}}}, Random(1));
    std::vector<int> counts(3);
    const std::vector<bool> paused(3, false);
    for (int i = 0; i < 1000; ++i) {
        ++counts[*spread.pick(0, paused)];
    }
    CHECK(counts == std::vector<int>{800, 100, 100});
}

TEST_CASE("by lot: the shares on average") {
    Spread spread(Spread::Kind::random, {{0, {7, 2, 1}}}, Random(3));
    std::vector<double> counts(3);
    const std::vector<bool> paused(3, false);
    for (int i = 0; i < 100'000; ++i) {
        counts[*spread.pick(0, paused)] += 1e-5;
    }
    CHECK(counts[0] == plus_minus(0.7, 0.02 * 0.7));
    CHECK(counts[2] == plus_minus(0.1, 0.05 * 0.1));
}

TEST_CASE("shares change with time, and a paused target's go to the others") {
    for (const auto kind : {Spread::Kind::turns, Spread::Kind::random}) {
        Spread spread(kind, {{0, {1, 0}}, {2, {0, 1}}}, Random(1));
        CHECK(spread.pick(1.9, {false, false}) == 0);
        CHECK(spread.pick(1.9, {true, false}) == std::nullopt);
        CHECK(spread.pick(2.0, {true, false}) == 1);
        Spread even(kind, {{0, {1, 1, 1}}}, Random(1));
        for (int i = 0; i < 100; ++i) {
            CHECK(even.pick(0, {false, true, true}) == 0);
        }
    }
}

}  // namespace
}  // namespace weir::tools

// Robustness 51: halves that are split for five minutes, far beyond any hold time, and heal.

#include <doctest/doctest.h>

#include <vector>

#include "sim/fleet.h"
#include "tolerance.h"

namespace weir::sim {
namespace {

using namespace test;
using testing::plus_minus;

constexpr double kLimit = 200;
constexpr double kCut = 5;
constexpr double kLength = 300;
constexpr double kHealed = kCut + kLength;
constexpr double kEnd = kHealed + 12;

void split_in_halves(World& world) {
    world.at(kCut, [](World& w) {
        std::vector<bool> side;
        for (std::uint32_t i = 0; i < w.size(); ++i) {
            side.push_back(i % 2 == 1);
        }
        w.cut(side, kLength, false);
    });
}

void check_together(World& world) {
    for (std::uint32_t i = 0; i < world.size(); ++i) {
        CAPTURE(i);
        const auto statistics = world.sidecar(i).engine().statistics();
        CHECK(statistics.peers_by_state.at("alive") == world.size() - 1);
        // What those counted who took new incarnations is not kept for ever.
        CHECK(statistics.cells <= 2 * world.size());
        CHECK(statistics.isolated_limits == 0);
        CHECK(statistics.refused_by_peer.empty());
    }
}

TEST_CASE("robustness 51: split for five minutes below the limit, nothing is ever refused") {
    for (const double load : {0.6, 0.95}) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            CAPTURE(load);
            CAPTURE(seed);
            World world(plan_of({.sidecars = 6,
                                 .limit = kLimit,
                                 .offered = load * kLimit,
                                 .seconds = kEnd,
                                 .seed = seed}));
            split_in_halves(world);
            REQUIRE(world.run(kMeeting));
            CHECK(refused(world, 0, kEnd) == 0);
            check_together(world);
        }
    }
}

TEST_CASE("robustness 51: split for five minutes at twice the limit, each side by its mode") {
    using limiter::IsolationMode;
    for (const auto mode :
         {IsolationMode::safe, IsolationMode::optimistic, IsolationMode::pessimistic}) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            CAPTURE(limiter::kIsolationModeWords[static_cast<std::size_t>(mode)]);
            CAPTURE(seed);
            WorldPlan plan = plan_of({.sidecars = 6,
                                      .limit = kLimit,
                                      .offered = 2 * kLimit,
                                      .seconds = kEnd,
                                      .seed = seed});
            plan.definitions[0].when_isolated = mode;
            World world(plan);
            split_in_halves(world);
            REQUIRE(world.run(kMeeting));
            const double held = mode == IsolationMode::safe         ? 1
                                : mode == IsolationMode::optimistic ? 2
                                                                    : 0;
            CHECK(admitted(world, kCut + 2, kCut + 9) / (7 * kLimit) == plus_minus(held, 0.05));
            CHECK(admitted(world, kCut + 20, kHealed) / ((kLength - 20) * kLimit) ==
                  plus_minus(2, 0.04));
            // Back within two seconds; a side's count that came twice would close it for longer.
            CHECK(admitted(world, kHealed + 2, kEnd) / ((kEnd - kHealed - 2) * kLimit) ==
                  plus_minus(1, 0.05));
            check_together(world);
        }
    }
}

}  // namespace
}  // namespace weir::sim

// A fleet that lives for long: what is told apart by numbers, counts or ages stays told apart.

#include <doctest/doctest.h>

#include <cmath>

#include "sim/fleet.h"

namespace weir::sim {
namespace {

using namespace test;

/// Members whose last packet is older than this are forgotten: twenty minutes.
constexpr double kForgotten = 20 * 60;

TEST_CASE("who restarts after twenty minutes is counted as itself, below the limit") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        CAPTURE(seed);
        constexpr double kEnd = kForgotten + 120;
        World world(
            plan_of({.sidecars = 3, .limit = 100, .offered = 50, .seconds = kEnd, .seed = seed}));
        for (double at = kForgotten + 30; at < kEnd - 30; at += 20) {
            world.at(at, [](World& w) { w.restart(2); });
        }
        REQUIRE(world.run(kMeeting));
        CHECK(refused(world, 0, kEnd) == 0);
        for (std::uint32_t i = 0; i < world.size(); ++i) {
            CAPTURE(i);
            const auto statistics = world.sidecar(i).engine().statistics();
            CHECK(statistics.refused_by_peer.empty());
            // One for each run that is first seen when it is not young any more.
            CHECK(statistics.sync.baselines <= 10);
        }
    }
}

TEST_CASE("who restarts after twenty minutes is counted as itself, above the limit") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        CAPTURE(seed);
        constexpr double kEnd = kForgotten + 240;
        World world(
            plan_of({.sidecars = 3, .limit = 50, .offered = 150, .seconds = kEnd, .seed = seed}));
        world.at(kForgotten + 30, [](World& w) { w.restart(2); });
        REQUIRE(world.run(kMeeting));
        // After its first minute as well, from which on a run is not young any more.
        for (double from = kForgotten + 40; from < kEnd; from += 50) {
            CAPTURE(from);
            CHECK(std::abs(admitted(world, from, from + 50) / (50 * 50) - 1) < 0.03);
        }
    }
}

}  // namespace
}  // namespace weir::sim

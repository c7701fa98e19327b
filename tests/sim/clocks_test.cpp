// Processes and machines that are paused, and clocks that leap or stand still, in whole simulated
// fleets.

#include <doctest/doctest.h>

#include "sim/fleet.h"
#include "sim/world.h"

namespace weir::sim {
namespace {

using namespace test;

TEST_CASE("a sidecar paused for 20 s suspects nobody wrongly and finds back") {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        World world(
            plan_of({.sidecars = 5, .limit = 500, .offered = 450, .seconds = 45, .seed = seed}));
        world.at(10, [](World& w) { w.stop(2, 20); });
        REQUIRE(world.run(kMeeting));
        CHECK(refused(world, 0, 45) == 0);
        CHECK(world.sidecar(2).engine().statistics().sync.stops >= 1);
        for (std::uint32_t i = 0; i < 5; ++i) {
            CHECK(world.sidecar(i).engine().statistics().peers_by_state.at("alive") == 4);
        }
    }
}

TEST_CASE("a paused machine whose clock stood still refuses nothing, and neither do the others") {
    for (const std::uint32_t sidecars : {2u, 3u, 10u}) {
        for (const double pause : {2.5, 4.0, 8.0}) {
            for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
                CAPTURE(sidecars);
                CAPTURE(pause);
                CAPTURE(seed);
                World world(plan_of({.sidecars = sidecars,
                                     .limit = 1000,
                                     .offered = 900,
                                     .seconds = 35,
                                     .seed = seed}));
                world.at(10, [pause](World& w) { w.pause(1, pause); });
                REQUIRE(world.run(kMeeting));
                CHECK(refused(world, 0, 35) == 0);
                CHECK(world.sidecar(1).engine().statistics().sync.stops == 1);
                CHECK(world.sidecar(0).engine().statistics().sync.stops == 0);
            }
        }
    }
}

TEST_CASE("a delay that ends is not taken for a clock that stood still") {
    for (const std::uint32_t sidecars : {2u, 3u, 10u}) {
        for (const double delay : {0.7, 1.5, 3.0}) {
            CAPTURE(sidecars);
            CAPTURE(delay);
            World world(plan_of(
                {.sidecars = sidecars, .limit = 1000, .offered = 500, .seconds = 30, .seed = 1}));
            world.at(10, [delay](World& w) {
                NetworkFaults faults = w.plan().faults;
                faults.delay = from_seconds(delay);
                w.disturb(faults, 5);
            });
            REQUIRE(world.run(kMeeting));
            for (std::uint32_t i = 0; i < sidecars; ++i) {
                CHECK(world.sidecar(i).engine().statistics().sync.stops == 0);
            }
        }
    }
}

TEST_CASE("one clock of three that leaps stops nobody") {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        World world(
            plan_of({.sidecars = 3, .limit = 1000, .offered = 900, .seconds = 25, .seed = seed}));
        world.at(10, [](World& w) { w.leap_clock(1, 5); });
        REQUIRE(world.run(kMeeting));
        CHECK(world.sidecar(0).engine().statistics().sync.stops == 0);
        CHECK(world.sidecar(2).engine().statistics().sync.stops == 0);
        CHECK(refused(world, 0, 25) == 0);
    }
}

}  // namespace
}  // namespace weir::sim

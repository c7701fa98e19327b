// What tests/integration/test_faults.py shows of real processes by counts, second by second: three
// at three times the limit, constant arrivals, one is killed on a host that answers for it.

#include <doctest/doctest.h>

#include <cstdint>

#include "sim/fleet.h"
#include "sim/world.h"
#include "tolerance.h"

namespace weir::sim {
namespace {

using namespace test;
using testing::plus_minus;

constexpr std::uint64_t kManySeeds = 10;
constexpr double kLimit = 1000;

TEST_CASE("above the limit the rest carries it after a kill: every second around it") {
    for (const std::uint32_t killed : {0U, 2U}) {
        for (std::uint64_t seed = 1; seed <= kManySeeds; ++seed) {
            CAPTURE(killed);
            CAPTURE(seed);
            WorldPlan plan = plan_of({.sidecars = 3,
                                      .limit = kLimit,
                                      .offered = 3 * kLimit,
                                      .seconds = 18,
                                      .seed = seed});
            plan.load.constant_rate = true;
            plan.faults.refusals = true;
            World world(plan);
            const double at = 8 + 0.037 * static_cast<double>(seed);
            world.at(at, [killed](World& w) { w.kill(killed); });
            REQUIRE(world.run(kMeeting));
            for (int second = -3; second < 9; ++second) {
                CAPTURE(second);
                const double from = at + second;
                // It takes the others a moment, and they take back what they had reckoned of it.
                const double share = second == 0 || second == 1 ? 0.08 : 0.05;
                CHECK(admitted(world, from, from + 1) == plus_minus(kLimit, share * kLimit));
            }
        }
    }
}

struct Deaths {
    std::uint32_t sidecars;
    std::uint32_t killed;
    bool refusals;  // their hosts answer that nobody listens
    double grace;   // seconds after which hardly anything is refused
};

TEST_CASE("below the limit the rest carries the load of many that die at once") {
    constexpr double kDeath = 8;
    constexpr double kEnd = 25;
    for (const Deaths& deaths : {Deaths{2, 1, false, 1}, Deaths{2, 1, true, 0.5},
                                 Deaths{3, 2, true, 0.5}, Deaths{10, 5, true, 0.5}}) {
        for (std::uint64_t seed = 1; seed <= kManySeeds; ++seed) {
            CAPTURE(deaths.sidecars);
            CAPTURE(deaths.killed);
            CAPTURE(deaths.refusals);
            CAPTURE(seed);
            WorldPlan plan = plan_of({.sidecars = deaths.sidecars,
                                      .limit = kLimit,
                                      .offered = 0.9 * kLimit,
                                      .seconds = kEnd,
                                      .seed = seed});
            plan.faults.refusals = deaths.refusals;
            World world(plan);
            world.at(kDeath, [&deaths](World& w) {
                for (std::uint32_t i = 0; i < deaths.killed; ++i) {
                    w.kill(i);
                }
            });
            REQUIRE(world.run(kMeeting));
            CHECK(refused(world, 0, kDeath) == 0);
            const double from = kDeath + deaths.grace;
            MESSAGE(deaths.killed, " of ", deaths.sidecars, " die, refused ",
                    refused(world, kDeath, from), " at first, later ", refused(world, from, kEnd));
            CHECK(refused(world, from, kEnd) <= 0.001 * offered(world, from, kEnd));
        }
    }
}

TEST_CASE("one of two that is cut off at twice the limit stays at its share") {
    for (std::uint64_t seed = 1; seed <= kManySeeds; ++seed) {
        CAPTURE(seed);
        World world(plan_of(
            {.sidecars = 2, .limit = kLimit, .offered = 2 * kLimit, .seconds = 20, .seed = seed}));
        world.at(8, [](World& w) { w.cut({true, false}, 9, false); });
        REQUIRE(world.run(kMeeting));
        CHECK(admitted(world, 10, 17) / (7 * kLimit) == plus_minus(1, 0.05));
    }
}

}  // namespace
}  // namespace weir::sim

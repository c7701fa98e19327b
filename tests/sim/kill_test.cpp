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

constexpr std::uint64_t kSeeds = 10;
constexpr double kLimit = 1000;

TEST_CASE("above the limit the rest carries it after a kill: every second around it") {
    for (const std::uint32_t killed : {0U, 2U}) {
        for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
            CAPTURE(killed);
            CAPTURE(seed);
            WorldPlan plan = plan_of(3, kLimit, 3 * kLimit, 18, seed);
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

}  // namespace
}  // namespace weir::sim

// Engines that rest while there is nothing to do: what they must not miss, with fleets that rest
// and fleets that never do side by side.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/fleet.h"

namespace weir::sim {
namespace {

using namespace test;

constexpr double kLimit = 100;
constexpr double kBegins = 6;  // the load, after a rest

WorldPlan plan_of_rest(std::uint32_t sidecars, bool rests, std::uint64_t seed) {
    WorldPlan plan =
        plan_of({.sidecars = sidecars, .limit = kLimit, .offered = 0, .seconds = 12, .seed = seed});
    plan.rests = rests;
    return plan;
}

/// Whether the sidecar's engine asks for a tick that is further away than a usual one.
bool rests(World& world, std::uint32_t number) {
    SimulatedSidecar& sidecar = world.sidecar(number);
    const Instant now = sidecar.local(world.instant());
    return sidecar.engine().next_tick() > now + std::chrono::milliseconds(11);
}

/// Counts twenty times within 0.3 s how many of the first `sidecars` rest.
void count_resting(World& world, std::uint32_t sidecars, std::vector<std::size_t>& counts,
                   double from) {
    for (int look = 0; look < 20; ++look) {
        world.at(from + look * 0.013, [&counts, sidecars](World& w) {
            counts.push_back(0);
            for (std::uint32_t i = 0; i < sidecars; ++i) {
                counts.back() += rests(w, i) ? 1U : 0U;
            }
        });
    }
}

TEST_CASE("a fleet rests without load, and not while there is some") {
    World world([] {
        WorldPlan plan = plan_of_rest(4, true, 1);
        plan.load.phases = {{kBegins, kLimit / 4}};
        return plan;
    }());
    std::vector<std::size_t> before;
    std::vector<std::size_t> during;
    count_resting(world, 4, before, kBegins - 1);
    count_resting(world, 4, during, kBegins + 3);
    REQUIRE(world.run(kMeeting));
    CHECK(*std::max_element(before.begin(), before.end()) >= 3);
    CHECK(*std::max_element(during.begin(), during.end()) == 0);
}

TEST_CASE("the last of a fleet rests, too") {
    WorldPlan plan = plan_of_rest(2, true, 1);
    World world(plan);
    world.at(1, [](World& w) { w.kill(1); });
    std::vector<std::size_t> counts;
    count_resting(world, 1, counts, 11);
    REQUIRE(world.run(kMeeting));
    CHECK(std::count(counts.begin(), counts.end(), 1U) > 10);
}

TEST_CASE("after a rest a load is counted as exactly as without one") {
    for (const std::uint32_t sidecars : {3U, 10U}) {
        for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
            CAPTURE(sidecars);
            CAPTURE(seed);
            std::vector<double> first;
            std::vector<double> all;
            for (const bool rests : {false, true}) {
                WorldPlan plan = plan_of_rest(sidecars, rests, seed);
                plan.load.phases = {{kBegins, 4 * kLimit}};
                World world(plan);
                REQUIRE(world.run(kMeeting));
                first.push_back(admitted(world, kBegins, kBegins + 1) / kLimit);
                all.push_back(admitted(world, kBegins, 12) / (6 * kLimit));
            }
            MESSAGE("without and with a rest: first second ", first[0], " ", first[1], ", all ",
                    all[0], " ", all[1]);
            // In 40 ms more than without a rest 16 requests come.
            CHECK(first[1] - first[0] <= 0.16);
            CHECK(std::abs(all[1] - all[0]) <= 0.03);
        }
    }
}

/// How long it takes on average until a living member misses one that dies, in seconds.
double time_to_miss(bool rests, std::uint64_t seed) {
    constexpr double kStep = 0.05;
    World world(plan_of_rest(5, rests, seed));
    world.at(kBegins, [](World& w) { w.kill(0); });
    double sum = 0;
    for (double after = kStep; after < 5; after += kStep) {
        world.at(kBegins + after, [&sum](World& w) {
            for (std::uint32_t i = 1; i < w.size(); ++i) {
                const auto peers = w.sidecar(i).engine().peers(w.sidecar(i).local(w.instant()));
                const auto alive = std::count_if(peers.begin(), peers.end(), [](const auto& peer) {
                    return !peer.self && peer.state == "alive";
                });
                sum += alive > 3 ? kStep / 4 : 0;
            }
        });
    }
    REQUIRE(world.run(kMeeting));
    return sum;
}

TEST_CASE("a member that dies while the fleet rests is missed as soon as in one that does not") {
    double slower = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        const double without = time_to_miss(false, seed);
        const double with = time_to_miss(true, seed);
        MESSAGE("missed after ", without, " s without a rest, ", with, " s with one");
        CHECK(with < 4);
        slower += (with - without) / static_cast<double>(kSeeds);
    }
    CHECK(slower < 0.5);  // rounds of probes take half a second
}

}  // namespace
}  // namespace weir::sim

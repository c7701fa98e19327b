// The first moments of a flood, before the sidecars have heard of each other's bursts: what it
// costs a quiet sibling under the same parent.

#include <doctest/doctest.h>

#include <algorithm>

#include "sim/fleet.h"

namespace weir::sim {
namespace {

using namespace test;

constexpr std::uint64_t kManySeeds = 10;
constexpr double kFloodFrom = 2;

/// A parent over a noisy child of 300/s and a quiet one, that is offered 100/s.
WorldPlan plan_of_flood(std::uint32_t sidecars, double parent, double flood, std::uint64_t seed) {
    WorldPlan plan = plan_of({.sidecars = sidecars,
                              .limit = parent,
                              .offered = flood,
                              .seconds = 6,
                              .seed = seed,
                              .name = "service"});
    for (const char* name : {"noisy", "quiet"}) {
        plan.definitions.push_back(quota(name, 300));
        plan.definitions.back().parent = "service";
    }
    plan.load.quotas = {"noisy", "quiet"};
    plan.load.phases = {{0, 100, {0, 1}}, {kFloodFrom, flood + 100, {flood, 100}}};
    return plan;
}

struct Outcome {
    double refused_at_onset = 0;  // of the quiet one's, in the flood's first second
    double refused_later = 0;
    double burst = 0;  // of the noisy one's, admitted in the first second
};

Outcome worst_of(std::uint32_t sidecars, double parent, double flood) {
    constexpr double kOnset = kFloodFrom + 1;
    Outcome worst;
    for (std::uint64_t seed = 1; seed <= kManySeeds; ++seed) {
        World world(plan_of_flood(sidecars, parent, flood, seed));
        double early = 0;
        double late = 0;
        world.observe([&](double at, std::uint32_t, std::uint32_t quota_number, bool admitted_one) {
            if (quota_number == 1 && !admitted_one) {
                ++(at < kOnset ? early : late);
            }
        });
        REQUIRE(world.run(kMeeting));
        worst.refused_at_onset = std::max(worst.refused_at_onset, early);
        worst.refused_later = std::max(worst.refused_later, late);
        worst.burst =
            std::max(worst.burst, world.recorder().admitted_between(kFloodFrom, kOnset, 0));
    }
    return worst;
}

TEST_CASE("a flood's burst costs the quiet sibling nothing where the parent has room for it") {
    for (const std::uint32_t sidecars : {3u, 10u}) {
        for (const double flood : {3'000.0, 12'000.0, 30'000.0}) {
            CAPTURE(sidecars);
            CAPTURE(flood);
            // Its low burst is above the noisy child's high one, 600.
            const Outcome worst = worst_of(sidecars, 900, flood);
            MESSAGE("admitted of the burst: " << worst.burst);
            CHECK(worst.refused_at_onset == 0);
            CHECK(worst.refused_later == 0);
            // The child's balance is at 450, and 300 drain in this time.
            CHECK(worst.burst < 900);
        }
    }
}

TEST_CASE("under a parent without that room it costs some of the first second") {
    for (const std::uint32_t sidecars : {3u, 10u}) {
        CAPTURE(sidecars);
        const Outcome worst = worst_of(sidecars, 500, 12'000);
        MESSAGE("quiet requests refused: " << worst.refused_at_onset);
        CHECK(worst.refused_at_onset <= (sidecars == 3 ? 5 : 25));  // of some 100
        CHECK(worst.refused_later == 0);
    }
}

TEST_CASE("a flood that ends at once is not taken for a split") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        CAPTURE(seed);
        WorldPlan plan =
            plan_of({.sidecars = 3, .limit = 300, .offered = 0, .seconds = 12, .seed = seed});
        plan.load.phases = {{1, 90'000}, {2.5, 0}};
        World world(plan);
        REQUIRE(world.run(kMeeting));
        for (std::uint32_t i = 0; i < world.size(); ++i) {
            CHECK(world.sidecar(i).engine().statistics().sync.splits == 0);
        }
    }
}

TEST_CASE("when an overload falls below the limit, hardly anything is refused any more") {
    constexpr double kLimit = 1000;
    constexpr double kFall = 8;
    struct Fall {
        std::uint32_t sidecars;
        double most;  // refused, in seconds of the limit
    };
    // The smaller the part of each sidecar, the longer a fall is no more than chance to it.
    for (const Fall& fall : {Fall{1, 0.1}, Fall{3, 0.1}, Fall{10, 0.25}}) {
        double sum = 0;
        for (std::uint64_t seed = 1; seed <= kManySeeds; ++seed) {
            CAPTURE(fall.sidecars);
            CAPTURE(seed);
            WorldPlan plan = plan_of({.sidecars = fall.sidecars,
                                      .limit = kLimit,
                                      .offered = 4 * kLimit,
                                      .seconds = 14,
                                      .seed = seed});
            plan.load.phases = {{0, 4 * kLimit}, {kFall, 0.9 * kLimit}};
            World world(plan);
            REQUIRE(world.run(kMeeting));
            sum += refused(world, kFall, 14) / kLimit;
        }
        MESSAGE(fall.sidecars, " sidecars: refused after the fall ", sum / kManySeeds,
                " s of the limit");
        CHECK(sum / kManySeeds <= fall.most);
    }
}

}  // namespace
}  // namespace weir::sim

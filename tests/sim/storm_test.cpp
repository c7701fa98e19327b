// More is due than may be sent: the budget of counters holds in every second, nothing is dropped,
// and the limits hold all the same.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "sim/fleet.h"

namespace weir::sim {
namespace {

using namespace test;

constexpr std::uint32_t kSidecars = 10;
constexpr std::uint32_t kQuotas = 300;
constexpr double kLimit = 40;
constexpr int kSeconds = 16;
constexpr double kAmple = 100'000'000;

/// Ten sidecars with so many quotas of the same limit, without load.
WorldPlan alike(std::uint32_t quotas, double limit, double seconds, double counter_bytes,
                std::uint64_t seed) {
    WorldPlan plan = plan_of({.sidecars = kSidecars,
                              .limit = limit,
                              .offered = 0,
                              .seconds = seconds,
                              .seed = seed,
                              .name = "q0"});
    for (std::uint32_t i = 1; i < quotas; ++i) {
        plan.load.quotas.push_back("q" + std::to_string(i));
        plan.definitions.push_back(quota(plan.load.quotas.back(), limit));
    }
    plan.sync.counter_bytes = counter_bytes;
    return plan;
}

/// All quotas at twice their limit, which begin at once.
WorldPlan storm(double counter_bytes, std::uint64_t seed) {
    WorldPlan plan = alike(kQuotas, kLimit, kSeconds, counter_bytes, seed);
    plan.load.phases = {{0, 2 * kLimit * kQuotas}};
    return plan;
}

struct Sums {
    double bytes = 0;
    double put_off = 0;
    double dropped = 0;
};

Sums sums_of(World& world, std::uint32_t number) {
    const engine::EngineStatistics statistics = world.sidecar(number).engine().statistics();
    return {
        static_cast<double>(statistics.counter_bytes_out),
        static_cast<double>(statistics.sync.deltas_put_off + statistics.sync.publications_put_off +
                            statistics.sync.quiet_put_off)};
}

struct Seen {
    double most_bytes = 0;  // of any sidecar in any second
    double put_off = 0;
    double dropped = 0;
    double mean = 0;  // admitted, as a share of all limits, once the storm has settled
};

Seen run(const WorldPlan& plan) {
    World world(plan);
    Seen seen;
    std::vector<std::array<double, kSidecars>> totals;
    for (int tenth = 0; tenth < 10 * kSeconds; ++tenth) {
        world.at(tenth / 10.0, [&](World& w) {
            std::array<double, kSidecars>& now = totals.emplace_back();
            for (std::uint32_t i = 0; i < kSidecars; ++i) {
                now.at(i) = sums_of(w, i).bytes;
            }
        });
    }
    REQUIRE(world.run(kMeeting));
    // A second from every tenth on, so that none hides between two of them.
    for (std::size_t tenth = 10; tenth < totals.size(); ++tenth) {
        for (std::uint32_t i = 0; i < kSidecars; ++i) {
            seen.most_bytes =
                std::max(seen.most_bytes, totals.at(tenth).at(i) - totals.at(tenth - 10).at(i));
        }
    }
    for (std::uint32_t i = 0; i < kSidecars; ++i) {
        seen.put_off += sums_of(world, i).put_off;
        seen.dropped += sums_of(world, i).dropped;
    }
    constexpr double kFrom = 6;
    seen.mean = admitted(world, kFrom, kSeconds) / (kLimit * kQuotas * (kSeconds - kFrom));
    return seen;
}

TEST_CASE("what is sent of counters stays under its budget, and the limits hold") {
    constexpr double kBudget = 130'000;  // less than a third of what is wanted at first
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        const Seen ample = run(storm(kAmple, seed));
        const Seen tight = run(storm(kBudget, seed));
        MESSAGE("ample: ", ample.most_bytes, " bytes in a second, mean ", ample.mean,
                "; tight: ", tight.most_bytes, " bytes, mean ", tight.mean, ", put off ",
                tight.put_off, ", dropped ", tight.dropped);
        CHECK(ample.most_bytes > 3 * kBudget);
        CHECK(ample.put_off == 0);
        CHECK(tight.most_bytes <= kBudget);
        CHECK(tight.put_off > 0);
        CHECK(tight.dropped == 0);
        CHECK(tight.mean > 0.98);
        CHECK(tight.mean < 1.02);
    }
}

/// Limits of an hour that all fill at the same time: for 10 s to two thirds, and after a rest with
/// a twenty-fifth of them in each second, for as long as would fill them twice.
WorldPlan hour_limits(double amount, std::uint32_t quotas, double counter_bytes,
                      std::uint64_t seed) {
    constexpr double kFill = 10;
    constexpr double kUseAgain = 25;
    constexpr double kEnd = 50;
    WorldPlan plan = alike(quotas, amount, kEnd, counter_bytes, seed);
    for (limiter::QuotaDefinition& definition : plan.definitions) {
        definition.limits[0].period = std::chrono::hours(1);
    }
    plan.load.phases = {{0, quotas * amount * 2 / 3 / kFill},
                        {kFill, 0},
                        {kUseAgain, quotas * amount / (kEnd - kUseAgain)}};
    return plan;
}

TEST_CASE("hour limits hold when all fill at once and more is to be told than may be sent") {
    constexpr double kAmount = 150;
    constexpr std::uint32_t kLimits = 200;
    constexpr double kBudget = 30'000;
    constexpr std::uint64_t kSeed = 1;
    double put_off = 0;
    const auto of_central = [&](const WorldPlan& plan) {
        World world(plan);
        REQUIRE(world.run(kMeeting));
        put_off = 0;
        for (std::uint32_t i = 0; i < kSidecars; ++i) {
            put_off += sums_of(world, i).put_off;
        }
        const double drained = kAmount * plan.seconds / 3600;
        return admitted(world, 0, plan.seconds) / (kLimits * (kAmount + drained));
    };
    const double ample = of_central(hour_limits(kAmount, kLimits, kAmple, kSeed));
    CHECK(put_off == 0);
    const double tight = of_central(hour_limits(kAmount, kLimits, kBudget, kSeed));
    CHECK(put_off > 0);
    MESSAGE("admitted of one central bucket's: ample ", ample, ", tight ", tight);
    CHECK(ample < 1.02);
    CHECK(tight < 1.12);
}

TEST_CASE("owners keep the rates of those who have no room to tell of them") {
    constexpr double kAmount = 10;
    constexpr std::uint32_t kLimits = 200;
    constexpr double kBudget = 36'000;
    constexpr double kFrom = 8;
    constexpr double kTo = 18;
    const auto mean = [](Duration memory) {
        WorldPlan plan = alike(kLimits, kAmount, kTo, kBudget, 1);
        plan.load.phases = {{0, 2 * kLimits * kAmount}};
        plan.sync.unmentioned_memory = memory;
        World world(plan);
        REQUIRE(world.run(kMeeting));
        return admitted(world, kFrom, kTo) / (kLimits * kAmount * (kTo - kFrom));
    };
    const double kept = mean(sync::SyncSettings{}.unmentioned_memory);
    const double given_up = mean(Duration::zero());
    MESSAGE("admitted of the limits: rates kept ", kept, ", given up ", given_up);
    CHECK(kept < 1.06);
    CHECK(given_up > kept + 0.3);
}

TEST_CASE("who is to wake and cannot be told so at once is told later") {
    constexpr double kCrowdLimit = 10'000;
    constexpr double kEnd = 10;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        WorldPlan plan = plan_of({.sidecars = 500,
                                  .limit = kCrowdLimit,
                                  .offered = 5 * kCrowdLimit,
                                  .seconds = kEnd,
                                  .seed = seed,
                                  .name = "q0"});
        plan.star = true;
        plan.budgets = 0.1;
        plan.sync.counter_bytes = 100'000;
        World world(plan);
        std::uint64_t quiet = 0;
        std::uint64_t put_off = 0;
        world.at(4, [&](World& w) {
            for (std::uint32_t i = 0; i < w.size(); ++i) {
                const engine::EngineStatistics statistics = w.sidecar(i).engine().statistics();
                quiet += statistics.quiet_synced_limits;
                put_off += statistics.sync.orders_put_off;
            }
        });
        REQUIRE(world.run(kMeeting));
        CHECK(put_off > 0);
        CHECK(quiet == 0);
        const double mean = admitted(world, 6, kEnd) / (kCrowdLimit * (kEnd - 6));
        MESSAGE("mean ", mean);
        CHECK(mean > 0.95);
        CHECK(mean < 1.02);
    }
}

}  // namespace
}  // namespace weir::sim

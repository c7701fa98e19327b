// Limits that are not hot: what they cost, and that nobody is refused when one becomes hot.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "sim/fleet.h"

namespace weir::sim {
namespace {

using namespace test;

constexpr std::uint64_t kOneSeed = 1;

/// Quotas of one limit, each with the same part of the load.
struct ManyQuotas {
    std::uint32_t sidecars = 0;
    std::uint32_t quotas = 0;
    double limit = 0;
    double seconds = 0;
    std::uint64_t seed = kOneSeed;
};

WorldPlan plan_of_many(const ManyQuotas& many) {
    WorldPlan plan = plan_of({.sidecars = many.sidecars,
                              .limit = many.limit,
                              .offered = 0,
                              .seconds = many.seconds,
                              .seed = many.seed,
                              .name = "q0"});
    for (std::uint32_t i = 1; i < many.quotas; ++i) {
        plan.load.quotas.push_back("q" + std::to_string(i));
        plan.definitions.push_back(quota(plan.load.quotas.back(), many.limit));
    }
    return plan;
}

struct Sent {
    double deltas = 0;
    double quiet = 0;
    double datagrams = 0;
};

Sent sent_so_far(World& world) {
    Sent sent;
    for (std::uint32_t i = 0; i < world.size(); ++i) {
        const sync::SyncStatistics sync = world.sidecar(i).engine().statistics().sync;
        sent.deltas += static_cast<double>(sync.deltas_sent);
        sent.quiet += static_cast<double>(sync.quiet_sent);
    }
    sent.datagrams = static_cast<double>(world.datagrams());
    return sent;
}

TEST_CASE("limits that are not hot: a word a keep-alive, those of one owner in one datagram") {
    constexpr std::uint32_t kSidecars = 30;
    constexpr std::uint32_t kQuotas = 20;
    constexpr double kLimit = 6000;
    constexpr double kFrom = 6;
    constexpr double kEnd = 12;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        WorldPlan plan = plan_of_many({.sidecars = kSidecars,
                                       .quotas = kQuotas,
                                       .limit = kLimit,
                                       .seconds = kEnd,
                                       .seed = seed});
        plan.load.phases = {{0, 0.9 * kLimit * kQuotas}};
        keep_awake(plan, 0.3);
        World world(plan);
        Sent before;
        world.at(kFrom, [&](World& w) { before = sent_so_far(w); });
        REQUIRE(world.run(kMeeting));
        const Sent after = sent_so_far(world);
        // Each of a limit's three owners is told by each of the sidecars.
        const double told = 3 * kQuotas * kSidecars * (kEnd - kFrom);
        const double deltas = (after.deltas - before.deltas) / told;
        const double datagrams = (after.datagrams - before.datagrams) / told;
        MESSAGE("deltas a second of each limit to each owner ", deltas, ", datagrams ", datagrams);
        CHECK(deltas >= 0.9);
        CHECK(deltas < 1.6);
        CHECK(datagrams < 1);
        CHECK(refused(world, 0, kEnd) == 0);
    }
}

TEST_CASE(
    "limits that a steady load does not fill are quiet: their first owners hear of them alone") {
    constexpr std::uint32_t kSidecars = 30;
    constexpr std::uint32_t kQuotas = 60;
    constexpr double kLimit = 600;
    constexpr double kFrom = 6;
    constexpr double kEnd = 12;
    for (std::uint64_t seed = 1; seed <= kOneSeed; ++seed) {
        CAPTURE(seed);
        WorldPlan plan = plan_of_many({.sidecars = kSidecars,
                                       .quotas = kQuotas,
                                       .limit = kLimit,
                                       .seconds = kEnd,
                                       .seed = seed});
        plan.load.phases = {{0, 0.9 * kLimit * kQuotas}};
        World world(plan);
        Sent before;
        world.at(kFrom, [&](World& w) { before = sent_so_far(w); });
        REQUIRE(world.run(kMeeting));
        const Sent after = sent_so_far(world);
        CHECK(after.deltas - before.deltas < 0.01 * 3 * kQuotas * kSidecars * (kEnd - kFrom));
        // A sidecar's share of a limit is 9.4, half of what it is offered in a second.
        const double entries = (after.quiet - before.quiet) / (kQuotas * kSidecars);
        CHECK(entries / (kEnd - kFrom) < 1.2);
        CHECK(entries / (kEnd - kFrom) > 0.5);
        CHECK(refused(world, 0, kEnd) == 0);
    }
}

TEST_CASE("a limit that turns hot under its limit refuses nobody") {
    constexpr double kJump = 5;
    constexpr double kEnd = 12;
    struct Turning {
        std::uint32_t quotas;
        double limit;
    };
    for (const Turning turning : {Turning{1, 1000}, Turning{1, 100}, Turning{20, 100}}) {
        for (const double before : {0.0, 0.05, 0.5}) {
            CAPTURE(turning.quotas);
            CAPTURE(turning.limit);
            CAPTURE(before);
            const double all = turning.limit * turning.quotas;
            WorldPlan plan = plan_of_many({.sidecars = 50,
                                           .quotas = turning.quotas,
                                           .limit = turning.limit,
                                           .seconds = kEnd});
            plan.load.phases = {{0, before * all}, {kJump, 0.95 * all}};
            World world(plan);
            REQUIRE(world.run(kMeeting));
            CHECK(refused(world, 0, kEnd) <= 0.001 * offered(world, kJump, kEnd));
        }
    }
}

TEST_CASE("many limits that leap from nothing to ten times their rate: the first second") {
    constexpr std::uint32_t kQuotas = 5;
    constexpr double kJump = 4;
    for (const double limit : {100.0, 1000.0}) {
        CAPTURE(limit);
        WorldPlan plan =
            plan_of_many({.sidecars = 50, .quotas = kQuotas, .limit = limit, .seconds = kJump + 1});
        plan.load.phases = {{0, 0.3 * limit * kQuotas}, {kJump, 10 * limit * kQuotas}};
        World world(plan);
        REQUIRE(world.run(kMeeting));
        double worst = 0;
        for (std::uint32_t i = 0; i < kQuotas; ++i) {
            const double first = world.recorder().admitted_between(kJump, kJump + 1, i) / limit;
            worst = std::max(worst, first);
        }
        MESSAGE("worst of the first seconds ", worst);
        CHECK(worst < 3.2);
    }
}

}  // namespace
}  // namespace weir::sim

#pragma once
// Small fleets for the simulator's tests: plans, and what came of them. Plain functions.

#include <string>
#include <utility>

#include "definitions/quota.h"
#include "sim/world.h"

namespace weir::sim::test {

inline constexpr double kMeeting = 30;

using definitions::test::quota;

/// One quota of `limit` requests a second, offered so many.
inline WorldPlan plan_of(std::uint32_t sidecars, double limit, double offered, double seconds,
                         std::uint64_t seed, const std::string& name = "q") {
    WorldPlan plan;
    plan.sidecars = sidecars;
    plan.definitions = {quota(name, limit)};
    plan.load.quotas = {name};
    plan.load.phases = {{0, offered}};
    plan.seconds = seconds;
    plan.seed = seed;
    return plan;
}

inline double admitted(const World& world, double from, double to) {
    return world.recorder().admitted_between(from, to, Recorder::kAnyQuota);
}

inline double offered(const World& world, double from, double to) {
    return world.recorder().offered_between(from, to, Recorder::kAnyQuota);
}

inline double refused(const World& world, double from, double to) {
    return offered(world, from, to) - admitted(world, from, to);
}

}  // namespace weir::sim::test

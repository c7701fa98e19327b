#pragma once
// Small fleets for the simulator's tests: functions that make plans and evaluate their results.

#include <cstdint>
#include <string>
#include <utility>

#include "definitions/quota.h"
#include "sim/world.h"

namespace weir::sim::test {

inline constexpr double kMeeting = 30;
/// Each test of a fleet runs the seeds from 1 to this one. A debug build is ten times slower.
#ifdef NDEBUG
inline constexpr std::uint64_t kSeeds = 3;
#else
inline constexpr std::uint64_t kSeeds = 1;
#endif

using definitions::test::quota;

/// A plan with one quota of `limit` requests a second, and the load that is offered to it.
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

#pragma once
// Small fleets for the simulator's tests: functions that make plans and evaluate their results.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

/// A fleet with one quota.
struct OneQuota {
    std::uint32_t sidecars = 0;
    double limit = 0;    // requests a second
    double offered = 0;  // requests a second, by all sidecars together
    double seconds = 0;
    std::uint64_t seed = 0;
    std::string name = "q";
};

inline WorldPlan plan_of(const OneQuota& of) {
    WorldPlan plan;
    plan.sidecars = of.sidecars;
    plan.definitions = {quota(of.name, of.limit)};
    plan.load.quotas = {of.name};
    plan.load.phases = {{0, of.offered}};
    plan.seconds = of.seconds;
    plan.seed = of.seed;
    return plan;
}

/// Gives each limit a low burst of so many seconds of its rate, so that the rates that are told
/// wake it: a limit is quiet while its low burst has room for more than 0.4 s of what is offered.
inline void keep_awake(WorldPlan& plan, double seconds) {
    for (limiter::QuotaDefinition& definition : plan.definitions) {
        for (limiter::RateLimit& limit : definition.limits) {
            limit.low = limiter::BurstSpec{limiter::BurstSpec::Kind::seconds, seconds};
        }
    }
}

/// For so many seconds nobody hears this sidecar, nor does it hear anybody.
inline void cut_off(World& world, std::uint32_t sidecar, double seconds) {
    std::vector<bool> side(world.size());
    side[sidecar] = true;
    world.cut(side, seconds, false);
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

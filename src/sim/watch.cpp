#include "sim/watch.h"

#include <algorithm>
#include <utility>

#include "sim/checkers/below_ceiling.h"
#include "sim/checkers/bounded_memory.h"
#include "sim/checkers/cells_grow.h"
#include "sim/checkers/counted_once.h"
#include "sim/checkers/in_flight_kept.h"
#include "sim/checkers/in_flight_used.h"
#include "sim/checkers/no_more_refused.h"
#include "sim/checkers/nobody_starved.h"
#include "sim/checkers/nothing_lost.h"
#include "sim/checkers/owners_alike.h"
#include "sim/checkers/windows_alike.h"
#include "sim/checkers/windows_counted.h"
#include "sim/checkers/windows_kept.h"
#include "sim/fleet_limits.h"
#include "sim/look.h"

namespace weir::sim {
namespace {

/// Up to this size of the fleet the members that each sidecar knows are looked up. The cost grows
/// with the square of the size.
constexpr std::uint32_t kSmallFleet = 20;
constexpr double kSettlingStep = 5;

}  // namespace

Watch::Watch(const WorldPlan& plan)
    : central_(plan.definitions, plan.seed), process_of_(plan.sidecars) {
    FleetLimits fleet = find_limits(plan.load, plan.definitions);
    checkers_.push_back(std::make_unique<CountedOnce>());
    checkers_.push_back(std::make_unique<NothingLost>());
    checkers_.push_back(std::make_unique<CellsGrow>());
    checkers_.push_back(std::make_unique<BelowCeiling>());
    checkers_.push_back(std::make_unique<BoundedMemory>());
    checkers_.push_back(std::make_unique<OwnersAlike>());
    checkers_.push_back(std::make_unique<NobodyStarved>(plan.sidecars, fleet));
    checkers_.push_back(std::make_unique<NoMoreRefused>(leaves_below_their_limits(fleet)));
    checkers_.push_back(std::make_unique<WindowsKept>(fleet.limits.size()));
    checkers_.push_back(std::make_unique<WindowsCounted>());
    checkers_.push_back(std::make_unique<WindowsAlike>());
    checkers_.push_back(std::make_unique<InFlightKept>(plan.sidecars, fleet));
    checkers_.push_back(std::make_unique<InFlightUsed>(plan.sidecars, fleet));
    auto figures = std::make_unique<CountedFigures>(plan.sidecars, fleet);
    figures_ = figures.get();
    checkers_.push_back(std::move(figures));
    facts_.limits = std::move(fleet.limits);
    chains_ = std::move(fleet.chains);
    counts_ = std::any_of(facts_.limits.begin(), facts_.limits.end(),
                          [](const LimitFact& limit) { return limit.counted.has_value(); });
    windows_ = std::make_unique<WindowWatch>(facts_.limits);
}

Watch::~Watch() = default;

void Watch::started(World& world, std::uint32_t sidecar) {
    process_of_[sidecar] = facts_.ever.size();
    facts_.ever.push_back({sidecar, world.sidecar(sidecar).epoch(), {}, {}});
    facts_.ever.back().admitted.resize(facts_.limits.size());
    facts_.ever.back().began = world.now();
    facts_.ever.back().window_run = world.sidecar(sidecar).engine().incarnation();
}

void Watch::ending(World& world, std::uint32_t sidecar) {
    look(world, false);
    windows_->ending(world, sidecar, process_of_[sidecar], facts_.windows);
    for (const ProcessFact& process : facts_.running) {
        if (process.process != process_of_[sidecar]) {
            continue;
        }
        for (const auto& checker : checkers_) {
            checker->ending(facts_, process, findings_);
        }
        for (const OwnedFact& owned : process.owned) {
            told_ += owned.told;
        }
    }
    facts_.ever[process_of_[sidecar]].ended = world.now();
}

RequestFact Watch::fact_of(World& world, std::uint32_t sidecar, const DecidedRequest& request) {
    RequestFact fact{world.now(), sidecar, request.quota, request.admitted};
    const std::vector<LimitIndex>& chain = chains_[request.quota];
    if (request.refused_by) {
        for (const LimitIndex limit : chain) {
            if (facts_.limits[limit].key == *request.refused_by) {
                fact.refused_by = limit;
            }
        }
    }
    if (counts_ && request.admitted) {
        fact.windows =
            windows_->admitted(world, sidecar, process_of_[sidecar], chain, facts_.windows);
    }
    return fact;
}

void Watch::offered(World& world, std::uint32_t sidecar, const DecidedRequest& request,
                    double takes) {
    RequestFact fact = fact_of(world, sidecar, request);
    if (counts_) {
        central_.set_wall_clock(world.wall_clock() - from_seconds(fact.at));
    }
    fact.central_admitted = central_.offer(world.plan().load.quotas[request.quota], fact.at, takes);
    central_refused_ += fact.central_admitted ? 0 : 1;
    for (const LimitIndex limit : chains_[request.quota]) {
        facts_.ever[process_of_[sidecar]].admitted[limit] += request.admitted ? 1 : 0;
    }
    for (const auto& checker : checkers_) {
        checker->request(fact);
    }
}

void Watch::finished(World& world, std::uint32_t sidecar, std::uint32_t quota) {
    for (const auto& checker : checkers_) {
        checker->finished({world.now(), sidecar, quota, true});
    }
}

void Watch::second(World& world) {
    look(world, world.size() <= kSmallFleet);
    windows_->second(facts_);
    for (const auto& checker : checkers_) {
        checker->sample(facts_, findings_);
    }
}

bool Watch::all_met() const {
    return std::all_of(facts_.running.begin(), facts_.running.end(), [&](const auto& process) {
        return !process.live || *process.live + 1 == facts_.running.size();
    });
}

void Watch::settle(World& world, double least_seconds, double most_seconds) {
    world.settle(least_seconds);
    look(world, true);
    windows_->second(facts_);
    for (double more = least_seconds; more < most_seconds && !all_met(); more += kSettlingStep) {
        world.settle(kSettlingStep);
        look(world, true);
    }
    for (const auto& checker : checkers_) {
        checker->settled(facts_, findings_);
    }
    for (const ProcessFact& process : facts_.running) {
        for (const OwnedFact& owned : process.owned) {
            told_ += owned.told;
        }
    }
}

void Watch::edited(const limiter::QuotaDefinition& definition, double at) {
    central_.edit(definition, at);
    for (LimitFact& limit : facts_.limits) {
        for (const limiter::RateLimit& edited : definition.limits) {
            if (limit.counted && limit.quota == definition.name &&
                limit.counted->kind == edited.kind && limit.counted->period == edited.period) {
                limit.counted = edited;
                limit.parameters = edited.resolved();
            }
        }
    }
}

void Watch::look(World& world, bool closely) {
    facts_.at = world.now();
    facts_.calm_for = world.calm_for();
    facts_.connected_for = world.connected_for();
    facts_.second = std::chrono::floor<std::chrono::seconds>(world.wall_clock()).count();
    facts_.running.clear();
    for (std::uint32_t i = 0; i < world.size(); ++i) {
        if (!world.sidecar(i).running()) {
            continue;
        }
        ProcessFact& process = facts_.running.emplace_back(
            look_into(world.sidecar(i), i, world.instant(), facts_.limits));
        process.process = process_of_[i];
        if (counts_) {
            look_at_counts(world.sidecar(i), process, world.instant(), facts_.limits);
        }
        // In a star only the three owners know all sidecars.
        if (closely && !world.plan().star) {
            look_closely(world.sidecar(i), process);
        }
        follow(process);
    }
}

/// Records the runs and incarnations of a process.
void Watch::follow(const ProcessFact& process) {
    for (const auto& begun : process.begun) {
        facts_.runs.try_emplace(begun, process.process);
    }
    incarnations_.resize(facts_.ever.size());
    std::uint64_t& known = incarnations_[process.process];
    if (known != 0 && known != process.incarnation) {
        facts_.ever[process.process].renewed.push_back(facts_.at);
    }
    known = process.incarnation;
}

}  // namespace weir::sim

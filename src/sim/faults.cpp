#include "sim/faults.h"

#include <algorithm>

namespace weir::sim {
namespace {

/// The seconds between two restarts of a churn.
constexpr double kChurnEvery = 2;
/// The seconds between two steps of a rotation of keys. Within each step the sidecars follow one by
/// one.
constexpr double kRotationStep = 6;
constexpr double kRotationEach = 0.4;

void restart_after(World& world, std::uint32_t sidecar, double seconds) {
    if (seconds <= 0) {
        return;
    }
    world.action_at(world.now() + seconds, [sidecar](World& w) { w.restart(sidecar); });
}

/// Sets a wall clock wrong, for so many seconds or, if these are 0, for good.
void set_wall_clock(World& world, std::uint32_t sidecar, double error, double seconds) {
    world.set_wall_error(sidecar, from_seconds(error));
    if (seconds > 0) {
        world.action_at(world.now() + seconds,
                        [sidecar](World& w) { w.set_wall_error(sidecar, Duration::zero()); });
    }
}

void churn(World& world, std::uint32_t sidecar, double until) {
    world.restart(sidecar);
    if (world.now() + kChurnEvery < until) {
        world.action_at(world.now() + kChurnEvery, [=](World& w) { churn(w, sidecar, until); });
    }
}

/// Replaces the key `number` by the next one in three steps. In each step one sidecar follows after
/// the other, so that at any time every sidecar can read all others.
void rotate_keys(World& world, std::uint32_t number) {
    const gossip::Key before = key_of_fleet(number);
    const gossip::Key after = key_of_fleet(number + 1);
    const std::vector<std::vector<gossip::Key>> rings = {{before, after}, {after, before}, {after}};
    double at = world.now();
    for (const auto& ring : rings) {
        for (std::uint32_t i = 0; i < world.size(); ++i) {
            world.action_at(at + i * kRotationEach, [=](World& w) { w.set_keys(i, ring); });
        }
        at += kRotationStep;
    }
}

NetworkFaults network_of(const Fault& fault) {
    NetworkFaults faults;
    switch (fault.kind) {
        case FaultKind::loss:
            faults.loss = fault.amount;
            break;
        case FaultKind::duplication:
            faults.duplication = fault.amount;
            break;
        case FaultKind::reordering:
            faults.reordering = fault.amount;
            break;
        default:
            faults.delay = from_seconds(fault.amount);
            break;
    }
    return faults;
}

std::vector<bool> sides(const World& world, const Fault& fault) {
    std::vector<bool> side(world.size());
    for (const std::uint32_t sidecar : fault.side) {
        side[sidecar] = true;
    }
    return side;
}

/// Gives the first limit of the quota another rate. Its period stays, because it identifies the
/// limit.
void edit(World& world, std::uint32_t sidecar, const Fault& fault, const EditSink& edited) {
    const auto& definitions = world.plan().definitions;
    const auto found = std::find_if(definitions.begin(), definitions.end(),
                                    [&](const auto& each) { return each.name == fault.quota; });
    if (found == definitions.end() || found->limits.empty()) {
        return;
    }
    limiter::QuotaDefinition definition = *found;
    limiter::RateLimit& limit = definition.limits.front();
    limit.amount = fault.amount * to_seconds(limit.period);
    if (world.edit(sidecar, definition)) {
        edited(definition, world.now());
    }
}

/// The sidecars that the fault happens to; empty if nobody owns the quota.
std::vector<std::uint32_t> find(World& world, const FaultTarget& target) {
    if (target.kind == FaultTarget::Kind::number) {
        return {target.number};
    }
    std::vector<std::uint32_t> owners = world.owners_of(target.quota);
    if (target.kind == FaultTarget::Kind::owners) {
        return owners;
    }
    for (std::uint32_t i = 0; i < world.size(); ++i) {
        const bool owns = std::find(owners.begin(), owners.end(), i) != owners.end();
        if (owns == (target.kind == FaultTarget::Kind::owner)) {
            return {i};
        }
    }
    return {};
}

/// Begins the fault at one sidecar.
void begin(World& world, std::uint32_t sidecar, const Fault& fault, const EditSink& edited) {
    switch (fault.kind) {
        case FaultKind::kill:
            world.kill(sidecar);
            return restart_after(world, sidecar, fault.seconds);
        case FaultKind::restart:
            return world.restart(sidecar);
        case FaultKind::goodbye:
            world.say_goodbye(sidecar);
            return restart_after(world, sidecar, fault.seconds);
        case FaultKind::stop:
            return world.stop(sidecar, fault.seconds);
        case FaultKind::pause:
            return world.pause(sidecar, fault.seconds);
        case FaultKind::leap:
            return world.leap_clock(sidecar, fault.amount);
        case FaultKind::clone:
            return world.clone(sidecar, fault.seconds, fault.amount);
        case FaultKind::churn:
            return churn(world, sidecar, world.now() + fault.seconds);
        case FaultKind::edit:
            return edit(world, sidecar, fault, edited);
        case FaultKind::throttle:
            return world.throttle(sidecar, fault.stopped, fault.every, fault.at + fault.seconds);
        case FaultKind::set_ahead:
            return set_wall_clock(world, sidecar, fault.amount, fault.seconds);
        case FaultKind::set_back:
            return set_wall_clock(world, sidecar, -fault.amount, fault.seconds);
        default:
            return;
    }
}

void begin(World& world, const Fault& fault, std::uint32_t rotations, const EditSink& edited) {
    switch (fault.kind) {
        case FaultKind::cut:
        case FaultKind::cut_one_way:
            return world.cut(sides(world, fault), fault.seconds,
                             fault.kind == FaultKind::cut_one_way);
        case FaultKind::loss:
        case FaultKind::duplication:
        case FaultKind::reordering:
        case FaultKind::delay:
            return world.disturb(network_of(fault), fault.seconds);
        case FaultKind::rotate_keys:
            return rotate_keys(world, rotations);
        default:
            break;
    }
    double later = 0;
    for (const std::uint32_t sidecar : find(world, fault.target)) {
        if (later == 0) {
            begin(world, sidecar, fault, edited);
        } else {
            world.action_at(world.now() + later,
                            [=](World& w) { begin(w, sidecar, fault, edited); });
        }
        later += fault.apart;
    }
}

}  // namespace

void arrange(World& world, const std::vector<Fault>& faults, const EditSink& edited) {
    std::uint32_t rotations = 0;
    for (const Fault& fault : faults) {
        world.at(fault.at,
                 [fault, rotations, edited](World& w) { begin(w, fault, rotations, edited); });
        rotations += fault.kind == FaultKind::rotate_keys ? 1 : 0;
    }
}

}  // namespace weir::sim

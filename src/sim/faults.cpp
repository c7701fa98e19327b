#include "sim/faults.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace weir::sim {
namespace {

/// Between two restarts of a churn.
constexpr double kChurnEvery = 2;
/// Between two steps of a rotation of keys; within each the sidecars follow one by one.
constexpr double kRotationStep = 6;
constexpr double kRotationEach = 0.4;

constexpr std::array<std::string_view, kFaultKinds> kNames = {
    "kill", "restart",     "goodbye",    "stop",  "pause", "leap",  "cut",         "cut-one-way",
    "loss", "duplication", "reordering", "delay", "clone", "churn", "rotate-keys", "edit"};

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

void restart_after(World& world, std::uint32_t sidecar, double seconds) {
    world.action_at(world.now() + seconds, [sidecar](World& w) { w.restart(sidecar); });
}

void churn(World& world, std::uint32_t sidecar, double until) {
    world.restart(sidecar);
    if (world.now() + kChurnEvery < until) {
        world.action_at(world.now() + kChurnEvery, [=](World& w) { churn(w, sidecar, until); });
    }
}

/// The keys go from `number` to the next one in three steps, each of them at one sidecar after the
/// other, so that at any time everybody can read everybody.
void rotate_keys(World& world, std::uint32_t number) {
    const engine::GossipKey before = key_of_fleet(number);
    const engine::GossipKey after = key_of_fleet(number + 1);
    const std::vector<std::vector<engine::GossipKey>> rings = {
        {before, after}, {after, before}, {after}};
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

void edit(World& world, const Fault& fault, const EditSink& edited) {
    const auto& definitions = world.plan().definitions;
    const auto found = std::find_if(definitions.begin(), definitions.end(),
                                    [&](const auto& each) { return each.name == fault.quota; });
    if (found == definitions.end()) {
        return;
    }
    limiter::QuotaDefinition definition = *found;
    definition.limits.at(0).amount = fault.amount;
    if (world.edit(fault.sidecar, definition)) {
        edited(definition, world.now());
    }
}

void begin(World& world, const Fault& fault, std::uint32_t rotations, const EditSink& edited) {
    switch (fault.kind) {
        case FaultKind::kill:
            world.kill(fault.sidecar);
            return restart_after(world, fault.sidecar, fault.seconds);
        case FaultKind::restart:
            return world.restart(fault.sidecar);
        case FaultKind::goodbye:
            world.say_goodbye(fault.sidecar);
            return restart_after(world, fault.sidecar, fault.seconds);
        case FaultKind::stop:
            return world.stop(fault.sidecar, fault.seconds);
        case FaultKind::pause:
            return world.pause(fault.sidecar, fault.seconds);
        case FaultKind::leap:
            return world.leap_clock(fault.sidecar, fault.amount);
        case FaultKind::cut:
        case FaultKind::cut_one_way:
            return world.cut(sides(world, fault), fault.seconds,
                             fault.kind == FaultKind::cut_one_way);
        case FaultKind::loss:
        case FaultKind::duplication:
        case FaultKind::reordering:
        case FaultKind::delay:
            return world.disturb(network_of(fault), fault.seconds);
        case FaultKind::clone:
            return world.clone(fault.sidecar, fault.seconds, fault.amount);
        case FaultKind::churn:
            return churn(world, fault.sidecar, world.now() + fault.seconds);
        case FaultKind::rotate_keys:
            return rotate_keys(world, rotations);
        case FaultKind::edit:
            return edit(world, fault, edited);
    }
}

}  // namespace

std::string_view to_string(FaultKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::string describe(const Fault& fault) {
    std::string text = "{at: " + number(fault.at) + ", kind: " + std::string(to_string(fault.kind));
    const bool of_network = fault.kind == FaultKind::loss || fault.kind == FaultKind::duplication ||
                            fault.kind == FaultKind::reordering || fault.kind == FaultKind::delay;
    if (!fault.side.empty()) {
        text += ", side: [";
        for (std::size_t i = 0; i < fault.side.size(); ++i) {
            text += (i == 0 ? "" : ", ") + std::to_string(fault.side[i]);
        }
        text += "]";
    } else if (!of_network && fault.kind != FaultKind::rotate_keys) {
        text += ", sidecar: " + std::to_string(fault.sidecar);
    }
    if (fault.seconds > 0) {
        text += ", seconds: " + number(fault.seconds);
    }
    if (fault.amount > 0) {
        text += ", amount: " + number(fault.amount);
    }
    if (!fault.quota.empty()) {
        text += ", quota: " + fault.quota;
    }
    return text + "}";
}

void arrange(World& world, const std::vector<Fault>& faults, const EditSink& edited) {
    std::uint32_t rotations = 0;
    for (const Fault& fault : faults) {
        world.at(fault.at,
                 [fault, rotations, edited](World& w) { begin(w, fault, rotations, edited); });
        rotations += fault.kind == FaultKind::rotate_keys ? 1 : 0;
    }
}

}  // namespace weir::sim

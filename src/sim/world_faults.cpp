// What actions do to a simulated fleet: its processes, its clocks and its network.

#include <utility>

#include "definitions/store.h"
#include "sim/world.h"
#include "sync/counter_exchange.h"

namespace weir::sim {
namespace {

/// The default of the setting drain.grace, in seconds.
constexpr double kDrainGrace = 20;

}  // namespace

void World::stop(std::uint32_t number, double seconds) {
    if (sidecars_[number].running()) {
        sidecars_[number].stopped_until = now_ + from_seconds(seconds);
        note_fault(seconds);
    }
}

void World::throttle(std::uint32_t number, double stopped, double period, double until) {
    sidecars_[number].throttled = now() < until;
    if (now() >= until) {
        return;
    }
    stop(number, stopped);
    action_at(now() + period,
              [=](World& world) { world.throttle(number, stopped, period, until); });
}

void World::action_at(double seconds, Action action) {
    queue_.push(began_ + from_seconds(seconds), EventKind::action,
                static_cast<std::uint32_t>(actions_.size()), 0);
    actions_.emplace_back(seconds, std::move(action));
}

void World::end_process(std::uint32_t number) {
    note_fault(0);
    if (watcher_ != nullptr && sidecars_[number].running()) {
        watcher_->ending(*this, number);
    }
    lost_requests_ += sidecars_[number].waiting();
    sidecars_[number].kill();
    running_.ended(number);
}

void World::kill(std::uint32_t number) { end_process(number); }

void World::restart(std::uint32_t number) {
    end_process(number);
    start(number);
}

void World::say_goodbye(std::uint32_t number) {
    SimulatedSidecar& sidecar = sidecars_[number];
    if (!sidecar.running() || sidecar.stopped_until || sidecar.draining) {
        return;  // no process is there to say it, or it is about to
    }
    if (running_.count(number) == 0) {
        return leave(number);
    }
    sidecar.draining = true;
    action_at(now() + kDrainGrace, [number, epoch = sidecar.epoch()](World& world) {
        if (world.sidecars_[number].running() && world.sidecars_[number].epoch() == epoch) {
            world.leave(number);
        }
    });
}

void World::leave(std::uint32_t number) {
    SimulatedSidecar& sidecar = sidecars_[number];
    if (!sidecar.stopped_until) {
        sidecar.draining = true;
        sidecar.engine().goodbye(sidecar.local(now_));
        collect(number);
    }
    end_process(number);
}

void World::disturb(const NetworkFaults& faults, double seconds) {
    network_.set_faults(faults);
    note_fault(seconds);
    action_at(now() + seconds, [](World& world) { world.network_.set_faults(world.plan_.faults); });
}

void World::leap_clock(std::uint32_t number, double seconds) {
    sidecars_[number].shift_clock(from_seconds(seconds));
    note_fault(0);
}

void World::pause(std::uint32_t number, double seconds) {
    if (!sidecars_[number].running()) {
        return;
    }
    stop(number, seconds);
    // The process sees the clock only when it runs again.
    sidecars_[number].shift_clock(-from_seconds(seconds));
}

void World::set_keys(std::uint32_t number, const std::vector<gossip::Key>& keys) {
    keys_[number] = keys;
    if (sidecars_[number].running()) {
        sidecars_[number].engine().set_keys(keys);
    }
}

bool World::edit(std::uint32_t number, const limiter::QuotaDefinition& definition) {
    SimulatedSidecar& sidecar = sidecars_[number];
    if (!sidecar.running() || sidecar.stopped_until) {
        return false;
    }
    definitions::Edit edit;
    edit.who = "story";
    note_fault(0);
    return sidecar.engine().definitions().set(definition, edit, sidecar.local(now_)).has_value();
}

void World::cut(std::vector<bool> side, double seconds, bool one_way) {
    network_.add({now_, now_ + from_seconds(seconds), std::move(side), one_way});
    note_fault(seconds);
}

std::vector<std::uint32_t> World::owners_of(std::string_view quota) {
    std::vector<std::uint32_t> owners;
    for (SimulatedSidecar& sidecar : sidecars_) {
        if (!sidecar.running()) {
            continue;
        }
        const auto status = sidecar.engine().quota_status(quota, sidecar.local(now_));
        if (!status || status->limits.empty() || status->limits[0].owners.empty()) {
            continue;
        }
        for (const Endpoint& owner : status->limits[0].owners) {
            if (const auto number = SimulatedSidecar::number_of(owner)) {
                owners.push_back(*number);
            }
        }
        return owners;
    }
    return owners_of_counts(quota);
}

/// The owners of a quota that has limits of windows or of requests in flight only. The sidecars
/// that use these do not say who owns them, so each is asked whether it does.
std::vector<std::uint32_t> World::owners_of_counts(std::string_view quota) {
    std::vector<std::uint32_t> owners;
    const auto shard = membership::shard_of(sync::quota_hash(quota));
    for (std::uint32_t i = 0; i < plan_.sidecars; ++i) {
        if (sidecars_[i].running() && sidecars_[i].engine().counters().owner().owns(shard)) {
            owners.push_back(i);
        }
    }
    return owners;
}

}  // namespace weir::sim

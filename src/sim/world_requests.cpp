// The requests of a simulated fleet: how they arrive, are decided, and end.

#include <utility>

#include "sim/world.h"

namespace weir::sim {

void World::schedule_arrival() {
    arrival_ = load_.next();
    if (arrival_.at > plan_.seconds) {
        return;
    }
    queue_.push(began_ + from_seconds(arrival_.at), EventKind::arrival, 0, 0);
}

void World::handle_arrival() {
    const Arrival arrival = arrival_;
    schedule_arrival();
    std::uint32_t number = arrival.sidecar;
    // A load balancer knows which processes have ended or are about to, but not which are stopped.
    const auto serves = [this](std::uint32_t sidecar) {
        return sidecars_[sidecar].running() && !sidecars_[sidecar].draining;
    };
    for (int i = 0; i < 100 && !serves(number); ++i) {
        number = load_.any_sidecar();
    }
    SimulatedSidecar& sidecar = sidecars_[number];
    if (sidecar.running() && sidecar.stopped_until && sidecar.throttled) {
        sidecar.requests.push_back({arrival.quota});
        return;
    }
    if (!serves(number) || sidecar.stopped_until) {
        ++lost_requests_;
        return;
    }
    offer(arrival, number);
}

void World::offer(const Arrival& arrival, std::uint32_t number) {
    auto request =
        sidecars_[number].offer_or_wait(plan_.load.quotas[arrival.quota], arrival.quota, now_);
    if (plan_.record) {
        recorder_.offered(arrival.quota, arrival.at);
    }
    if (request) {
        note_decision(arrival.at, number, *std::move(request));
    }
}

void World::note_decision(double at, std::uint32_t number, DecidedRequest request) {
    if (plan_.record && request.admitted) {
        recorder_.admitted(request.quota, at);
    }
    if (observer_) {
        observer_(at, number, request.quota, request.admitted);
    }
    const double takes = running_.draw_time();
    if (watcher_ != nullptr) {
        watcher_->offered(*this, number, request, takes);
    }
    if (request.admitted && takes > 0) {
        const RunningRequests::Place place{number, sidecars_[number].epoch()};
        queue_.push(now_ + from_seconds(takes), EventKind::end,
                    running_.add(place, std::move(request)), 0);
    }
}

void World::handle_end(std::uint32_t request) {
    const auto [number, epoch] = running_.request(request).at;
    SimulatedSidecar& sidecar = sidecars_[number];
    const bool runs = sidecar.running() && sidecar.epoch() == epoch;
    if (runs && sidecar.stopped_until && now_ < *sidecar.stopped_until) {
        queue_.push(*sidecar.stopped_until, EventKind::end, request, 0);
        return;
    }
    RunningRequests::Request ended = running_.take(request);
    if (!runs) {
        return;
    }
    sidecar.finish(std::move(ended.decided.charge));
    if (watcher_ != nullptr) {
        watcher_->finished(*this, number, ended.decided.quota);
    }
    if (sidecar.draining && running_.count(number) == 0) {
        leave(number);
    }
}

}  // namespace weir::sim

#include "sim/load.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace weir::sim {

Load::Load(const LoadPlan& plan, std::uint32_t sidecars, Random random)
    : plan_(plan), sidecars_(sidecars), random_(random) {
    if (plan_.shares.empty()) {
        plan_.shares.assign(plan_.quotas.size(), 1.0);
    }
}

const LoadPhase* Load::phase_at(double at) const {
    const LoadPhase* now = nullptr;
    for (const LoadPhase& phase : plan_.phases) {
        if (phase.from <= at) {
            now = &phase;
        }
    }
    return now;
}

double Load::rate_at(double at) const {
    const LoadPhase* phase = phase_at(at);
    return phase == nullptr ? 0 : phase->rate;
}

double Load::next_phase(double at) const {
    for (const LoadPhase& phase : plan_.phases) {
        if (phase.from > at) {
            return phase.from;
        }
    }
    return std::numeric_limits<double>::infinity();
}

Arrival Load::next() {
    while (true) {
        const double rate = rate_at(at_);
        const double change = next_phase(at_);
        double wait = std::numeric_limits<double>::infinity();
        if (rate > 0) {
            wait = plan_.constant_rate ? 1 / rate : random_.exponential(rate);
        }
        if (at_ + wait < change) {
            at_ += wait;
            break;
        }
        // Poisson arrivals have no memory, so the rest of the waiting time is drawn anew at the new
        // rate.
        at_ = change;
        if (change == std::numeric_limits<double>::infinity()) {
            break;
        }
    }
    if (plan_.home > 0) {
        const std::uint32_t quota = pick_quota(at_);
        const bool at_home = random_.unit() < plan_.home;
        return {at_, at_home ? quota % sidecars_ : pick_sidecar(at_), quota};
    }
    return {at_, pick_sidecar(at_), pick_quota(at_)};
}

std::uint32_t Load::pick_sidecar(double at) {
    if (plan_.move_every > 0) {
        return static_cast<std::uint32_t>(std::min(at, 1e9) / plan_.move_every) % sidecars_;
    }
    if (plan_.skew > 0 && random_.unit() < plan_.skew) {
        return sidecars_ - 1;
    }
    const std::uint32_t among = plan_.skew > 0 ? sidecars_ - 1 : sidecars_;
    std::uint32_t sidecar = 0;
    do {
        sidecar = static_cast<std::uint32_t>(random_.below(std::max(1u, among)));
    } while (plan_.idle == sidecar && among > 1);
    return sidecar;
}

std::uint32_t Load::any_sidecar() { return static_cast<std::uint32_t>(random_.below(sidecars_)); }

std::uint32_t Load::pick_quota(double at) {
    const LoadPhase* phase = phase_at(at);
    const auto& shares = phase == nullptr || phase->shares.empty() ? plan_.shares : phase->shares;
    double position = random_.unit() * std::accumulate(shares.begin(), shares.end(), 0.0);
    for (std::uint32_t i = 0; i + 1 < shares.size(); ++i) {
        if (position < shares[i]) {
            return i;
        }
        position -= shares[i];
    }
    return static_cast<std::uint32_t>(shares.size() - 1);
}

}  // namespace weir::sim

#include "sim/checkers/nobody_starved.h"

#include <algorithm>
#include <cmath>

namespace weir::sim {
namespace {

constexpr double kWeight = 1;  // of every request

/// Seconds until the limit that takes longest has drained from its ceiling to where it refuses
/// nothing.
double pay_back_seconds(const FleetLimits& fleet, const std::vector<LimitIndex>& chain) {
    double longest = 0;
    for (const LimitIndex place : chain) {
        const limiter::LimitParameters& limit = fleet.limits[place].parameters;
        if (!limit.zero() && !limit.only_counts()) {
            const double above = limiter::ceiling(limit, kWeight, kWeight) - limit.low;
            longest = std::max(longest, above / limit.rate);
        }
    }
    return longest;
}

}  // namespace

NobodyStarved::NobodyStarved(std::size_t sidecars, const FleetLimits& fleet)
    : sidecars_(sidecars), fleet_(fleet.chains.size()), sidecar_(fleet_.size() * sidecars) {
    std::vector<std::vector<std::size_t>> quotas_with(fleet.limits.size());  // by limit
    for (std::size_t quota = 0; quota < fleet.chains.size(); ++quota) {
        for (const LimitIndex limit : fleet.chains[quota]) {
            quotas_with[limit].push_back(quota);
        }
    }
    for (const std::vector<LimitIndex>& chain : fleet.chains) {
        counted_.push_back(std::any_of(chain.begin(), chain.end(), [&](LimitIndex limit) {
            return fleet.limits[limit].parameters.only_counts();
        }));
        paid_back_.push_back(pay_back_seconds(fleet, chain));
        std::vector<std::vector<std::size_t>>& beside = beside_.emplace_back();
        for (const LimitIndex limit : chain) {
            // Of limits with many quotas any few tell what an equal part is.
            constexpr std::size_t kMost = 64;
            const std::vector<std::size_t>& all = quotas_with[limit];
            if (all.size() > 1) {
                beside.emplace_back(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(
                                                                   std::min(all.size(), kMost)));
            }
        }
        shared_.push_back(!beside.empty());
    }
}

/// What the central bucket lets through for all quotas of a limit of this one, divided by their
/// number; the least of all such limits.
double NobodyStarved::equal_part(std::size_t quota) const {
    double least = fleet_[quota].central;
    for (const std::vector<std::size_t>& beside : beside_[quota]) {
        double sum = 0;
        for (const std::size_t other : beside) {
            sum += fleet_[other].central;
        }
        least = std::min(least, sum / static_cast<double>(beside.size()));
    }
    return least;
}

double NobodyStarved::least_admitted(std::size_t quota, double central, bool disturbed) const {
    if (shared_[quota]) {
        return kShareOfShared * std::min(central, equal_part(quota));
    }
    const double reserved = disturbed ? 1 / static_cast<double>(sidecars_) : 0;
    const double lacking = std::min(1.0, paid_back_[quota] / kWindow + reserved);
    return (1 - lacking) * central - kDeviations * std::sqrt(central);
}

void NobodyStarved::request(const RequestFact& request) {
    for (Counts* counts :
         {&fleet_[request.quota], &sidecar_[request.quota * sidecars_ + request.sidecar]}) {
        counts->offered += 1;
        counts->admitted += request.admitted ? 1 : 0;
        counts->central += request.central_admitted ? 1 : 0;
    }
}

void NobodyStarved::judge(const Facts& facts, Findings& findings) const {
    for (std::size_t quota = 0; quota < fleet_.size(); ++quota) {
        if (counted_[quota]) {
            continue;
        }
        const Counts& all = fleet_[quota];
        const std::string which = "quota " + std::to_string(quota);
        const double least = least_admitted(quota, all.central, facts.calm_for < 2 * kWindow);
        if (all.central >= kEnough && all.admitted < least) {
            findings.add(name(), facts.at,
                         which + ": " + std::to_string(all.admitted) + " let through in " +
                             std::to_string(kWindow) + " s, which should be " +
                             std::to_string(least) + ", and one central bucket " +
                             std::to_string(all.central));
        }
        const double share = all.admitted / std::max(1.0, all.offered);
        for (std::size_t i = 0; i < sidecars_ && facts.calm_for >= kWindow; ++i) {
            const Counts& here = sidecar_[quota * sidecars_ + i];
            const double expected = share * here.offered;
            if (expected >= kEnough && here.admitted < kShareOfFleet * expected) {
                findings.add(name(), facts.at,
                             which + " at sidecar " + std::to_string(i) + ": " +
                                 std::to_string(here.admitted) +
                                 " let through, where the fleet's " + "part is " +
                                 std::to_string(expected));
            }
        }
    }
}

void NobodyStarved::sample(const Facts& facts, Findings& findings) {
    if (facts.at - began_ < kWindow) {
        return;
    }
    judge(facts, findings);
    began_ = facts.at;
    std::fill(fleet_.begin(), fleet_.end(), Counts{});
    std::fill(sidecar_.begin(), sidecar_.end(), Counts{});
}

}  // namespace weir::sim

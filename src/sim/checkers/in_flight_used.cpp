#include "sim/checkers/in_flight_used.h"

#include <algorithm>
#include <string>

namespace weir::sim {

InFlightUsed::InFlightUsed(std::size_t sidecars, const FleetLimits& fleet)
    : sidecars_(sidecars),
      count_(sidecars, fleet),
      offered_(fleet.limits.size()),
      refused_(fleet.limits.size()),
      central_refused_(fleet.limits.size()),
      areas_(fleet.limits.size()),
      fleet_(fleet.chains.size()),
      sidecar_(fleet.chains.size() * sidecars) {}

/// Adds what was in flight since the last call.
void InFlightUsed::advance(double at) {
    for (const LimitIndex limit : count_.limits()) {
        areas_[limit] += count_.in_flight(limit) * std::max(0.0, at - at_);
    }
    at_ = std::max(at_, at);
}

void InFlightUsed::request(const RequestFact& request) {
    if (count_.limits_of(request.quota).empty()) {
        return;
    }
    advance(request.at);
    for (Counts* counts :
         {&fleet_[request.quota], &sidecar_[request.quota * sidecars_ + request.sidecar]}) {
        counts->offered += 1;
        counts->admitted += request.admitted ? 1 : 0;
    }
    for (const LimitIndex limit : count_.limits_of(request.quota)) {
        offered_[limit] += 1;
        refused_[limit] += request.refused_by == limit ? 1 : 0;
        central_refused_[limit] += request.central_admitted ? 0 : 1;
    }
    if (request.admitted) {
        count_.begin(request);
    }
}

void InFlightUsed::finished(const RequestFact& request) {
    advance(request.at);
    count_.finish(request);
}

void InFlightUsed::ending(const Facts& facts, const ProcessFact& process, Findings&) {
    advance(facts.at);
    count_.end_all(facts.ever[process.process].sidecar);
}

void InFlightUsed::judge_use(const Facts& facts, Findings& findings) const {
    for (const LimitIndex limit : count_.limits()) {
        const double mean = areas_[limit] / (facts.at - began_);
        const double least = kUsed * facts.limits[limit].parameters.low - 1;
        const double refused = std::min(refused_[limit], central_refused_[limit]);
        const bool asked = offered_[limit] > 0 && refused >= kRefused * offered_[limit];
        if (asked && mean < least) {
            findings.add(name(), facts.at,
                         facts.quota(limit) + ": " + std::to_string(mean) +
                             " in flight on average, and more was asked for than fits; at least " +
                             std::to_string(least));
        }
    }
}

void InFlightUsed::judge_shares(const Facts& facts, Findings& findings) const {
    for (std::size_t quota = 0; quota < fleet_.size(); ++quota) {
        const double share = fleet_[quota].admitted / std::max(1.0, fleet_[quota].offered);
        for (std::size_t i = 0; i < sidecars_; ++i) {
            const Counts& here = sidecar_[quota * sidecars_ + i];
            const double equal = fleet_[quota].admitted / static_cast<double>(sidecars_);
            const double expected = std::min(share * here.offered, equal);
            if (expected >= kEnough && here.admitted < kShareOfFleet * expected) {
                findings.add(name(), facts.at,
                             "quota " + std::to_string(quota) + " at sidecar " + std::to_string(i) +
                                 ": " + std::to_string(here.admitted) +
                                 " let through, where the fleet's part is " +
                                 std::to_string(expected));
            }
        }
    }
}

void InFlightUsed::sample(const Facts& facts, Findings& findings) {
    advance(facts.at);
    if (facts.at - began_ < kWindow) {
        return;
    }
    if (facts.calm_for >= kHandedOut) {
        judge_use(facts, findings);
        judge_shares(facts, findings);
    }
    began_ = facts.at;
    std::fill(areas_.begin(), areas_.end(), 0.0);
    std::fill(offered_.begin(), offered_.end(), 0.0);
    std::fill(refused_.begin(), refused_.end(), 0.0);
    std::fill(central_refused_.begin(), central_refused_.end(), 0.0);
    std::fill(fleet_.begin(), fleet_.end(), Counts{});
    std::fill(sidecar_.begin(), sidecar_.end(), Counts{});
}

}  // namespace weir::sim

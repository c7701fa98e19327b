#include "sim/checkers/in_flight_kept.h"

#include <algorithm>
#include <string>

namespace weir::sim {

InFlightKept::InFlightKept(std::size_t sidecars, const FleetLimits& fleet)
    : count_(sidecars, fleet), most_(fleet.limits.size()), members_(sidecars) {}

void InFlightKept::request(const RequestFact& request) {
    if (!request.admitted) {
        return;
    }
    count_.begin(request);
    for (const LimitIndex limit : count_.limits_of(request.quota)) {
        most_[limit] = std::max(most_[limit], count_.in_flight(limit));
    }
}

void InFlightKept::ending(const Facts& facts, const ProcessFact& process, Findings&) {
    members_ = std::max(members_, facts.running.size());
    count_.end_all(facts.ever[process.process].sidecar);
}

double InFlightKept::allowed(const Facts& facts, double limit) {
    const auto fresh =
        std::count_if(facts.ever.begin(), facts.ever.end(), [&](const ProcessTruth& truth) {
            return truth.began > 0 && facts.at - truth.began < kFresh;
        });
    const double parts = static_cast<double>(fresh) * limit / 2;
    return limit + std::min(limit, parts + (facts.connected_for < kHealed ? limit : 0));
}

void InFlightKept::sample(const Facts& facts, Findings& findings) {
    members_ = std::max(members_, facts.running.size());
    for (const LimitIndex limit : count_.limits()) {
        const double most =
            allowed(facts, facts.limits[limit].parameters.low) + static_cast<double>(members_);
        if (most_[limit] > most) {
            findings.add(name(), facts.at,
                         facts.quota(limit) + ": " + std::to_string(most_[limit]) +
                             " in flight, at most " + std::to_string(most));
        }
        most_[limit] = count_.in_flight(limit);
    }
    members_ = facts.running.size();
}

void InFlightKept::settled(const Facts& facts, Findings& findings) {
    for (const LimitIndex limit : count_.limits()) {
        if (count_.in_flight(limit) != 0) {
            findings.add(name(), facts.at,
                         facts.quota(limit) + ": " + std::to_string(count_.in_flight(limit)) +
                             " requests have not ended");
        }
    }
    for (const ProcessFact& process : facts.running) {
        for (const CountedFact& fact : process.counted) {
            if (facts.limits[fact.limit].parameters.in_flight && fact.count != 0) {
                findings.add(name(), facts.at,
                             facts.name(process.process) + ", " + facts.quota(fact.limit) +
                                 ": counts " + std::to_string(fact.count) +
                                 " in flight, and all have ended");
            }
        }
    }
}

}  // namespace weir::sim

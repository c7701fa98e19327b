#include "sim/checkers/no_more_refused.h"

#include <algorithm>
#include <utility>

namespace weir::sim {

std::vector<bool> leaves_below_their_limits(const FleetLimits& fleet) {
    std::vector<bool> below;
    for (const std::vector<LimitIndex>& chain : fleet.chains) {
        below.push_back(std::all_of(chain.begin(), chain.end(), [&](LimitIndex place) {
            const LimitFact& limit = fleet.limits[place];
            return limit.offered <= NoMoreRefused::kBelow * limit.parameters.rate;
        }));
    }
    return below;
}

NoMoreRefused::NoMoreRefused(std::vector<bool> below)
    : below_(std::move(below)), counts_(below_.size()) {}

void NoMoreRefused::request(const RequestFact& request) {
    Counts& counts = counts_[request.quota];
    counts.offered += 1;
    counts.refused += request.admitted ? 0 : 1;
    counts.central_refused += request.central_admitted ? 0 : 1;
}

void NoMoreRefused::settled(const Facts& facts, Findings& findings) {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        const Counts& counts = counts_[i];
        const double most = counts.central_refused + kShare * counts.offered + kFew;
        if (below_[i] && counts.refused > most) {
            findings.add(name(), facts.at,
                         "quota " + std::to_string(i) + ": refused " +
                             std::to_string(counts.refused) + " of " +
                             std::to_string(counts.offered) + ", one central bucket " +
                             std::to_string(counts.central_refused));
        }
    }
}

}  // namespace weir::sim

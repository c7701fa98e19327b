#include "sim/checkers/nobody_starved.h"

#include <algorithm>

namespace weir::sim {

NobodyStarved::NobodyStarved(std::size_t sidecars, std::size_t quotas)
    : sidecars_(sidecars), fleet_(quotas), sidecar_(quotas * sidecars) {}

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
        const Counts& all = fleet_[quota];
        const std::string which = "quota " + std::to_string(quota);
        if (all.central >= kEnough && all.admitted < kShareOfCentral * all.central) {
            findings.add(name(), facts.at,
                         which + ": " + std::to_string(all.admitted) + " let through in " +
                             std::to_string(kWindow) + " s, and one central bucket " +
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

#include "sim/in_flight_count.h"

#include <algorithm>
#include <utility>

namespace weir::sim {

InFlightCount::InFlightCount(std::size_t sidecars, const FleetLimits& fleet)
    : counts_(fleet.limits.size()), sums_(fleet.limits.size()) {
    for (LimitIndex limit = 0; limit < fleet.limits.size(); ++limit) {
        if (fleet.limits[limit].parameters.in_flight) {
            limits_.push_back(limit);
            counts_[limit].resize(sidecars);
        }
    }
    for (const std::vector<LimitIndex>& chain : fleet.chains) {
        std::vector<LimitIndex>& counted = chains_.emplace_back();
        std::copy_if(chain.begin(), chain.end(), std::back_inserter(counted),
                     [&](LimitIndex limit) { return fleet.limits[limit].parameters.in_flight; });
    }
}

void InFlightCount::add(const RequestFact& request, double count) {
    for (const LimitIndex limit : chains_[request.quota]) {
        counts_[limit][request.sidecar] += count;
        sums_[limit] += count;
    }
}

void InFlightCount::end_all(std::uint32_t sidecar) {
    for (const LimitIndex limit : limits_) {
        sums_[limit] -= std::exchange(counts_[limit][sidecar], 0);
    }
}

double InFlightCount::in_flight(LimitIndex limit) const { return sums_[limit]; }

}  // namespace weir::sim

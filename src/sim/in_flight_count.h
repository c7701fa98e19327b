#pragma once
// Counts what is really in flight in a simulated fleet under each limit of requests in flight, from
// the beginnings and ends of requests. Not thread-safe; it owns its counts.

#include <vector>

#include "sim/facts.h"
#include "sim/fleet_limits.h"

namespace weir::sim {

class InFlightCount {
  public:
    InFlightCount(std::size_t sidecars, const FleetLimits& fleet);

    /// The limits of requests in flight.
    [[nodiscard]] const std::vector<LimitIndex>& limits() const { return limits_; }
    /// Those above a leaf.
    [[nodiscard]] const std::vector<LimitIndex>& limits_of(std::uint32_t quota) const {
        return chains_[quota];
    }
    void begin(const RequestFact& request) { add(request, 1); }
    void finish(const RequestFact& request) { add(request, -1); }
    /// The process of this sidecar has ended, and its requests with it.
    void end_all(std::uint32_t sidecar);
    [[nodiscard]] double in_flight(LimitIndex limit) const;

  private:
    void add(const RequestFact& request, double count);

    std::vector<LimitIndex> limits_;
    std::vector<std::vector<LimitIndex>> chains_;  // by leaf
    std::vector<std::vector<double>> counts_;      // by limit and sidecar
    std::vector<double> sums_;                     // by limit
};

}  // namespace weir::sim

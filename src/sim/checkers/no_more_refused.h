#pragma once
// Checks that the fleet refuses hardly more than one central bucket that gets the same arrivals. A
// quota that is used below its limit may refuse what that bucket refuses and one request in a
// thousand more. This is promised for a leaf if no limit of its chain is ever offered more than
// kBelow of its rate. Only such leaves are judged, one by one, at the end. Where more is offered,
// fleet and bucket refuse other requests by chance, and the fleet pays back what a fault let
// through; nobody_starved.h judges those leaves, every ten seconds. Not thread-safe; it owns what
// it counts (checker.h).

#include <vector>

#include "sim/checkers/checker.h"
#include "sim/fleet_limits.h"

namespace weir::sim {

/// For each leaf of the load, whether this is promised for it.
[[nodiscard]] std::vector<bool> leaves_below_their_limits(const FleetLimits& fleet);

class NoMoreRefused final : public Checker {
  public:
    static constexpr double kBelow = 0.96;
    static constexpr double kShare = 0.001;
    /// This number of requests may be refused under any quota, however little it is offered.
    static constexpr double kFew = 1;

    explicit NoMoreRefused(std::vector<bool> below);

    [[nodiscard]] std::string_view name() const override { return "no more refused"; }
    void request(const RequestFact& request) override;
    void settled(const Facts& facts, Findings& findings) override;

  private:
    struct Counts {
        double offered = 0;
        double refused = 0;
        double central_refused = 0;
    };
    std::vector<bool> below_;
    std::vector<Counts> counts_;
};

}  // namespace weir::sim

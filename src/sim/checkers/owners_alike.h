#pragma once
// Checks that the owners of a limit agree after a fault. The following must hold when there was no
// fault for kHealed seconds, or when the load has stopped and the network is in order:
// - Every sidecar believes exactly the other running sidecars alive. A suspect counts as alive, as
//   it does when owners are chosen: after heavy loss a sidecar that still hears the suspect can
//   keep a suspicion for minutes, because its refutation was lost.
// - Every sidecar has the same definitions in force.
// - The levels that the owners of a limit have differ by no more than the protocol leaves open.
//
// When everything has settled, the owners of a limit also have the same cells for all runs that
// have not ended.
//
// The protocol leaves some difference of levels open. Each owner estimates arrivals from the rates
// that it was told. It hears of an error only when the error is larger than its share of the error
// budget or, where few requests come, larger than chance explains. An owner publishes its level
// when others are off by 1 / sqrt(2 * requests in 0.3 s) of the width of the limit's borders. The
// bound is twice that, or kLevelShare of the width if that is more, plus kRequests requests.
//
// An owner that begins anew, after a restart or a leap of its clock, may begin from another level
// than the other owners have. From then on all owners count the same arrivals, so the difference
// stays until the highest level has drained to 0. Therefore levels get more time where they need
// it. A level H of a limit that drains at `rate` and is offered `offered` < `rate` has drained
// after T seconds with
//
//     H + 2 sqrt(offered T) - (rate - offered) T = 0
//
// where the root is two standard deviations of the arrivals. H is the highest level that an owner
// had since the fault. Once levels have been closer than half of the bound, they must stay within
// the bound. Where at least the rate is offered, shedding holds the level and it does not drain, so
// there is no more time. Not thread-safe; it owns what it counts (checker.h).

#include <vector>

#include "sim/checkers/checker.h"

namespace weir::sim {

class OwnersAlike final : public Checker {
  public:
    static constexpr double kHealed = 20;
    static constexpr double kLevelShare = 0.3;
    static constexpr double kRequests = 4;

    /// The seconds T in which a level drains, as above; 0 if it never does.
    [[nodiscard]] static double drain_seconds(double level, double rate, double offered);

    [[nodiscard]] std::string_view name() const override { return "owners alike after healing"; }
    void sample(const Facts& facts, Findings& findings) override;
    void settled(const Facts& facts, Findings& findings) override;

  private:
    void check_members(const Facts& facts, Findings& findings) const;
    void check_levels(const Facts& facts, bool settled, Findings& findings);
    void check_cells(const Facts& facts, Findings& findings) const;

    /// The state of one limit since the last fault.
    struct Healing {
        double highest = 0;  // the highest level of any owner
        bool alike = false;  // the levels have been closer than half of the bound
    };
    std::vector<Healing> healing_;  // by limit
    double calm_for_ = -1;          // Facts::calm_for at the last sample
};

}  // namespace weir::sim

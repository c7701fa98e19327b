#pragma once
// After healing owners are alike. When no fault was under way for kHealed seconds, or when the load
// has stopped and the network is in order:
// - every sidecar takes exactly the running others for live. A suspect counts as live, as it does
//   when owners are chosen: after heavy loss a suspicion whose refutation was lost stays for
//   minutes with a sidecar that goes on hearing the suspect;
// - every sidecar has the same definitions in force;
// - the owners of a limit believe in levels that differ by no more than the protocol leaves open.
// When everything has settled, the owners of a limit have the same cells, of the runs that go on.
//
// Levels of two owners may differ: each reckons by the rates that it was told, and hears of an
// error only when it is larger than its share of the error budget, or than chance makes it where
// few requests come: an owner publishes when others are off by 1 / sqrt(2 * requests in 0.3 s) of
// the width of the limit's borders. The bound is twice that, or kLevelShare of the width if that is
// more, and kRequests requests.

#include "sim/checkers/checker.h"

namespace weir::sim {

class OwnersAlike final : public Checker {
  public:
    static constexpr double kHealed = 20;
    static constexpr double kLevelShare = 0.3;
    static constexpr double kRequests = 4;

    [[nodiscard]] std::string_view name() const override { return "owners alike after healing"; }
    void sample(const Facts& facts, Findings& findings) override;
    void settled(const Facts& facts, Findings& findings) override;

  private:
    void check_members(const Facts& facts, Findings& findings) const;
    void check_levels(const Facts& facts, Findings& findings) const;
    void check_cells(const Facts& facts, Findings& findings) const;
};

}  // namespace weir::sim

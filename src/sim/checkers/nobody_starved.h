#pragma once
// Nobody is starved. In every ten seconds:
// - a quota gets at least kShareOfCentral of what one central bucket lets through of the same
//   arrivals: whatever happens to the fleet, and whatever one peer says, it is never closed. Not
//   more than that share, since a jump of the load, up to a hundred times the limit in the stories,
//   overshoots by as much as comes before anybody knows, and that is paid back for two seconds;
// - a sidecar lets through of a quota at least kShareOfFleet of the part that the fleet lets
//   through of it, in the same time: nobody is refused for where he happened to arrive.
// Both only where enough is expected that chance is no excuse. A sidecar that was stopped in that
// time, or was alone in a cut, has its own share and no more: the second rule waits until there has
// been no fault for that long.

#include <vector>

#include "sim/checkers/checker.h"

namespace weir::sim {

class NobodyStarved final : public Checker {
  public:
    static constexpr double kWindow = 10;
    static constexpr double kEnough = 50;
    static constexpr double kShareOfCentral = 0.3;
    static constexpr double kShareOfFleet = 0.4;

    NobodyStarved(std::size_t sidecars, std::size_t quotas);

    [[nodiscard]] std::string_view name() const override { return "nobody starved"; }
    void request(const RequestFact& request) override;
    void sample(const Facts& facts, Findings& findings) override;

  private:
    struct Counts {
        double offered = 0;
        double admitted = 0;
        double central = 0;
    };
    void judge(const Facts& facts, Findings& findings) const;

    std::size_t sidecars_;
    std::vector<Counts> fleet_;    // by quota
    std::vector<Counts> sidecar_;  // by quota and sidecar
    double began_ = 0;
};

}  // namespace weir::sim

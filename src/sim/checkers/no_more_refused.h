#pragma once
// Below its limit a quota refuses at most what one central bucket refuses that is fed with the same
// arrivals, and one request in a thousand more. Promised of leaves on whose whole chain no limit is
// ever offered more than kBelow of its rate; only these are judged, each by itself, at the end.

#include <vector>

#include "sim/checkers/checker.h"
#include "sim/load.h"

namespace weir::sim {

/// Which leaves of the load are promised to lose nothing.
[[nodiscard]] std::vector<bool> leaves_below_their_limits(
    const LoadPlan& load, const std::vector<limiter::QuotaDefinition>& definitions);

class NoMoreRefused final : public Checker {
  public:
    static constexpr double kBelow = 0.96;
    static constexpr double kShare = 0.001;
    /// So few may be refused of any quota, however little it is offered.
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

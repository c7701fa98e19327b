#pragma once
// No level counts for more than the ceiling, high + max(debt, W), neither at an owner nor in what a
// sidecar believes of one. The simulated requests weigh 1 each, so W is at most 1, whatever
// anybody says. What is believed of a limit that sleeps is not looked at: it is brought up to date
// when it is used again.

#include "sim/checkers/checker.h"

namespace weir::sim {

class BelowCeiling final : public Checker {
  public:
    [[nodiscard]] std::string_view name() const override { return "levels below the ceiling"; }
    void sample(const Facts& facts, Findings& findings) override;
    void settled(const Facts& facts, Findings& findings) override { sample(facts, findings); }

  private:
    void check(const Facts& facts, const ProcessFact& process, LimitIndex limit,
               const limiter::LimitParameters& parameters, double level, Findings& findings) const;
};

}  // namespace weir::sim

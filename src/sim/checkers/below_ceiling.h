#pragma once
// Checks that no level is above the ceiling, high + max(debt, W), neither the level that an owner
// has nor the one that a sidecar believes an owner to have. W is the heaviest admitted weight; each
// simulated request weighs 1, so W is at most 1, and at a hard edge, where a crowd counts as one
// weight, at most `low` for each process. A level that a sidecar believes is not checked for a
// limit that was not used recently, because it is brought up to date only when the limit is used
// again. Not thread-safe; it owns what it counts (checker.h).

#include "sim/checkers/checker.h"

namespace weir::sim {

class BelowCeiling final : public Checker {
  public:
    [[nodiscard]] std::string_view name() const override { return "levels below the ceiling"; }
    void sample(const Facts& facts, Findings& findings) override;
    void settled(const Facts& facts, Findings& findings) override { sample(facts, findings); }

  private:
    void check(const Facts& facts, const ProcessFact& process, LimitIndex limit,
               const limiter::LimitParameters& parameters, double level, double heaviest,
               Findings& findings) const;
};

}  // namespace weir::sim

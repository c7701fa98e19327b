#pragma once
// Nothing is counted twice.
//
// - Every cell of an owner belongs to a run that some process began, and holds no more than that
//   process really let through of the limit.
// - The weight that an owner's level took in, in one life of the limit there, is at most what all
//   processes together let through.
// An owner reckons in advance what an origin lets through between two words. What it reckoned too
// much is taken out of the level when the next word comes, unless the level has drained to nothing
// meanwhile: then it was in the level for a moment, and is in `drained`, which does not count.

#include "sim/checkers/checker.h"

namespace weir::sim {

class CountedOnce final : public Checker {
  public:
    [[nodiscard]] std::string_view name() const override { return "nothing counted twice"; }
    void sample(const Facts& facts, Findings& findings) override;
    void settled(const Facts& facts, Findings& findings) override { sample(facts, findings); }

  private:
    void check_cells(const Facts& facts, const ProcessFact& process, const OwnedFact& owned,
                     Findings& findings) const;
};

}  // namespace weir::sim

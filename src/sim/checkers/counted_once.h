#pragma once
// Checks that nothing is counted twice:
// - Every cell of an owner belongs to a run that some process began. It holds no more than that
//   process really admitted under the limit.
// - The weight that was added to an owner's level during one life of the limit there is at most the
//   weight that all processes together admitted.
//
// Between two messages of an origin the owner estimates what the origin admits. If it estimated too
// much, it takes the rest out of the level when the next message comes. If the level has drained to
// 0 by then, nothing can be taken out; such weight is in `drained`, and does not count here. Not
// thread-safe; it owns what it counts (checker.h).

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

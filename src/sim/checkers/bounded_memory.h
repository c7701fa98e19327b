#pragma once
// Memory stays within its bounds, which the simulated world knows better than any constant: a
// sidecar keeps no more limits than the fleet has; an owner no more cells of a limit than processes
// lived in the last 75 s, as long as a cell is remembered, where one that took a new incarnation
// counts twice; and the table of silence no more members than lived in the last two minutes, times
// a small number.

#include "sim/checkers/checker.h"

namespace weir::sim {

class BoundedMemory final : public Checker {
  public:
    [[nodiscard]] std::string_view name() const override { return "memory within its bounds"; }
    void sample(const Facts& facts, Findings& findings) override;
    void settled(const Facts& facts, Findings& findings) override { sample(facts, findings); }
};

}  // namespace weir::sim

#pragma once
// Checks that memory stays within its bounds. The simulated world knows these precisely:
// - A sidecar keeps no more limits than the fleet has.
// - An owner keeps a cell of a process for 75 s, so it has no more cells of a limit than processes
//   lived in that time. A process that took a new incarnation counts twice.
// - The table of silence remembers a member for two minutes. It has no more members than lived in
//   that time, times a small number.
//
// Not thread-safe; it owns what it counts (checker.h).

#include "sim/checkers/checker.h"

namespace weir::sim {

class BoundedMemory final : public Checker {
  public:
    [[nodiscard]] std::string_view name() const override { return "memory within its bounds"; }
    void sample(const Facts& facts, Findings& findings) override;
    void settled(const Facts& facts, Findings& findings) override { sample(facts, findings); }
};

}  // namespace weir::sim

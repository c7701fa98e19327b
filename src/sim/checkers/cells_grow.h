#pragma once
// Within a run a cell only grows: admitted, refunded and offered are counters of one process, and
// an owner merges what it is told by the maximum. Holds for one life of the limit at the owner: an
// owner that begins anew, after a stop or when the shard comes back to it, knows nothing first.

#include <map>
#include <tuple>

#include "sim/checkers/checker.h"

namespace weir::sim {

class CellsGrow final : public Checker {
  public:
    [[nodiscard]] std::string_view name() const override { return "cells only grow"; }
    void sample(const Facts& facts, Findings& findings) override;
    void settled(const Facts& facts, Findings& findings) override { sample(facts, findings); }

  private:
    /// Owner's process, life of the limit there, run.
    using Place = std::tuple<std::size_t, std::uint32_t, std::uint32_t>;
    std::map<Place, CellFact> before_;
};

}  // namespace weir::sim

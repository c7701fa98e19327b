#pragma once
// Checks that the counts of a cell only grow while its run lasts, because an owner keeps the
// maximum of all counts that it is told. This holds during one life of the limit at the owner: an
// owner that begins anew, after a stop or when the shard comes back to it, begins without cells.
// Not thread-safe; it owns what it counts (checker.h).

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
    /// The owner's process, the life of the limit at the owner, and the run.
    using Place = std::tuple<std::size_t, std::uint32_t, std::uint32_t>;
    std::map<Place, CellFact> before_;
};

}  // namespace weir::sim

#pragma once
// Checks that a window ends in one second for all: those sidecars that are in a window of a limit
// name the same end, and in windows of the calendar it is the end that a right clock gives. Windows
// that begin with the first request may differ for kJoining seconds, until all have joined the one
// that ends first. Nothing is asked within kMet seconds of a fault, nor of processes that have just
// started and may not have heard the clocks of others. Not thread-safe; it owns what it remembers
// (checker.h).

#include <map>

#include "sim/checkers/checker.h"

namespace weir::sim {

class WindowsAlike final : public Checker {
  public:
    static constexpr double kMet = 3;
    static constexpr int kJoining = 3;

    [[nodiscard]] std::string_view name() const override { return "windows end alike"; }
    void sample(const Facts& facts, Findings& findings) override;

  private:
    std::map<LimitIndex, int> apart_;  // for how many samples in a row the ends have differed
};

}  // namespace weir::sim

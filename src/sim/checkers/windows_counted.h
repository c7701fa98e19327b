#pragma once
// Checks the counts of windows that owners keep. Nothing is counted twice: no owner has more for a
// process than this one has admitted in the window, nor anything for a run that no process has.
// (What a member that does not own a limit any more knew of a process that runs is no such count:
// the process tells it anew before anybody uses it.) Nothing is lost: when the fleet has been in
// order for kCalm seconds, each owner has at least what each process had admitted a second ago,
// also of processes that are gone. Of one that was killed, what it had told nobody may be missing
// (WindowTruth::untold). An owner that says that counts may be missing is not held to the second
// rule. Not thread-safe; it keeps nothing (checker.h).

#include "sim/checkers/checker.h"

namespace weir::sim {

class WindowsCounted final : public Checker {
  public:
    static constexpr double kCalm = 5;

    [[nodiscard]] std::string_view name() const override { return "windows counted once"; }
    void sample(const Facts& facts, Findings& findings) override;

  private:
    void check_twice(const Facts& facts, const ProcessFact& owner, Findings& findings) const;
    void check_lost(const Facts& facts, const ProcessFact& owner, Findings& findings) const;
};

}  // namespace weir::sim

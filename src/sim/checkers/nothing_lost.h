#pragma once
// Nothing is lost: of what a process let through, everything is in the cells of the live owners, or
// was not told yet; and of what was told, everything is in the level or was forgiven by one of the
// three rules. For each live owner of a limit and each origin:
//
//     lost = admitted - before - cell - untold = 0
//     cells + forgotten = counted + forgiven + refused - drained
//
// - `before`: what earlier runs of the process told, and what was let through between a limit's
//   first request and the next tick, when the engine meets it: of that, what has drained by then is
//   never told. It is at most the rate times that time.
// - `untold`: own counts less what the owner has acknowledged. While the fleet is disturbed only
//   this much can be said: what an owner has acknowledged in this life of its limit is in its cell.
//   When everything has settled nothing is untold: the cell holds all of the run.
// - Of a process that was killed, what it had not told is gone with it; what had been acknowledged
//   stays. A process that says goodbye tells everything first, but nobody acknowledges it.
// - `forgiven`: first sight, late lumps and the ceiling, each counted by itself (ToldWeight).
// The cell of whoever was silent for 75 s may be forgotten, and a limit that nobody used for a
// minute. A run that is idle ends before that, so no increase is lost by it. An origin that was cut
// off for longer goes on with its run: to the owner it is one at first sight.

#include <map>
#include <utility>

#include "sim/checkers/checker.h"

namespace weir::sim {

class NothingLost final : public Checker {
  public:
    [[nodiscard]] std::string_view name() const override { return "nothing lost"; }
    void sample(const Facts& facts, Findings& findings) override;
    void ending(const Facts& facts, const ProcessFact& process, Findings& findings) override;
    void settled(const Facts& facts, Findings& findings) override;

  private:
    /// What is known of an origin's runs of one limit.
    struct Origin {
        std::uint32_t run = 0;
        double net = 0;         // of the run, as seen last
        double earlier = 0;     // of the runs before it
        std::uint32_t met = 0;  // how many runs there were
    };
    void follow(const ProcessFact& process);
    void check_views(const Facts& facts, const ProcessFact& process, bool all_told,
                     Findings& findings) const;
    void check_truth(const Facts& facts, const ProcessFact& process, bool all_told,
                     Findings& findings) const;
    void check_ledger(const Facts& facts, const ProcessFact& process, Findings& findings) const;

    std::map<std::pair<std::size_t, LimitIndex>, Origin> origins_;
};

}  // namespace weir::sim

#pragma once
// Checks that nothing is lost. The weight that a process admitted is in the cells of the live
// owners, or has not been told yet. Weight that was told is in an owner's level, or one of the
// three rules for increases forgave it. For each live owner of a limit and each origin:
//
//     lost = admitted - before - quiet - cell - untold = 0
//     cells + forgotten = counted + forgiven + refused - drained
//
// - `before` is what earlier runs of the process told, and what was admitted between the first
//   request under a limit and the next tick, when the engine first sees the limit. Weight that has
//   drained by that tick is never told; it is at most the rate times that time.
// - `quiet` is what the process counted while the limit was quiet: that is told to the first owner
//   alone, and becomes a part of no cell unless it is untold when the limit wakes.
// - `untold` is the process's own count less what the owner has acknowledged. During a fault only
//   this can be said: what an owner has acknowledged in this life of its limit is in its cell. When
//   everything has settled, nothing is untold, and the cell holds all of the run.
// - `forgiven` is the sum of three counts (ToldWeight): weight at the first sight of a cell, weight
//   that came late and all at once, and weight above the ceiling.
//
// When a process is killed, the weight that it had not told yet is lost with it, and what was
// acknowledged stays. A process that says goodbye tells everything first, but nobody acknowledges
// that.
//
// An owner may forget the cell of an origin that was silent for 75 s, and a limit that nobody used
// for a minute. A run that is idle ends before that, so no increase is lost by it. An origin that
// was cut off for longer goes on with its run, which the owner then sees for the first time. Not
// thread-safe; it owns what it counts (checker.h).

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
    /// The runs of one origin under one limit.
    struct Origin {
        std::uint32_t run = 0;
        double net = 0;         // of the run, when last seen
        double earlier = 0;     // of all runs before it
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

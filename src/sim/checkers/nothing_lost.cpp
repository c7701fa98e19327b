#include "sim/checkers/nothing_lost.h"

#include <algorithm>
#include <cmath>

namespace weir::sim {
namespace {

/// Counts travel in steps of 1/256; sums of many differ by their rounding.
constexpr double kRounding = 1e-3;
/// The longest time from a limit's first request to the tick in which the engine first sees it.
constexpr double kTickSeconds = 0.011;
/// An origin that was idle for this time begins a new run when it is used again.
constexpr double kRunEnds = 50;
/// An owner without news of a cell for this time may forget it; the product waits 75 s.
constexpr double kCellRemembered = 70;

}  // namespace

void NothingLost::follow(const ProcessFact& process) {
    for (const UsedFact& used : process.used) {
        Origin& origin = origins_[{process.process, used.limit}];
        if (origin.run != used.run) {
            origin.earlier += origin.net;
            origin.run = used.run;
            ++origin.met;
        }
        origin.net = used.net;
    }
}

void NothingLost::check_views(const Facts& facts, const ProcessFact& process, bool all_told,
                              Findings& findings) const {
    for (const UsedFact& used : process.used) {
        for (const ViewFact& view : used.views) {
            const ProcessFact* owner = facts.find(view.owner, view.incarnation);
            const OwnedFact* owned = owner == nullptr ? nullptr : find_owned(*owner, used.limit);
            if (owned == nullptr || owned->life != view.life) {
                continue;  // this life of the limit began empty and has acknowledged nothing since
            }
            const CellFact* cell = find_cell(*owned, used.run);
            const bool may_be_forgotten =
                used.idle_seconds > kRunEnds || view.silent_seconds > kCellRemembered;
            if (cell == nullptr && (view.acknowledged <= 0 || may_be_forgotten)) {
                continue;
            }
            const double held = cell == nullptr ? 0 : cell->net();
            const double due = all_told ? used.net : view.acknowledged;
            if (held < due - kRounding) {
                findings.add(name(), facts.at,
                             facts.name(owner->process) + ", " + facts.quota(used.limit) +
                                 ": the cell of " + facts.name(process.process) + " holds " +
                                 std::to_string(held) + " of " + std::to_string(due) +
                                 (all_told ? " that it counted" : " acknowledged"));
            }
        }
    }
}

void NothingLost::check_truth(const Facts& facts, const ProcessFact& process, bool all_told,
                              Findings& findings) const {
    for (const UsedFact& used : process.used) {
        if (used.limit >= facts.limits.size()) {
            continue;
        }
        const Origin& origin = origins_.at({process.process, used.limit});
        const double truth = facts.ever[process.process].admitted[used.limit];
        const double told = origin.earlier + used.net + used.quiet;
        const double before = origin.met * (used.parameters.rate * kTickSeconds + 1);
        const bool more = told > truth + kRounding;
        if (more || (all_told && told < truth - before - kRounding)) {
            findings.add(name(), facts.at,
                         facts.name(process.process) + ", " + facts.quota(used.limit) +
                             ": counts " + std::to_string(told) + " in " +
                             std::to_string(origin.met) + " runs, and let through " +
                             std::to_string(truth));
        }
    }
}

void NothingLost::check_ledger(const Facts& facts, const ProcessFact& process,
                               Findings& findings) const {
    using enum sync::WeightFate;
    for (const OwnedFact& owned : process.owned) {
        double cells = owned.told[forgotten];
        for (const CellFact& cell : owned.cells) {
            cells += cell.net();
        }
        const ToldWeight& told = owned.told;
        const double known = told[counted] + told[first_sight] + told[late] + told[ceiling] +
                             told[refused] - told[drained];
        if (std::abs(cells - known) > kRounding + 1e-9 * cells) {
            findings.add(name(), facts.at,
                         facts.name(process.process) + ", " + facts.quota(owned.limit) +
                             ": was told " + std::to_string(cells) + " and accounts for " +
                             std::to_string(known));
        }
    }
}

void NothingLost::sample(const Facts& facts, Findings& findings) {
    for (const ProcessFact& process : facts.running) {
        follow(process);
        check_views(facts, process, false, findings);
        check_truth(facts, process, false, findings);
        check_ledger(facts, process, findings);
    }
}

void NothingLost::ending(const Facts& facts, const ProcessFact& process, Findings& findings) {
    follow(process);
    check_views(facts, process, false, findings);
    check_truth(facts, process, false, findings);
}

void NothingLost::settled(const Facts& facts, Findings& findings) {
    for (const ProcessFact& process : facts.running) {
        follow(process);
        check_views(facts, process, true, findings);
        check_truth(facts, process, true, findings);
        check_ledger(facts, process, findings);
    }
}

}  // namespace weir::sim

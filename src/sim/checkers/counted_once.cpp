#include "sim/checkers/counted_once.h"

#include <vector>

namespace weir::sim {
namespace {

/// Sums of many small numbers differ by their rounding.
constexpr double kSumRounding = 1e-3;

std::vector<double> admitted_by_limit(const Facts& facts) {
    std::vector<double> sums(facts.limits.size());
    for (const ProcessTruth& truth : facts.ever) {
        for (std::size_t i = 0; i < sums.size(); ++i) {
            sums[i] += truth.admitted[i];
        }
    }
    return sums;
}

}  // namespace

void CountedOnce::check_cells(const Facts& facts, const ProcessFact& process,
                              const OwnedFact& owned, Findings& findings) const {
    const std::string where = facts.name(process.process) + ", " + facts.quota(owned.limit);
    for (const CellFact& cell : owned.cells) {
        if (cell.run == 0) {
            continue;  // nothing was told of it yet
        }
        const ProcessTruth* origin = facts.origin(owned.limit, cell.run);
        if (origin == nullptr) {
            findings.add(
                name(), facts.at,
                where + ": a cell of run " + std::to_string(cell.run) + ", which no process began");
            continue;
        }
        // The bucket that instances share when there are too many is in no story.
        const bool known = owned.limit < origin->admitted.size();
        const double truth = known ? origin->admitted[owned.limit] : 0;
        if (cell.net() > truth + kSumRounding) {
            findings.add(name(), facts.at,
                         where + ": a cell of sidecar " + std::to_string(origin->sidecar) +
                             " holds " + std::to_string(cell.net()) + ", which let through " +
                             std::to_string(truth));
        }
    }
}

void CountedOnce::sample(const Facts& facts, Findings& findings) {
    const std::vector<double> admitted = admitted_by_limit(facts);
    for (const ProcessFact& process : facts.running) {
        for (const OwnedFact& owned : process.owned) {
            check_cells(facts, process, owned, findings);
            const double truth = owned.limit < admitted.size() ? admitted[owned.limit] : 0;
            const double counted =
                owned.told[sync::WeightFate::counted] - owned.told[sync::WeightFate::drained];
            if (counted > truth * (1 + 1e-9) + kSumRounding) {
                findings.add(name(), facts.at,
                             facts.name(process.process) + ", " + facts.quota(owned.limit) +
                                 ": counted " + std::to_string(counted) +
                                 ", and the fleet let through " + std::to_string(truth));
            }
        }
    }
}

}  // namespace weir::sim

#include "sim/checkers/below_ceiling.h"

#include <algorithm>

namespace weir::sim {
namespace {

constexpr double kOneRequest = 1;  // the weight of each
constexpr double kLevelRounding = 1e-6;

}  // namespace

void BelowCeiling::check(const Facts& facts, const ProcessFact& process, LimitIndex limit,
                         const limiter::LimitParameters& parameters, double level, double heaviest,
                         Findings& findings) const {
    const double crowd = static_cast<double>(facts.running.size()) * parameters.low;
    const double most = parameters.edge() ? std::max(kOneRequest, crowd) : kOneRequest;
    const double ceiling =
        limiter::ceiling(parameters, kOneRequest, std::clamp(heaviest, kOneRequest, most));
    if (level <= ceiling + kLevelRounding) {
        return;
    }
    findings.add(name(), facts.at,
                 facts.name(process.process) + ", " + facts.quota(limit) + ": level " +
                     std::to_string(level) + ", ceiling " + std::to_string(ceiling));
}

void BelowCeiling::sample(const Facts& facts, Findings& findings) {
    for (const ProcessFact& process : facts.running) {
        for (const OwnedFact& owned : process.owned) {
            if (owned.parameters) {
                check(facts, process, owned.limit, *owned.parameters, owned.level, owned.heaviest,
                      findings);
            }
        }
        for (const UsedFact& used : process.used) {
            if (!used.awake || process.stopped) {
                continue;
            }
            for (const ViewFact& view : used.views) {
                check(facts, process, used.limit, used.parameters, view.level, view.heaviest,
                      findings);
            }
        }
    }
}

}  // namespace weir::sim

#include "sim/checkers/owners_alike.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace weir::sim {
namespace {

/// How far apart the levels of two owners may be.
double bound_of(const limiter::LimitParameters& limit) {
    const double requests = std::max(1.0, limit.rate) * limiter::kRateWindow;
    const double noise = 1 / std::sqrt(2 * requests);
    const double width = limiter::threshold_width(limit, 1);
    return std::max(OwnersAlike::kLevelShare, 2 * noise) * width + OwnersAlike::kRequests;
}

/// What the owners of a limit believe.
struct OwnersLevels {
    double least = 0;
    double most = 0;
    double bound = 0;
    double rate = 0;
};

std::map<LimitIndex, OwnersLevels> levels_of_owners(const Facts& facts) {
    std::map<LimitIndex, OwnersLevels> levels;
    for (const ProcessFact& process : facts.running) {
        for (const OwnedFact& owned : process.owned) {
            if (!owned.owner || !owned.filled || !owned.parameters || process.stopped) {
                continue;
            }
            const auto [at, first] = levels.try_emplace(
                owned.limit, OwnersLevels{owned.level, owned.level, bound_of(*owned.parameters),
                                          owned.parameters->rate});
            at->second.least = std::min(at->second.least, owned.level);
            at->second.most = std::max(at->second.most, owned.level);
        }
    }
    return levels;
}

}  // namespace

double OwnersAlike::drain_seconds(double level, double rate, double offered) {
    const double drain = rate - offered;
    if (drain <= 0) {
        return 0;
    }
    const double root = (std::sqrt(offered) + std::sqrt(offered + drain * level)) / drain;
    return root * root;
}

void OwnersAlike::check_members(const Facts& facts, Findings& findings) const {
    for (const ProcessFact& process : facts.running) {
        if (process.live && *process.live + 1 != facts.running.size()) {
            findings.add(name(), facts.at,
                         facts.name(process.process) + " takes " + std::to_string(*process.live) +
                             " others for live, and " + std::to_string(facts.running.size() - 1) +
                             " are");
        }
        if (process.definitions != facts.running.front().definitions) {
            findings.add(name(), facts.at,
                         facts.name(process.process) + " has other definitions in force than " +
                             facts.name(facts.running.front().process));
        }
    }
}

void OwnersAlike::check_levels(const Facts& facts, bool settled, Findings& findings) {
    if (facts.calm_for < calm_for_ || facts.calm_for < 0) {
        healing_.clear();
    }
    calm_for_ = facts.calm_for;
    healing_.resize(facts.limits.size());
    for (const auto& [limit, levels] : levels_of_owners(facts)) {
        if (limit >= healing_.size()) {
            continue;
        }
        Healing& healing = healing_[limit];
        healing.highest = std::max(healing.highest, levels.most);
        const double gap = levels.most - levels.least;
        healing.alike = healing.alike || (facts.calm_for >= kHealed && 2 * gap <= levels.bound);
        const double offered = settled ? 0 : facts.limits[limit].offered;
        const double heals =
            (settled ? 0 : kHealed) + drain_seconds(healing.highest, levels.rate, offered);
        if ((healing.alike || facts.calm_for >= heals) && gap > levels.bound) {
            findings.add(name(), facts.at,
                         facts.quota(limit) + ": owners' levels from " +
                             std::to_string(levels.least) + " to " + std::to_string(levels.most) +
                             ", which is more apart than " + std::to_string(levels.bound));
        }
    }
}

void OwnersAlike::check_cells(const Facts& facts, Findings& findings) const {
    std::map<std::pair<LimitIndex, std::uint32_t>, double> held;
    for (const ProcessFact& process : facts.running) {
        for (const OwnedFact& owned : process.owned) {
            for (const CellFact& cell : owned.cells) {
                const ProcessTruth* origin = facts.origin(owned.limit, cell.run);
                if (!owned.owner || origin == nullptr || origin->ended) {
                    continue;
                }
                const auto [known, first] = held.try_emplace({owned.limit, cell.run}, cell.offered);
                if (!first && known->second != cell.offered) {
                    findings.add(name(), facts.at,
                                 facts.quota(owned.limit) + ": " + facts.name(process.process) +
                                     " holds " + std::to_string(cell.offered) +
                                     " offered of sidecar " + std::to_string(origin->sidecar) +
                                     ", another owner " + std::to_string(known->second));
                }
            }
        }
    }
}

void OwnersAlike::sample(const Facts& facts, Findings& findings) {
    if (facts.calm_for >= kHealed) {
        check_members(facts, findings);
    }
    check_levels(facts, false, findings);
}

void OwnersAlike::settled(const Facts& facts, Findings& findings) {
    check_members(facts, findings);
    check_levels(facts, true, findings);
    check_cells(facts, findings);
}

}  // namespace weir::sim

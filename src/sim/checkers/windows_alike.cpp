#include "sim/checkers/windows_alike.h"

#include <set>
#include <string>

namespace weir::sim {
namespace {

/// The ends of windows that sidecars are in, by limit. About those that end in this second the
/// sidecars' clocks may differ.
std::map<LimitIndex, std::set<std::int64_t>> ends_of(const Facts& facts) {
    std::map<LimitIndex, std::set<std::int64_t>> ends;
    for (const ProcessFact& process : facts.running) {
        const bool fresh = facts.at - facts.ever[process.process].began < WindowsAlike::kMet;
        for (const CountedFact& fact : process.counted) {
            if (!process.stopped && !fresh && fact.window_end > facts.second + 1) {
                ends[fact.limit].insert(fact.window_end);
            }
        }
    }
    return ends;
}

}  // namespace

void WindowsAlike::sample(const Facts& facts, Findings& findings) {
    if (facts.calm_for < kMet) {
        apart_.clear();
        return;
    }
    for (const auto& [limit, ends] : ends_of(facts)) {
        int& apart = apart_[limit];
        apart = ends.size() > 1 ? apart + 1 : 0;
        const bool first = facts.limits[limit].counted->from == limiter::WindowStart::first;
        if (apart > (first ? kJoining : 0)) {
            findings.add(name(), facts.at,
                         facts.quota(limit) + ": windows end in the seconds " +
                             std::to_string(*ends.begin()) + " to " +
                             std::to_string(*ends.rbegin()));
        }
        const std::int64_t planned = facts.window_ends[limit];
        if (planned != 0 && *ends.begin() != planned) {
            findings.add(name(), facts.at,
                         facts.quota(limit) + ": a window ends in second " +
                             std::to_string(*ends.begin()) + ", which should be " +
                             std::to_string(planned));
        }
    }
}

}  // namespace weir::sim

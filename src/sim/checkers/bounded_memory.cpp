#include "sim/checkers/bounded_memory.h"

#include <algorithm>

namespace weir::sim {
namespace {

/// An owner drops a cell at the first look at its limit after 75 s without news of it.
constexpr double kCellKept = 77;
/// A member that has left is forgotten after two minutes; this is checked every ten seconds.
constexpr double kMemberRemembered = 140;
/// How many entries each incarnation may account for. There are also entries of strangers, and of a
/// process that takes several incarnations within a second.
constexpr std::size_t kIncarnations = 4;

/// The number of incarnations of processes that lived during a part of this time.
std::size_t lived_within(const Facts& facts, double seconds) {
    std::size_t count = 0;
    for (const ProcessTruth& truth : facts.ever) {
        count += !truth.ended || facts.at - *truth.ended < seconds ? 1U : 0U;
        count += static_cast<std::size_t>(
            std::count_if(truth.renewed.begin(), truth.renewed.end(),
                          [&](double renewed) { return facts.at - renewed < seconds; }));
    }
    return count;
}

}  // namespace

void BoundedMemory::sample(const Facts& facts, Findings& findings) {
    const std::size_t limits = facts.limits.size();
    const std::size_t origins = lived_within(facts, kCellKept);
    const std::size_t members = kIncarnations * lived_within(facts, kMemberRemembered);
    for (const ProcessFact& process : facts.running) {
        if (process.stopped) {
            continue;  // a process that does not run forgets nothing
        }
        const auto check = [&](const std::string& what, std::size_t count, std::size_t bound) {
            if (count > bound) {
                findings.add(name(), facts.at,
                             facts.name(process.process) + ": " + std::to_string(count) + " " +
                                 what + ", at most " + std::to_string(bound));
            }
        };
        check("owned limits", process.owned.size(), limits);
        check("limits in use", process.used.size(), limits);
        check("members", process.members, members);
        for (const OwnedFact& owned : process.owned) {
            check("cells of " + facts.quota(owned.limit), owned.cells.size(), origins);
        }
    }
}

}  // namespace weir::sim

#include "sim/checkers/windows_counted.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace weir::sim {
namespace {

constexpr std::int64_t kEndsDiffer = 5;  // seconds

/// What was admitted in windows that have not ended.
using OpenCounts = std::map<WindowPlace, double>;

/// A process whose window began with its own first request joins the one that ends first, with what
/// it has admitted, and tells of it before that is seen here. So its windows are taken for one.
WindowPlace open_place(const Facts& facts, WindowPlace place) {
    if (place.limit < facts.limits.size() &&
        facts.limits[place.limit].counted->from == limiter::WindowStart::first) {
        place.end = 0;
    }
    return place;
}

std::optional<std::size_t> process_of_run(const Facts& facts, std::uint64_t run) {
    for (std::size_t i = 0; i < facts.ever.size(); ++i) {
        if (facts.ever[i].window_run == run) {
            return i;
        }
    }
    return std::nullopt;
}

/// Whether the process has begun a window that is nobody else's: its clock was wrong, and it had
/// not heard others yet; or it ended before it could join the one that the others are in.
bool is_astray(const Facts& facts, const WindowPlace& place) {
    const std::int64_t planned = facts.window_ends[place.limit];
    if (planned != 0) {
        return place.end != planned;
    }
    return std::none_of(facts.running.begin(), facts.running.end(), [&](const auto& process) {
        return std::any_of(process.counted.begin(), process.counted.end(), [&](const auto& fact) {
            return fact.limit == place.limit && fact.window_end == place.end;
        });
    });
}

OpenCounts counts_of(const Facts& facts, const ProcessFact& owner) {
    OpenCounts counts;
    for (const WindowCountFact& count : owner.window_counts) {
        const auto process = process_of_run(facts, count.run);
        if (process && count.end > facts.second) {
            counts[open_place(facts, {count.limit, count.end, *process})] += count.admitted;
        }
    }
    return counts;
}

bool runs(const Facts& facts, std::size_t process) {
    return std::any_of(facts.running.begin(), facts.running.end(),
                       [&](const ProcessFact& each) { return each.process == process; });
}

bool owns(const ProcessFact& process, LimitIndex limit) {
    const std::vector<LimitIndex>& owned = process.windows_owned;
    return std::find(owned.begin(), owned.end(), limit) != owned.end();
}

}  // namespace

void WindowsCounted::check_twice(const Facts& facts, const ProcessFact& owner,
                                 Findings& findings) const {
    OpenCounts truths;
    for (const auto& [place, truth] : facts.windows) {
        // An owner may not have heard yet that a window ends a little earlier.
        if (place.end > facts.second - kEndsDiffer) {
            truths[open_place(facts, place)] += truth.admitted;
        }
    }
    const std::string who = facts.name(owner.process);
    for (const WindowCountFact& count : owner.window_counts) {
        if (count.admitted > 0 && !process_of_run(facts, count.run)) {
            findings.add(name(), facts.at,
                         who + ", " + facts.quota(count.limit) + ": a count of run " +
                             std::to_string(count.run) + ", which is none of the fleet's");
        }
    }
    for (const auto& [of, counted] : counts_of(facts, owner)) {
        const auto truth = truths.find(of);
        const double admitted = truth == truths.end() ? 0 : truth->second;
        const bool retold = runs(facts, of.process) && !owns(owner, of.limit);
        if (counted > admitted && !retold) {
            findings.add(name(), facts.at,
                         who + ", " + facts.quota(of.limit) + ": " + std::to_string(counted) +
                             " of " + facts.name(of.process) + ", which admitted " +
                             std::to_string(admitted));
        }
    }
}

void WindowsCounted::check_lost(const Facts& facts, const ProcessFact& owner,
                                Findings& findings) const {
    OpenCounts due;
    for (const auto& [place, truth] : facts.windows) {
        if (place.end > facts.second && !is_astray(facts, place)) {
            due[open_place(facts, place)] += truth.a_second_ago - truth.untold;
        }
    }
    const OpenCounts counts = counts_of(facts, owner);
    for (const auto& [of, admitted] : due) {
        if (!owns(owner, of.limit)) {
            continue;
        }
        const auto count = counts.find(of);
        const double counted = count == counts.end() ? 0 : count->second;
        if (counted < admitted) {
            findings.add(name(), facts.at,
                         facts.name(owner.process) + ", " + facts.quota(of.limit) + ": " +
                             std::to_string(counted) + " of " + facts.name(of.process) +
                             ", which had admitted " + std::to_string(admitted));
        }
    }
}

void WindowsCounted::sample(const Facts& facts, Findings& findings) {
    for (const ProcessFact& process : facts.running) {
        check_twice(facts, process, findings);
        if (facts.calm_for >= kCalm && !process.stopped && !process.uncertain) {
            check_lost(facts, process, findings);
        }
    }
}

}  // namespace weir::sim

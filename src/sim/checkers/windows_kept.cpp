#include "sim/checkers/windows_kept.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace weir::sim {
namespace {

/// Whether at least half of the sidecars are in the window of the limit that ends then.
bool is_usual(const Facts& facts, LimitIndex limit, std::int64_t end) {
    const auto in_it =
        std::count_if(facts.running.begin(), facts.running.end(), [&](const ProcessFact& process) {
            return std::any_of(process.counted.begin(), process.counted.end(),
                               [&](const CountedFact& fact) {
                                   return fact.limit == limit && fact.window_end == end;
                               });
        });
    return 2 * static_cast<std::size_t>(in_it) >= facts.running.size();
}

}  // namespace

void WindowsKept::request(const RequestFact& request) {
    if (request.refused_by) {
        refused_[*request.refused_by] += 1;
    }
}

void WindowsKept::follow(const Facts& facts) {
    for (auto& [window, course] : windows_) {
        course.admitted = course.untold = 0;
    }
    for (const auto& [place, truth] : facts.windows) {
        const Window window{place.limit, place.end};
        if (judged_.contains(window)) {
            continue;
        }
        const double most = facts.limits[place.limit].parameters.low;
        const auto [at, first] = windows_.try_emplace(window);
        Course& course = at->second;
        if (first) {
            course.most = course.least = most;
        }
        course.admitted += truth.admitted;
        course.untold += truth.untold;
    }
    for (auto& [window, course] : windows_) {
        const auto& [limit, end] = window;
        const double most = facts.limits[limit].parameters.low;
        course.most = std::max(course.most, most);
        course.least = std::min(course.least, most);
        course.connected = course.connected && facts.connected_for >= 0;
        if (facts.second > end - kLastSeconds && facts.second <= end) {
            course.refused += refused_[limit];
            course.calm = std::min(course.calm, facts.calm_for);
            course.usual = course.usual && (facts.second == end || is_usual(facts, limit, end));
        }
    }
}

double WindowsKept::allowed(const Facts& facts, const Window& window, const Course& course) {
    const auto& [limit, end] = window;
    const double began = facts.at - static_cast<double>(facts.second - end) -
                         to_seconds(facts.limits[limit].counted->period);
    const auto started =
        std::count_if(facts.ever.begin(), facts.ever.end(),
                      [&](const ProcessTruth& truth) { return truth.began > began; });
    const double each = std::max(1.0, kShare * course.most);
    const double crowd = std::max(0.0, static_cast<double>(facts.running.size()) - course.most);
    return course.most + std::max(kFewMore, kShare * course.most) + course.untold +
           static_cast<double>(started) * each + crowd + (course.connected ? 0 : course.most);
}

void WindowsKept::judge(const Facts& facts, const Window& window, const Course& course,
                        Findings& findings) const {
    const std::string which = facts.quota(window.first) + ", the window until second " +
                              std::to_string(window.second) + ": admitted " +
                              std::to_string(course.admitted);
    if (const double most = allowed(facts, window, course); course.admitted > most) {
        findings.add(name(), facts.at, which + ", at most " + std::to_string(most));
    }
    const double least = course.least - std::max(kFewLess, kShare * course.least);
    const double asked = kAsked * static_cast<double>(facts.running.size());
    if (course.refused >= asked && course.usual && course.calm >= kHandedOut &&
        course.admitted < least) {
        findings.add(name(), facts.at,
                     which + " and refused requests, at least " + std::to_string(least));
    }
}

void WindowsKept::sample(const Facts& facts, Findings& findings) {
    follow(facts);
    for (auto each = windows_.begin(); each != windows_.end();) {
        const auto& [window, course] = *each;
        if (facts.second <= window.second) {
            ++each;
            continue;
        }
        judge(facts, window, course, findings);
        judged_.insert(window);
        each = windows_.erase(each);
    }
    std::fill(refused_.begin(), refused_.end(), 0.0);
}

/// Of a window that has not ended there is no more to come: it may only not be exceeded.
void WindowsKept::settled(const Facts& facts, Findings& findings) {
    follow(facts);
    for (auto& [window, course] : windows_) {
        course.refused = 0;
        judge(facts, window, course, findings);
    }
}

}  // namespace weir::sim

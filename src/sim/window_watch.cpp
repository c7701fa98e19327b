#include "sim/window_watch.h"

#include <algorithm>

#include "sim/look.h"

namespace weir::sim {
namespace {

/// The end of the present window that most processes name; 0 if none is in a window.
std::int64_t usual_end(LimitIndex limit, const Facts& facts) {
    std::map<std::int64_t, int> votes;
    for (const ProcessFact& process : facts.running) {
        for (const CountedFact& fact : process.counted) {
            if (fact.limit == limit && fact.window_end > facts.second) {
                ++votes[fact.window_end];
            }
        }
    }
    const auto most = std::max_element(
        votes.begin(), votes.end(),
        [](const auto& one, const auto& other) { return one.second < other.second; });
    return most == votes.end() ? 0 : most->first;
}

}  // namespace

WindowWatch::WindowWatch(const std::vector<LimitFact>& limits) : limits_(limits) {
    for (const LimitFact& limit : limits) {
        schedules_.push_back(limit.counted && limit.counted->is_window()
                                 ? limiter::WindowSchedule::make(*limit.counted)
                                 : nullptr);
    }
}

std::vector<std::pair<LimitIndex, std::int64_t>> WindowWatch::admitted(
    World& world, std::uint32_t sidecar, std::size_t process, const std::vector<LimitIndex>& chain,
    WindowTruths& truths) {
    std::vector<std::pair<LimitIndex, std::int64_t>> windows;
    const auto second = std::chrono::floor<std::chrono::seconds>(world.wall_clock()).count();
    for (const LimitIndex limit : chain) {
        if (schedules_[limit] == nullptr) {
            continue;
        }
        const auto status = find_status(world.sidecar(sidecar), limits_[limit], world.instant());
        if (!status || status->window_end == 0) {
            continue;  // its quota is off
        }
        const WindowPlace place{limit, status->window_end, process};
        follow(place, second, truths);
        truths[place].admitted += 1;
        std::deque<double>& newest = seen_[{limit, process}].newest;
        newest.push_back(world.now());
        while (newest.front() < world.now() - kTold) {
            newest.pop_front();
        }
        windows.emplace_back(limit, status->window_end);
    }
    return windows;
}

/// Of windows that begin with the first request each process begins its own. It joins the one that
/// ends first when it hears of it, with what it has admitted. A window that a wrong clock has begun
/// ends later than any can, and what was admitted in it is left there.
void WindowWatch::follow(const WindowPlace& place, std::int64_t second, WindowTruths& truths) {
    std::int64_t& last = seen_[{place.limit, place.process}].end;
    const bool joins = limits_[place.limit].counted->from == limiter::WindowStart::first &&
                       last - second <= schedules_[place.limit]->longest() + 1;
    if (joins && last > second && place.end < last) {
        const auto before = truths.find({place.limit, last, place.process});
        if (before != truths.end()) {
            WindowTruth& truth = truths[place];
            truth.admitted += before->second.admitted;
            truth.at_look += before->second.at_look;
            truth.a_second_ago += before->second.a_second_ago;
            truths.erase({place.limit, last, place.process});
        }
    }
    last = place.end;
}

void WindowWatch::ending(World& world, std::uint32_t sidecar, std::size_t process,
                         WindowTruths& truths) {
    const bool said_all = world.sidecar(sidecar).draining && world.connected_for() >= 1;
    for (auto& [place, truth] : truths) {
        const auto seen = seen_.find({place.limit, process});
        if (place.process != process || said_all || seen == seen_.end()) {
            continue;
        }
        const std::deque<double>& newest = seen->second.newest;
        const auto untold = std::count_if(newest.begin(), newest.end(),
                                          [&](double at) { return at >= world.now() - kTold; });
        truth.untold = world.connected_for() >= 1
                           ? std::min(truth.admitted, static_cast<double>(untold))
                           : truth.admitted;
    }
}

/// Where the quota's name decides when windows begin, it is the end that most processes name: how
/// it decides is the limiter's own business.
std::int64_t WindowWatch::planned_end(LimitIndex limit, const Facts& facts) const {
    if (schedules_[limit] == nullptr) {
        return 0;
    }
    switch (limits_[limit].counted->from) {
        case limiter::WindowStart::calendar:
            return schedules_[limit]->at(facts.second, 0).end;
        case limiter::WindowStart::name:
            return usual_end(limit, facts);
        case limiter::WindowStart::first:
            return 0;
    }
    return 0;
}

void WindowWatch::second(Facts& facts) {
    for (const ProcessFact& process : facts.running) {
        for (const CountedFact& fact : process.counted) {
            if (fact.window_end > facts.second) {
                follow({fact.limit, fact.window_end, process.process}, facts.second, facts.windows);
            }
        }
    }
    for (auto& [place, truth] : facts.windows) {
        truth.a_second_ago = truth.at_look;
        truth.at_look = truth.admitted;
    }
    std::erase_if(facts.windows,
                  [&](const auto& each) { return each.first.end + kRemembered < facts.second; });
    facts.window_ends.clear();
    for (LimitIndex limit = 0; limit < limits_.size(); ++limit) {
        facts.window_ends.push_back(planned_end(limit, facts));
    }
}

}  // namespace weir::sim

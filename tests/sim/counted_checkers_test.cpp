// The checkers of limits of windows and of requests in flight are shown to catch what they are for:
// by false facts, one at a time, in facts that are sound otherwise, and in whole runs of fleets
// that keep to another limit than the checkers know.

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "sim/checkers/in_flight_kept.h"
#include "sim/checkers/in_flight_used.h"
#include "sim/checkers/windows_alike.h"
#include "sim/checkers/windows_counted.h"
#include "sim/checkers/windows_kept.h"
#include "sim/fleet.h"
#include "sim/watch.h"

namespace weir::sim {
namespace {

using namespace test;
using limiter::RateLimit;

constexpr std::int64_t kEnd = 1060;  // of the present window, which began in second 1000
constexpr double kMostInMinute = 100;
constexpr std::uint64_t kFirstRun = 71;

LimitFact window_fact() {
    RateLimit limit = RateLimit::in_window(kMostInMinute, std::chrono::minutes(1));
    limit.from = limiter::WindowStart::calendar;
    LimitFact fact{"q", {}, limit.resolved()};
    fact.counted = limit;
    return fact;
}

/// Two sidecars that both own the one limit of windows. The first one has admitted 60 and the
/// second one 40, a while ago, and both know it.
Facts sound_windows() {
    Facts facts;
    facts.at = 150;
    facts.calm_for = facts.connected_for = 150;
    facts.second = kEnd - 5;
    facts.limits = {window_fact()};
    facts.window_ends = {kEnd};
    for (std::uint32_t i = 0; i < 2; ++i) {
        ProcessTruth truth{i, 1, {}, {0}};
        truth.window_run = kFirstRun + i;
        facts.ever.push_back(truth);
        const double admitted = i == 0 ? 60 : 40;
        facts.windows[{0, kEnd, i}] = {admitted, admitted, admitted, 0};
        ProcessFact process;
        process.process = i;
        process.windows_owned = {0};
        process.counted = {{0, admitted, admitted, kEnd}};
        process.window_counts = {{0, kFirstRun, kEnd, 60}, {0, kFirstRun + 1, kEnd, 40}};
        facts.running.push_back(process);
    }
    return facts;
}

template <class TheChecker, class Spoil>
std::size_t window_objections(TheChecker&& checker, const Spoil& spoil) {
    Findings findings;
    Facts facts = sound_windows();
    checker.sample(facts, findings);
    REQUIRE(findings.count() == 0);
    spoil(facts);
    for (int i = 0; i < 8; ++i) {
        checker.sample(facts, findings);
        ++facts.second;
        facts.at += 1;
    }
    return findings.count();
}

TEST_CASE("a window that is exceeded, by all that nothing excuses") {
    const auto with = [](double more, const auto& spoil) {
        return window_objections(WindowsKept{1}, [&](Facts& facts) {
            facts.windows[{0, kEnd, 1}].admitted += more;
            spoil(facts);
        });
    };
    const auto nothing = [](Facts&) {};
    CHECK(with(0, nothing) == 0);
    CHECK(with(2, nothing) == 0);
    CHECK(with(3, nothing) > 0);
    CHECK(with(3, [](Facts& facts) { facts.windows[{0, kEnd, 0}].untold = 1; }) == 0);
    CHECK(with(4, [](Facts& facts) { facts.windows[{0, kEnd, 0}].untold = 1; }) > 0);
    CHECK(with(3, [](Facts& facts) { facts.ever[1].began = facts.at; }) == 0);
    CHECK(with(4, [](Facts& facts) { facts.ever[1].began = facts.at; }) > 0);
    CHECK(with(102, [](Facts& facts) { facts.connected_for = -1; }) == 0);
    CHECK(with(103, [](Facts& facts) { facts.connected_for = -1; }) > 0);
}

TEST_CASE("a window that is not used up while requests are refused") {
    const auto with = [](double less, int refused, double calm) {
        WindowsKept checker(1);
        return window_objections(checker, [&](Facts& facts) {
            facts.windows[{0, kEnd, 1}].admitted -= less;
            facts.calm_for = calm;
            for (int i = 0; i < refused; ++i) {
                checker.request({facts.at, 0, 0, false, false, 0});
            }
        });
    };
    CHECK(with(1, 100, 100) == 0);
    CHECK(with(2, 100, 100) > 0);
    CHECK(with(2, 2, 100) == 0);    // whoever asks rarely gets its part rarely
    CHECK(with(50, 100, 10) == 0);  // a part may be kept for a sidecar that cannot be heard
}

TEST_CASE("windows: nothing is counted twice, for nobody, and nothing is lost") {
    const auto with = [](const auto& spoil) { return window_objections(WindowsCounted{}, spoil); };
    CHECK(with([](Facts&) {}) == 0);
    CHECK(with([](Facts& facts) { facts.running[1].window_counts[0].admitted += 1; }) > 0);
    CHECK(with([](Facts& facts) { facts.running[1].window_counts[0].run = 5; }) > 0);
    CHECK(with([](Facts& facts) { facts.running[1].window_counts[0].admitted -= 1; }) > 0);
    CHECK(with([](Facts& facts) { facts.running[0].window_counts.clear(); }) > 0);
    // What was admitted within the last second need not be known, nor what was told nobody.
    CHECK(with([](Facts& facts) {
              facts.windows[{0, kEnd, 0}].admitted += 1;
              facts.windows[{0, kEnd, 0}].at_look += 1;
          }) == 0);
    CHECK(with([](Facts& facts) {
              facts.running[1].window_counts[0].admitted -= 1;
              facts.windows[{0, kEnd, 0}].untold = 1;
          }) == 0);
    const auto lose = [](Facts& facts) { facts.running[1].window_counts.clear(); };
    CHECK(with([&](Facts& facts) { lose(facts), facts.running[1].windows_owned.clear(); }) == 0);
    CHECK(with([&](Facts& facts) { lose(facts), facts.running[1].uncertain = true; }) == 0);
    CHECK(with([&](Facts& facts) { lose(facts), facts.calm_for = 1; }) == 0);
}

TEST_CASE("windows: one end for all sidecars, and the right one") {
    const auto with = [](const auto& spoil) { return window_objections(WindowsAlike{}, spoil); };
    CHECK(with([](Facts&) {}) == 0);
    const auto differ = [](Facts& facts) { facts.running[1].counted[0].window_end += 1; };
    CHECK(with(differ) > 0);
    CHECK(with([&](Facts& facts) { differ(facts), facts.calm_for = 1; }) == 0);
    CHECK(with([&](Facts& facts) { differ(facts), facts.ever[1].began = facts.at; }) > 0);
    CHECK(with([&](Facts& facts) { differ(facts), facts.running[1].stopped = true; }) == 0);
    CHECK(with([](Facts& facts) { facts.window_ends[0] += 60; }) > 0);
    const auto first = [&](Facts& facts) {
        differ(facts);
        facts.limits[0].counted->from = limiter::WindowStart::first;
        facts.window_ends[0] = 0;
    };
    CHECK(with(first) > 0);
}

FleetLimits in_flight_limits(double most) {
    FleetLimits fleet;
    const RateLimit limit = RateLimit::in_flight(most);
    fleet.limits = {{"q", {}, limit.resolved()}};
    fleet.limits[0].counted = limit;
    fleet.chains = {{0}};
    return fleet;
}

/// Two sidecars that have been running for long.
Facts facts_in_flight(double most) {
    Facts facts;
    facts.limits = in_flight_limits(most).limits;
    facts.calm_for = facts.connected_for = 100;
    for (std::uint32_t i = 0; i < 2; ++i) {
        facts.ever.push_back({i, 1, {}, {0}});
        ProcessFact process;
        process.process = i;
        process.counted = {{0, 0, most / 2, 0}};
        facts.running.push_back(process);
    }
    return facts;
}

TEST_CASE("more in flight than the limit and one for each sidecar") {
    const auto with = [](int begun, const auto& spoil) {
        InFlightKept checker(2, in_flight_limits(10));
        for (int i = 0; i < begun; ++i) {
            checker.request({1, static_cast<std::uint32_t>(i % 2), 0, true});
        }
        Facts facts = facts_in_flight(10);
        facts.at = 2;
        spoil(facts);
        Findings findings;
        checker.sample(facts, findings);
        return findings.count();
    };
    const auto nothing = [](Facts&) {};
    CHECK(with(12, nothing) == 0);
    CHECK(with(13, nothing) > 0);
    const auto split = [](Facts& facts) { facts.connected_for = -1; };
    CHECK(with(22, split) == 0);
    CHECK(with(23, split) > 0);
    const auto started = [](Facts& facts) { facts.ever[1].began = 1; };
    CHECK(with(17, started) == 0);
    CHECK(with(18, started) > 0);
}

TEST_CASE("requests in flight that do not end, in truth or in what a sidecar counts") {
    const auto with = [](int finished, double counted) {
        InFlightKept checker(2, in_flight_limits(10));
        checker.request({1, 0, 0, true});
        checker.request({1, 1, 0, true});
        for (int i = 0; i < finished; ++i) {
            checker.finished({2, 0, 0, true});
        }
        Facts facts = facts_in_flight(10);
        Findings findings;
        checker.ending(facts, facts.running[1], findings);  // and its request with it
        facts.running[0].counted[0].count = counted;
        checker.settled(facts, findings);
        return findings.count();
    };
    CHECK(with(1, 0) == 0);
    CHECK(with(0, 0) > 0);
    CHECK(with(1, 1) > 0);
}

/// Ten seconds of requests for twice what fits, of which `in_flight` are in flight all the time;
/// the second sidecar lets through this share of what the first one does.
std::size_t unused(int in_flight, double share, double calm) {
    InFlightUsed checker(2, in_flight_limits(10));
    Findings findings;
    for (int i = 0; i < in_flight; ++i) {
        checker.request({0, 0, 0, true, i % 2 == 0});
    }
    for (int i = 0; i < 1000; ++i) {
        const double at = i * 0.01;
        const auto sidecar = static_cast<std::uint32_t>(i % 2);
        const bool admitted = i / 2 % 100 < (sidecar == 0 ? 40 : 40 * share);
        RequestFact request{at, sidecar, 0, admitted, i % 10 < 4};
        if (!admitted) {
            request.refused_by = 0;
        }
        checker.request(request);
        if (admitted) {
            checker.finished({at, sidecar, 0, true});
        }
    }
    Facts facts = facts_in_flight(10);
    facts.at = 10;
    facts.calm_for = calm;
    checker.sample(facts, findings);
    return findings.count();
}

TEST_CASE("a limit of requests in flight that is not used, or not by all") {
    CHECK(unused(9, 1, 100) == 0);
    CHECK(unused(7, 1, 100) > 0);
    CHECK(unused(7, 1, 10) == 0);
    CHECK(unused(9, 0.1, 100) > 0);
}

/// What checkers object to when the fleet keeps to `ours` and they know of `theirs`: their names.
std::string deceived(const RateLimit& ours, const RateLimit& theirs) {
    WorldPlan plan = plan_of({.sidecars = 3, .limit = 1, .offered = 40, .seconds = 65, .seed = 1});
    plan.load.takes = 1;
    plan.definitions[0].limits = {ours};
    World world(plan);
    plan.definitions[0].limits = {theirs};
    Watch watch(plan);
    world.watch(&watch);
    REQUIRE(world.run(kMeeting));
    watch.settle(world, 5, 5);
    std::set<std::string> names;
    for (const std::string& text : watch.findings().texts()) {
        names.insert(text.substr(0, text.find(" at ")));
    }
    std::string all;
    for (const std::string& name : names) {
        all += (all.empty() ? "" : ", ") + name;
    }
    return all;
}

TEST_CASE("a fleet that keeps to another limit than it should does not escape the checkers") {
    const auto window = [](double most) {
        RateLimit limit = RateLimit::in_window(most, std::chrono::minutes(1));
        limit.from = limiter::WindowStart::calendar;
        return limit;
    };
    CHECK(deceived(window(500), window(500)) == "");
    CHECK(deceived(window(500), window(450)) == "windows kept");
    CHECK(deceived(window(500), window(550)) == "windows kept");
    CHECK(deceived(RateLimit::in_flight(15), RateLimit::in_flight(15)) == "");
    CHECK(deceived(RateLimit::in_flight(15), RateLimit::in_flight(9)) == "requests in flight");
    CHECK(deceived(RateLimit::in_flight(15), RateLimit::in_flight(19)) ==
          "requests in flight used");
}

}  // namespace
}  // namespace weir::sim

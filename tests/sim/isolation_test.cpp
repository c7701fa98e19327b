// What becomes of a limit while part of the fleet cannot be heard, in each mode: splits of a whole
// simulated fleet, with their figures.

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "sim/fleet.h"
#include "tolerance.h"

namespace weir::sim {
namespace {

using namespace test;
using limiter::IsolationMode;
using testing::plus_minus;

constexpr double kLimit = 600;
constexpr double kSplit = 8;

struct Split {
    IsolationMode mode = IsolationMode::safe;
    std::optional<double> safe;
    double load = 2;
    double seconds = 20;   // how long it lasts
    std::size_t left = 3;  // sidecars on the smaller side, of six
};

/// Six sidecars; at 8 s the fleet falls into two parts.
World& run_split(World& world, const Split& split) {
    world.at(kSplit, [split](World& w) {
        std::vector<bool> side(w.size(), false);
        std::fill_n(side.begin(), split.left, true);
        w.cut(side, split.seconds, false);
    });
    REQUIRE(world.run(kMeeting));
    return world;
}

WorldPlan plan_of_split(const Split& split, std::uint64_t seed) {
    WorldPlan plan = plan_of({.sidecars = 6,
                              .limit = kLimit,
                              .offered = split.load * kLimit,
                              .seconds = kSplit + split.seconds + 10,
                              .seed = seed});
    plan.definitions[0].when_isolated = split.mode;
    plan.definitions[0].limits[0].safe = split.safe;
    // Another quota of the same sidecars goes on whatever becomes of the first.
    plan.definitions.push_back(quota("other", kLimit));
    plan.load.quotas.push_back("other");
    plan.load.shares = {1, 0.1};
    return plan;
}

/// Of the limit, in a second.
double share(const World& world, double from, double to) {
    return world.recorder().admitted_between(from, to, 0) / (kLimit * (to - from));
}

TEST_CASE("safe: each half keeps the share it had for the hold time, then only what is heard") {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        const Split split;
        World world(plan_of_split(split, seed));
        run_split(world, split);
        CHECK(share(world, kSplit + 1, kSplit + 9) == plus_minus(1, 0.08));
        CHECK(share(world, kSplit + 14, kSplit + 20) > 1.7);
        CHECK(share(world, kSplit + 23, kSplit + 29) == plus_minus(1, 0.03));
    }
}

TEST_CASE("optimistic: each half lets the whole limit through as soon as the others are silent") {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        const Split split{.mode = IsolationMode::optimistic, .safe = {}};
        World world(plan_of_split(split, seed));
        run_split(world, split);
        CHECK(share(world, kSplit + 4, kSplit + 10) > 1.7);
        CHECK(share(world, kSplit + 23, kSplit + 29) == plus_minus(1, 0.03));
    }
}

TEST_CASE("safe capacity: each sidecar lets its own rate through for the hold time") {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        const Split split{.safe = 20};
        World world(plan_of_split(split, seed));
        run_split(world, split);
        // Six times twenty of six hundred; as much again in bursts at first.
        CHECK(share(world, kSplit + 5, kSplit + 9) == plus_minus(0.2, 0.03));
        CHECK(share(world, kSplit + 14, kSplit + 20) > 1.7);
        CHECK(share(world, kSplit + 23, kSplit + 29) == plus_minus(1, 0.03));
    }
}

/// Of 0.6 of the limit; the rest is for the other quota.
constexpr double kPassing = 0.6 / 1.1;

TEST_CASE("pessimistic: nothing passes for the hold time, other quotas do not notice") {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        const Split split{.mode = IsolationMode::pessimistic, .safe = {}, .load = 0.6};
        WorldPlan plan = plan_of_split(split, seed);
        keep_awake(plan, 0.15);
        World world(plan);
        std::uint64_t isolated = 0;
        world.at(kSplit + 6, [&isolated](World& w) {
            for (std::uint32_t i = 0; i < w.size(); ++i) {
                isolated += w.sidecar(i).engine().statistics().isolated_limits;
            }
        });
        run_split(world, split);
        CHECK(share(world, kSplit + 3.5, kSplit + 9) == 0);
        CHECK(share(world, kSplit + 14, kSplit + 20) == plus_minus(kPassing, 0.1 * kPassing));
        CHECK(share(world, kSplit + 22, kSplit + 30) == plus_minus(kPassing, 0.1 * kPassing));
        CHECK(isolated >= 6);
        const Recorder& recorder = world.recorder();
        CHECK(recorder.admitted_between(0, 38, 1) == recorder.offered_between(0, 38, 1));
    }
}

TEST_CASE("pessimistic: a healthy fleet refuses nothing, however seldom the limit is used") {
    constexpr std::uint32_t kNames = 300;
    constexpr double kShortest = 0.2;
    constexpr double kLongest = 12;
    constexpr double kEnd = 60;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        WorldPlan plan = plan_of({.sidecars = 3,
                                  .limit = 100,
                                  .offered = 0,
                                  .seconds = kEnd,
                                  .seed = seed,
                                  .name = "q0"});
        plan.record = false;
        double sum = 0;
        for (std::uint32_t i = 0; i < kNames; ++i) {
            if (i > 0) {
                plan.load.quotas.push_back("q" + std::to_string(i));
                plan.definitions.push_back(quota(plan.load.quotas.back(), 100));
            }
            // Intervals of use from the shortest to the longest, each as likely as twice it.
            const double interval = kShortest * std::pow(kLongest / kShortest, i / (kNames - 1.0));
            plan.load.shares.push_back(1 / interval);
            sum += 1 / interval;
            if (i % 2 == 0) {
                plan.definitions[i].when_isolated = IsolationMode::pessimistic;
            } else {
                plan.definitions[i].limits[0].safe = 1;
            }
        }
        plan.load.phases = {{0, sum}};
        World world(plan);
        std::uint64_t offered_in_all = 0;
        std::uint64_t refused_in_all = 0;
        world.observe([&](double, std::uint32_t, std::uint32_t, bool admitted_one) {
            ++offered_in_all;
            refused_in_all += admitted_one ? 0 : 1;
        });
        REQUIRE(world.run(kMeeting));
        std::uint64_t isolations = 0;
        for (std::uint32_t i = 0; i < world.size(); ++i) {
            isolations += world.sidecar(i).engine().statistics().sync.isolations;
        }
        CHECK(offered_in_all > 0.9 * sum * kEnd);
        CHECK(refused_in_all == 0);
        CHECK(isolations == 0);
    }
}

TEST_CASE("one that is cut off alone keeps its share, and in mode pessimistic refuses alone") {
    for (const IsolationMode mode : {IsolationMode::safe, IsolationMode::pessimistic}) {
        for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
            CAPTURE(limiter::kIsolationModeWords[static_cast<std::size_t>(mode)]);
            CAPTURE(seed);
            const Split split{.mode = mode, .safe = {}, .load = 0.9, .left = 1};
            WorldPlan plan = plan_of_split(split, seed);
            keep_awake(plan, 0.2);
            World world(plan);
            double refused_by_others = 0;
            double refused_alone = 0;
            world.observe([&](double at, std::uint32_t sidecar, std::uint32_t quota_number,
                              bool admitted_one) {
                if (admitted_one || quota_number != 0 || at < kSplit) {
                    return;
                }
                ++(sidecar == 0 ? refused_alone : refused_by_others);
            });
            run_split(world, split);
            CHECK(refused_by_others == 0);
            CHECK((refused_alone > 0) == (mode == IsolationMode::pessimistic));
        }
    }
}

TEST_CASE("one of three that was cut off is heard again: the others never refuse for its sake") {
    for (const double length : {3.0, 6.0, 9.0, 14.0}) {
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            CAPTURE(length);
            CAPTURE(seed);
            WorldPlan plan = plan_of({.sidecars = 3,
                                      .limit = kLimit,
                                      .offered = 0.9 * kLimit,
                                      .seconds = 25,
                                      .seed = seed});
            plan.definitions[0].when_isolated = IsolationMode::pessimistic;
            World world(plan);
            double refused_by_others = 0;
            world.observe([&](double, std::uint32_t sidecar, std::uint32_t, bool admitted_one) {
                refused_by_others += !admitted_one && sidecar != 0 ? 1 : 0;
            });
            world.at(5 + 0.013 * static_cast<double>(seed), [length](World& w) {
                w.cut({true, false, false}, length, false);
            });
            REQUIRE(world.run(kMeeting));
            CHECK(refused_by_others == 0);
        }
    }
}

TEST_CASE("limits are told by the silence of their owners, the longest first") {
    WorldPlan plan = plan_of(
        {.sidecars = 4, .limit = kLimit, .offered = 0.5 * kLimit, .seconds = 15, .seed = 1});
    for (const char* name : {"b", "c", "d"}) {
        plan.definitions.push_back(quota(name, kLimit));
    }
    plan.load.quotas = {"q", "b", "c", "d"};
    plan.load.shares = {1, 1, 1, 1};
    keep_awake(plan, 0.03);
    World world(plan);
    std::vector<sync::LimitSilence> before;
    std::vector<sync::LimitSilence> during;
    const auto ask = [](World& w) {
        return w.sidecar(0).engine().silences(3, w.sidecar(0).local(w.instant()));
    };
    world.at(7.9, [&](World& w) { before = ask(w); });
    world.at(8, [](World& w) { w.cut({true, false, false, false}, 10, false); });
    world.at(9.9, [&](World& w) { during = ask(w); });
    REQUIRE(world.run(kMeeting));
    REQUIRE(before.size() == 3);
    REQUIRE(during.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CAPTURE(i);
        CHECK(before[i].owners >= 2);
        CHECK(before[i].believed == before[i].owners);
        CHECK(to_seconds(before[i].silence) < 1.5);
        CHECK(during[i].believed == 0);
        CHECK(to_seconds(during[i].silence) > 1.85);
        if (i > 0) {
            CHECK(during[i - 1].silence >= during[i].silence);
        }
    }
}

TEST_CASE("alone from the start is not isolated: the whole limit holds at once, in every mode") {
    for (const IsolationMode mode :
         {IsolationMode::safe, IsolationMode::optimistic, IsolationMode::pessimistic}) {
        CAPTURE(limiter::kIsolationModeWords[static_cast<std::size_t>(mode)]);
        WorldPlan plan = plan_of(
            {.sidecars = 1, .limit = kLimit, .offered = 0.9 * kLimit, .seconds = 15, .seed = 1});
        plan.definitions[0].when_isolated = mode;
        World world(plan);
        REQUIRE(world.run(kMeeting));
        CHECK(refused(world, 0, 15) == 0);
        CHECK(world.sidecar(0).engine().statistics().isolated_limits == 0);
    }
}

TEST_CASE("a restart of one, a goodbye and a death are no isolation") {
    for (const int what : {0, 1, 2}) {
        CAPTURE(what);
        WorldPlan plan = plan_of(
            {.sidecars = 5, .limit = kLimit, .offered = 0.7 * kLimit, .seconds = 20, .seed = 1});
        plan.definitions[0].when_isolated = IsolationMode::pessimistic;
        World world(plan);
        world.at(8, [what](World& w) {
            if (what == 0) {
                w.restart(1);
            }
            if (what == 1) {
                w.say_goodbye(1);
            }
            if (what == 2) {
                w.kill(1);
            }
        });
        REQUIRE(world.run(kMeeting));
        CHECK(refused(world, 0, 20) == 0);
    }
}

}  // namespace
}  // namespace weir::sim

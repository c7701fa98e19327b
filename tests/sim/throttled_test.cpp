// Overload of owners: on pods that run for 20 of every 100 ms, and with more reporters than they
// have datagrams for. Limits may soften as with any other fault, and it shows.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/fleet.h"
#include "sim/story.h"
#include "tolerance.h"

namespace weir::sim {
namespace {

using namespace test;
using testing::plus_minus;

constexpr double kLimit = 1000;
constexpr double kSettled = 5;
constexpr double kEnd = 20;

bool holds(const std::vector<std::uint32_t>& numbers, std::uint32_t number) {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

/// Owners that stand still for `stopped` of every `period` seconds; without a period they run.
struct Throttle {
    std::size_t owners = 0;
    double stopped = 0;
    double period = 0;
    bool often = false;  // owners tell each other as often as others do, whatever is lost
};

struct Outcome {
    double mean = 0;
    ValueRange second;
    double refused = 0;    // of what was offered
    double staleness = 0;  // the mean, of all but these owners
    double stalest = 0;
    std::size_t samples = 0;
};

Outcome run_with(std::uint32_t sidecars, double load, const Throttle& throttle,
                 std::uint64_t seed) {
    WorldPlan plan = plan_of({.sidecars = sidecars,
                              .limit = kLimit,
                              .offered = load * kLimit,
                              .seconds = kEnd,
                              .seed = seed});
    keep_awake(plan, 0.3);
    if (throttle.often) {
        plan.sync.steady_after = std::chrono::hours(1);
    }
    World world(plan);
    std::vector<std::uint32_t> slow;
    world.at(0.5, [&](World& w) {
        slow = w.owners_of("q");
        slow.resize(throttle.owners);
        for (std::size_t i = 0; i < slow.size() && throttle.period > 0; ++i) {
            w.action_at(0.5 + 0.37 * throttle.period * static_cast<double>(i),
                        [owner = slow[i], &throttle](World& again) {
                            again.throttle(owner, throttle.stopped, throttle.period, kEnd);
                        });
        }
    });
    Outcome outcome;
    for (double at = kSettled; at < kEnd; at += 0.013) {
        world.at(at, [&](World& w) {
            for (std::uint32_t i = 0; i < w.size(); ++i) {
                if (holds(slow, i)) {
                    continue;
                }
                const double age = to_seconds(w.sidecar(i).engine().statistics().staleness);
                outcome.staleness += age;
                outcome.stalest = std::max(outcome.stalest, age);
                ++outcome.samples;
            }
        });
    }
    REQUIRE(world.run(kMeeting));
    outcome.staleness /= static_cast<double>(std::max<std::size_t>(1, outcome.samples));
    outcome.mean = admitted(world, kSettled, kEnd) / (kLimit * (kEnd - kSettled));
    const auto seconds = world.recorder().admitted_seconds(kSettled, kEnd, Recorder::kAnyQuota);
    outcome.second = {seconds.least / kLimit, seconds.most / kLimit};
    outcome.refused = refused(world, 0, kEnd) / offered(world, 0, kEnd);
    return outcome;
}

TEST_CASE("owners that run for 20 of every 100 ms: the limit holds, staleness shows them") {
    for (const std::uint32_t sidecars : {3u, 10u}) {
        for (const double load : {0.95, 2.0}) {
            for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
                CAPTURE(sidecars);
                CAPTURE(load);
                CAPTURE(seed);
                // Of three everybody is an owner: one, so that there are others.
                const std::size_t owners = sidecars == 3 ? 1 : 3;
                const Outcome quick = run_with(sidecars, load, {owners, 0, 0}, seed);
                const Outcome slow = run_with(sidecars, load, {owners, 0.08, 0.1}, seed);
                MESSAGE("staleness " << quick.staleness << ", largest " << quick.stalest
                                     << ", throttled " << slow.staleness << ", largest "
                                     << slow.stalest << ", mean " << slow.mean << ", seconds "
                                     << slow.second.least << " … " << slow.second.most);
                REQUIRE(quick.samples == slow.samples);
                if (load < 1) {
                    CHECK(slow.refused <= 0.001);
                }
                if (load > 1) {
                    CHECK(slow.mean == plus_minus(1, 0.02));
                    CHECK(slow.second.least >= 0.9);
                    CHECK(slow.second.most <= 1.1);
                }
                if (sidecars > 3) {
                    CHECK(slow.staleness > 1.2 * quick.staleness);
                }
                // What a throttled one of three owners tells shows in the largest ages only, and
                // only where owners do not tell each other more seldom than they tell it.
                if (sidecars == 3) {
                    const Outcome often = run_with(sidecars, load, {owners, 0, 0, true}, seed);
                    const Outcome slow_often =
                        run_with(sidecars, load, {owners, 0.08, 0.1, true}, seed);
                    CHECK(slow_often.stalest > 1.1 * often.stalest);
                    CHECK(quick.stalest < 0.6);
                    CHECK(slow.stalest < 0.6);
                }
            }
        }
    }
}

struct Crowd {
    double mean = 0;
    double busiest = 0;  // datagrams a second of the owner with most, of the direction with more
    double asked = 1;    // paces at the end
    double followed = 1;
};

/// 60 reporters of one quota at 5x; each owner is to have so many datagrams a second each way.
Crowd run_crowd(std::uint32_t budget, std::uint64_t seed) {
    constexpr double kPaced = 20;  // by then
    constexpr double kUntil = 40;
    WorldPlan plan = plan_of(
        {.sidecars = 60, .limit = kLimit, .offered = 5 * kLimit, .seconds = kUntil, .seed = seed});
    plan.sync.datagrams_per_second = budget;
    World world(plan);
    Crowd crowd;
    std::vector<double> before;
    const auto datagrams = [](World& w, std::uint32_t number) {
        const engine::EngineStatistics now = w.sidecar(number).engine().statistics();
        return static_cast<double>(std::max(now.datagrams_in, now.datagrams_out));
    };
    world.at(kPaced, [&](World& w) {
        for (std::uint32_t i = 0; i < w.size(); ++i) {
            before.push_back(datagrams(w, i));
        }
    });
    world.at(kUntil - 0.01, [&](World& w) {
        for (std::uint32_t i = 0; i < w.size(); ++i) {
            const engine::EngineStatistics now = w.sidecar(i).engine().statistics();
            const double rate = (datagrams(w, i) - before[i]) / (kUntil - kPaced);
            crowd.busiest = std::max(crowd.busiest, rate);
            crowd.asked = std::max(crowd.asked, now.pace_asked);
            crowd.followed = std::max(crowd.followed, now.pace_followed);
        }
    });
    REQUIRE(world.run(kMeeting));
    crowd.mean = admitted(world, kPaced, kUntil) / (kLimit * (kUntil - kPaced));
    return crowd;
}

TEST_CASE("an owner with more reporters than datagrams paces them; the limit holds") {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        const Crowd free = run_crowd(5000, seed);
        CHECK(free.asked == 1);
        CHECK(free.followed == 1);
        CHECK(free.mean == plus_minus(1, 0.02));
        for (const std::uint32_t budget : {60u, 40u}) {
            CAPTURE(budget);
            const Crowd paced = run_crowd(budget, seed);
            MESSAGE("mean " << paced.mean << ", " << paced.busiest
                            << " datagrams a second (without " << free.busiest << "), pace "
                            << paced.asked << ", followed " << paced.followed);
            CHECK(free.busiest > budget);
            CHECK(paced.busiest <= budget);
            CHECK(paced.asked > 1);
            CHECK(paced.followed > 1);
            CHECK(paced.mean == plus_minus(1, 0.02));
        }
    }
}

}  // namespace
}  // namespace weir::sim

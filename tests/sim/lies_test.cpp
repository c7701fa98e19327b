// Robustness 47 in a whole fleet: a member that holds the key lies about counters, clocks and
// definitions. What it says is clamped or refused and it is named; a quota is closed for no longer
// than ceiling/rate after the lying stops.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/fleet.h"
#include "sim/liar.h"
#include "tolerance.h"

namespace weir::sim {
namespace {

using namespace test;
using testing::plus_minus;
using tools::Lie;

constexpr std::uint32_t kSidecars = 3;
constexpr double kLimit = 200;
constexpr double kBegin = 5;
constexpr double kStop = 9;
constexpr double kEnd = 16;
/// High is two seconds of the rate, the debt 0.2 s.
constexpr double kCeilingSeconds = 2.2;
/// What the liar's last word takes to be spent: a round trip and the ticks.
constexpr double kMargin = 0.3;

struct Outcome {
    double refused_during = 0;
    double refused_after = 0;  // later than ceiling/rate
    bool named = false;
    bool owned = false;
    std::size_t peers = 0;
    std::map<std::string, std::uint64_t> rejected;
    sync::SyncStatistics sync;
};

/// At 0.6x: four seconds of lies, ten a second. `vanishes`: the liar dies with its last lie.
Outcome run_lie(Lie lie, const std::string& quota_name, bool vanishes, std::uint64_t seed) {
    WorldPlan plan = plan_of({.sidecars = kSidecars,
                              .limit = kLimit,
                              .offered = 0.6 * kLimit,
                              .seconds = kEnd,
                              .seed = seed,
                              .name = quota_name});
    keep_awake(plan, 0.2);
    World world(plan);
    Liar liar(world, seed);
    Outcome outcome;
    for (double at = kBegin; at < kStop; at += 0.1) {
        world.at(at, [&](World& w) { liar.tell(w, lie, quota_name); });
    }
    world.at(kStop, [&](World&) {
        outcome.owned = liar.peer().owns(quota_name);
        outcome.peers = liar.peer().peers();
        if (vanishes) {
            liar.vanish();
        }
    });
    REQUIRE(world.run(kMeeting));
    CHECK(refused(world, 0, kBegin) == 0);
    outcome.refused_during = refused(world, kBegin, kStop);
    outcome.refused_after = refused(world, kStop + kCeilingSeconds + kMargin, kEnd);
    for (std::uint32_t i = 0; i < kSidecars; ++i) {
        const auto statistics = world.sidecar(i).engine().statistics();
        for (const sync::PeerRefusals& refusals : statistics.refused_by_peer) {
            CHECK(refusals.peer == liar.peer().address());
            outcome.named = true;
        }
        for (const auto& [reason, count] : statistics.rejected) {
            outcome.rejected[reason] += count;
        }
        outcome.sync = statistics.sync;
    }
    return outcome;
}

/// A quota of which the liar is an owner, if it is to be one.
std::string quota_of(bool owned_by_liar, std::uint64_t seed) {
    for (int i = 0; i < 20; ++i) {
        const std::string name = "q" + std::to_string(i);
        if (run_lie(Lie::future_clock, name, false, seed).owned == owned_by_liar) {
            return name;
        }
    }
    return "q";
}

/// Whether its teller is named: it cannot be true, and so is refused or clamped, or no other owner
/// tells anything like it. The others can be: parameters that nobody asked for, a clock that leaps
/// by itself, rumours, which may be told on, limits that only one uses.
bool is_named(Lie lie) {
    return lie != Lie::huge_hint && lie != Lie::wrong_parameters && lie != Lie::future_clock &&
           lie != Lie::invented_limits && lie != Lie::named_limits;
}

/// Whether requests may be refused for as long as the lying goes on: an owner's word that can be,
/// and load that is claimed in counts (of a huge rate only the counts are believed).
bool may_harm(Lie lie) {
    return lie == Lie::busy_total || lie == Lie::falling_counts || lie == Lie::huge_rate;
}

TEST_CASE("robustness 47: whatever one lying peer says, the quota is open again in ceiling/rate") {
    const std::string quota_name = quota_of(true, 1);
    for (const Lie lie : tools::kLies) {
        for (const bool vanishes : {false, true}) {
            for (std::uint64_t seed = 1; seed <= 2; ++seed) {
                CAPTURE(to_string(lie));
                CAPTURE(vanishes);
                CAPTURE(seed);
                const Outcome outcome = run_lie(lie, quota_name, vanishes, seed);
                CHECK(outcome.peers == kSidecars);
                CHECK(outcome.refused_after == 0);
                CHECK(outcome.named == is_named(lie));
                if (!may_harm(lie)) {
                    CHECK(outcome.refused_during == 0);
                }
            }
        }
    }
}

std::size_t most_owned(World& world) {
    std::size_t most = 0;
    for (std::uint32_t i = 0; i < kSidecars; ++i) {
        most = std::max(most, world.sidecar(i).engine().statistics().owned_limits);
    }
    return most;
}

/// Limits that an owner has at most, with the last lie and so much later.
std::pair<std::size_t, std::size_t> owned_after(Lie lie, double seconds) {
    WorldPlan plan = plan_of({.sidecars = kSidecars,
                              .limit = kLimit,
                              .offered = 20,
                              .seconds = kStop + seconds,
                              .seed = 1});
    plan.sync.told_memory = std::chrono::seconds(100);  // as two hours are, only sooner
    World world(plan);
    Liar liar(world, 1);
    std::size_t during = 0;
    for (double at = kBegin; at < kStop; at += 0.1) {
        world.at(at, [&](World& w) { liar.tell(w, lie, "q"); });
    }
    world.at(kStop, [&](World& w) { during = most_owned(w); });
    REQUIRE(world.run(kMeeting));
    CHECK(refused(world, 0, kStop + seconds) == 0);
    return {during, most_owned(world)};
}

TEST_CASE("robustness 47: owners forget the limits that a lying peer invented") {
    const auto [nameless, later] = owned_after(Lie::invented_limits, 80);
    CHECK(nameless > 1000);
    CHECK(later == 0);  // the one in use is quiet
    // Whoever tells what they are may be honest: these are kept while origins remember theirs.
    const auto [named, much_later] = owned_after(Lie::named_limits, 105);
    CHECK(named > 1000);
    CHECK(much_later == 0);
}

TEST_CASE("robustness 47: a table full of invented limits has room again for those in use") {
    constexpr double kAfter = kStop + 80;
    constexpr double kPerSidecar = 3 * kLimit / kSidecars;
    for (const Lie lie : {Lie::invented_limits, Lie::named_limits}) {
        CAPTURE(to_string(lie));
        WorldPlan plan = plan_of({.sidecars = kSidecars,
                                  .limit = kLimit,
                                  .offered = 20,
                                  .seconds = kAfter + 15,
                                  .seed = 1});
        plan.sync.maximum_owned_limits = 1000;
        plan.definitions.push_back(quota("late", kLimit));
        World world(plan);
        Liar liar(world, 1);
        for (double at = kBegin; at < kStop; at += 0.1) {
            world.at(at, [&](World& w) { liar.tell(w, lie, "q"); });
        }
        double passed = 0;
        for (double at = kAfter; at < kAfter + 15; at += 1 / kPerSidecar) {
            world.at(at, [&, at](World& w) {
                for (std::uint32_t i = 0; i < kSidecars; ++i) {
                    const bool pass = w.sidecar(i).offer("late", w.instant());
                    if (pass && at >= kAfter + 5) {
                        ++passed;
                    }
                }
            });
        }
        REQUIRE(world.run(kMeeting));
        CHECK(passed / (10 * kLimit) == plus_minus(1, 0.03));
    }
}

TEST_CASE("no load, no loss and no silence makes an honest owner a liar") {
    for (const double skew : {0.0, 0.9}) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            CAPTURE(skew);
            CAPTURE(seed);
            WorldPlan plan =
                plan_of({.sidecars = 6, .limit = 20, .offered = 10, .seconds = 40, .seed = seed});
            plan.load.phases = {{0, 10}, {5, 5000}, {25, 1}};
            plan.load.skew = skew;
            plan.faults.loss = 0.3;
            World world(plan);
            world.at(10, [](World& w) { w.stop(1, 5); });
            world.at(12, [](World& w) { w.restart(2); });
            world.at(17, [](World& w) {
                w.cut({true, false, true, false, true, false}, 6, false);
            });
            REQUIRE(world.run(kMeeting));
            for (std::uint32_t i = 0; i < world.size(); ++i) {
                const auto statistics = world.sidecar(i).engine().statistics();
                CAPTURE(i);
                CHECK(statistics.refused_by_peer.empty());
            }
        }
    }
}

}  // namespace
}  // namespace weir::sim

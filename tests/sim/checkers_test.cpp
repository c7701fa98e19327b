// Each checker of the simulator is shown to catch what it is for: by false facts, one at a time, in
// facts that are sound otherwise, and by a peer that lies to a fleet which is watched.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "sim/checkers/below_ceiling.h"
#include "sim/checkers/bounded_memory.h"
#include "sim/checkers/cells_grow.h"
#include "sim/checkers/counted_once.h"
#include "sim/checkers/no_more_refused.h"
#include "sim/checkers/nobody_starved.h"
#include "sim/checkers/nothing_lost.h"
#include "sim/checkers/owners_alike.h"
#include "sim/fleet.h"
#include "sim/liar.h"
#include "sim/watch.h"

namespace weir::sim {
namespace {

using namespace test;
using sync::WeightFate;
using tools::Lie;

constexpr std::uint32_t kRun = 7;
constexpr double kAdmitted = 50;

/// Two sidecars that both own the one limit. The first one has let through kAdmitted and has told
/// both of it.
Facts sound_facts() {
    Facts facts;
    facts.at = 100;
    facts.calm_for = 100;
    facts.limits = {{"q", {}, {100, 100, 200, -1, {}}}};
    facts.ever = {{0, 1, {}, {kAdmitted}}, {1, 1, {}, {0}}};
    facts.runs = {{{0, kRun}, 0}};
    for (std::uint32_t i = 0; i < 2; ++i) {
        ProcessFact process;
        process.process = i;
        process.address = SimulatedSidecar::address_of(i);
        process.incarnation = i + 1;
        process.live = 1;
        process.members = 2;
        OwnedFact owned{0, 3, facts.limits[0].parameters, 20, true, true, {}, {}};
        owned.told[WeightFate::counted] = kAdmitted;
        owned.cells = {{kRun, kAdmitted, 0, kAdmitted}};
        process.owned = {owned};
        facts.running.push_back(process);
    }
    UsedFact used{0, kRun, kAdmitted, facts.limits[0].parameters, true, 0, {}};
    for (std::uint32_t i = 0; i < 2; ++i) {
        used.views.push_back({SimulatedSidecar::address_of(i), i + 1, 3, kAdmitted, 0, 20});
    }
    facts.running[0].used = {used};
    return facts;
}

/// What the checker objects to in these facts, seen twice as in a run, with `spoil` in between.
template <class TheChecker, class Spoil>
std::size_t objections(TheChecker&& checker, const Spoil& spoil) {
    Findings findings;
    Facts facts = sound_facts();
    checker.sample(facts, findings);
    checker.settled(facts, findings);
    REQUIRE(findings.count() == 0);
    spoil(facts);
    checker.sample(facts, findings);
    checker.settled(facts, findings);
    return findings.count();
}

TEST_CASE("nothing counted twice: a cell above the truth, an invented run, a level that had more") {
    CHECK(objections(CountedOnce{}, [](Facts&) {}) == 0);
    CHECK(objections(CountedOnce{},
                     [](Facts& facts) { facts.running[1].owned[0].cells[0].admitted += 1; }) > 0);
    CHECK(objections(CountedOnce{},
                     [](Facts& facts) { facts.running[1].owned[0].cells[0].run += 1; }) > 0);
    CHECK(objections(CountedOnce{}, [](Facts& facts) {
              facts.running[1].owned[0].told[WeightFate::counted] += 1;
          }) > 0);
    // What drained before it was known not to have come does not count.
    CHECK(objections(CountedOnce{}, [](Facts& facts) {
              facts.running[1].owned[0].told[WeightFate::counted] += 1;
              facts.running[1].owned[0].told[WeightFate::drained] += 1;
          }) == 0);
}

TEST_CASE("nothing lost: a cell below what was acknowledged, or told, or let through") {
    CHECK(objections(NothingLost{}, [](Facts&) {}) == 0);
    const auto cell_falls_by = [](double weight) {
        return [weight](Facts& facts) {
            facts.running[1].owned[0].cells[0].admitted -= weight;
            facts.running[1].owned[0].told[WeightFate::counted] -= weight;
        };
    };
    CHECK(objections(NothingLost{}, cell_falls_by(1)) > 0);
    CHECK(objections(NothingLost{}, [](Facts& facts) {
              facts.running[1].owned[0].cells.clear();
              facts.running[1].owned[0].told[WeightFate::forgotten] += kAdmitted;
          }) > 0);
    // Let through and in no count: more than can drain before a limit is met.
    CHECK(objections(NothingLost{}, [](Facts& facts) { facts.ever[0].admitted[0] += 5; }) > 0);
    // Counted, and never let through.
    CHECK(objections(NothingLost{}, [](Facts& facts) { facts.ever[0].admitted[0] -= 1; }) > 0);
}

TEST_CASE("nothing lost: what was told is in the level or forgiven by a rule, each by itself") {
    const auto told_by = [](WeightFate fate, double weight) {
        return objections(NothingLost{}, [&](Facts& facts) {
            facts.running[1].owned[0].told[WeightFate::counted] -= 10;
            facts.running[1].owned[0].told[fate] += weight;
        });
    };
    for (const WeightFate fate :
         {WeightFate::first_sight, WeightFate::late, WeightFate::ceiling, WeightFate::refused}) {
        CHECK(told_by(fate, 10) == 0);
        CHECK(told_by(fate, 9) > 0);
        CHECK(told_by(fate, 11) > 0);
    }
    CHECK(told_by(WeightFate::forgotten, 0) > 0);
}

TEST_CASE("nothing lost: at a kill what was acknowledged stays, what was not told may go") {
    for (const double acknowledged : {40.0, 41.0}) {
        Facts facts = sound_facts();
        for (ProcessFact& process : facts.running) {
            process.owned[0].cells[0].admitted = 40;
            process.owned[0].told[WeightFate::counted] = 40;
        }
        for (ViewFact& view : facts.running[0].used[0].views) {
            view.acknowledged = acknowledged;
        }
        NothingLost checker;
        Findings findings;
        checker.ending(facts, facts.running[0], findings);
        CHECK((findings.count() > 0) == (acknowledged > 40));
    }
}

TEST_CASE("cells only grow: each of its counts, within a run and a life") {
    CHECK(objections(CellsGrow{}, [](Facts&) {}) == 0);
    CHECK(objections(CellsGrow{},
                     [](Facts& facts) { facts.running[0].owned[0].cells[0].admitted -= 1; }) > 0);
    CHECK(objections(CellsGrow{},
                     [](Facts& facts) { facts.running[0].owned[0].cells[0].offered -= 1; }) > 0);
    CHECK(objections(CellsGrow{}, [](Facts& facts) {
              facts.running[0].owned[0].cells[0].admitted = 0;
              facts.running[0].owned[0].life += 1;
          }) == 0);
}

TEST_CASE("levels below the ceiling: an owner's and a believed one") {
    constexpr double kCeiling = 220;  // high, and 0.2 s of the rate
    for (const double above : {-0.5, 0.5}) {
        CHECK((objections(BelowCeiling{}, [&](Facts& facts) {
                   facts.running[0].owned[0].level = kCeiling + above;
               }) > 0) == (above > 0));
        CHECK((objections(BelowCeiling{}, [&](Facts& facts) {
                   facts.running[0].used[0].views[1].level = kCeiling + above;
               }) > 0) == (above > 0));
    }
}

TEST_CASE("memory within its bounds: limits, cells and members that nobody stands for") {
    CHECK(objections(BoundedMemory{}, [](Facts&) {}) == 0);
    CHECK(objections(BoundedMemory{}, [](Facts& facts) {
              facts.running[0].owned.push_back(facts.running[0].owned[0]);
          }) > 0);
    CHECK(objections(BoundedMemory{}, [](Facts& facts) {
              facts.running[0].used.push_back(facts.running[0].used[0]);
          }) > 0);
    CHECK(objections(BoundedMemory{},
                     [](Facts& facts) { facts.running[0].owned[0].cells.resize(3); }) > 0);
    CHECK(objections(BoundedMemory{}, [](Facts& facts) { facts.running[0].members = 9; }) > 0);
    // A cell of a process that ended long ago.
    const auto ended = [](double ago) {
        return [ago](Facts& facts) {
            facts.ever.push_back({1, 2, facts.at - ago, {0}});
            facts.running[0].owned[0].cells.resize(3);
        };
    };
    CHECK(objections(BoundedMemory{}, ended(60)) == 0);
    CHECK(objections(BoundedMemory{}, ended(90)) > 0);
}

TEST_CASE("owners alike: members, definitions, levels, cells; not while there are faults") {
    CHECK(objections(OwnersAlike{}, [](Facts&) {}) == 0);
    CHECK(objections(OwnersAlike{}, [](Facts& facts) { facts.running[0].live = 0; }) > 0);
    CHECK(objections(OwnersAlike{}, [](Facts& facts) { facts.running[0].definitions = 5; }) > 0);
    CHECK(objections(OwnersAlike{}, [](Facts& facts) { facts.running[0].owned[0].level = 55; }) >
          0);
    CHECK(objections(OwnersAlike{},
                     [](Facts& facts) { facts.running[0].owned[0].cells[0].offered += 1; }) > 0);
    Findings findings;
    Facts facts = sound_facts();
    facts.running[0].owned[0].level = 55;
    facts.calm_for = 5;
    OwnersAlike{}.sample(facts, findings);
    CHECK(findings.count() == 0);
}

/// Whether owners object to levels that are 35 apart, so long after the last fault, of a limit of
/// 100/s that is offered so much. `alike_before`: once since the fault they were not apart.
bool objects(double offered, double calm_for, bool alike_before) {
    OwnersAlike checker;
    Findings findings;
    Facts facts = sound_facts();
    facts.limits[0].offered = offered;
    if (alike_before) {
        facts.calm_for = calm_for - 1;
        checker.sample(facts, findings);
    }
    facts.calm_for = calm_for;
    facts.running[0].owned[0].level = 55;
    checker.sample(facts, findings);
    return findings.count() > 0;
}

TEST_CASE("owners alike: levels have the time that the limit needs to drain, and no more") {
    CHECK(OwnersAlike::drain_seconds(20, 10, 0) == doctest::Approx(2));
    CHECK(OwnersAlike::drain_seconds(20, 10, 10) == 0);
    // The root of T, of 20 + 2 sqrt(8 T) - 2 T = 0.
    const double seconds = OwnersAlike::drain_seconds(20, 10, 8);
    CHECK(20 + 2 * std::sqrt(8 * seconds) - 2 * seconds == doctest::Approx(0).epsilon(0.001));
    CHECK(!objects(0, 15, false));
    CHECK(objects(0, 25, false));
    // At 5/s, with chance, 55 take 34 s behind the 20 s that all have.
    CHECK(!objects(95, 50, false));
    CHECK(objects(95, 55, false));
    CHECK(objects(95, 25, true));
    // Where the load holds the level there is nothing to wait for.
    CHECK(objects(120, 25, false));
}

/// Ten seconds of requests to two sidecars, which let through such shares of them.
std::size_t starved(double first_share, double second_share, double calm_for) {
    FleetLimits fleet;
    fleet.limits = sound_facts().limits;
    fleet.chains = {{0}};
    NobodyStarved checker(2, fleet);
    for (int i = 0; i < 1000; ++i) {
        const auto sidecar = static_cast<std::uint32_t>(i % 2);
        const double share = sidecar == 0 ? first_share : second_share;
        const bool admitted = i / 2 % 100 < share * 100;
        checker.request({i * 0.01, sidecar, 0, admitted, i % 10 < 8});
    }
    Facts facts = sound_facts();
    facts.calm_for = calm_for;
    Findings findings;
    checker.sample(facts, findings);
    return findings.count();
}

TEST_CASE("nobody starved: neither a quota of the fleet nor one sidecar's part of it") {
    CHECK(starved(0.8, 0.8, 100) == 0);
    CHECK(starved(0.2, 0.2, 100) > 0);  // the quota is nearly closed
    CHECK(starved(0.2, 0.2, -1) > 0);   // during a fault, too
    CHECK(starved(0.0, 1.0, 100) > 0);  // one sidecar is
    CHECK(starved(0.0, 1.0, -1) == 0);  // which may have been stopped
}

std::size_t more_refused(bool below, int refused) {
    NoMoreRefused checker({below});
    for (int i = 0; i < 10'000; ++i) {
        checker.request({i * 0.01, 0, 0, i >= refused, i >= 20});
    }
    Findings findings;
    checker.settled(sound_facts(), findings);
    return findings.count();
}

TEST_CASE("no more refused: than by one central bucket and one in a thousand, where promised") {
    CHECK(more_refused(true, 31) == 0);
    CHECK(more_refused(true, 32) > 0);
    CHECK(more_refused(false, 5000) == 0);
}

TEST_CASE("the promise is for leaves whose whole chain is below its limits in every phase") {
    std::vector<limiter::QuotaDefinition> definitions = {quota("p", 100), quota("p/a", 60),
                                                         quota("p/b", 60), quota("c", 10)};
    definitions[1].parent = definitions[2].parent = "p";
    LoadPlan load;
    load.quotas = {"p/a", "p/b", "c"};
    load.shares = {50, 40, 9};
    load.phases = {{0, 99}};
    const auto below = [&] { return leaves_below_their_limits(find_limits(load, definitions)); };
    CHECK(below() == std::vector<bool>{true, true, true});
    load.phases = {{0, 99}, {5, 110}};  // "p" is offered 100
    CHECK(below() == std::vector<bool>{false, false, false});
    load.phases = {{0, 90}, {5, 99, {50, 20, 29}}};
    CHECK(below() == std::vector<bool>{true, true, false});
}

/// The checkers that object to a fleet with such a liar in it.
std::set<std::string> objectors(Lie lie) {
    constexpr double kEnd = 20;
    constexpr double kRate = 200;
    WorldPlan plan = plan_of(
        {.sidecars = 3, .limit = kRate, .offered = 0.6 * kRate, .seconds = kEnd, .seed = 1});
    keep_awake(plan, 0.2);
    World world(plan);
    Watch watch(plan);
    world.watch(&watch);
    Liar liar(world, 1);
    for (double at = 5; at < kEnd; at += 0.1) {
        world.at(at, [&](World& w) { liar.tell(w, lie, "q"); });
    }
    REQUIRE(world.run(kMeeting));
    watch.settle(world, 1, 1);
    std::set<std::string> names;
    for (const std::string& text : watch.findings().texts()) {
        names.insert(text.substr(0, text.find(" at ")));
    }
    return names;
}

TEST_CASE("a lying peer does not escape the checkers") {
    // Counts that nobody made, in cells of a process that is none of the fleet's.
    for (const Lie lie : {Lie::falling_counts, Lie::leaping_counts, Lie::huge_rate,
                          Lie::invented_limits, Lie::named_limits}) {
        CAPTURE(to_string(lie));
        const std::set<std::string> names = objectors(lie);
        CHECK(names.contains("nothing counted twice"));
        CHECK(names.contains("memory within its bounds"));
    }
    // A quota that an owner's word closes.
    const std::set<std::string> names = objectors(Lie::busy_total);
    CHECK(names.contains("nobody starved"));
    CHECK(names.contains("no more refused"));
    // What is clamped or refused changes nothing; but there is one member too many.
    for (const Lie lie : {Lie::counts_beyond, Lie::not_a_number, Lie::infinite_rate,
                          Lie::huge_total, Lie::huge_handover, Lie::huge_hint,
                          Lie::wrong_parameters, Lie::future_clock, Lie::future_epoch}) {
        CAPTURE(to_string(lie));
        CHECK(objectors(lie) == std::set<std::string>{"owners alike after healing"});
    }
}

}  // namespace
}  // namespace weir::sim

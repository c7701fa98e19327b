// Fair shedding between the children of a parent, in fleets: each child is admitted what max-min
// fairness gives it, and the parent's total stays what it is without.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "limiter/water_line.h"
#include "sim/fleet.h"
#include "sim/watch.h"

namespace weir::sim {
namespace {

using namespace test;

constexpr double kFrom = 10;
constexpr double kTo = 30;

struct Family {
    std::uint32_t sidecars = 3;
    double limit = 1000;               // of the parent, requests a second
    std::vector<double> offered = {};  // by each child
    std::vector<double> shares = {};
    double home = 0;  // the share of each child's load that one sidecar gets
    double loss = 0;
    bool fair = true;
    double child_limit = 0;  // requests a second; 0 = children have no limit
    bool watched = true;     // by the checkers

    [[nodiscard]] double share(std::size_t child) const {
        return shares.empty() ? 1 : shares[child];
    }
    [[nodiscard]] double sum() const {
        double all = 0;
        for (const double rate : offered) {
            all += rate;
        }
        return all;
    }
};

/// What max-min fairness gives each child, by trying lines.
std::vector<double> ideal_of(const Family& family, const std::vector<double>& offered) {
    double least = 0;
    double most = 1e9;
    for (int i = 0; i < 100; ++i) {
        const double line = (least + most) / 2;
        double sum = 0;
        for (std::size_t child = 0; child < offered.size(); ++child) {
            sum += std::min(offered[child], line * family.share(child));
        }
        (sum < family.limit ? least : most) = line;
    }
    std::vector<double> ideal;
    for (std::size_t child = 0; child < offered.size(); ++child) {
        ideal.push_back(std::min(offered[child], least * family.share(child)));
    }
    return ideal;
}

struct Outcome {
    std::vector<double> offered;   // a second
    std::vector<double> admitted;  // a second
    std::vector<double> ideal;
    double total = 0;        // admitted, as a multiple of the limit
    std::size_t told = 0;    // the most children of which a sidecar knows the rates
    std::size_t awake = 0;   // the most limits that are awake at a sidecar
    std::string objections;  // of the checkers
};

WorldPlan plan_of(const Family& family, std::uint64_t seed) {
    WorldPlan plan;
    plan.sidecars = family.sidecars;
    plan.seconds = kTo;
    plan.seed = seed;
    plan.record = false;
    plan.definitions = {quota("p", family.limit), quota("p/{child}", family.child_limit)};
    plan.definitions[1].parent = "p";
    if (family.child_limit <= 0) {
        plan.definitions[1].limits.clear();
    }
    limiter::QuotaOptions options;
    options.fair = family.fair;
    plan.definitions[0].options = options;
    for (std::size_t child = 0; child < family.offered.size(); ++child) {
        const std::string name = "p/" + std::to_string(child);
        plan.load.quotas.push_back(name);
        plan.load.shares.push_back(family.offered[child]);
        if (family.share(child) != 1) {
            plan.definitions.push_back(plan.definitions[1]);
            plan.definitions.back().name = name;
            limiter::QuotaOptions larger;
            larger.share = family.share(child);
            plan.definitions.back().options = larger;
        }
    }
    plan.load.home = family.home;
    plan.load.phases = {{0, family.sum()}};
    plan.faults.loss = family.loss;
    return plan;
}

Outcome outcome_of(const Family& family, std::uint64_t seed) {
    const WorldPlan plan = plan_of(family, seed);
    World world(plan);
    Watch watch(plan);
    if (family.watched) {
        world.watch(&watch);
    }
    const std::size_t children = family.offered.size();
    Outcome outcome;
    outcome.offered.resize(children);
    outcome.admitted.resize(children);
    world.observe([&](double at, std::uint32_t, std::uint32_t child, bool admitted) {
        if (at >= kFrom && at < kTo) {
            outcome.offered[child] += 1 / (kTo - kFrom);
            outcome.admitted[child] += admitted ? 1 / (kTo - kFrom) : 0;
        }
    });
    for (double at = kFrom; at < kTo; at += 1) {
        world.at(at, [&](World& now) {
            for (std::uint32_t i = 0; i < now.size(); ++i) {
                const engine::EngineStatistics seen = now.sidecar(i).engine().statistics();
                outcome.told = std::max<std::size_t>(outcome.told, seen.fair_children);
                outcome.awake = std::max<std::size_t>(outcome.awake, seen.awake_synced_limits);
            }
        });
    }
    CHECK(world.run(kMeeting));
    if (family.watched) {
        watch.settle(world, 5, 30);
        for (const std::string& text : watch.findings().texts()) {
            outcome.objections += text + "\n";
        }
    }
    for (const double rate : outcome.admitted) {
        outcome.total += rate / family.limit;
    }
    outcome.ideal = ideal_of(family, outcome.offered);
    return outcome;
}

std::string text_of(const Outcome& outcome) {
    std::string text = "total " + std::to_string(outcome.total);
    for (std::size_t child = 0; child < std::min<std::size_t>(8, outcome.ideal.size()); ++child) {
        text += "; " + std::to_string(outcome.admitted[child]) + " of " +
                std::to_string(outcome.offered[child]) + ", ideal " +
                std::to_string(outcome.ideal[child]);
    }
    return text;
}

/// Judges single children against max-min fairness: those above the line get it within 2 % of
/// it, those below lose nothing.
void check_family(const Family& family) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const Outcome outcome = outcome_of(family, seed);
        CAPTURE(seed);
        CAPTURE(text_of(outcome));
        CHECK(std::abs(outcome.total - 1) < 0.005);
        CHECK(outcome.objections == "");
        for (std::size_t child = 0; child < outcome.ideal.size(); ++child) {
            CAPTURE(child);
            const double ideal = outcome.ideal[child];
            const bool quiet = ideal >= outcome.offered[child] * (1 - 1e-9);
            CHECK(std::abs(outcome.admitted[child] - ideal) <= (quiet ? 0.01 : 0.02) * ideal);
        }
    }
}

const std::vector<double> kFour = {10, 100, 1000, 5000};

TEST_CASE("a noisy child takes nothing from a quiet one") {
    check_family({.sidecars = 3, .limit = 300, .offered = {900, 100}});
}

TEST_CASE("without fairness it does") {
    const Family family{.sidecars = 3, .limit = 300, .offered = {900, 100}, .fair = false};
    const Outcome outcome = outcome_of(family, 1);
    CHECK(outcome.admitted[0] == doctest::Approx(270).epsilon(0.05));
    CHECK(outcome.admitted[1] == doctest::Approx(30).epsilon(0.2));
    CHECK(outcome.told == 0);
}

TEST_CASE("four children get what max-min fairness gives them") {
    check_family({.sidecars = 3, .offered = kFour});
    check_family({.sidecars = 50, .offered = kFour});
}

TEST_CASE("children with limits of their own do, too") {
    check_family({.sidecars = 3, .offered = kFour, .child_limit = 2000});
}

TEST_CASE("shares divide what is left above the line") {
    check_family({.sidecars = 3, .offered = kFour, .shares = {1, 1, 3, 1}});
}

TEST_CASE("it does not matter which sidecars a child's load goes to") {
    check_family({.sidecars = 4, .offered = kFour, .home = 1});
    check_family({.sidecars = 50, .offered = kFour, .home = 1});
}

/// What a quiet child loses is decided by which packets are lost: nothing in most runs, up to 4 %
/// in one of 24. So their mean is judged as closely as other families, and single runs less so.
TEST_CASE("lost packets cost little") {
    constexpr std::uint64_t kRuns = kSeeds == 1 ? 2 : 8;
    constexpr std::size_t kQuiet = 2;
    const Family family{.sidecars = 50, .offered = kFour, .home = 0.7, .loss = 0.3};
    std::vector<double> lost(family.offered.size());
    for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
        const Outcome outcome = outcome_of(family, seed);
        CAPTURE(seed);
        CAPTURE(text_of(outcome));
        CHECK(std::abs(outcome.total - 1) < 0.005);
        CHECK(outcome.objections == "");
        for (std::size_t child = 0; child < lost.size(); ++child) {
            const double less = 1 - outcome.admitted[child] / outcome.ideal[child];
            CHECK(std::abs(less) <= 0.05);
            lost[child] += less / kRuns;
        }
    }
    MESSAGE("quiet children lose ", lost[0], " and ", lost[1], " on average");
    for (std::size_t child = 0; child < kQuiet; ++child) {
        CHECK(lost[child] <= 0.01);
    }
}

TEST_CASE("parents of parents shed fairly") {
    // Both p/0 and p are above their limits.
    WorldPlan plan = plan_of({.sidecars = 3, .offered = {10}}, 1);
    plan.definitions.push_back(quota("p/{child}/{grandchild}", 1));
    plan.definitions.back().limits.clear();
    plan.definitions.back().parent = "p/{child}";
    plan.definitions.push_back(quota("p/0", 300));
    plan.definitions.back().parent = "p";
    plan.load.quotas = {"p/0/a", "p/0/b", "p/1/a", "p/2/a"};
    plan.load.shares = {2000, 100, 200, 2000};
    plan.load.phases = {{0, 4300}};
    World world(plan);
    std::vector<double> admitted(4);
    world.observe([&](double at, std::uint32_t, std::uint32_t child, bool passed) {
        admitted[child] += passed && at >= kFrom && at < kTo ? 1 / (kTo - kFrom) : 0;
    });
    CHECK(world.run(kMeeting));
    // p/0 lets 300 through, of which b has all that it asks for; p/1 is below the line of p.
    CHECK(admitted[0] == doctest::Approx(200).epsilon(0.05));
    CHECK(admitted[1] == doctest::Approx(100).epsilon(0.05));
    CHECK(admitted[2] == doctest::Approx(200).epsilon(0.03));
    CHECK(admitted[3] == doctest::Approx(500).epsilon(0.05));
}

TEST_CASE("each of nested parents divides among its own children") {
    for (const std::uint64_t seed : {1U, 2U}) {
        CAPTURE(seed);
        // The quiet branch b fits; of the branch a, which has a limit of its own, the rest of the
        // root is left.
        WorldPlan plan;
        plan.sidecars = 3;
        plan.seconds = kTo;
        plan.seed = seed;
        plan.record = false;
        plan.definitions = {quota("root", 800), quota("a", 600), quota("b", 600),
                            quota("a/{child}", 0), quota("b/{child}", 0)};
        const std::vector<const char*> parents = {nullptr, "root", "root", "a", "b"};
        for (std::size_t i = 1; i < parents.size(); ++i) {
            plan.definitions[i].parent = parents[i];
        }
        plan.definitions[3].limits.clear();
        plan.definitions[4].limits.clear();
        limiter::QuotaOptions options;
        options.fair = true;
        plan.definitions[0].options = options;
        plan.load.quotas = {"a/noisy", "a/quiet", "b/1", "b/2"};
        plan.load.shares = {900, 100, 200, 100};
        plan.load.phases = {{0, 1300}};
        World world(plan);
        Watch watch(plan);
        world.watch(&watch);
        std::vector<double> admitted(4);
        world.observe([&](double at, std::uint32_t, std::uint32_t child, bool good) {
            admitted[child] += good && at >= kFrom ? 1 / (kTo - kFrom) : 0;
        });
        REQUIRE(world.run(60));
        const auto near = [](double value) { return doctest::Approx(value).epsilon(0.05); };
        CHECK(admitted[2] == near(200));
        CHECK(admitted[3] == near(100));
        CHECK(admitted[0] + admitted[1] == near(500));
        // What the root refuses of the branch is divided among its children as well.
        CHECK(admitted[1] == near(100));
        CHECK(admitted[0] == near(400));
        watch.settle(world, 5, 20);
        CHECK(watch.findings().texts().empty());
    }
}

/// The least and the most that a child gets of what max-min fairness gives it.
std::pair<double, double> range_of(const Outcome& outcome) {
    double least = 9;
    double most = 0;
    for (std::size_t child = 0; child < outcome.ideal.size(); ++child) {
        least = std::min(least, outcome.admitted[child] / outcome.ideal[child]);
        most = std::max(most, outcome.admitted[child] / outcome.ideal[child]);
    }
    MESSAGE("children get " << least << " to " << most << " of their part, all together "
                            << outcome.total);
    return {least, most};
}

TEST_CASE("a thousand equal children get about the same each") {
    const std::vector<double> twice(1000, 4.0);
    const Family family{.sidecars = 10, .limit = 2000, .offered = twice, .watched = false};
    const Outcome outcome = outcome_of(family, 1);
    const auto [least, most] = range_of(outcome);
    CHECK(std::abs(outcome.total - 1) < 0.005);
    CHECK(least >= 0.5);
    CHECK(most <= 1.5);
}

TEST_CASE("a thousand that each get a request a second do, as far as chance lets them") {
    // Of 20 requests, which is a child's part in 20 s, half of what comes by chance is 3.2 more or
    // fewer, and what ten sidecars let through of it is one or two more or fewer.
    const std::vector<double> twice(1000, 2.0);
    const Family family{.sidecars = 10, .offered = twice, .watched = false};
    const Outcome outcome = outcome_of(family, 1);
    const auto [least, most] = range_of(outcome);
    CHECK(std::abs(outcome.total - 1) < 0.005);
    CHECK(least >= 0.4);
    CHECK(most <= 1.6);
}

TEST_CASE("sixty thousand children wake no limits, and few are told of") {
    const Family family{.sidecars = 3,
                        .limit = 1500,
                        .offered = std::vector<double>(60'000, 0.05),
                        .child_limit = 100,
                        .watched = false};
    const Outcome outcome = outcome_of(family, 1);
    CHECK(std::abs(outcome.total - 1) < 0.01);
    CHECK(outcome.told <= limiter::kKnownChildren);
    CHECK(outcome.told > 0);
    CHECK(outcome.awake < 256);
}

}  // namespace
}  // namespace weir::sim

// Fair shedding: the water line against max-min fairness by a dumb search, and the limiter's
// decisions for the children of a parent that sheds.

#include <doctest/doctest.h>

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "limiter/fair_shedding.h"
#include "limiter/fixture.h"
#include "limiter/water_line.h"

namespace weir::limiter {
namespace {

using namespace testing;

double passed_at(const std::vector<ChildRate>& children, double line) {
    double sum = 0;
    for (const ChildRate& child : children) {
        sum += std::min(child.rate, line * child.share);
    }
    return sum;
}

std::uint64_t hash_of(std::string_view name) { return std::hash<std::string_view>{}(name) | 1; }

/// A parent whose bucket stands in the middle of its borders, so that it sheds.
std::vector<QuotaDefinition> family(std::optional<bool> fair, double share = 1) {
    QuotaDefinition parent = quota("p", {borders(100, 100, 200)});
    QuotaOptions options;
    options.fair = fair;
    parent.options = options;
    QuotaDefinition large = quota("p/large", {}, "p");
    QuotaOptions more;
    more.share = share;
    large.options = more;
    return {parent, quota("p/{child}", {}, "p"), large};
}

/// Offers each child so many requests a second for a while, telling the limiter every 200 ms what
/// it has read, as the engine does. Returns what each was admitted a second in the last part.
std::map<std::string, double> run(Fixture& fixture, const std::map<std::string, double>& offered,
                                  CheckMode mode = CheckMode::charge) {
    constexpr int kSteps = 40'000;
    constexpr double kStep = 0.0005;
    std::map<std::string, double> due;
    std::map<std::string, double> admitted;
    for (int step = 0; step < kSteps; ++step) {
        fixture.wait(kStep);
        for (const auto& [name, rate] : offered) {
            due[name] += rate * kStep;
            while (due[name] >= 1) {
                due[name] -= 1;
                const bool passed = fixture.check(name, {}, mode).admitted;
                admitted[name] += passed && step >= kSteps / 2 ? 1 / (kStep * kSteps / 2) : 0;
            }
        }
        if (step % 400 == 0) {
            fixture.limiter.read_shedding(fixture.now, &hash_of, [&](SheddingParent& parent) {
                fixture.limiter.tell_children(parent.limit, parent.rates, {}, fixture.now);
            });
        }
    }
    return admitted;
}

TEST_CASE("the line passes the share of the weight that it is asked for") {
    CHECK(rc::check([] {
        ChildRates rates;
        const auto count = *rc::gen::inRange<std::size_t>(1, 40);
        for (std::size_t i = 0; i < count; ++i) {
            const double rate = 0.5 + *rc::gen::inRange(0, 5000);
            const double share = 0.5 * *rc::gen::inRange(1, 10);
            rates.children.push_back({i + 1, rate, share});
            rates.total += rate;
        }
        const WaterLine line(rates);
        const double passing = 0.001 * *rc::gen::inRange(1, 1000);
        const double wanted = passing * rates.total;
        RC_ASSERT(std::abs(passed_at(rates.children, line.at(passing)) - wanted) <= 1e-6 * wanted);
        RC_ASSERT(line.at(0) == 0);
        RC_ASSERT(line.at(passing) <= line.at(passing + 0.001) + 1e-9);
    }));
    CHECK(WaterLine({}).at(0.5) == 0);
}

TEST_CASE("children that are not known stand together at the line of the rest") {
    // 100 and 300 are known; of the others it is known that all together are offered 600 and none
    // of them more than 50: at a line of 50 all of it passes.
    ChildRates rates{1000, 50, false, {{1, 100, 1}, {2, 300, 1}}};
    const WaterLine line(rates);
    CHECK(line.at(0.7) == doctest::Approx(50));
    CHECK(line.at(0.8) == doctest::Approx(100));
    CHECK(line.at(1) == doctest::Approx(300));
    CHECK(line.at(0.35) == doctest::Approx(25));
}

TEST_CASE("the highest children are kept, and those below a line are left out") {
    ChildRates rates;
    for (std::size_t i = 1; i <= kKnownChildren + 100; ++i) {
        rates.children.push_back({i, static_cast<double>(i), 1});
    }
    ChildRates all = rates;
    keep_highest(all, 0);
    CHECK(all.children.size() == kKnownChildren);
    CHECK(all.full);
    CHECK(all.rest == 101);
    CHECK(all.children.front().rate == kKnownChildren + 100);
    keep_highest(all, 1000);
    CHECK_FALSE(all.full);
    CHECK(all.rest == 999);
    CHECK(all.children.back().rate == 1000);
    ChildRates one{5, 0, false, {{1, 5, 1}}};
    keep_highest(one, 100);  // the highest one always stays
    CHECK(one.children.size() == 1);
}

TEST_CASE("a quiet child loses nothing to a noisy sibling") {
    Fixture fixture(family(true));
    const auto admitted = run(fixture, {{"p/quiet", 30}, {"p/noisy", 500}});
    CHECK(admitted.at("p/quiet") == doctest::Approx(30).epsilon(0.01));
    CHECK(admitted.at("p/noisy") == doctest::Approx(70).epsilon(0.05));
}

TEST_CASE("without fairness each child loses the same part") {
    Fixture fixture(family(false));
    const auto admitted = run(fixture, {{"p/quiet", 30}, {"p/noisy", 500}});
    CHECK(admitted.at("p/quiet") == doctest::Approx(100.0 * 30 / 530).epsilon(0.2));
}

TEST_CASE("parents of templates shed fairly unless they say otherwise") {
    Fixture fixture(family(std::nullopt));
    CHECK(run(fixture, {{"p/quiet", 30}, {"p/noisy", 500}}).at("p/quiet") ==
          doctest::Approx(30).epsilon(0.01));
    // Without the template nothing is fair by default.
    CHECK(fixture.take_away("p/{child}").empty());
    CHECK(fixture.put(quota("p/quiet", {}, "p")).empty());
    CHECK(fixture.put(quota("p/noisy", {}, "p")).empty());
    CHECK(run(fixture, {{"p/quiet", 30}, {"p/noisy", 500}}).at("p/quiet") < 10);
    // A template with other names of captures is the parent of templates, too.
    QuotaDefinition deep = quota("a/{x}/{y}", {}, "a/{x}");
    CHECK(fixture.put(quota("a/{z}", {borders(100, 100, 200)})).empty());
    CHECK(fixture.put(deep).empty());
    CHECK(run(fixture, {{"a/1/quiet", 30}, {"a/1/noisy", 500}}).at("a/1/quiet") ==
          doctest::Approx(30).epsilon(0.01));
}

TEST_CASE("shares divide what is left") {
    Fixture fixture(family(true, 3));
    const auto admitted = run(fixture, {{"p/large", 400}, {"p/small", 400}});
    CHECK(admitted.at("p/large") == doctest::Approx(75).epsilon(0.05));
    CHECK(admitted.at("p/small") == doctest::Approx(25).epsilon(0.1));
}

TEST_CASE("a refusal above the share says so and names the parent") {
    Fixture fixture(family(true));
    (void)run(fixture, {{"p/quiet", 30}, {"p/noisy", 500}});
    Decision refused;
    do {
        refused = fixture.check("p/noisy");
    } while (refused.admitted);
    CHECK(refused.quota == "p");
    CHECK(refused.reason == Reason::above_share);
    const auto shown = fixture.limiter.inspect("p", fixture.now);
    REQUIRE(shown.size() == 1);
    CHECK(shown[0].water_line == doctest::Approx(70).epsilon(0.3));
}

TEST_CASE("a parent in shadow mode shadows fairly") {
    auto definitions = family(true);
    definitions[0].mode = Mode::shadow;
    Fixture fixture(definitions);
    (void)run(fixture, {{"p/quiet", 30}, {"p/noisy", 500}});
    std::map<std::string, double> refused;
    for (int i = 0; i < 900; ++i) {
        fixture.wait(1.0 / 530);
        const std::string name = i % 18 == 0 ? "p/quiet" : "p/noisy";
        const Decision decision = fixture.check(name);
        CHECK(decision.admitted);
        refused[name] += decision.shadow_refused ? 1 : 0;
    }
    CHECK(refused["p/noisy"] > 500);
    CHECK(refused["p/quiet"] < 5);
}

TEST_CASE("what a root refuses of a branch is divided among the branch's children") {
    const auto admitted = [](bool fair, Mode mode) {
        QuotaDefinition root = quota("r", {borders(80, 80, 160)});
        QuotaDefinition branch = quota("r/a", {borders(1000, 1000, 2000)}, "r");
        QuotaOptions options;
        options.fair = true;
        root.options = options;
        options.fair = fair;
        branch.options = options;
        branch.mode = mode;
        Fixture fixture({root, branch, quota("r/a/{child}", {}, "r/a")});
        REQUIRE(fixture.errors.empty());
        return run(fixture, {{"r/a/quiet", 20}, {"r/a/noisy", 180}});
    };
    auto divided = admitted(true, Mode::enforce);
    CHECK(divided["r/a/quiet"] == doctest::Approx(20).epsilon(0.02));
    CHECK(divided["r/a/noisy"] == doctest::Approx(60).epsilon(0.05));
    // A branch that is not fair, or only shadows, changes nothing.
    for (auto alike : {admitted(false, Mode::enforce), admitted(true, Mode::shadow)}) {
        CHECK(alike["r/a/quiet"] == doctest::Approx(8).epsilon(0.1));
        CHECK(alike["r/a/noisy"] == doctest::Approx(72).epsilon(0.05));
    }
}

TEST_CASE("the tables are bounded, and what finds no place is counted") {
    FairShedding shedding;
    const std::int64_t now = 3'600'000'000'000;
    for (std::uint32_t parent = 1; parent <= 4 * FairShedding::kParents; ++parent) {
        shedding.note({parent, parent, 1}, 1, now);
    }
    std::size_t shed = 0;
    shedding.for_each_shedding(now, [&](std::uint32_t) { ++shed; });
    CHECK(shed <= FairShedding::kParents);
    CHECK(shed > FairShedding::kParents / 2);
    CHECK(shedding.without_place() > 0);
    shed = 0;
    shedding.for_each_shedding(now + 2'000'000'000, [&](std::uint32_t) { ++shed; });
    CHECK(shed == 0);
    // Nothing was told, so the chance stays.
    CHECK(shedding.refusal({1, 1, 1}, 1, 0.25, now) == 0.25);
}

}  // namespace
}  // namespace weir::limiter

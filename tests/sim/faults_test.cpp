// The story of random faults: what it holds, that its seed gives it, and that it reads as text.

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>

#include "sim/fault_plan.h"
#include "sim/fault_text.h"
#include "sim/fleet_limits.h"
#include "sim/story_file.h"

namespace weir::sim {
namespace {

TEST_CASE(
    "an hour of faults: 3 to 10 sidecars, 20 limits, 200 a second, one of each kind a while") {
    std::set<std::uint32_t> sizes;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        const Story story = draw_fault_story(seed, 60, FaultLimits::rates);
        const WorldPlan& plan = story.plan;
        sizes.insert(plan.sidecars);
        CHECK(find_limits(plan.load, plan.definitions).limits.size() >= 20);
        CHECK(std::abs(plan.load.phases.at(0).rate - 200) < 0.2);
        CHECK(story.faults.size() == 59);
        std::set<FaultKind> kinds;
        for (const Fault& fault : story.faults) {
            kinds.insert(fault.kind);
            CHECK(fault.target.number < plan.sidecars);
            CHECK(fault.side.size() < plan.sidecars);
        }
        CHECK(kinds.size() == kFaultKinds - 3);
        CHECK(!kinds.contains(FaultKind::throttle));
        CHECK(!kinds.contains(FaultKind::set_ahead));
    }
    CHECK(*sizes.begin() == 3);
    CHECK(*sizes.rbegin() == 10);
}

TEST_CASE("faults under limits that only count: clocks are set wrong, and none leaps") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Story story = draw_fault_story(seed, 60, FaultLimits::counted);
        std::set<FaultKind> kinds;
        for (const Fault& fault : story.faults) {
            kinds.insert(fault.kind);
        }
        CHECK(kinds.contains(FaultKind::set_ahead));
        CHECK(kinds.contains(FaultKind::set_back));
        CHECK(!kinds.contains(FaultKind::leap));
        for (const LimitFact& limit : find_limits(story.plan.load, story.plan.definitions).limits) {
            CHECK((limit.counted.has_value() || limit.quota == "tree"));
        }
    }
}

TEST_CASE("the seed gives the story") {
    for (const FaultLimits limits : {FaultLimits::rates, FaultLimits::counted}) {
        const auto text_of = [&](std::uint64_t seed) {
            return story_text(draw_fault_story(seed, 60, limits));
        };
        CHECK(text_of(5) == text_of(5));
        CHECK(text_of(5) != text_of(6));
    }
}

TEST_CASE("a story of random faults reads back as it was written") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        CAPTURE(seed);
        const auto limits = seed % 2 == 0 ? FaultLimits::rates : FaultLimits::counted;
        const Story story = draw_fault_story(seed, 60, limits);
        const std::string text = story_text(story);
        config::Diagnostics diagnostics;
        const std::vector<Story> read = read_stories({"faults.yaml", text}, diagnostics);
        REQUIRE(diagnostics.text() == "");
        REQUIRE(read.size() == 1);
        CHECK(read[0].faults.size() == story.faults.size());
        CHECK(read[0].seed == story.seed);
        CHECK(read[0].plan.definitions == story.plan.definitions);
        CHECK(read[0].plan.load.takes == story.plan.load.takes);
        CHECK(read[0].plan.load.quotas == story.plan.load.quotas);
        CHECK(read[0].plan.load.phases[0].shares == story.plan.load.phases[0].shares);
        CHECK(story_text(read[0]) == text);
    }
}

TEST_CASE("a fault reads as one step of named fields") {
    Fault cut;
    cut.at = 65.25;
    cut.kind = FaultKind::cut_one_way;
    cut.seconds = 7.5;
    cut.side = {1, 4};
    CHECK(describe(cut) == "{at: 65.25s, cut_one_way: {side: [1, 4], for: 7.5s}}");
    Fault edit;
    edit.at = 7;
    edit.kind = FaultKind::edit;
    edit.target.number = 2;
    edit.amount = 4;
    edit.quota = "over/1";
    CHECK(describe(edit) == "{at: 7s, edit: {sidecar: 2, quota: over/1, rate: 4r/s}}");
}

TEST_CASE("each kind of fault has its form, and each field of a form is known") {
    std::set<std::string_view> fields;
    for (const FaultField& field : fault_fields()) {
        fields.insert(field.key);
    }
    std::set<std::string_view> used;
    for (std::size_t i = 0; i < kFaultKinds; ++i) {
        const FaultForm& form = fault_forms()[i];
        CHECK(form.kind == static_cast<FaultKind>(i));
        used.insert(form.needed.begin(), form.needed.end());
        used.insert(form.optional.begin(), form.optional.end());
    }
    CHECK(used == fields);
}

}  // namespace
}  // namespace weir::sim

// The random plan of faults: what it holds, that its seed gives it, and that it reads as text.

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "sim/faults.h"

namespace weir::sim {
namespace {

std::vector<std::string> texts(const FaultPlan& plan) {
    std::vector<std::string> lines;
    for (const Fault& fault : plan.faults) {
        lines.push_back(describe(fault));
    }
    return lines;
}

TEST_CASE(
    "an hour of faults: 3 to 10 sidecars, 20 limits, 200 a second, one of each kind a while") {
    std::set<std::uint32_t> sizes;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        const FaultPlan plan = draw_fault_plan(seed, 60);
        sizes.insert(plan.world.sidecars);
        CHECK(plan.world.definitions.size() >= 20);
        CHECK(plan.world.load.phases.at(0).rate == 200);
        CHECK(plan.faults.size() == 59);
        std::set<FaultKind> kinds;
        for (const Fault& fault : plan.faults) {
            kinds.insert(fault.kind);
            CHECK(fault.sidecar < plan.world.sidecars);
            CHECK(fault.side.size() < plan.world.sidecars);
        }
        CHECK(kinds.size() == kFaultKinds);
    }
    CHECK(*sizes.begin() == 3);
    CHECK(*sizes.rbegin() == 10);
}

TEST_CASE("the seed gives the plan") {
    CHECK(texts(draw_fault_plan(5, 60)) == texts(draw_fault_plan(5, 60)));
    CHECK(texts(draw_fault_plan(5, 60)) != texts(draw_fault_plan(6, 60)));
}

TEST_CASE("a fault reads as one line of named fields") {
    Fault cut;
    cut.at = 65.25;
    cut.kind = FaultKind::cut_one_way;
    cut.seconds = 7.5;
    cut.side = {1, 4};
    CHECK(describe(cut) == "{at: 65.25, kind: cut-one-way, side: [1, 4], seconds: 7.5}");
    Fault edit;
    edit.at = 7;
    edit.kind = FaultKind::edit;
    edit.sidecar = 2;
    edit.amount = 4;
    edit.quota = "over/1";
    CHECK(describe(edit) == "{at: 7, kind: edit, sidecar: 2, amount: 4, quota: over/1}");
}

}  // namespace
}  // namespace weir::sim

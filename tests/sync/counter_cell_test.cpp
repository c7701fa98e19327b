#include "sync/counter_cell.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "sync/run_number.h"

namespace weir::sync {
namespace {

CounterCell arbitrary_cell() {
    const auto count = [] { return static_cast<double>(*rc::gen::inRange(0, 5)); };
    return {7, count(), count(), count()};
}

TEST_CASE("nothing is known at first") {
    CHECK(CounterCell{} == CounterCell{0, 0, 0, 0});
    CHECK(CounterCell{7, 5, 2, 9}.net() == 3);
}

TEST_CASE("merging is commutative, associative and idempotent, and what it gives follows both") {
    CHECK(rc::check([] {
        const CounterCell a = arbitrary_cell();
        const CounterCell b = arbitrary_cell();
        const CounterCell c = arbitrary_cell();
        RC_ASSERT(merge(a, b) == merge(b, a));
        RC_ASSERT(merge(merge(a, b), c) == merge(a, merge(b, c)));
        RC_ASSERT(merge(a, a) == a);
        RC_ASSERT(follows(merge(a, b), a) && follows(merge(a, b), b));
    }));
}

TEST_CASE("of one run, what follows never falls in anything") {
    const CounterCell earlier{7, 5, 2, 9};
    CHECK(follows(earlier, earlier));
    CHECK(follows({7, 6, 3, 10}, earlier));
    CHECK_FALSE(follows({8, 6, 3, 10}, earlier));
    CHECK_FALSE(follows({7, 4, 3, 10}, earlier));
    CHECK_FALSE(follows({7, 6, 1, 10}, earlier));
    CHECK_FALSE(follows({7, 6, 3, 8}, earlier));
}

TEST_CASE("each run of a process began before the next ones, also where the numbers come around") {
    Random random(1);
    RunNumbers numbers(random);
    std::uint32_t before = numbers.next();
    bool around = false;
    for (std::uint32_t i = 0; i < kLargestIdentity + 2; ++i) {
        const std::uint32_t run = numbers.next();
        around = around || run < before;
        if (run == 0 || run > kLargestIdentity || !began_before(before, run) ||
            began_before(run, before) || began_before(run, run)) {
            FAIL("run " << run << " after " << before);
        }
        before = run;
    }
    CHECK(around);
    CHECK_FALSE(began_before(0, 5));
    CHECK_FALSE(began_before(5, 0));
    CHECK(began_before(5, 5 + kLargestIdentity / 2));
    CHECK_FALSE(began_before(5, 6 + kLargestIdentity / 2));
    CHECK(began_before(kLargestIdentity, 1));
}

}  // namespace
}  // namespace weir::sync

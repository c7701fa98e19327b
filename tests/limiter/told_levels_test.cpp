// Levels that were told before their limits are used.
#include "limiter/told_levels.h"

#include <doctest/doctest.h>

namespace weir::limiter {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1h};

std::uint64_t number(std::string_view quota, Unit /*unit*/, Duration /*period*/) {
    return quota.size();
}

CompiledLimit limit_of(double rate) {
    CompiledLimit limit;
    limit.parameters.rate = rate;
    limit.parameters.low = limit.parameters.high = 100;
    return limit;
}

TEST_CASE("a limit takes what is left of its level, once") {
    ToldLevels levels;
    CHECK(levels.holds_none());
    levels.tell(3, {.level = 50, .rate = 1, .at = kStart}, &number);
    levels.tell(3, {.level = 40, .rate = 1, .at = kStart}, &number);
    CHECK_FALSE(levels.holds_none());
    CHECK(levels.take("ab", limit_of(1), kStart) == 0);
    CHECK(levels.take("abc", limit_of(1), kStart + 10s) == doctest::Approx(40));
    CHECK(levels.take("abc", limit_of(1), kStart + 10s) == 0);
    CHECK(levels.holds_none());
}

TEST_CASE("what a record began with drains, and is that of one instance") {
    ToldLevels levels;
    levels.begun(5, 1, {.level = 50, .rate = 1, .at = kStart});
    CHECK(levels.left(5, 1, 1, kStart + 10s) == doctest::Approx(40));
    CHECK(levels.left(6, 1, 1, kStart + 10s) == 0);
    CHECK_FALSE(levels.holds_none());
    CHECK(levels.left(5, 2, 1, kStart + 10s) == 0);  // the record has another instance
    CHECK(levels.holds_none());
}

TEST_CASE("levels of limits that nobody uses are dropped when all have drained") {
    ToldLevels levels;
    levels.tell(3, {.level = 50, .rate = 1, .at = kStart}, &number);
    levels.tell(4, {.level = 90, .rate = 1, .at = kStart}, &number);
    levels.begun(5, 1, {.level = 20, .rate = 1, .at = kStart});
    CHECK(levels.left(7, 1, 1, kStart + 89s) == 0);
    CHECK_FALSE(levels.holds_none());
    CHECK(levels.left(7, 1, 1, kStart + 91s) == 0);
    CHECK(levels.holds_none());
    for (std::uint64_t i = 1; i <= 5 * ToldLevels::kDroppedAtOnce; ++i) {
        levels.tell(i, {.level = 50, .rate = 1, .at = kStart}, &number);
    }
    int calls = 0;
    while (!levels.holds_none() && calls < 100) {
        CHECK(levels.left(7, 1, 1, kStart + 91s) == 0);
        ++calls;
    }
    CHECK(calls == 5);
}

}  // namespace
}  // namespace weir::limiter

#include "base/random.h"

#include <doctest/doctest.h>

#include <array>

#include "tolerance.h"

namespace weir {
namespace {

using weir::testing::plus_minus;

TEST_CASE("the same seed gives the same numbers, another seed others") {
    Random a(7);
    Random b(7);
    Random c(8);
    const auto first = a.next();
    CHECK(first == b.next());
    CHECK(first != c.next());
}

TEST_CASE("uniform numbers are spread evenly, exponential ones have their mean") {
    Random random(1);
    std::array<int, 10> bins{};
    double sum = 0;
    constexpr int kDraws = 100'000;
    for (int i = 0; i < kDraws; ++i) {
        ++bins[random.below(10)];
        sum += random.exponential(4);
    }
    for (int count : bins) {
        CHECK(count == plus_minus(kDraws / 10.0, 0.05 * kDraws / 10));
    }
    CHECK(sum / kDraws == plus_minus(0.25, 0.02 * 0.25));
}

}  // namespace
}  // namespace weir

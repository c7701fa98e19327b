// How a number of requests is divided among those that want some.

#include "sync/allowance_division.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace weir::sync {
namespace {

using Counts = std::vector<std::uint64_t>;

TEST_CASE("who wants little gets it, and the others divide the rest equally") {
    CHECK(divide(10, {}, 0).empty());
    CHECK(divide(10, Counts{3, 4}, 0) == Counts{3, 4});
    CHECK(divide(10, Counts{2, 100, 100}, 0) == Counts{2, 4, 4});
    CHECK(divide(64, Counts{640, 3, 0, 60}, 0) == Counts{31, 3, 0, 30});
    CHECK(divide(0, Counts{1, 2}, 0) == Counts{0, 0});
}

TEST_CASE("what cannot be divided goes round") {
    CHECK(divide(4, Counts{9, 9, 9}, 0) == Counts{2, 1, 1});
    CHECK(divide(4, Counts{9, 9, 9}, 1) == Counts{1, 2, 1});
    CHECK(divide(2, Counts{5, 5, 5, 5}, 0) == Counts{1, 1, 0, 0});
    CHECK(divide(2, Counts{5, 5, 5, 5}, 1) == Counts{0, 0, 1, 1});
}

TEST_CASE("nobody gets more than it wants or than somebody who lacks some, and nothing is wasted") {
    Random random(7);
    for (int round = 0; round < 2000; ++round) {
        Counts wanted(1 + random.below(12));
        for (std::uint64_t& each : wanted) {
            each = random.below(random.below(2) == 0 ? 4 : 60);
        }
        const std::uint64_t most = random.below(150);
        CAPTURE(round);
        const Counts parts = divide(most, wanted, random.below(100));
        const auto sum = [](const Counts& all) {
            return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
        };
        CHECK(sum(parts) == std::min(most, sum(wanted)));
        for (std::size_t i = 0; i < parts.size(); ++i) {
            CHECK(parts[i] <= wanted[i]);
            for (std::size_t j = 0; j < parts.size() && parts[i] < wanted[i]; ++j) {
                CHECK(parts[j] <= parts[i] + 1);
            }
        }
    }
}

}  // namespace
}  // namespace weir::sync

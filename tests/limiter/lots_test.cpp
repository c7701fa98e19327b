#include "limiter/lots.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tolerance.h"

using weir::Random;
using weir::limiter::draw_refusal;
using weir::testing::plus_minus;

TEST_CASE("p = 0 passes and p = 1 refuses without touching the state") {
    std::atomic<std::uint32_t> state{12345};
    Random random(1);
    CHECK_FALSE(draw_refusal(state, 0, random));
    CHECK(draw_refusal(state, 1, random));
    CHECK(state.load() == 12345);
}

// Of two points that the first step passes the second one waits for the next request: that makes
// the chance smaller by h^3 / 6 with h = min(p, 1 - p), at most 0.021, where p is 0.5.
TEST_CASE("a leaf's first request is refused with chance p") {
    Random random(2);
    for (const double p : {0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98}) {
        int refused = 0;
        constexpr int kLeaves = 40'000;
        for (int i = 0; i < kLeaves; ++i) {
            std::atomic<std::uint32_t> state{0};
            refused += draw_refusal(state, p, random) ? 1 : 0;
        }
        CAPTURE(p);
        const double deferred = std::pow(std::min(p, 1 - p), 3) / 6;
        const double chance = p > 0.5 ? p + deferred : p - deferred;
        const double deviation = std::sqrt(p * (1 - p) / kLeaves);
        CHECK(refused / double{kLeaves} == plus_minus(chance, 4 * deviation));
        if (p != 0.5) {
            CHECK(refused / double{kLeaves} == plus_minus(p, 0.02));
        }
    }
}

TEST_CASE("the deviation over 200 requests is 0.16 to 0.54 of plain lots'") {
    Random random(3);
    constexpr int kRuns = 3'000;
    constexpr int kRequests = 200;
    for (const double p : {0.05, 0.1, 0.3, 0.5, 0.8, 0.95}) {
        double sum = 0;
        double squares = 0;
        for (int run = 0; run < kRuns; ++run) {
            std::atomic<std::uint32_t> state{0};
            int refused = 0;
            for (int i = 0; i < kRequests; ++i) {
                refused += draw_refusal(state, p, random) ? 1 : 0;
            }
            sum += refused;
            squares += double{1} * refused * refused;
        }
        const double mean = sum / kRuns;
        const double deviation = std::sqrt(squares / kRuns - mean * mean);
        const double plain = std::sqrt(kRequests * p * (1 - p));
        CAPTURE(p);
        CHECK(mean == plus_minus(kRequests * p, 0.03 * kRequests * p));
        CHECK(deviation / plain > 0.16);
        CHECK(deviation / plain < 0.54);
    }
}

TEST_CASE("two clients taking turns are treated alike") {
    for (const double p : {0.1, 0.25, 0.5, 0.75, 0.9}) {
        Random random(4);
        std::atomic<std::uint32_t> state{0};
        int refused[2] = {0, 0};
        for (int i = 0; i < 20'000; ++i) {
            refused[i % 2] += draw_refusal(state, p, random) ? 1 : 0;
        }
        CAPTURE(p);
        const double share = refused[0] / double(refused[0] + refused[1]);
        CHECK(share > 0.48);
        CHECK(share < 0.52);
    }
}

TEST_CASE("small chances stay true") {
    Random random(5);
    for (const double p : {1e-4, 3e-5}) {
        std::atomic<std::uint32_t> state{0};
        int refused = 0;
        constexpr int kRequests = 4'000'000;
        for (int i = 0; i < kRequests; ++i) {
            refused += draw_refusal(state, p, random) ? 1 : 0;
        }
        CAPTURE(p);
        CHECK(refused == plus_minus(kRequests * p, 0.2 * kRequests * p));
    }
}

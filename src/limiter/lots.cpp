#include "limiter/lots.h"

#include <algorithm>

namespace weir::limiter {
namespace {

constexpr double kUnit = 4294967296.0;  // 2^32, one unit of the position
constexpr std::uint32_t kPassed = 1;

struct Lot {
    std::uint32_t position;
    std::uint32_t point;  // lowest bit: passed

    [[nodiscard]] bool passed() const { return (point & kPassed) != 0; }
};

std::uint64_t word(Lot lot) { return static_cast<std::uint64_t>(lot.position) << 32 | lot.point; }
Lot lot_of(std::uint64_t state) {
    return {static_cast<std::uint32_t>(state >> 32), static_cast<std::uint32_t>(state)};
}

std::uint32_t random_point(Random& random) {
    return static_cast<std::uint32_t>(random.next() >> 32) & ~kPassed;
}

Lot fresh(Random& random) {
    Lot lot{static_cast<std::uint32_t>(random.next() >> 32), random_point(random)};
    if (lot.point < lot.position) {
        lot.point |= kPassed;
    }
    return lot;
}

/// Advances by h and tells whether a point was passed.
bool advance(Lot& lot, double h, Random& random) {
    bool hit = false;
    const std::uint64_t position = lot.position + static_cast<std::uint64_t>(h * kUnit);
    if (!lot.passed() && position >= lot.point) {
        hit = true;
        lot.point |= kPassed;
    }
    lot.position = static_cast<std::uint32_t>(position);
    if (position >> 32 != 0) {  // into the next unit, which has a point of its own
        lot.point = random_point(random);
        if (!hit && lot.position >= lot.point) {
            hit = true;
            lot.point |= kPassed;
        }
    }
    return hit;
}

}  // namespace

bool draw_refusal(std::atomic<std::uint64_t>& state, double p, Random& random) {
    if (p <= 0) {
        return false;
    }
    if (p >= 1) {
        return true;
    }
    constexpr std::uint64_t kRedrawOneIn = 64;
    std::uint64_t old = state.load(std::memory_order_relaxed);
    for (;;) {
        const bool redraw = old == 0 || random.next() % kRedrawOneIn == 0;
        Lot lot = redraw ? fresh(random) : lot_of(old);
        const bool hit = advance(lot, std::min(p, 1 - p), random);
        if (state.compare_exchange_weak(old, word(lot), std::memory_order_relaxed)) {
            return p <= 0.5 ? hit : !hit;
        }
    }
}

}  // namespace weir::limiter

#include "limiter/lots.h"

#include <algorithm>

#include "base/assert.h"

namespace weir::limiter {
namespace {

constexpr std::uint32_t kUnit = 1 << 16;  // one unit of the position
constexpr std::uint32_t kPassed = 1;
constexpr std::uint64_t kRedrawOneIn = 64;

struct Lot {
    std::uint32_t position;
    std::uint32_t point;  // the lowest bit says that it has been passed

    [[nodiscard]] bool passed() const { return (point & kPassed) != 0; }
};

std::uint32_t pack_lot(Lot lot) {
    WEIR_ASSERT(lot.position < kUnit && lot.point < kUnit);
    return lot.position << 16 | lot.point;
}
Lot unpack_lot(std::uint32_t state) { return {state >> 16, state & (kUnit - 1)}; }

std::uint32_t random_point(std::uint64_t bits) {
    return static_cast<std::uint32_t>(bits % kUnit) & ~kPassed;
}

Lot fresh(std::uint64_t bits) {
    Lot lot{static_cast<std::uint32_t>(bits >> 48), random_point(bits)};
    if (lot.point < lot.position) {
        lot.point |= kPassed;
    }
    return lot;
}

/// h in 65,536ths of a unit of the position, rounded up with a probability equal to its fraction.
std::uint32_t step(double h, std::uint64_t bits) {
    const double dither = static_cast<double>(bits % kUnit) / kUnit;
    return static_cast<std::uint32_t>(h * kUnit + dither);
}

/// Advances the position by `step` and returns whether it passed a point.
bool advance(Lot& lot, std::uint32_t step, Random& random) {
    WEIR_ASSERT(step <= kUnit);  // so the position enters at most one new unit
    bool hit = false;
    lot.position += step;
    if (!lot.passed() && lot.position >= lot.point && step > 0) {
        hit = true;
        lot.point |= kPassed;
    }
    if (lot.position >= kUnit) {  // the next unit has a point of its own
        lot.position -= kUnit;
        lot.point = random_point(random.next());
        if (!hit && lot.position >= lot.point) {
            hit = true;
            lot.point |= kPassed;
        }
    }
    return hit;
}

}  // namespace

bool draw_refusal(std::atomic<std::uint32_t>& state, double p, Random& random) {
    if (p <= 0) {
        return false;
    }
    if (p >= 1) {
        return true;
    }
    std::uint32_t old = state.load(std::memory_order_relaxed);
    for (;;) {
        const std::uint64_t bits = random.next();
        const bool redraw = old == 0 || (bits >> 58) % kRedrawOneIn == 0;
        Lot lot = redraw ? fresh(random.next()) : unpack_lot(old);
        const bool hit = advance(lot, step(std::min(p, 1 - p), bits), random);
        if (state.compare_exchange_weak(old, pack_lot(lot), std::memory_order_relaxed)) {
            return p <= 0.5 ? hit : !hit;
        }
    }
}

}  // namespace weir::limiter

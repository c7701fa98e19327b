#pragma once
// Stratified lots: randomness with memory, in requests whatever they weigh.
//
// With h = min(p, 1 - p) a position advances by h per request; in each unit of it one point lies
// uniformly at random; the request whose step passes the point is refused (admitted, when
// p > 0.5). At most one point a request: a second one waits for the next. Position and point start
// at random and are drawn afresh with chance 1/64, which keeps a client's rhythm from locking in.
//
// The state is one word (position and point as 16-bit fractions, the point's lowest bit says that
// it has been passed; all zeros = not drawn yet), swapped atomically: threads may share a leaf.
// Steps are rounded up or down at random, so that small chances stay true.

#include <atomic>
#include <cstdint>

#include "base/random.h"

namespace weir::limiter {

/// Draws one lot: true = refuse. p <= 0 and p >= 1 leave the state alone.
[[nodiscard]] bool draw_refusal(std::atomic<std::uint32_t>& state, double p, Random& random);

}  // namespace weir::limiter

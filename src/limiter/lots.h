#pragma once
// Stratified lots: random refusals that are spread more evenly than independent ones. Each request
// is one lot, whatever it weighs.
//
// With h = min(p, 1 - p), a position advances by h with each request. In each whole unit of the
// position lies one point, uniformly at random. The request whose step passes the point is refused
// (if p > 0.5: it is admitted and the others are refused). One request passes at most one point; a
// second point waits for the next request. Position and point start at random. With chance 1/64 a
// request draws them anew, so that no client with a regular rhythm can stay in step with them.
//
// The state is one word, swapped atomically, so that threads may share a leaf. It holds position
// and point as 16-bit fractions; the lowest bit of the point says that it has been passed. All
// zeros means that nothing was drawn yet. Steps are rounded up or down at random, so that small
// chances keep their mean. The word belongs to the caller.

#include <atomic>
#include <cstdint>

#include "base/random.h"

namespace weir::limiter {

/// Draws one lot; true = refuse. With p <= 0 or p >= 1 the state stays as it is.
[[nodiscard]] bool draw_refusal(std::atomic<std::uint32_t>& state, double p, Random& random);

}  // namespace weir::limiter

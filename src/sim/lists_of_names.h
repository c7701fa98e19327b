#pragma once
// A leaf of a simulated load: the name of a quota, or several names with " + " between them, which
// are as many lists of one name each. names_of() is pure, and its names are views of the leaf's
// text; the other functions use the limiter as a worker thread does, so each thread needs its own
// context.

#include <string_view>
#include <vector>

#include "base/instant.h"
#include "limiter/limiter.h"

namespace weir::sim {

/// The names of a leaf.
[[nodiscard]] std::vector<std::string_view> names_of(std::string_view leaf);

/// The limiter's decision about one request of weight 1 under this leaf. The caller says afterwards
/// that the thread is quiescent.
[[nodiscard]] limiter::Decision decide_on(limiter::Limiter& limiter, limiter::ThreadContext& thread,
                                          std::string_view leaf, Instant now,
                                          limiter::CheckMode mode);
/// Offers one request under this leaf to a limiter, which charges it if it admits it, and says that
/// the thread is quiescent. True if it is admitted.
[[nodiscard]] bool offer_to(limiter::Limiter& limiter, limiter::ThreadContext& thread,
                            std::string_view leaf, Instant now);

}  // namespace weir::sim

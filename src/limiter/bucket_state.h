#pragma once
// Functions that the sources of Bucket share: they compute the bounds of a level and the state by
// which the laws judge it. Internal to the sources of bucket.h and to obtain.cpp.
//
// Thread-safety: every function only reads, so any number of threads may call it at once.
// Ownership: nothing is owned here. Invariant: no function reads a clock, draws a random number or
// allocates memory.

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/assert.h"
#include "limiter/bucket.h"

namespace weir::limiter {

/// The seconds from one instant to the other, both in nanoseconds; 0 if `to` is the earlier one.
[[nodiscard]] inline double seconds_between(std::int64_t from, std::int64_t to) {
    return to > from ? static_cast<double>(to - from) * 1e-9 : 0;
}

/// W, the heaviest admitted weight that has not drained yet, as it is this many seconds after the
/// anchor.
[[nodiscard]] inline double heaviest_of(const Bucket& bucket, double seconds) {
    const double heaviest =
        static_cast<double>(bucket.record.heaviest.load(std::memory_order_relaxed));
    return std::max(0.0, heaviest - bucket.limit.parameters.rate * seconds);
}

/// The highest level that counts this many seconds after the anchor (see ceiling()).
[[nodiscard]] inline double ceiling_of(const Bucket& bucket, double seconds) {
    const double result =
        ceiling(bucket.limit.parameters, typical_of(bucket.record), heaviest_of(bucket, seconds));
    WEIR_ASSERT(result >= bucket.limit.parameters.high);
    return result;
}

/// How far down the level may drain (see level_floor()).
[[nodiscard]] inline double floor_of(const Bucket& bucket) {
    return level_floor(bucket.limit.parameters, typical_of(bucket.record));
}

/// The state by which the law judges the limit when it has this level and this weight per second is
/// offered to it.
[[nodiscard]] inline LawState law_state(const Bucket& bucket, double level, double offered_rate) {
    LawState state;
    state.offered_rate = offered_rate;
    state.typical = typical_of(bucket.record);
    if (view_installed(bucket)) {
        state.tau = bucket.view->tau.load(std::memory_order_relaxed);
    }
    state.shedding = sheds(bucket);
    state.level = level_to_charge(level, state.typical, state.shedding);
    return state;
}

/// The offered weight per second that the law reckons with: that of the whole fleet if a view is
/// installed, otherwise that of this process alone.
[[nodiscard]] inline double law_offered_rate(const Bucket& bucket, std::int64_t now) {
    return view_installed(bucket) ? bucket.view->offered_rate.load(std::memory_order_relaxed)
                                  : own_offered_rate(bucket.record, now);
}

}  // namespace weir::limiter

#pragma once
// Limits of windows (LimitKind::window), on the records of record.h. The level of such a limit is
// the weight that this process admitted in the present window. It only falls when a window ends, or
// when weight is given back. A member of a fleet has an allowance for each window: how much of the
// limit it may admit itself. The rest is kept for the other members. Who refuses a request for want
// of room notes its weight, so that the engine can ask for a larger allowance.
//
// Thread-safety: everything may run on any number of threads at once, apart from begin_window() and
// set_window_allowance(), whose caller holds the record's lock bit. Ownership: nothing is owned.
// Invariants: the level has no line and no W, and is never below 0. In place of an anchor the
// record has the second since 1970 in which its window ends, as a number below 0, which no anchor
// is. In place of pending counts it has the allowance, and in place of W what found no room.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/assert.h"
#include "base/relaxed.h"
#include "limiter/laws.h"
#include "limiter/record.h"

namespace weir::limiter {

/// The second since 1970 in which the record's window ends or has ended; 0 if it never had one.
[[nodiscard]] inline std::int64_t window_end(const LimitRecord& record) {
    const std::int64_t anchor = record.anchor.load(std::memory_order_acquire);
    return anchor < 0 ? -anchor : 0;
}

/// Threads look at the time at different moments, and clocks are set a little: a window that
/// another thread has begun counts for one whose time is so many seconds before its beginning.
inline constexpr std::int64_t kWindowSlack = 2;

/// Whether a window that ends in this second contains the other one. One that ends in more than its
/// longest time and kWindowSlack was begun by a clock that has been set back since then, and does
/// not count any more.
[[nodiscard]] inline bool window_contains(std::int64_t end, std::int64_t second,
                                          std::int64_t longest) {
    return second < end && end - second <= longest + kWindowSlack;
}
/// Whether the record's window contains this second.
[[nodiscard]] inline bool window_is_open(const LimitRecord& record, std::int64_t second,
                                         std::int64_t longest) {
    return window_contains(window_end(record), second, longest);
}

/// What this process admitted in the record's window.
[[nodiscard]] inline double admitted_in_window(const LimitRecord& record) {
    return std::max(0.0, record.level.load(kRelaxed));
}

/// Sets how much this process may admit in the window. The record keeps it as one more than it is.
/// Without an allowance (0 in the record) it may admit the whole limit.
inline void set_window_allowance(LimitRecord& record, double allowance) {
    WEIR_ASSERT(is_locked(record));
    WEIR_ASSERT(allowance >= 0);
    record.pending.store(std::bit_cast<std::uint64_t>(allowance + 1), kRelaxed);
}
inline void lift_window_allowance(LimitRecord& record) {
    WEIR_ASSERT(is_locked(record));
    record.pending.store(0, kRelaxed);
}

/// How much of the limit is kept for other members.
[[nodiscard]] inline double kept_in_window(const LimitRecord& record,
                                           const LimitParameters& limit) {
    WEIR_ASSERT(limit.window);
    // A thread that still goes by an earlier definition may count there for a rate, which is no
    // number from 1 on.
    const auto stored = std::bit_cast<double>(record.pending.load(kRelaxed));
    return stored >= 1 ? std::clamp(limit.low - (stored - 1), 0.0, limit.low) : 0;
}

/// How much this process may admit in the window.
[[nodiscard]] inline double window_allowance(const LimitRecord& record,
                                             const LimitParameters& limit) {
    return limit.low - kept_in_window(record, limit);
}

/// Begins a window that ends in this second and of which so much is known to have been admitted
/// here. Its allowance has been set before. `before` is what was admitted in the last window, as it
/// was read before the lock bit was taken: what other threads have added since then counts in this
/// window.
inline void begin_window(LimitRecord& record, std::int64_t end, double before, double admitted) {
    WEIR_ASSERT(is_locked(record));
    WEIR_ASSERT(end > 0 && admitted >= 0);
    double old = record.level.load(kRelaxed);
    const auto begun = [&] { return std::max(0.0, old - before) + admitted; };
    while (!record.level.compare_exchange_weak(old, begun(), kRelaxed)) {
    }
    record.heaviest.store(0, kRelaxed);
    record.anchor.store(-end, std::memory_order_release);
}

/// Notes weight that found no room.
inline void note_window_lacks(LimitRecord& record, double weight) {
    WEIR_ASSERT(weight >= 0);
    float old = record.heaviest.load(kRelaxed);
    while (
        !record.heaviest.compare_exchange_weak(old, old + static_cast<float>(weight), kRelaxed)) {
    }
}
/// How much found no room since the last call.
[[nodiscard]] inline double take_window_lack(LimitRecord& record) {
    return std::max(0.0, static_cast<double>(record.heaviest.exchange(0, kRelaxed)));
}

}  // namespace weir::limiter

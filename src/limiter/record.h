#pragma once
// The hot record of one limit of one instance: one cache line of relaxed atomics.
//
// A level is a straight line: level(t) = level + slope*(t - anchor), slope = -rate for a bucket
// that is alone, else that of the dead-reckoned view (view_record.h). Charging adds to `level` by
// compare and swap. Alone the line holds for ever; with a view it is renewed every 10 ms. Renewing
// moves the anchor; it needs the record's lock bit, which request threads only ever try. `control`
// counts renewals, so that a reader notices one that overlapped its reads: it then uses `level`
// alone, which is right for the instant of the renewal.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/assert.h"
#include "base/instant.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIR_ONE_WORD_SWAPS
#endif
#endif

namespace weir::limiter {

/// The instant as records keep it.
[[nodiscard]] inline std::int64_t nanoseconds(Instant instant) {
    return instant.time_since_epoch().count();
}

/// Weight since the last renewal, in one word: what was offered and what was admitted. Only kept
/// while an engine listens.
struct Pending {
    float offered = 0;
    float admitted = 0;
};

/// Weight offered lately, in one word: decayed with kRateWindow up to a tick of 2^20 ns.
struct Recent {
    float sum = 0;
    std::uint32_t tick = 0;
};
[[nodiscard]] inline std::uint32_t tick_of(std::int64_t nanoseconds) {
    return static_cast<std::uint32_t>(nanoseconds >> 20);
}
inline constexpr double kTickSeconds = 1048576e-9;

/// Ticks from `then` to `tick`; 0 if another thread's clock was read a little later. They wrap
/// after 52 days: a difference that looks like more than a minute back is a rest of weeks.
[[nodiscard]] inline std::uint32_t ticks_between(std::uint32_t then, std::uint32_t tick) {
    constexpr std::int32_t kEarlier = 1 << 16;
    const auto ticks = static_cast<std::int32_t>(tick - then);
    if (ticks >= 0) [[likely]] {
        return static_cast<std::uint32_t>(ticks);
    }
    return ticks > -kEarlier ? 0 : std::numeric_limits<std::int32_t>::max();
}

struct alignas(64) LimitRecord {
    std::atomic<double> level;              // at the anchor, + charged since
    std::atomic<std::uint64_t> recent;      // a Recent, bit-cast; beside level, see swap_both
    std::atomic<std::int64_t> anchor;       // nanoseconds of the monotonic time line
    std::atomic<std::uint64_t> pending;     // a Pending, bit-cast
    std::atomic<std::uint32_t> lot;         // head only: see lots.h
    std::atomic<float> typical;             // running mean of admitted weights; below 0 = none yet
    std::atomic<float> heaviest;            // W at the anchor
    std::atomic<std::uint32_t> control;     // flags and renewal count, see below
    std::atomic<std::uint32_t> view;        // index of the view, 0 = none
    std::atomic<std::uint32_t> owner;       // head: the parent instance; others: the head
    std::atomic<std::uint32_t> link;        // next record of the instance << 8 | identity
    std::atomic<std::uint32_t> definition;  // head only: index of the definition

    [[nodiscard]] std::uint32_t next() const { return link.load(std::memory_order_acquire) >> 8; }
    [[nodiscard]] std::uint8_t identity() const {
        return static_cast<std::uint8_t>(link.load(std::memory_order_relaxed));
    }
};
static_assert(sizeof(LimitRecord) == 64);

/// Identity of a head record whose quota has no limit at all.
inline constexpr std::uint8_t kNoIdentity = 255;

// control
inline constexpr std::uint32_t kQueued = 1;    // the record is in an active list
inline constexpr std::uint32_t kShedding = 2;  // a hard edge that has refused a request
inline constexpr std::uint32_t kIsolated = 4;  // the members that own the limit cannot be heard
inline constexpr std::uint32_t kLocked = 8;    // the lock bit: somebody renews the record
inline constexpr std::uint32_t kRenewal = 16;  // renewals are counted from this bit on
inline constexpr std::uint32_t kVersionMask = ~(kQueued | kShedding | kIsolated);
inline constexpr std::uint32_t kVersionShift = 3;

[[nodiscard]] inline std::uint64_t pack(Pending pending) {
    return static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(pending.offered)) << 32 |
           std::bit_cast<std::uint32_t>(pending.admitted);
}
[[nodiscard]] inline Pending unpack_pending(std::uint64_t word) {
    return {std::bit_cast<float>(static_cast<std::uint32_t>(word >> 32)),
            std::bit_cast<float>(static_cast<std::uint32_t>(word))};
}

[[nodiscard]] inline std::uint64_t pack(Recent recent) {
    return static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(recent.sum)) << 32 | recent.tick;
}
[[nodiscard]] inline Recent unpack_recent(std::uint64_t word) {
    return {std::bit_cast<float>(static_cast<std::uint32_t>(word >> 32)),
            static_cast<std::uint32_t>(word)};
}

/// Level and recent weight change together on most requests, and a locked instruction costs more
/// than all the arithmetic of a limit.
struct Line {
    double level;
    std::uint64_t recent;
};

/// Swaps both in one step if neither has changed. Where the processor has no such instruction,
/// or a sanitizer must see what happens, the answer is always no and the caller takes two steps.
[[nodiscard]] inline bool swap_both(LimitRecord& record, Line old, Line fresh) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(WEIR_ONE_WORD_SWAPS)
    static_assert(offsetof(LimitRecord, level) == 0 && offsetof(LimitRecord, recent) == 8);
    bool swapped = false;
    std::uint64_t low = std::bit_cast<std::uint64_t>(old.level);
    std::uint64_t high = old.recent;
    // Both words are atomics; the aligned pair is swapped as a whole. Orders more than relaxed.
    __asm__ __volatile__("lock cmpxchg16b %[pair]"
                         : "=@ccz"(swapped), [pair] "+m"(record), "+a"(low), "+d"(high)
                         : "b"(std::bit_cast<std::uint64_t>(fresh.level)), "c"(fresh.recent)
                         : "memory");
    return swapped;
#else
    (void)record, (void)old, (void)fresh;
    return false;
#endif
}

/// Takes the lock bit if it is free.
[[nodiscard]] inline bool try_lock(LimitRecord& record) {
    std::uint32_t control = record.control.load(std::memory_order_relaxed);
    return (control & kLocked) == 0 &&
           record.control.compare_exchange_strong(
               control, control | kLocked, std::memory_order_acquire, std::memory_order_relaxed);
}
/// Gives it back and counts the renewal (the sum carries from the lock bit into the count).
inline void unlock(LimitRecord& record) {
    const std::uint32_t before =
        record.control.fetch_add(kRenewal - kLocked, std::memory_order_release);
    WEIR_ASSERT((before & kLocked) != 0);
}

/// Whether somebody holds the lock bit, as the caller believes to do.
[[nodiscard]] inline bool is_locked(const LimitRecord& record) {
    return (record.control.load(std::memory_order_relaxed) & kLocked) != 0;
}

inline void add(std::atomic<double>& sum, double value) {
    double old = sum.load(std::memory_order_relaxed);
    while (!sum.compare_exchange_weak(old, old + value, std::memory_order_relaxed)) {
    }
}

}  // namespace weir::limiter

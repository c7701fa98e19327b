#pragma once
// The record of one limit of one instance, which every request touches: one cache line of relaxed
// atomics.
//
// The level follows a straight line: level(t) = level + slope*(t - anchor). For a limit that is not
// synchronised the slope is -rate; else it is that of the dead-reckoned view (view_record.h), and a
// line that rises stops at the view's bend. Requests charge by adding to `level` with compare and
// swap. Without a view the line holds for ever; with a view it is renewed every 10 ms. Renewing
// moves the anchor and needs the record's lock bit, which request threads only ever try to take.
// `control` counts renewals, so that a reader notices one that overlapped its reads, and reads
// again (read_while_renewed() in bucket.h).

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

/// The instant in the form that records use: nanoseconds of the monotonic clock.
[[nodiscard]] inline std::int64_t nanoseconds(Instant instant) {
    return instant.time_since_epoch().count();
}

/// The weight offered and admitted since the last renewal, in one word. Only kept while an engine
/// listens.
struct Pending {
    float offered = 0;
    float admitted = 0;
};

/// The weight offered recently, in one word: a sum that decays with kRateWindow. `tick` says up to
/// when it has decayed, in units of 2^20 ns.
struct Recent {
    float sum = 0;
    std::uint32_t tick = 0;
};
[[nodiscard]] inline std::uint32_t tick_of(std::int64_t nanoseconds) {
    return static_cast<std::uint32_t>(nanoseconds >> 20);
}
inline constexpr double kTickSeconds = 1048576e-9;

/// Ticks from `then` to `tick`; 0 if `then` is a little later, because another thread read its
/// clock later. Tick numbers wrap after 52 days. So if `then` seems to lie more than a minute
/// ahead, the limit has in truth been at rest for weeks.
[[nodiscard]] inline std::uint32_t ticks_between(std::uint32_t then, std::uint32_t tick) {
    constexpr std::int32_t kEarlier = 1 << 16;
    const auto ticks = static_cast<std::int32_t>(tick - then);
    if (ticks >= 0) [[likely]] {
        return static_cast<std::uint32_t>(ticks);
    }
    return ticks > -kEarlier ? 0 : std::numeric_limits<std::int32_t>::max();
}

/// One limit of one instance. The first record of an instance is its head. W is the heaviest
/// admitted weight that has not drained yet.
struct alignas(64) LimitRecord {
    std::atomic<double> level;              // at the anchor, + charged since
    std::atomic<std::uint64_t> recent;      // a Recent, bit-cast; beside level, see swap_both
    std::atomic<std::int64_t> anchor;       // nanoseconds of the monotonic time line, or a count
    std::atomic<std::uint64_t> pending;     // a Pending, bit-cast
    std::atomic<std::uint32_t> lot;         // head only: see lots.h
    std::atomic<float> typical;             // running mean of admitted weights; below 0 = none yet
    std::atomic<float> heaviest;            // W at the anchor, or an allowance: see in_flight.h
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

/// The identity of a record that belongs to no limit, such as the head record of a quota without
/// limits.
inline constexpr std::uint8_t kNoIdentity = 255;

// The flags in LimitRecord::control.
inline constexpr std::uint32_t kQueued = 1;    // the record is in an active list
inline constexpr std::uint32_t kShedding = 2;  // a hard edge that has refused a request
inline constexpr std::uint32_t kIsolated = 4;  // the members that own the limit cannot be heard
inline constexpr std::uint32_t kWaiting = 8;   // head only: requests wait for this quota
inline constexpr std::uint32_t kLocked = 16;   // the lock bit: a thread is renewing the record
inline constexpr std::uint32_t kRenewal = 32;  // renewals are counted from this bit on
inline constexpr std::uint32_t kVersionMask = ~(kQueued | kShedding | kIsolated | kWaiting);
inline constexpr std::uint32_t kVersionShift = 4;

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

/// The two words of a record that most requests change together. One locked instruction for both
/// saves more time than all the arithmetic of a limit takes.
struct LevelAndRecent {
    double level;
    std::uint64_t recent;
};

/// Replaces both words in one step if neither has changed. Where the processor has no such
/// instruction, or a sanitizer must see the accesses, it always returns false and the caller takes
/// two steps.
[[nodiscard]] inline bool swap_both(LimitRecord& record, LevelAndRecent old, LevelAndRecent fresh) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(WEIR_ONE_WORD_SWAPS)
    static_assert(offsetof(LimitRecord, level) == 0 && offsetof(LimitRecord, recent) == 8);
    bool swapped = false;
    std::uint64_t low = std::bit_cast<std::uint64_t>(old.level);
    std::uint64_t high = old.recent;
    // Both words are atomics; the instruction swaps the aligned pair as a whole. Its memory order
    // is stronger than the relaxed one that is needed.
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
/// Gives the lock bit back and counts the renewal (the addition carries from the lock bit into the
/// count).
inline void unlock(LimitRecord& record) {
    const std::uint32_t before =
        record.control.fetch_add(kRenewal - kLocked, std::memory_order_release);
    WEIR_ASSERT((before & kLocked) != 0);
}

/// Whether some thread holds the lock bit; asserts that the caller does use it.
[[nodiscard]] inline bool is_locked(const LimitRecord& record) {
    return (record.control.load(std::memory_order_relaxed) & kLocked) != 0;
}

inline void add(std::atomic<double>& sum, double value) {
    double old = sum.load(std::memory_order_relaxed);
    while (!sum.compare_exchange_weak(old, old + value, std::memory_order_relaxed)) {
    }
}

}  // namespace weir::limiter

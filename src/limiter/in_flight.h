#pragma once
// Limits of requests in flight (LimitKind::concurrency), on the records of record.h. The level of
// such a limit is the number of requests that are in flight in this process. Each adds 1 when it is
// admitted, whatever it weighs, and takes it off when it ends; what was obtained adds its units. A
// member of a fleet has an allowance: the part of the limit that it may use. The rest is kept for
// the other members. Who refuses a request for want of room notes it, so that the engine can ask
// for a larger allowance.
//
// Thread-safety: everything may run on any number of threads at once. Allowances are set under the
// creation lock and on the control thread. Ownership: nothing is owned here.
// Invariants: the level has no line and no W, and is never below 0. In place of an anchor the
// record has the number of this count, below 0, which no anchor is. Each limit that begins to count
// gets the next number, so that the end of a request that an earlier one counted changes nothing.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/assert.h"
#include "base/relaxed.h"
#include "limiter/laws.h"
#include "limiter/record.h"

namespace weir::limiter {

/// The largest allowance: that of an overflow instance, ten times kMostInFlight. Above 2^24 a float
/// rounds it by a few requests.
inline constexpr double kMostAllowance = 1e8;

/// How many requests are in flight in this process.
[[nodiscard]] inline double in_flight_here(const LimitRecord& record) {
    return std::max(0.0, record.level.load(kRelaxed));
}

/// Numbers the count that begins in the record now.
inline void begin_count(LimitRecord& record, std::uint32_t number) {
    WEIR_ASSERT(number != 0);
    record.anchor.store(-static_cast<std::int64_t>(number), kRelaxed);
}
/// The number of the record's count; 0 if no requests in flight are counted there.
[[nodiscard]] inline std::uint32_t count_of(const LimitRecord& record) {
    const std::int64_t anchor = record.anchor.load(kRelaxed);
    return anchor < 0 ? static_cast<std::uint32_t>(-anchor) : 0;
}

/// The part of a limit that one of so many members may use before it was told its allowance: all
/// have equal parts and one request more, which is the excess that travelling counts may cause.
[[nodiscard]] inline double equal_part(double most, std::uint32_t members) {
    WEIR_ASSERT(most >= 0);
    return members <= 1 ? most : std::min(most, std::floor(most / members) + 1);
}

/// Sets how many requests this process may have in flight: what the engine says, or an equal part.
/// The record keeps that in the place of W, as one more than it is, and an equal part below 0. 0
/// means that there is no allowance: a member that is alone may use the whole limit, also after an
/// edit.
inline void set_allowance(LimitRecord& record, double allowance) {
    WEIR_ASSERT(allowance >= 0);
    const double stored = std::min(allowance, kMostAllowance) + 1;
    record.heaviest.store(static_cast<float>(stored), kRelaxed);
}
inline void set_equal_part(LimitRecord& record, double part) {
    WEIR_ASSERT(part >= 0);
    record.heaviest.store(-static_cast<float>(std::min(part, kMostAllowance) + 1), kRelaxed);
}
/// Whether the allowance is one that the engine has said.
[[nodiscard]] inline bool has_told_allowance(const LimitRecord& record) {
    return record.heaviest.load(kRelaxed) > 0;
}
inline void lift_allowance(LimitRecord& record) { record.heaviest.store(0, kRelaxed); }

/// Notes that requests, or units that were to be obtained, found no room.
inline void note_no_room(LimitRecord& record, double requests) {
    WEIR_ASSERT(requests >= 0);
    std::uint64_t old = record.pending.load(kRelaxed);
    const auto after = [&] {
        return pack(Pending{unpack_pending(old).offered + static_cast<float>(requests), 0});
    };
    while (!record.pending.compare_exchange_weak(old, after(), kRelaxed)) {
    }
}
/// How many found no room since the last call.
[[nodiscard]] inline double take_no_room(LimitRecord& record) {
    return static_cast<double>(unpack_pending(record.pending.exchange(0, kRelaxed)).offered);
}

/// How much of the limit is kept for other members.
[[nodiscard]] inline double kept_for_others(const LimitRecord& record,
                                            const LimitParameters& limit) {
    WEIR_ASSERT(limit.in_flight);
    const double stored = std::abs(static_cast<double>(record.heaviest.load(kRelaxed)));
    return stored > 0 ? std::max(0.0, limit.low - (stored - 1)) : 0;
}

/// How many requests may be in flight in this process.
[[nodiscard]] inline double allowance_of(const LimitRecord& record, const LimitParameters& limit) {
    return limit.low - kept_for_others(record, limit);
}

/// So many requests have ended.
inline void leave_places(LimitRecord& record, double requests) {
    WEIR_ASSERT(requests >= 0);
    double old = record.level.load(kRelaxed);
    // Parts of what was obtained can be fractions, whose sums leave a tiny rest.
    constexpr double kRest = 1e-6;
    const auto left = [&] { return old - requests < kRest ? 0.0 : old - requests; };
    while (!record.level.compare_exchange_weak(old, left(), kRelaxed)) {
    }
}

}  // namespace weir::limiter

#pragma once
// A leaky bucket: the operations on one limit's record. Read its level (bucket.cpp), charge it and
// give back (bucket_charge.cpp), and renew the straight line that the level follows (record.h,
// bucket_renewal.cpp). What every request needs is inline.
//
// Thread-safety: everything may run on any number of threads at once, apart from renew(),
// scale_level(), install_view() and remove_view(), whose caller holds the record's lock bit.
// Ownership: a Bucket is three references on the stack; record, view and limit belong to others.
// Invariants: no clock, no randomness and no allocation here. After a renewal the level lies
// between its floor and its ceiling (laws.h).

#include <algorithm>
#include <cstdint>

#include "base/relaxed.h"
#include "limiter/compiled_definition.h"
#include "limiter/decay.h"
#include "limiter/fleet_values.h"
#include "limiter/in_flight.h"
#include "limiter/record.h"
#include "limiter/view_record.h"
#include "limiter/window.h"

namespace weir::limiter {

/// The longest time for which the line of a synchronised limit is used. The next reader after that
/// renews it.
inline constexpr std::int64_t kRenewAfterNanoseconds = 10'000'000;

/// One limit of one instance, as a reader found it. `view` is null when the limit is not
/// synchronised.
struct Bucket {
    LimitRecord& record;
    ViewRecord* view;
    const CompiledLimit& limit;
};

[[nodiscard]] inline bool is_isolated(const LimitRecord& record) {
    return (record.control.load(std::memory_order_relaxed) & kIsolated) != 0;
}

/// Whether the engine has given this limit a view of the fleet, by which it is judged.
[[nodiscard]] inline bool view_installed(const Bucket& bucket) {
    return bucket.view != nullptr && bucket.view->installed.load(std::memory_order_relaxed);
}

/// Whether this hard edge hands its free room out by lots now (see next_shedding()), and has credit
/// below 0. Shedding is for many sidecars that would fill one free place at once: a process alone
/// keeps the edge hard.
[[nodiscard]] inline bool sheds(const Bucket& bucket) {
    return view_installed(bucket) &&
           (bucket.record.control.load(std::memory_order_relaxed) & kShedding) != 0;
}

/// The limit itself, or its safe capacity while its owners cannot be heard and it has one.
[[nodiscard]] inline const CompiledLimit& in_force(const CompiledLimit& limit,
                                                   const LimitRecord& record) {
    return limit.safe != nullptr && is_isolated(record) ? *limit.safe : limit;
}

/// Whether the limit refuses everything now because its owners cannot be heard.
[[nodiscard]] inline bool refuses_isolated(const CompiledLimit& limit, const LimitRecord& record) {
    return limit.refuses_when_isolated() && is_isolated(record);
}

/// A level at one instant, with what is needed to charge it.
struct Reading {
    /// Clamped to [floor, ceiling]. Of a limit that only counts: what this process has, and what is
    /// kept for other members.
    double level = 0;
    double raw = 0;             // record.level as read
    double drift = 0;           // level - raw, before clamping; 0 if not settled
    std::uint32_t version = 0;  // of the record's control word when it was read
    bool settled = true;        // no other thread was renewing the record
};

/// The running mean of admitted weights; 1 before any was admitted.
[[nodiscard]] inline double typical_of(const LimitRecord& record) {
    const float typical = record.typical.load(std::memory_order_relaxed);
    return typical > 0 ? static_cast<double>(typical) : 1.0;
}

/// Reads the level and writes nothing.
[[nodiscard]] inline Reading look_at(const Bucket& bucket, std::int64_t now);
/// Reads the level. If the limit has a view whose line is due for renewal, and no other thread is
/// renewing it, renews the line first.
[[nodiscard]] inline Reading read_bucket(const Bucket& bucket, std::int64_t now);

/// The chance that a request of this weight is refused, given this reading.
[[nodiscard]] inline double discard_probability(const Bucket& bucket, const Reading& reading,
                                                double weight, std::int64_t now);
/// The weight per second that this process alone is offered, at `now`.
[[nodiscard]] double own_offered_rate(const LimitRecord& record, std::int64_t now);

/// Counts weight that arrived, for own_offered_rate().
inline void note_offered(LimitRecord& record, double offered, std::int64_t now);
/// Counts for the engine how much weight arrived and how much of it was admitted.
void note_pending(const Bucket& bucket, double offered, double admitted, std::int64_t now);

/// The usual charge: adds weight to the level that was read and counts `offered` as note_offered()
/// does, in one step. If anything is unusual or has changed since the reading, it changes nothing
/// and returns false; the caller then uses charge() and note_offered(). The level is still the one
/// on which the request was judged, so a hard edge need not judge it again.
[[nodiscard]] inline bool charge_and_note(const Bucket& bucket, const Reading& reading,
                                          double weight, double offered, std::int64_t now);
/// Adds weight to the level. With `judge` a hard edge judges the request again, on the level of
/// now: if it has been reached since the reading, nothing changes and the result is false.
[[nodiscard]] inline bool charge(const Bucket& bucket, const Reading& reading, double weight,
                                 bool judge, std::int64_t now);
/// Adds `weight`, which is several units of `unit` each, unless the level is above `highest`
/// before. The running mean of weights counts one unit. False: nothing has changed.
[[nodiscard]] bool charge_units(const Bucket& bucket, double weight, double unit, double highest,
                                std::int64_t now);
/// Adds `weight` to an earlier charge, which is `total` with it. Updates W (the heaviest admitted
/// weight), but not the running mean.
void charge_more(const Bucket& bucket, double weight, double total, std::int64_t now);
/// Takes weight off the level again (not below its floor), without counting it as refunded.
void uncharge(const Bucket& bucket, double weight, std::int64_t now);
/// Takes weight off the level again (not below its floor) and counts it as refunded.
void give_back(const Bucket& bucket, double weight, std::int64_t now);
/// Updates the running mean of admitted weights and W, the heaviest of them.
void note_weight(const Bucket& bucket, double weight, std::int64_t now);
/// Updates W only.
void note_heaviest(const Bucket& bucket, double weight, std::int64_t now);

/// Moves the record's anchor to `now`: drains and clamps the level, settles the counts and, for a
/// synchronised limit, chooses the line in force. The caller holds the lock bit. Returns the level.
double renew(const Bucket& bucket, std::int64_t now);

/// Waits until it has the record's lock bit. For the control thread only.
void lock_waiting(LimitRecord& record);

/// Multiplies the level and the local level by `factor`. The caller holds the lock bit and has
/// renewed the bucket to the level `renewed`.
void scale_level(const Bucket& bucket, double renewed, double factor);
/// Make the view the one that decisions reckon with, or take it away. The caller holds the lock bit
/// and has renewed the bucket to the level `renewed`.
void install_view(const Bucket& bucket, const FleetView& view, double renewed);
void remove_view(const Bucket& bucket, double renewed);
/// What this process did with the limit. The bucket must have a view.
[[nodiscard]] LocalCounts local_counts(const Bucket& bucket, std::int64_t now);

/// When the limit was last offered anything, to the precision of a tick (about a millisecond).
[[nodiscard]] inline std::int64_t touched_at(const LimitRecord& record, std::int64_t now) {
    const Recent recent = unpack_recent(record.recent.load(std::memory_order_relaxed));
    return now - (std::int64_t{ticks_between(recent.tick, tick_of(now))} << 20);
}

// --- the quick halves, inline; the slow ones are in the sources ----------------------------------

[[nodiscard]] double clamp_level(const Bucket& bucket, double level, std::int64_t now);
[[nodiscard]] double law_probability(const Bucket& bucket, const Reading& reading, double weight,
                                     std::int64_t now);
[[nodiscard]] bool charge_slowly(const Bucket& bucket, double weight, bool judge, std::int64_t now);
void renew_if_free(const Bucket& bucket, std::int64_t now);

/// How much of a limit that only counts is kept for other members.
[[nodiscard]] inline double kept_back(const LimitRecord& record, const LimitParameters& limit) {
    return limit.window ? kept_in_window(record, limit) : kept_for_others(record, limit);
}

/// Reads the record once; `level` is left to look_at().
[[nodiscard]] inline Reading read_line(const Bucket& bucket, std::int64_t now) {
    const LimitRecord& record = bucket.record;
    const std::uint32_t before = record.control.load(std::memory_order_acquire);
    // The anchor first: a renewal writes it after the level, so a reading in the middle of one
    // never has the level at the old anchor together with the new anchor, which would be far too
    // high.
    const std::int64_t age = now - record.anchor.load(std::memory_order_acquire);
    const double level = record.level.load(kRelaxed);
    const double slope =
        bucket.view != nullptr ? bucket.view->slope.load(kRelaxed) : -bucket.limit.parameters.rate;
    const double bend = bucket.view != nullptr ? bucket.view->bend.load(kRelaxed) : 0;
    std::atomic_thread_fence(std::memory_order_acquire);
    const std::uint32_t after = record.control.load(kRelaxed);
    Reading reading;
    reading.raw = level;
    reading.drift = age > 0 ? slope * (static_cast<double>(age) * 1e-9) : 0;
    if (reading.drift > 0) [[unlikely]] {
        // To the bend at most. What was charged here meanwhile has taken room from the others.
        reading.drift = std::clamp(bend - level, 0.0, reading.drift);
    }
    reading.version = before & kVersionMask;
    reading.settled = (before & kLocked) == 0 && ((before ^ after) & kVersionMask) == 0;
    return reading;
}

/// Reads the record again, a bounded number of times, until no other thread is renewing it. If one
/// goes on doing so, because the system has stopped it in the middle, nobody knows whether the
/// level that was read is that of the old anchor or of the new one. The smaller level is believed,
/// so that nobody is refused for it.
[[nodiscard]] Reading read_while_renewed(const Bucket& bucket, std::int64_t now);

inline Reading look_at(const Bucket& bucket, std::int64_t now) {
    Reading reading = read_line(bucket, now);
    if (!reading.settled) [[unlikely]] {
        reading = read_while_renewed(bucket, now);
    }
    reading.level = reading.raw + reading.drift;
    if (!reading.settled) [[unlikely]] {
        reading.drift = 0;
    }
    const LimitParameters& limit = bucket.limit.parameters;
    if (limit.only_counts()) [[unlikely]] {
        reading.level += kept_back(bucket.record, limit);
    } else if (reading.level < 0 && !limit.edge()) {
        reading.level = 0;
    } else if (reading.level < 0 || reading.level > limit.high) {
        reading.level = clamp_level(bucket, reading.level, now);
    }
    return reading;
}

inline Reading read_bucket(const Bucket& bucket, std::int64_t now) {
    if (bucket.view != nullptr &&
        now - bucket.record.anchor.load(std::memory_order_relaxed) > kRenewAfterNanoseconds) {
        renew_if_free(bucket, now);
    }
    return look_at(bucket, now);
}

inline double discard_probability(const Bucket& bucket, const Reading& reading, double weight,
                                  std::int64_t now) {
    const LimitParameters& limit = bucket.limit.parameters;
    const double judged = std::max(0.0, reading.level) + std::min(weight, limit.low);
    if (judged <= limit.low && (!limit.edge() || bucket.view == nullptr) && !limit.zero()) {
        return 0;  // the common case, without a look at rates
    }
    return law_probability(bucket, reading, weight, now);
}

/// e^(-kTickSeconds/kRateWindow), to the power of the ticks that have passed.
inline constexpr PowerTable kTickDecay{0.99651086806};

/// The rate's sum with this much more in it.
[[nodiscard]] inline std::uint64_t offered_more(std::uint64_t word, double offered,
                                                std::int64_t now) {
    Recent recent = unpack_recent(word);
    const std::uint32_t tick = tick_of(now);
    if (const std::uint32_t ticks = ticks_between(recent.tick, tick); ticks > 0) {
        recent.sum *= kTickDecay(ticks);
        recent.tick = tick;
    }
    recent.sum += static_cast<float>(offered);
    return pack(recent);
}

inline void note_offered(LimitRecord& record, double offered, std::int64_t now) {
    std::uint64_t old = record.recent.load(std::memory_order_relaxed);
    while (!record.recent.compare_exchange_weak(old, offered_more(old, offered, now),
                                                std::memory_order_relaxed)) {
    }
}

/// Whether a charge may have to be added to a level below 0 (see level_floor()).
[[nodiscard]] inline bool has_credit(const Bucket& bucket, const Reading& reading) {
    return reading.level < 0 && (bucket.record.control.load(kRelaxed) & kShedding) != 0;
}

inline bool charge_and_note(const Bucket& bucket, const Reading& reading, double weight,
                            double offered, std::int64_t now) {
    LimitRecord& record = bucket.record;
    const LimitParameters& limit = bucket.limit.parameters;
    const double level = std::max(0.0, reading.raw + reading.drift);
    // A weight equal to the mean moves neither the mean nor, with a default debt, W.
    const bool usual = static_cast<double>(record.typical.load(kRelaxed)) == weight;
    if (!usual || limit.debt >= 0 || level + weight > limit.high || has_credit(bucket, reading) ||
        record.control.load(kRelaxed) >> kVersionShift != reading.version >> kVersionShift) {
        return false;
    }
    const std::uint64_t recent = record.recent.load(kRelaxed);
    const double charged = level > 0 ? reading.raw + weight : weight - reading.drift;
    return swap_both(record, {reading.raw, recent}, {charged, offered_more(recent, offered, now)});
}

inline bool charge(const Bucket& bucket, const Reading& reading, double weight, bool judge,
                   std::int64_t now) {
    LimitRecord& record = bucket.record;
    const LimitParameters& limit = bucket.limit.parameters;
    double old = record.level.load(kRelaxed);
    const double level = std::max(0.0, old + reading.drift);
    const double charged = level > 0 ? old + weight : weight - reading.drift;
    // A weight equal to the mean moves neither the mean nor, with a default debt, W.
    const bool usual = static_cast<double>(record.typical.load(kRelaxed)) == weight;
    if (usual && limit.debt < 0 && !judge && level + weight <= limit.high &&
        !has_credit(bucket, reading) &&
        record.control.load(kRelaxed) >> kVersionShift == reading.version >> kVersionShift &&
        record.level.compare_exchange_strong(old, charged, kRelaxed)) {
        return true;
    }
    return charge_slowly(bucket, weight, judge, now);
}

}  // namespace weir::limiter

#pragma once
// Operations on one limit's record: read its line, renew it, charge it, give back.
// All but renew() may run on any number of threads at once; renew() needs the record's lock bit,
// install and uninstall take it. No clock, no randomness, nothing allocated.

#include <cstdint>

#include "limiter/compiled.h"
#include "limiter/record.h"
#include "limiter/sync.h"
#include "limiter/view.h"

namespace weir::limiter {

/// A line is straight for this long at most; then the next reader renews it.
inline constexpr std::int64_t kRenewAfterNanoseconds = 10'000'000;

/// One limit as a reader found it. `view` may be null.
struct Bucket {
    LimitRecord& record;
    View* view;
    const CompiledLimit& limit;
};

/// A level at one instant, with what is needed to charge it.
struct Reading {
    double level = 0;  // clamped to [floor, ceiling]
    double drift = 0;  // level - record.level, before clamping
    double ceiling = 0;
    std::uint32_t version = 0;  // of control; odd one out = a renewal overlapped
    bool stable = false;        // the drift counts
};

[[nodiscard]] inline double typical_of(const LimitRecord& record) {
    const float typical = record.typical.load(std::memory_order_relaxed);
    return typical > 0 ? static_cast<double>(typical) : 1.0;
}

/// Renews if due (and nobody else does), then reads.
[[nodiscard]] Reading read_bucket(const Bucket& bucket, std::int64_t now);
/// Reads without ever writing.
[[nodiscard]] Reading look_at(const Bucket& bucket, std::int64_t now);

/// Chance that a request of this weight is refused at this reading.
[[nodiscard]] double discard_probability(const Bucket& bucket, const Reading& reading,
                                         double weight, std::int64_t now);
/// Own offered rate per second, at `now`.
[[nodiscard]] double own_offered_rate(const LimitRecord& record, std::int64_t now);

/// Counts weight that arrived (and, if it was admitted, how much).
void note_offered(const Bucket& bucket, double offered, double admitted, double weight,
                  std::int64_t now);

/// Adds weight to the level. false, and nothing changed, when a hard edge has been reached in the
/// meantime and `judge` is set.
[[nodiscard]] bool charge(const Bucket& bucket, Reading reading, double weight, bool judge,
                          std::int64_t now);
/// Takes weight back off the level (not below 0), without counting it as refunded.
void uncharge(const Bucket& bucket, double weight, std::int64_t now);
/// uncharge, and counted.
void give_back(const Bucket& bucket, double weight, std::int64_t now);
/// Moves the running mean and W.
void note_weight(const Bucket& bucket, double weight, std::int64_t now);

/// Moves the anchor to now: drains, clamps, settles counts, chooses the line in force. The caller
/// holds the lock bit. Returns the level.
double renew(const Bucket& bucket, std::int64_t now);

/// Tries the lock for as long as it takes: for the control thread only.
void lock_waiting(LimitRecord& record);

/// The caller holds the lock bit and has renewed the bucket to the level `renewed`.
void install_view(const Bucket& bucket, const FleetView& view, double renewed);
void remove_view(const Bucket& bucket, double renewed);
[[nodiscard]] LocalCounts local_counts(const Bucket& bucket, std::int64_t now);

}  // namespace weir::limiter

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/relaxed.h"
#include "limiter/bucket.h"
#include "limiter/bucket_state.h"

// Adds weight to a bucket, takes it off again, and counts it. Here are the slow halves of the
// charging functions, and the functions that the usual request does not call.

namespace weir::limiter {
namespace {

/// A float adds up 2^24 steps of one size exactly. Up to this many steps nothing is lost.
constexpr double kExactSteps = 1 << 20;

/// Adds to the record's pending counts. With `exactly`: false, and nothing has changed, when the
/// sums are so much larger than the weight that a float would not add it exactly.
bool add_pending(LimitRecord& record, double offered, double admitted, bool exactly) {
    std::uint64_t old = record.pending.load(kRelaxed);
    const double step = std::max(offered, std::abs(admitted));
    for (;;) {
        const Pending before = unpack_pending(old);
        if (exactly && static_cast<double>(before.offered) > kExactSteps * step && step > 0) {
            return false;
        }
        const Pending after{before.offered + static_cast<float>(offered),
                            before.admitted + static_cast<float>(admitted)};
        if (record.pending.compare_exchange_weak(old, pack(after), kRelaxed)) {
            return true;
        }
    }
}

/// Stands for a level that no charge finds too high.
constexpr double kAnyLevel = std::numeric_limits<double>::infinity();

/// The highest level at which a hard edge admits this weight.
double highest_of_edge(const Bucket& bucket, double weight) {
    const LimitParameters& limit = bucket.limit.parameters;
    return limit.low - std::min(weight, limit.low);
}

/// Adds weight to the level of a limit that only counts, if the level with what is kept for others
/// is at most `highest`.
bool take_room(LimitRecord& record, const LimitParameters& limit, double weight, double highest) {
    WEIR_ASSERT(weight >= 0);
    double old = record.level.load(kRelaxed);
    do {
        // Each time, because the allowance may have shrunk meanwhile.
        if (old > highest - kept_back(record, limit) + kLevelSlack) {
            return false;
        }
    } while (!record.level.compare_exchange_weak(old, old + weight, kRelaxed));
    return true;
}

/// Adds weight to the level of now, but only if that is at most `highest`.
bool add_to_level(const Bucket& bucket, double weight, double highest, std::int64_t now) {
    LimitRecord& record = bucket.record;
    const LimitParameters& limit = bucket.limit.parameters;
    if (limit.only_counts()) {
        return take_room(record, limit, weight, highest);
    }
    Reading reading = look_at(bucket, now);
    double old = reading.raw;
    for (;;) {
        if (!reading.settled) {
            // Added as it is, the weight is in the level whichever anchor that has. The renewal
            // clamps it.
            if (reading.level > highest + kLevelSlack) {
                return false;
            }
            if (record.level.compare_exchange_weak(old, old + weight, kRelaxed)) {
                return true;
            }
            reading = look_at(bucket, now);
            continue;
        }
        const double seconds = seconds_between(record.anchor.load(kRelaxed), now);
        const double ceiling = ceiling_of(bucket, seconds);
        const double bounded = std::min(ceiling, old + reading.drift);
        const double level = level_to_charge(bounded, typical_of(record), sheds(bucket));
        if (level > highest + kLevelSlack) {
            return false;
        }
        const bool plain = level + weight <= ceiling && level == old + reading.drift;
        const double charged =
            plain
                ? old + weight
                : std::min(std::max(ceiling, limit.high + weight), level + weight) - reading.drift;
        if (record.level.compare_exchange_weak(old, charged, kRelaxed)) {
            return true;
        }
        if ((record.control.load(std::memory_order_acquire) & kVersionMask) != reading.version) {
            reading = look_at(bucket, now);
        }
    }
}

/// W is kept as a float, as it was at the anchor. If that is long ago, this renews the record, so
/// that a heavy request is counted precisely.
void bring_near(const Bucket& bucket, double weight, std::int64_t now) {
    constexpr std::int64_t kFar = 1'000'000'000;
    const bool heavy = weight > debt(bucket.limit.parameters, typical_of(bucket.record));
    if (heavy && !bucket.limit.parameters.only_counts() &&
        now - bucket.record.anchor.load(kRelaxed) > kFar) {
        renew_if_free(bucket, now);
    }
}

/// Counts a charged weight. What is charged for response bytes at first is the mean itself, so it
/// must not move the mean; their true weight does so later.
void note_charged(const Bucket& bucket, double weight, std::int64_t now) {
    if (bucket.limit.unit == Unit::response_bytes) {
        note_heaviest(bucket, weight, now);
    } else {
        note_weight(bucket, weight, now);
    }
}

}  // namespace

void note_pending(const Bucket& bucket, double offered, double admitted, std::int64_t now) {
    // A view, renewed every 10 ms anyway, takes the sums as doubles. Without a view the sums wait
    // for the engine's first look at the limit, which comes with its next tick; if it never comes,
    // nobody needs them.
    if (!add_pending(bucket.record, offered, admitted, bucket.view != nullptr)) {
        renew_if_free(bucket, now);
        (void)add_pending(bucket.record, offered, admitted, false);
    }
    if (bucket.view != nullptr && offered > 0) {
        bucket.view->last_offered.store(now, kRelaxed);
        bucket.view->last_weight.store(static_cast<float>(offered), kRelaxed);
    }
}

void note_weight(const Bucket& bucket, double weight, std::int64_t now) {
    LimitRecord& record = bucket.record;
    const float typical = record.typical.load(kRelaxed);
    const auto sample = static_cast<float>(weight);
    if (sample != typical && sample > 0) {
        constexpr float kShare = 1.0F / 32;
        // A mean this near takes the sample's value, else it would never quite reach it.
        constexpr float kSame = 1e-5F;
        const float mean = typical > 0 ? typical + (sample - typical) * kShare : sample;
        record.typical.store(std::abs(sample - mean) <= kSame * sample ? sample : mean, kRelaxed);
    }
    note_heaviest(bucket, weight, now);
}

void note_heaviest(const Bucket& bucket, double weight, std::int64_t now) {
    LimitRecord& record = bucket.record;
    // W has an effect only where it is above the debt (see ceiling()). What only counts has no W.
    const LimitParameters& limit = bucket.limit.parameters;
    if (limit.only_counts() || weight <= debt(limit, typical_of(record))) {
        return;
    }
    const double seconds = seconds_between(record.anchor.load(kRelaxed), now);
    const double at_anchor = weight + limit.rate * seconds;
    float old = record.heaviest.load(kRelaxed);
    while (static_cast<double>(old) < at_anchor &&
           !record.heaviest.compare_exchange_weak(old, static_cast<float>(at_anchor), kRelaxed)) {
    }
}

bool charge_slowly(const Bucket& bucket, double weight, bool judge, std::int64_t now) {
    bring_near(bucket, weight, now);
    if (!judge) {
        note_charged(bucket, weight, now);  // first, because the ceiling depends on W
        return add_to_level(bucket, weight, kAnyLevel, now);
    }
    if (!add_to_level(bucket, weight, highest_of_edge(bucket, weight), now)) {
        return false;
    }
    note_charged(bucket, weight, now);
    return true;
}

bool charge_units(const Bucket& bucket, double weight, double unit, double highest,
                  std::int64_t now) {
    bring_near(bucket, weight, now);
    if (!add_to_level(bucket, weight, highest, now)) {
        return false;
    }
    note_weight(bucket, unit, now);
    note_heaviest(bucket, weight, now);
    return true;
}

void charge_more(const Bucket& bucket, double weight, double total, std::int64_t now) {
    bring_near(bucket, total, now);
    note_heaviest(bucket, total, now);
    (void)add_to_level(bucket, weight, kAnyLevel, now);
}

void uncharge(const Bucket& bucket, double weight, std::int64_t now) {
    Reading reading = look_at(bucket, now);
    double old = bucket.record.level.load(kRelaxed);
    const double floor = floor_of(bucket);
    while (!bucket.record.level.compare_exchange_weak(
        old, old - std::min(weight, std::max(0.0, old + reading.drift - floor)), kRelaxed)) {
        reading = look_at(bucket, now);
    }
}

void give_back(const Bucket& bucket, double weight, std::int64_t now) {
    uncharge(bucket, weight, now);
    if (bucket.view != nullptr) {
        add(bucket.view->refunded, weight);
    } else if (!bucket.limit.parameters.only_counts()) {
        (void)add_pending(bucket.record, 0, -weight, false);
    }
}

}  // namespace weir::limiter

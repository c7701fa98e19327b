#include "limiter/bucket.h"

#include <algorithm>

#include "base/assert.h"
#include "base/relaxed.h"
#include "limiter/bucket_state.h"
#include "limiter/decay.h"

// The functions that only read a bucket: its level, the rate that is offered to it, the chance that
// it refuses a request, and the counts for the engine.

namespace weir::limiter {
namespace {

/// The chance that a request of the mean admitted weight is refused at this level.
double typical_probability(const Bucket& bucket, double level, double offered_rate) {
    const LawState state = law_state(bucket, level, offered_rate);
    return discard_probability(bucket.limit.parameters, state, state.typical);
}

}  // namespace

double clamp_level(const Bucket& bucket, double level, std::int64_t now) {
    const double seconds = seconds_between(bucket.record.anchor.load(kRelaxed), now);
    return std::min(ceiling_of(bucket, seconds), std::max(floor_of(bucket), level));
}

Reading read_while_renewed(const Bucket& bucket, std::int64_t now) {
    constexpr int kLooks = 16;  // a renewal takes a fraction of the time of so many looks
    Reading reading = read_line(bucket, now);
    for (int i = 1; i < kLooks && !reading.settled; ++i) {
        reading = read_line(bucket, now);
    }
    if (!reading.settled) {
        reading.drift = std::min(0.0, reading.drift);
    }
    return reading;
}

double own_offered_rate(const LimitRecord& record, std::int64_t now) {
    const Recent recent = unpack_recent(record.recent.load(kRelaxed));
    const std::uint32_t ticks = ticks_between(recent.tick, tick_of(now));
    return static_cast<double>(recent.sum) * decay(ticks * (kTickSeconds / kRateWindow)) /
           kRateWindow;
}

double law_probability(const Bucket& bucket, const Reading& reading, double weight,
                       std::int64_t now) {
    return discard_probability(bucket.limit.parameters,
                               law_state(bucket, reading.level, law_offered_rate(bucket, now)),
                               weight);
}

LocalCounts local_counts(const Bucket& bucket, std::int64_t now) {
    WEIR_ASSERT(bucket.view != nullptr);
    const ViewRecord& view = *bucket.view;
    const Reading reading = look_at(bucket, now);
    LocalCounts counts;
    counts.admitted = view.admitted.load(kRelaxed);
    counts.refunded = view.refunded_settled.load(kRelaxed);
    counts.offered = view.offered.load(kRelaxed);
    const std::int64_t last = view.last_offered.load(kRelaxed);
    constexpr double kYoung = 0.05;
    const double age = seconds_between(last, now);
    const double newest = age < kYoung ? static_cast<double>(view.last_weight.load(kRelaxed)) *
                                             decay(age / kRateWindow) / kRateWindow
                                       : 0;
    counts.offered_rate = std::max(0.0, own_offered_rate(bucket.record, now) - newest);
    counts.open_time = view.open_time.load(kRelaxed);
    counts.level = std::max(0.0, reading.level);
    counts.local_level = view.local_level.load(kRelaxed);
    counts.view_level = view.installed.load(kRelaxed) ? view.view_level.load(kRelaxed) : -1;
    counts.heaviest = heaviest_of(bucket, 0);
    counts.typical = typical_of(bucket.record);
    counts.discard_probability =
        typical_probability(bucket, reading.level, law_offered_rate(bucket, now));
    counts.shedding = (bucket.record.control.load(kRelaxed) & kShedding) != 0;
    counts.last_offered = Instant(Duration(last));
    return counts;
}

}  // namespace weir::limiter

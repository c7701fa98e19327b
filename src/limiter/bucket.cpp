#include "limiter/bucket.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/assert.h"
#include "limiter/decay.h"

namespace weir::limiter {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

double seconds_between(std::int64_t from, std::int64_t to) {
    return to > from ? static_cast<double>(to - from) * 1e-9 : 0;
}

double heaviest_of(const Bucket& bucket, double seconds) {
    const double heaviest = static_cast<double>(bucket.record.heaviest.load(kRelaxed));
    return std::max(0.0, heaviest - bucket.limit.parameters.rate * seconds);
}

double ceiling_of(const Bucket& bucket, double seconds) {
    const double result =
        ceiling(bucket.limit.parameters, typical_of(bucket.record), heaviest_of(bucket, seconds));
    WEIR_ASSERT(result >= bucket.limit.parameters.high);
    return result;
}

double floor_of(const Bucket& bucket) {
    return level_floor(bucket.limit.parameters, typical_of(bucket.record));
}

bool view_installed(const Bucket& bucket) {
    return bucket.view != nullptr && bucket.view->installed.load(kRelaxed);
}

/// Floats are exact for 2^24 steps of one size; with fewer steps than this nothing is lost.
constexpr double kExactSteps = 1 << 20;

/// False, and nothing changed, when the sums are so much larger than the weight that a float would
/// not take it exactly.
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

/// Replaces the level by change(level), whatever is charged meanwhile. The value always changes,
/// so that a charger that read the line before cannot take the new anchor's level for the old.
template <class Change>
double renew_level(LimitRecord& record, Change change) {
    constexpr double kNudge = 1e-12;
    double old = record.level.load(kRelaxed);
    for (;;) {
        double level = change(old);
        if (level == old) {
            level = old == 0 ? kNudge : old * (1 - 1e-15);
        }
        if (record.level.compare_exchange_weak(old, level, kRelaxed)) {
            return level;
        }
    }
}

LawState law_state(const Bucket& bucket, double level, double offered_rate) {
    LawState state;
    state.level = std::max(0.0, level);
    state.offered_rate = offered_rate;
    state.typical = typical_of(bucket.record);
    if (view_installed(bucket)) {
        state.tau = bucket.view->tau.load(kRelaxed);
        // Alone there is no herd that fills one free slot at once: then the edge stays hard.
        state.shedding = (bucket.record.control.load(kRelaxed) & kShedding) != 0;
        if (state.shedding) {
            state.level = level;  // runs below 0, see level_floor
        }
    }
    return state;
}

double typical_probability(const Bucket& bucket, double level, double offered_rate) {
    const LawState state = law_state(bucket, level, offered_rate);
    return discard_probability(bucket.limit.parameters, state, state.typical);
}

/// What is reckoned to pass of the weight that others offer.
double passing(const Bucket& bucket, double level, double offered_rate) {
    return reckoned_share(bucket.limit.parameters, law_state(bucket, level, offered_rate));
}

/// Dead reckoning in steps short enough for p to follow the level.
double reckon_view(const Bucket& bucket, double level, double seconds, double ceiling) {
    constexpr double kStep = 0.02;
    constexpr double kMaxSteps = 64;
    WEIR_ASSERT(view_installed(bucket));
    const ViewRecord& view = *bucket.view;
    const double others = view.others_rate.load(kRelaxed);
    const double offered = view.offered_rate.load(kRelaxed);
    const double steps = std::clamp(std::ceil(seconds / kStep), 1.0, kMaxSteps);
    const double step = seconds / steps;
    const double floor = floor_of(bucket);
    for (int i = 0; i < static_cast<int>(steps); ++i) {
        const double inflow = others * passing(bucket, level, offered);
        level = reckon(bucket.limit.parameters, level, inflow, step, floor, ceiling);
    }
    return level;
}

void update_shedding(const Bucket& bucket, double level) {
    LimitRecord& record = bucket.record;
    if ((record.control.load(kRelaxed) & kShedding) != 0 &&
        !next_shedding(bucket.limit.parameters, true, level, typical_of(record))) {
        record.control.fetch_and(~kShedding, kRelaxed);
    }
}

/// The slope from here on, with the larger of the two levels in force.
void choose_line(const Bucket& bucket, bool in_force, double level) {
    WEIR_ASSERT(is_locked(bucket.record));
    WEIR_ASSERT(!in_force || view_installed(bucket));
    ViewRecord& view = *bucket.view;
    double inflow = 0;
    if (in_force) {
        const double offered = view.offered_rate.load(kRelaxed);
        inflow = view.others_rate.load(kRelaxed) * passing(bucket, level, offered);
    }
    view.view_in_force.store(in_force, kRelaxed);
    view.slope.store(inflow - bucket.limit.parameters.rate, kRelaxed);
}

/// Renews both levels of a synchronised limit; returns the larger one, which goes in force.
double renew_view(const Bucket& bucket, double seconds, double admitted) {
    WEIR_ASSERT(bucket.view != nullptr);
    ViewRecord& view = *bucket.view;
    const double refunded = view.refunded.load(kRelaxed);
    const double own = admitted - (refunded - view.refunded_settled.load(kRelaxed));
    view.refunded_settled.store(refunded, kRelaxed);
    view.admitted.store(view.admitted.load(kRelaxed) + admitted, kRelaxed);

    const double ceiling = ceiling_of(bucket, seconds);
    const double floor = floor_of(bucket);
    const double rate = bucket.limit.parameters.rate;
    const bool installed = view.installed.load(kRelaxed);
    const bool was_in_force = view.view_in_force.load(kRelaxed);
    double view_level = -1;
    double local_level = view.local_level.load(kRelaxed);
    if (was_in_force || !installed) {
        local_level = std::max(floor, local_level - rate * seconds);
        local_level =
            std::min(ceiling, own > 0 ? std::max(0.0, local_level) + own : local_level + own);
    }
    if (installed && !was_in_force) {
        view_level = reckon_view(bucket, view.view_level.load(kRelaxed), seconds, ceiling);
        view_level = std::min(ceiling, std::max(floor, view_level + own));
    }
    const double level = renew_level(bucket.record, [&](double old) {
        if (was_in_force) {
            view_level = reckon_view(bucket, old, seconds, ceiling);
            return std::max(view_level, local_level);
        }
        local_level = std::min(ceiling, std::max(floor, old - rate * seconds));
        return installed ? std::max(view_level, local_level) : local_level;
    });
    view.view_level.store(view_level, kRelaxed);
    view.local_level.store(local_level, kRelaxed);
    choose_line(bucket, installed && view_level >= local_level, level);
    return level;
}

/// Puts `level` in place of the renewed one, and on it what has been charged since.
double move_line(const Bucket& bucket, double renewed, double level) {
    WEIR_ASSERT(is_locked(bucket.record));
    return renew_level(bucket.record, [&](double old) { return level + (old - renewed); });
}

double law_offered_rate(const Bucket& bucket, std::int64_t now) {
    return view_installed(bucket) ? bucket.view->offered_rate.load(kRelaxed)
                                  : own_offered_rate(bucket.record, now);
}

}  // namespace

double renew(const Bucket& bucket, std::int64_t now) {
    LimitRecord& record = bucket.record;
    WEIR_ASSERT(is_locked(record));
    const std::int64_t anchor = record.anchor.load(kRelaxed);
    const double seconds = seconds_between(anchor, now);
    double level = 0;
    if (bucket.view != nullptr) {
        ViewRecord& view = *bucket.view;
        const Pending pending = unpack_pending(record.pending.exchange(0, kRelaxed));
        add(view.offered, static_cast<double>(pending.offered));
        level = renew_view(bucket, seconds, static_cast<double>(pending.admitted));
    } else {
        const double floor = floor_of(bucket);
        const double ceiling = ceiling_of(bucket, seconds);
        const double drained = bucket.limit.parameters.rate * seconds;
        level = renew_level(
            record, [&](double old) { return std::min(ceiling, std::max(floor, old - drained)); });
    }
    if (record.heaviest.load(kRelaxed) > 0) {
        record.heaviest.store(static_cast<float>(heaviest_of(bucket, seconds)), kRelaxed);
    }
    record.anchor.store(std::max(anchor, now), kRelaxed);
    update_shedding(bucket, level);
    if (bucket.view != nullptr) {
        ViewRecord& view = *bucket.view;
        const double share = passing(bucket, level, law_offered_rate(bucket, now));
        view.open_time.store(view.open_time.load(kRelaxed) + share * seconds, kRelaxed);
    }
    return level;
}

void renew_if_free(const Bucket& bucket, std::int64_t now) {
    if (try_lock(bucket.record)) {
        (void)renew(bucket, now);
        unlock(bucket.record);
    }
}

double clamp_level(const Bucket& bucket, double level, std::int64_t now) {
    const double seconds = seconds_between(bucket.record.anchor.load(kRelaxed), now);
    return std::min(ceiling_of(bucket, seconds), std::max(floor_of(bucket), level));
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

void note_pending(const Bucket& bucket, double offered, double admitted, std::int64_t now) {
    // A view has doubles to take them, and is renewed every 10 ms anyway. Without one the sums
    // wait for the engine's first look, a tick away; if that never comes nobody misses them.
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
        constexpr float kSame = 1e-5F;  // nearer, it would be an ulp or two away for ever
        const float mean = typical > 0 ? typical + (sample - typical) * kShare : sample;
        record.typical.store(std::abs(sample - mean) <= kSame * sample ? sample : mean, kRelaxed);
    }
    note_heaviest(bucket, weight, now);
}

void note_heaviest(const Bucket& bucket, double weight, std::int64_t now) {
    LimitRecord& record = bucket.record;
    // W only ever matters above the debt.
    if (weight <= debt(bucket.limit.parameters, typical_of(record))) {
        return;
    }
    const double seconds = seconds_between(record.anchor.load(kRelaxed), now);
    const double at_anchor = weight + bucket.limit.parameters.rate * seconds;
    float old = record.heaviest.load(kRelaxed);
    while (static_cast<double>(old) < at_anchor &&
           !record.heaviest.compare_exchange_weak(old, static_cast<float>(at_anchor), kRelaxed)) {
    }
}

namespace {

/// Adds weight to the level as it is now; with `judge` only if a hard edge lets it.
bool add_to_level(const Bucket& bucket, double weight, bool judge, std::int64_t now) {
    LimitRecord& record = bucket.record;
    const LimitParameters& limit = bucket.limit.parameters;
    Reading reading = look_at(bucket, now);
    double old = record.level.load(kRelaxed);
    for (;;) {
        const double seconds = seconds_between(record.anchor.load(kRelaxed), now);
        const double ceiling = ceiling_of(bucket, seconds);
        const double level = std::min(ceiling, old + reading.drift);
        if (judge && judged_level(limit, std::max(0.0, level), weight) > limit.low + kLevelSlack) {
            return false;
        }
        const bool plain = level >= 0 && level + weight <= ceiling && level == old + reading.drift;
        const double charged = plain ? old + weight
                                     : std::min(std::max(ceiling, limit.high + weight),
                                                std::max(0.0, level) + weight) -
                                           reading.drift;
        if (record.level.compare_exchange_weak(old, charged, kRelaxed)) {
            return true;
        }
        if ((record.control.load(std::memory_order_acquire) & kVersionMask) != reading.version) {
            reading = look_at(bucket, now);
        }
    }
}

/// W is a float that counts from the anchor, which may be long ago.
void bring_near(const Bucket& bucket, double weight, std::int64_t now) {
    constexpr std::int64_t kFar = 1'000'000'000;
    const bool heavy = weight > debt(bucket.limit.parameters, typical_of(bucket.record));
    if (heavy && now - bucket.record.anchor.load(kRelaxed) > kFar) {
        renew_if_free(bucket, now);
    }
}

/// Of response bytes only the true weights move the mean: what stands for them is the mean.
void note_charged(const Bucket& bucket, double weight, std::int64_t now) {
    if (bucket.limit.unit == Unit::response_bytes) {
        note_heaviest(bucket, weight, now);
    } else {
        note_weight(bucket, weight, now);
    }
}

}  // namespace

bool charge_slowly(const Bucket& bucket, double weight, bool judge, std::int64_t now) {
    bring_near(bucket, weight, now);
    if (!judge) {
        note_charged(bucket, weight, now);  // the ceiling's W includes it
        return add_to_level(bucket, weight, false, now);
    }
    if (!add_to_level(bucket, weight, true, now)) {
        return false;
    }
    note_charged(bucket, weight, now);
    return true;
}

void charge_more(const Bucket& bucket, double weight, double total, std::int64_t now) {
    bring_near(bucket, total, now);
    note_heaviest(bucket, total, now);
    (void)add_to_level(bucket, weight, false, now);
}

void uncharge(const Bucket& bucket, double weight, std::int64_t now) {
    Reading reading = look_at(bucket, now);
    double old = bucket.record.level.load(kRelaxed);
    while (!bucket.record.level.compare_exchange_weak(
        old, old - std::min(weight, std::max(0.0, old + reading.drift)), kRelaxed)) {
        reading = look_at(bucket, now);
    }
}

void give_back(const Bucket& bucket, double weight, std::int64_t now) {
    uncharge(bucket, weight, now);
    if (bucket.view != nullptr) {
        add(bucket.view->refunded, weight);
    } else {
        (void)add_pending(bucket.record, 0, -weight, false);
    }
}

void lock_waiting(LimitRecord& record) {
    while (!try_lock(record)) {
        std::this_thread::yield();
    }
}

void install_view(const Bucket& bucket, const FleetView& fleet, double renewed) {
    WEIR_ASSERT(bucket.view != nullptr && is_locked(bucket.record));
    ViewRecord& view = *bucket.view;
    LimitRecord& record = bucket.record;
    view.offered_rate.store(fleet.offered_rate, kRelaxed);
    view.others_rate.store(std::max(0.0, fleet.others_rate), kRelaxed);
    view.tau.store(settle_time(to_seconds(fleet.round_trip)), kRelaxed);
    view.installed.store(true, kRelaxed);
    if (fleet.shedding && bucket.limit.parameters.edge()) {
        record.control.fetch_or(kShedding, kRelaxed);
    }
    if (fleet.heaviest > static_cast<double>(record.heaviest.load(kRelaxed))) {
        record.heaviest.store(static_cast<float>(fleet.heaviest), kRelaxed);
    }
    const double net = view.admitted.load(kRelaxed) - view.refunded_settled.load(kRelaxed);
    const double installed =
        std::clamp(fleet.level + net - fleet.admitted_at, floor_of(bucket), ceiling_of(bucket, 0));
    view.view_level.store(installed, kRelaxed);
    const double local = view.local_level.load(kRelaxed);
    const double level = move_line(bucket, renewed, std::max(installed, local));
    choose_line(bucket, installed >= local, level);
    update_shedding(bucket, level);
}

void scale_level(const Bucket& bucket, double renewed, double factor) {
    WEIR_ASSERT(bucket.view != nullptr && factor >= 0);
    ViewRecord& view = *bucket.view;
    view.local_level.store(view.local_level.load(kRelaxed) * factor, kRelaxed);
    (void)move_line(bucket, renewed, renewed * factor);
}

void remove_view(const Bucket& bucket, double renewed) {
    WEIR_ASSERT(bucket.view != nullptr);
    ViewRecord& view = *bucket.view;
    view.installed.store(false, kRelaxed);
    const double level = move_line(bucket, renewed, view.local_level.load(kRelaxed));
    choose_line(bucket, false, level);
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

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "base/assert.h"
#include "base/relaxed.h"
#include "limiter/bucket.h"
#include "limiter/bucket_state.h"
#include "limiter/reckoned_limit.h"

// Renews the straight line that a level follows: moves its anchor, settles the counts since the
// last renewal, and chooses which line is in force, that of the fleet's view or the local one.

namespace weir::limiter {
namespace {

/// A value beside `level` that the record has not had for the last thousand renewals. `old` is the
/// one that it has now: `level` itself, or such a neighbour.
double beside(double level, double old) {
    constexpr double kLeast = 1e-12;
    constexpr double kShare = 1e-15;
    constexpr int kNeighbours = 1000;
    const double most = kNeighbours * (level == 0 ? kLeast : std::abs(level) * kShare);
    if (std::abs(old - level) >= most) {
        return level;
    }
    const double neighbour = level == 0 ? old + kLeast : old * (1 - kShare);
    WEIR_ASSERT(neighbour != old);
    return neighbour;
}

/// Replaces the level by change(level), also when it is charged at the same time. A thread that was
/// stopped since it read the line charges by it only if the level has the value that it read. So
/// that this is never the level at another anchor, a renewal does not give the level a value that
/// it had lately. An idle limit would else have 0 again and again.
template <class Change>
double renew_level(LimitRecord& record, Change change) {
    double old = record.level.load(kRelaxed);
    for (;;) {
        const double level = beside(change(old), old);
        if (record.level.compare_exchange_weak(old, level, kRelaxed)) {
            return level;
        }
    }
}

/// The model of the limit at the record's anchor, with this level.
ReckonedLimit reckoned_limit(const Bucket& bucket, double level, double offered_rate) {
    ReckonedLimit result{law_state(bucket, level, offered_rate)};
    result.level = level;  // may be below 0: the model has a floor of its own
    result.heaviest = heaviest_of(bucket, 0);
    return result;
}

/// The share of the weight offered by others that counts as admitted between messages.
double passing(const Bucket& bucket, double level, double offered_rate) {
    return reckoned_share(bucket.limit.parameters, law_state(bucket, level, offered_rate));
}

void end_shedding(LimitRecord& record) { record.control.fetch_and(~kShedding, kRelaxed); }

/// Whether the owner says that a hard edge sheds. It decides when that ends: if each sidecar did so
/// for itself, one of many would always be the first, and would lose its credit.
bool owner_sheds(const Bucket& bucket) {
    return view_installed(bucket) && bucket.view->owner_sheds.load(kRelaxed);
}

/// Ends the shedding of a hard edge if this level and this offered rate allow it.
void update_shedding(const Bucket& bucket, double level, double offered_rate) {
    LimitRecord& record = bucket.record;
    if ((record.control.load(kRelaxed) & kShedding) != 0 && !owner_sheds(bucket) &&
        !next_shedding(bucket.limit.parameters, true, level, typical_of(record), offered_rate)) {
        end_shedding(record);
    }
}

/// Where a line that rises with this slope has to stop before the next renewal: many times the
/// limit fills a small burst long before that. Below the border it is the border. Above it, it is
/// where the model is at the next renewal, if it does not rise so far as the line. Infinite if it
/// does.
double bend_of(const Bucket& bucket, double level, double slope) {
    constexpr double kSeconds = static_cast<double>(kRenewAfterNanoseconds) * 1e-9;
    constexpr double kRounding = 1e-6;
    const LimitParameters& limit = bucket.limit.parameters;
    const ViewRecord& view = *bucket.view;
    ReckonedLimit ahead = reckoned_limit(bucket, level, view.offered_rate.load(kRelaxed));
    if (const double room = room_to_border(limit, ahead); room > 0) {
        return level + room;
    }
    (void)ahead.advance(limit, view.others_rate.load(kRelaxed), kSeconds);
    const double straight = level + slope * kSeconds;
    return ahead.level < straight - kRounding * (1 + std::abs(straight))
               ? ahead.level
               : std::numeric_limits<double>::infinity();
}

/// Sets the line from here on. `in_force` says whether the view's level is the larger one and so in
/// force.
void choose_line(const Bucket& bucket, bool in_force, double level) {
    WEIR_ASSERT(is_locked(bucket.record));
    WEIR_ASSERT(!in_force || view_installed(bucket));
    ViewRecord& view = *bucket.view;
    double inflow = 0;
    if (in_force) {
        const double offered = view.offered_rate.load(kRelaxed);
        inflow = view.others_rate.load(kRelaxed) * passing(bucket, level, offered);
    }
    const double slope = inflow - bucket.limit.parameters.rate;
    view.view_in_force.store(in_force, kRelaxed);
    view.slope.store(slope, kRelaxed);
    view.bend.store(slope > 0 ? bend_of(bucket, level, slope) : 0, kRelaxed);
}

/// Adds the counts since the last renewal to the view. Returns the weight that was admitted
/// meanwhile, less what was refunded.
double settle_counts(const Bucket& bucket) {
    ViewRecord& view = *bucket.view;
    const Pending pending = unpack_pending(bucket.record.pending.exchange(0, kRelaxed));
    const double admitted = static_cast<double>(pending.admitted);
    const double refunded = view.refunded.load(kRelaxed);
    const double net = admitted - (refunded - view.refunded_settled.load(kRelaxed));
    view.refunded_settled.store(refunded, kRelaxed);
    view.admitted.store(view.admitted.load(kRelaxed) + admitted, kRelaxed);
    add(view.offered, static_cast<double>(pending.offered));
    return net;
}

/// Renews both levels of a synchronised limit; returns the larger one, which is in force from then
/// on.
double renew_view(const Bucket& bucket, double seconds, std::int64_t now) {
    WEIR_ASSERT(bucket.view != nullptr);
    ViewRecord& view = *bucket.view;
    const LimitParameters& limit = bucket.limit.parameters;
    const double own = settle_counts(bucket);
    const bool installed = view.installed.load(kRelaxed);
    const bool was_in_force = view.view_in_force.load(kRelaxed);
    WEIR_ASSERT(installed || !was_in_force);
    const double others = view.others_rate.load(kRelaxed);
    const double offered = law_offered_rate(bucket, now);

    // Weight that this process admitted was added to the record's level, the one in force, when it
    // was charged. The other level gets it now.
    ReckonedLimit other;
    if (installed) {
        const auto& level = was_in_force ? view.local_level : view.view_level;
        other = reckoned_limit(bucket, level.load(kRelaxed), offered);
        const bool sheds = other.shedding;
        (void)other.advance(limit, was_in_force ? 0 : others, seconds);
        other.shedding = sheds;  // which of the two levels is added to must not matter
        other.add(limit, own, seconds);
    }
    ReckonedLimit line;
    double open_time = 0;
    bool shed = false;
    const double level = renew_level(bucket.record, [&](double old) {
        line = reckoned_limit(bucket, old, offered);
        shed = line.shedding;
        open_time = line.advance(limit, was_in_force ? others : 0, seconds);
        return installed ? std::max(line.level, other.level) : line.level;
    });
    const ReckonedLimit& local = was_in_force ? other : line;
    const ReckonedLimit& fleet = was_in_force ? line : other;
    view.view_level.store(installed ? fleet.level : -1, kRelaxed);
    view.local_level.store(local.level, kRelaxed);
    view.open_time.store(view.open_time.load(kRelaxed) + open_time, kRelaxed);
    if (shed && !line.shedding && !owner_sheds(bucket)) {
        end_shedding(bucket.record);
    }
    update_shedding(bucket, level, offered);
    choose_line(bucket, installed && fleet.level >= local.level, level);
    return level;
}

/// Replaces the renewed level by `level` and keeps what has been charged since the renewal.
double move_line(const Bucket& bucket, double renewed, double level) {
    WEIR_ASSERT(is_locked(bucket.record));
    return renew_level(bucket.record, [&](double old) { return level + (old - renewed); });
}

}  // namespace

double renew(const Bucket& bucket, std::int64_t now) {
    LimitRecord& record = bucket.record;
    WEIR_ASSERT(is_locked(record));
    if (bucket.limit.parameters.only_counts()) {
        return look_at(bucket, now).level;  // it has no line
    }
    const std::int64_t anchor = record.anchor.load(kRelaxed);
    const double seconds = seconds_between(anchor, now);
    double level = 0;
    if (bucket.view != nullptr) {
        level = renew_view(bucket, seconds, now);
    } else {
        // Nothing flows in between, so one step is exact, however long it is.
        const double floor = floor_of(bucket);
        const double ceiling = ceiling_of(bucket, seconds);
        level = renew_level(record, [&](double old) {
            return reckon(bucket.limit.parameters, old, 0, seconds, floor, ceiling);
        });
        update_shedding(bucket, level, law_offered_rate(bucket, now));
    }
    if (record.heaviest.load(kRelaxed) > 0) {
        record.heaviest.store(static_cast<float>(heaviest_of(bucket, seconds)), kRelaxed);
    }
    record.anchor.store(std::max(anchor, now), std::memory_order_release);
    return level;
}

void renew_if_free(const Bucket& bucket, std::int64_t now) {
    if (try_lock(bucket.record)) {
        (void)renew(bucket, now);
        unlock(bucket.record);
    }
}

void lock_waiting(LimitRecord& record) {
    while (!try_lock(record)) {
        std::this_thread::yield();
    }
}

void scale_level(const Bucket& bucket, double renewed, double factor) {
    WEIR_ASSERT(bucket.view != nullptr && factor >= 0);
    ViewRecord& view = *bucket.view;
    view.local_level.store(view.local_level.load(kRelaxed) * factor, kRelaxed);
    (void)move_line(bucket, renewed, renewed * factor);
}

void install_view(const Bucket& bucket, const FleetView& fleet, double renewed) {
    WEIR_ASSERT(bucket.view != nullptr && is_locked(bucket.record));
    ViewRecord& view = *bucket.view;
    LimitRecord& record = bucket.record;
    view.offered_rate.store(fleet.offered_rate, kRelaxed);
    view.others_rate.store(std::max(0.0, fleet.others_rate), kRelaxed);
    view.tau.store(settle_time(to_seconds(fleet.round_trip)), kRelaxed);
    view.installed.store(true, kRelaxed);
    view.owner_sheds.store(fleet.shedding && bucket.limit.parameters.can_shed(), kRelaxed);
    if (owner_sheds(bucket)) {
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
    update_shedding(bucket, level, fleet.offered_rate);
    choose_line(bucket, installed >= local, level);
}

void remove_view(const Bucket& bucket, double renewed) {
    WEIR_ASSERT(bucket.view != nullptr);
    ViewRecord& view = *bucket.view;
    view.installed.store(false, kRelaxed);
    const double level = move_line(bucket, renewed, view.local_level.load(kRelaxed));
    choose_line(bucket, false, level);
}

}  // namespace weir::limiter

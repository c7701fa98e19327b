#include "sync/synced_limit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"

namespace weir::sync {
namespace {

constexpr double kDeviations = 3;
/// So long membership looks for members that were given up.
constexpr Duration kMissedFor = std::chrono::hours(1);

}  // namespace

LimitKey key_of(std::string_view quota, limiter::Unit unit, Duration period) {
    LimitKey key;
    key.quota = quota_hash(quota);
    key.unit = static_cast<std::uint8_t>(unit);
    key.period_ms = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(period).count());
    return key;
}

void SyncedLimit::begin_run(std::uint32_t new_run, const limiter::LocalCounts& counts,
                            Instant now) {
    run = new_run;
    run_began = now;
    WEIR_ASSERT(run != 0);
    base = counts;
    own = {};
    quick_rate_ = 0;
    own.open_time = counts.open_time;
    for (OwnerView& view : views) {
        view.begin_run(own, now);
    }
    last_view.reset();
}

void SyncedLimit::begin_awake(double admitted, double offered, double rate) {
    own.admitted = quantise(admitted);
    own.offered = quantise(offered);
    WEIR_ASSERT(rate >= 0);
    quick_rate_ = rate;
}

void SyncedLimit::advance(const limiter::LocalCounts& counts, Instant earliest, Instant now) {
    // Rounded as they will be sent, so that nobody ever disagrees about a remainder.
    const double offered = quantise(counts.offered - base.offered);
    const double came = offered - own.offered;
    if (offered != own.offered) {
        touched = now;
    }
    own.admitted = quantise(counts.admitted - base.admitted);
    own.refunded = quantise(counts.refunded - base.refunded);
    own.offered = offered;
    own.open_time = counts.open_time;
    own.heaviest = counts.heaviest;
    own.typical = counts.typical;
    own.rate = rate_now(counts.offered_rate, came, now - std::max(looked, expected_since_), now);
    // A rate that is as good as none is none: its silence is no loss to anybody.
    if (own.rate <= kQuietRate * own.typical) {
        own.rate = 0;
    }
    own.believed_level = std::max(0.0, counts.level);
    own.shedding = counts.shedding;
    own.since = std::max(looked, earliest);
    looked = now;
    last = counts;
    for (OwnerView& view : views) {
        view.advance(parameters, own, now);
    }
    if (last_view) {
        last_view->advance(parameters, own, now);
    }
}

void SyncedLimit::reckon_moved_load(const SyncSettings& settings, Instant now) {
    for (OwnerView& view : views) {
        view.reckon_moved_load(settings, own, now);
    }
    if (last_view) {
        last_view->reckon_moved_load(settings, own, now);
    }
}

/// The window's average is late by its length. A quick one takes its place when it differs by more
/// than chance allows: a rate that has jumped or fallen. Both are linear, so that load which moves
/// from one sidecar to another keeps its sum.
double SyncedLimit::rate_now(double slow, double came, Duration time, Instant now) {
    const double seconds = std::max(0.0, to_seconds(time));
    const double old = std::exp(-seconds / kQuickWindow);
    WEIR_ASSERT(old <= 1);
    quick_rate_ = old * quick_rate_ + came * (seconds > 0 ? (1 - old) / seconds : 1 / kQuickWindow);
    const double noise = std::sqrt(own.typical * std::max(slow, quick_rate_) / (2 * kQuickWindow)) +
                         own.typical / kQuickWindow;
    // An edge hands out its burst by single requests, not by a law that goes by rates.
    if (parameters.edge()) {
        return slow;
    }
    falling_.note(came, now);
    // Of weights that differ, a few heavy ones that have not come look like a fall.
    const auto fallen = own.typical == 1 ? falling_.fallen(slow, now) : std::nullopt;
    if (fallen) {
        return *fallen;
    }
    return std::abs(quick_rate_ - slow) > kDeviations * noise ? quick_rate_ : slow;
}

OwnerView* SyncedLimit::view_of(const gossip::MemberId& owner) {
    for (OwnerView& view : views) {
        if (view.owner() == owner) {
            return &view;
        }
    }
    return nullptr;
}

void SyncedLimit::lost(const gossip::MemberId& owner) {
    const OwnerView* view = view_of(owner);
    if (view == nullptr || !view->heard_at()) {
        return;
    }
    last_word = std::max(last_word.value_or(*view->heard_at()), *view->heard_at());
    if (view->filled() && (!last_view || view->bucket().level > last_view->bucket().level)) {
        last_view = std::make_unique<OwnerView>(*view);
    }
}

bool SyncedLimit::set_owners(const membership::OwnerList& owners, const gossip::MemberId& self) {
    const bool own_it = std::find(owners.begin(), owners.end(), self) != owners.end();
    std::vector<OwnerView> next;
    next.reserve(owners.size());
    bool opened = false;
    for (const gossip::MemberId& owner : owners) {
        if (OwnerView* known = view_of(owner)) {
            next.push_back(std::move(*known));
        } else {
            opened = true;
            next.emplace_back(owner);
            next.back().begin_run(own, run_began);
        }
        const bool pair = own_it && owner != self;
        const Pairing pairing = self < owner ? Pairing::first : Pairing::second;
        next.back().pair(pair ? pairing : Pairing::none);
    }
    views = std::move(next);
    WEIR_ASSERT(views.size() == owners.size());
    return opened;
}

/// Whether the owner is silent, and what it said last still holds.
bool SyncedLimit::holds(const OwnerView& view, const SyncSettings& settings, const Side& side,
                        Instant now) const {
    const Duration hold = side.hold_time(settings, hold_time(settings));
    return view.filled() && view.within_hold(settings, hold, now);
}

const OwnerView* SyncedLimit::believed(const SyncSettings& settings, const Side& side,
                                       Instant now) const {
    const auto largest = [this](const auto& eligible) {
        const OwnerView* best = nullptr;
        for (const OwnerView& view : views) {
            if (!eligible(view)) {
                continue;
            }
            if (best == nullptr || view.bucket().level > best->bucket().level) {
                best = &view;
            }
        }
        return best;
    };
    const OwnerView* best =
        largest([&](const OwnerView& view) { return view.filled() && view.fresh(settings, now); });
    if (best != nullptr) {
        return best;
    }
    // All owners of the shard are silent: a split, an isolation, a stop of our own. Until the hold
    // is over the others are reckoned to go on as they did: each side keeps the share that it had.
    // So does the larger side, until there are other owners.
    if (isolation.mode != limiter::IsolationMode::optimistic) {
        best = largest([&](const OwnerView& view) { return holds(view, settings, side, now); });
        if (best == nullptr && last_view && holds(*last_view, settings, side, now)) {
            return last_view.get();
        }
        if (best != nullptr) {
            return best;
        }
    }
    return largest([&](const OwnerView& view) { return view.fresh(settings, now); });
}

bool SyncedLimit::is_isolated(const SyncSettings& settings, const Side& side, Instant now) const {
    std::size_t heard = 0;
    std::size_t held = 0;
    for (const OwnerView& view : views) {
        if (!view.filled() || !view.fresh(settings, now)) {
            continue;
        }
        ++heard;
        if (view.held()) {
            ++held;
        }
    }
    WEIR_ASSERT(held <= heard);
    // Not by the word of the fewest: an owner that was cut off alone and is heard again holds the
    // shares of all of us until it has heard everybody.
    if (heard > 0) {
        return 2 * held >= heard;
    }
    if (side.majority) {
        return false;
    }
    // A limit that is used again after seconds asks before anybody can be missed.
    const auto missed = [&](const OwnerView& view) {
        return !view.heard() || view.asked_in_vain(settings, now);
    };
    const auto held_on = [&](const OwnerView& view) { return holds(view, settings, side, now); };
    // Owners that were given up have successors here that were never heard.
    const bool held_before = last_view && held_on(*last_view);
    return std::all_of(views.begin(), views.end(), missed) &&
           (held_before || std::any_of(views.begin(), views.end(), held_on));
}

bool SyncedLimit::is_alone_with_its_rate(OwnerView& view, const SyncSettings& settings,
                                         Instant now) const {
    constexpr double kFar = 100;
    double most = std::max(1.0, parameters.rate);
    bool others = false;
    for (const OwnerView& other : views) {
        if (&other == &view || !other.filled() || !other.fresh(settings, now)) {
            continue;
        }
        others = true;
        most = std::max(most, other.bucket().offered_rate);
    }
    const bool far = others && view.filled() && view.bucket().offered_rate > kFar * most;
    return view.contradicts(far, now);
}

bool SyncedLimit::told_no_load(const SyncSettings& settings, const Side& side, Instant now) const {
    WEIR_ASSERT(run != 0);
    if (const OwnerView* best = believed(settings, side, now)) {
        return best->quiet(own);
    }
    return std::all_of(views.begin(), views.end(),
                       [this](const OwnerView& view) { return view.quiet(own); });
}

Duration SyncedLimit::staleness(const SyncSettings& settings, const Side& side,
                                const gossip::MemberId& self, Instant now) const {
    const OwnerView* best = believed(settings, side, now);
    if (best != nullptr && best->owner() != self && best->fresh(settings, now)) {
        // Nobody was asked while the limit slept, nor while there was no load here, the owner knew
        // that, and the level did not matter. What was admitted since then waits from when it came.
        Duration age = std::min(best->staleness(now), now - woken);
        if (best->own_rate() <= kQuietRate * own.typical) {
            age = std::min(age, best->oldest_age(now));
        }
        return age;
    }
    std::optional<Instant> word;
    if (last_word && now - *last_word < kMissedFor) {
        word = last_word;
    }
    for (const OwnerView& view : views) {
        if (view.owner() == self) {
            continue;
        }
        if (view.fresh(settings, now)) {
            return {};  // what we add up ourselves is believed
        }
        if (view.heard_at()) {
            word = std::max(word.value_or(*view.heard_at()), *view.heard_at());
        }
    }
    return word ? now - std::max(*word, woken) : Duration::zero();
}

std::uint32_t SyncedLimit::origins() const {
    std::uint32_t most = 1;
    for (const OwnerView& view : views) {
        most = std::max(most, view.origins());
    }
    return most;
}

double SyncedLimit::fleet_rate() const {
    double most = 0;
    for (const OwnerView& view : views) {
        most = std::max(most, view.bucket().offered_rate);
    }
    return most;
}

std::uint8_t SyncedLimit::pace() const {
    std::uint8_t most = 0;
    for (const OwnerView& view : views) {
        most = std::max(most, view.pace());
    }
    return most;
}

Thresholds SyncedLimit::thresholds(const SyncSettings& settings) const {
    Thresholds thresholds =
        thresholds_of(settings, parameters, own.typical, fleet_rate(), origins(), pace());
    const bool heard =
        std::any_of(views.begin(), views.end(), [](const OwnerView& view) { return view.heard(); });
    if (heard && !hot()) {
        thresholds.calm = calm_of(parameters, own.typical, origins());
    }
    return thresholds;
}

bool SyncedLimit::hot() const {
    if (own.believed_level > 0.5 * parameters.low || own.shedding) {
        return true;
    }
    return std::any_of(views.begin(), views.end(), [this](const OwnerView& view) {
        return view.heard() && is_hot(parameters, view.bucket());
    });
}

bool SyncedLimit::may_sleep(const SyncSettings& settings, Instant now) const {
    if (now - touched < 2 * settings.keep_alive) {
        return false;
    }
    return std::all_of(views.begin(), views.end(), [&](const OwnerView& view) {
        const bool settled =
            !(view.heard() && view.matters(parameters)) || view.may_rest(settings, now);
        // A rate that was told and is no more has to be taken back: silence would count as missed.
        return view.quiet(own) && !view.awaiting() && settled &&
               view.need(settings, parameters, own, thresholds(settings), now) == Need::none;
    });
}

bool SyncedLimit::matters() const {
    return std::any_of(views.begin(), views.end(), [this](const OwnerView& view) {
        return view.heard() && view.matters(parameters);
    });
}

bool SyncedLimit::has_drained(Instant now) const {
    const double drained = parameters.rate * to_seconds(now - looked);
    return std::all_of(views.begin(), views.end(),
                       [&](const OwnerView& view) { return view.bucket().level <= drained; });
}

bool SyncedLimit::is_news(const SyncSettings& settings, const HotEntry& rumour, Instant now) const {
    const double drained = parameters.rate * to_seconds(now - looked);
    const double more = std::max(
        own.typical, 2 * settings.error_budget * limiter::threshold_width(parameters, own.typical));
    return std::all_of(views.begin(), views.end(), [&](const OwnerView& view) {
        return rumour.level > view.bucket().level - drained + more;
    });
}

void SyncedLimit::rest() {
    resting = true;
    for (OwnerView& view : views) {
        view.rest();
    }
}

limiter::FleetView SyncedLimit::fleet_view(const OwnerView& view,
                                           const limiter::LocalCounts& counts) const {
    limiter::FleetView fleet;
    fleet.level = view.bucket().level;
    fleet.admitted_at = counts.admitted - counts.refunded;
    fleet.offered_rate = view.bucket().offered_rate;
    fleet.others_rate = view.others_rate();
    fleet.heaviest = view.bucket().heaviest;
    fleet.shedding = view.owner_sheds();
    for (const OwnerView& each : views) {
        fleet.round_trip = std::max(fleet.round_trip, each.round_trip());
    }
    WEIR_ASSERT(fleet.others_rate >= 0);
    return fleet;
}

DeltaEntry SyncedLimit::delta(const SyncSettings& settings, const OwnerView& view,
                              Instant now) const {
    DeltaEntry entry;
    entry.key = key;
    WEIR_ASSERT(run != 0);
    entry.run = run;
    entry.run_age = now - run_began;
    entry.admitted = own.admitted;
    entry.refunded = own.refunded;
    entry.offered = own.offered;
    entry.rate = own.rate;
    // Only who begins needs it.
    const bool known = view.asked() && view.filled() && view.fresh(settings, now);
    entry.believed_level = known ? 0 : own.believed_level;
    entry.oldest_age = view.oldest_age(now);
    entry.keep_alive = view.keep_alive(settings, own.rate);
    // Within the debt it changes nothing and is not worth its bytes.
    const bool heavy = own.heaviest > limiter::debt(parameters, own.typical);
    entry.heaviest = heavy ? own.heaviest : 0;
    entry.typical = own.typical;
    entry.shedding = own.shedding;
    return entry;
}

}  // namespace weir::sync

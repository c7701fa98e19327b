#include "engine/synced_limit.h"

#include <algorithm>
#include <utility>

namespace weir::engine {

void SyncedLimit::begin_run(std::uint32_t new_run, const limiter::LocalCounts& counts,
                            Instant now) {
    run = new_run;
    run_began = now;
    base = counts;
    own = {};
    own.open_time = counts.open_time;
    for (View& view : views) view.begin_run(own, now);
}

void SyncedLimit::advance(const limiter::LocalCounts& counts, Instant earliest, Instant now) {
    // Rounded as they will be sent, so that nobody ever disagrees about a remainder.
    const double offered = gossip::quantise(counts.offered - base.offered);
    if (offered != own.offered) touched = now;
    own.admitted = gossip::quantise(counts.admitted - base.admitted);
    own.refunded = gossip::quantise(counts.refunded - base.refunded);
    own.offered = offered;
    own.rate = counts.offered_rate;
    own.open_time = counts.open_time;
    own.heaviest = counts.heaviest;
    own.typical = counts.typical;
    own.believed_level = std::max(0.0, counts.level);
    own.shedding = counts.shedding;
    own.since = std::max(looked, earliest);
    looked = now;
    last = counts;
    for (View& view : views) view.advance(parameters, own, now);
}

View* SyncedLimit::view_of(const gossip::MemberId& owner) {
    for (View& view : views) {
        if (view.owner() == owner) return &view;
    }
    return nullptr;
}

bool SyncedLimit::set_owners(const gossip::OwnerList& owners) {
    std::vector<View> next;
    next.reserve(owners.size());
    bool opened = false;
    for (const gossip::MemberId& owner : owners) {
        if (View* known = view_of(owner)) {
            next.push_back(std::move(*known));
        } else {
            opened = true;
            next.emplace_back(owner);
            next.back().begin_run(own, run_began);
        }
    }
    views = std::move(next);
    return opened;
}

const View* SyncedLimit::believed(const SyncSettings& settings, Instant now) const {
    const auto largest = [this](const auto& eligible) {
        const View* best = nullptr;
        for (const View& view : views) {
            if (!eligible(view)) continue;
            if (best == nullptr || view.bucket().level > best->bucket().level) best = &view;
        }
        return best;
    };
    const View* best =
        largest([&](const View& view) { return view.filled() && view.fresh(settings, now); });
    if (best != nullptr) return best;
    // All owners of the shard are silent: a split, an isolation, a stop of our own. Until the hold
    // is over the others are reckoned to go on as they did: each side keeps the share that it had.
    best = largest([&](const View& view) {
        return view.filled() && view.within_hold(settings, settings.split_hold, now);
    });
    if (best != nullptr) return best;
    return largest([&](const View& view) { return view.fresh(settings, now); });
}

std::uint32_t SyncedLimit::origins() const {
    std::uint32_t most = 1;
    for (const View& view : views) most = std::max(most, view.origins());
    return most;
}

double SyncedLimit::fleet_rate() const {
    double most = 0;
    for (const View& view : views) most = std::max(most, view.bucket().offered_rate);
    return most;
}

std::uint8_t SyncedLimit::pace() const {
    std::uint8_t most = 0;
    for (const View& view : views) most = std::max(most, view.pace());
    return most;
}

Thresholds SyncedLimit::thresholds(const SyncSettings& settings) const {
    return thresholds_of(settings, parameters, own.typical, fleet_rate(), origins(), pace());
}

bool SyncedLimit::hot() const {
    if (own.believed_level > 0.5 * parameters.low || own.shedding) return true;
    return std::any_of(views.begin(), views.end(), [this](const View& view) {
        return view.heard() && is_hot(parameters, view.bucket());
    });
}

bool SyncedLimit::may_sleep(const SyncSettings& settings, Instant now) const {
    if (now - touched < 2 * settings.keep_alive) return false;
    return std::all_of(views.begin(), views.end(), [&](const View& view) {
        return !view.awaiting() && !(view.heard() && view.matters(parameters)) &&
               view.need(settings, parameters, own, thresholds(settings), now) == Need::none;
    });
}

limiter::FleetView SyncedLimit::fleet_view(const View& view,
                                           const limiter::LocalCounts& counts) const {
    limiter::FleetView fleet;
    fleet.level = view.bucket().level;
    fleet.admitted_at = counts.admitted - counts.refunded;
    fleet.offered_rate = view.bucket().offered_rate;
    fleet.others_rate = view.others_rate();
    fleet.heaviest = view.bucket().heaviest;
    fleet.shedding = view.bucket().shedding;
    for (const View& each : views) fleet.round_trip = std::max(fleet.round_trip, each.round_trip());
    return fleet;
}

gossip::DeltaEntry SyncedLimit::delta(const SyncSettings& settings, const View& view,
                                      Instant now) const {
    gossip::DeltaEntry entry;
    entry.key = key;
    entry.run = run;
    entry.run_age = now - run_began;
    entry.admitted = own.admitted;
    entry.refunded = own.refunded;
    entry.offered = own.offered;
    entry.rate = own.rate;
    entry.believed_level = own.believed_level;
    entry.oldest_age = view.oldest_age(now);
    entry.keep_alive = view.keep_alive(settings, own.rate);
    // Within the debt it changes nothing and is not worth its bytes.
    const bool heavy = own.heaviest > limiter::debt(parameters, own.typical);
    entry.heaviest = heavy ? own.heaviest : 0;
    entry.typical = own.typical;
    entry.shedding = own.shedding;
    return entry;
}

}  // namespace weir::engine

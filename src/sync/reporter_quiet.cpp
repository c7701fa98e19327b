// How limits pass between the two tables of an origin: those that are told of in detail (Reporter)
// and those that are quiet (QuietLimits).
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "sync/reporter.h"

namespace weir::sync {
namespace {

/// A limit is awake for at least so long.
constexpr Duration kAwakeAtLeast = std::chrono::seconds(2);

}  // namespace

void Reporter::wake_quiet(const LimitKey& key, std::uint32_t run, double known, Instant now,
                          const membership::Owners& owners) {
    if (quiet_.find(key) == nullptr) {
        return;
    }
    if (by_key_.size() >= settings_.maximum_synced_limits) {
        ++statistics_.dropped_synced_limits;
        quiet_.stay(key, now);  // it is judged by what this sidecar knows
        return;
    }
    auto quiet = quiet_.take(key, now);
    if (!quiet) {
        return;
    }
    if (quiet->run == run) {
        quiet->share.acknowledge(known);
    }
    const auto identity = limiter_.identity(quiet->ref);
    const auto counts = identity ? limiter_.read(quiet->ref, now) : std::nullopt;
    if (!counts) {
        return;
    }
    // The run begins with what no owner has been told, as far as it has not drained.
    const double untold = quantise(quiet->share.untold_full);
    WEIR_ASSERT(untold >= 0 && quiet_.find(key) == nullptr);
    if (ledger_ != nullptr) {
        ledger_->counted_quietly(key, -untold);
    }
    // What workers have admitted since the quiet limit was taken is all that the new view has.
    // It is below zero where workers have only given back meanwhile.
    const double since = quiet->unviewed ? std::max(0.0, counts->admitted) : 0;
    WEIR_ASSERT(quiet->key == key);
    const double lately = counts->offered_rate * limiter::kRateWindow;
    limiter::LocalCounts base = *counts;
    base.admitted -= untold + since;
    base.offered -= std::max(untold, lately) + since;
    if (SyncedLimit* limit = begin(quiet->ref, key, *identity, base, now, owners)) {
        limit->begin_awake(untold, std::max(untold, lately), quiet->quick_rate);
        woken_.push_back(awake_.back());
    }
}

void Reporter::tell_woken(Instant now, DeltaSink& sink) {
    if (woken_.empty()) {
        return;
    }
    const bool put_off_before = put_off_;  // by the tick, whose candidates these are not
    candidates_.clear();
    for (const std::uint32_t slot : std::exchange(woken_, {})) {
        if (slots_[slot].awake && slots_[slot].looked == Instant{}) {
            look_at(slot, now);
        }
        if (!slots_[slot].awake) {
            std::erase(awake_, slot);  // it is gone, which look_at() leaves to the caller
        }
    }
    send_due(now, sink);
    put_off_ = put_off_ || put_off_before;
}

void Reporter::let_fall_quiet(const gossip::MemberId& from, const QuietOrder& order, Instant now) {
    const auto known = by_key_.find(order.key);
    if (known == by_key_.end()) {
        return;
    }
    const SyncedLimit& limit = slots_[known->second];
    const bool first = !limit.views.empty() && limit.views.front().owner() == from;
    if (limit.awake && limit.run == order.run && first && now - limit.woken >= kAwakeAtLeast) {
        dismissed_.push_back(order.key);
    }
}

/// The owners are told once more, with no rate, so that they do not miss this origin.
void Reporter::fall_quiet(Instant now, DeltaSink& sink) {
    std::vector<std::uint32_t> fallen;
    for (const LimitKey& key : std::exchange(dismissed_, {})) {
        const auto known = by_key_.find(key);
        if (known == by_key_.end()) {
            continue;
        }
        const std::uint32_t slot = known->second;
        SyncedLimit& limit = slots_[slot];
        const auto counts = limit.awake ? limiter_.read(limit.ref, now) : std::nullopt;
        if (!counts) {
            continue;
        }
        const bool room =
            std::all_of(limit.views.begin(), limit.views.end(), [&](const OwnerView& view) {
                return view.owner() == self_ || sink.has_room_for_delta(view.owner(), true);
            });
        if (!room) {
            ++statistics_.deltas_put_off;
            continue;  // it stays awake, and its first owner says again that it may fall quiet
        }
        limit.advance(*counts, earliest(), now);
        for (OwnerView& view : limit.views) {
            ++statistics_.deltas_sent;
            DeltaEntry last = limit.delta(settings_, view, now);
            last.rate = 0;
            sink.send_delta(view.owner(), last);
        }
        limit.awake = false;
        fallen.push_back(slot);
    }
    if (fallen.empty()) {
        return;
    }
    // All at once: after a rush they may be tens of thousands.
    std::erase_if(awake_, [this](std::uint32_t slot) { return !slots_[slot].awake; });
    for (const std::uint32_t slot : fallen) {
        make_quiet(slot, now);
    }
}

/// Where there is no room for it as a quiet limit, it sleeps on.
void Reporter::make_quiet(std::uint32_t slot, Instant now) {
    if (!quiet_.has_room(now)) {
        return;
    }
    const SyncedLimit& limit = slots_[slot];
    const limiter::LimitRef ref = limit.ref;
    const LimitKey key = limit.key;
    const limiter::LimitParameters parameters = limit.parameters;
    ++statistics_.fallen_quiet;
    remove(slot, now);
    WEIR_ASSERT(find(key) == nullptr);
    quiet_.fall_quiet(ref, key, parameters, now);
}

}  // namespace weir::sync

#include "engine/reporter.h"

#include <algorithm>
#include <utility>

namespace weir::engine {
namespace {

/// Limits that are not hot are looked at in every so many ticks.
constexpr std::uint64_t kColdEvery = 5;
/// ... that is, after this time at the latest.
constexpr Duration kLookAgain = std::chrono::milliseconds(50);
/// An origin idle for so long begins a new run; shorter than owners remember a cell.
constexpr Duration kRunIdle = std::chrono::seconds(50);
/// A limit that slept for so long is given up.
constexpr Duration kGiveUp = std::chrono::minutes(10);
constexpr Duration kGiveUpWhenCrowded = std::chrono::minutes(1);
constexpr std::size_t kSweptPerTick = 16;
/// A rumour that is not renewed in this time ends.
constexpr Duration kRumourTime = std::chrono::seconds(3);
constexpr std::size_t kMaximumRumours = 256;

}  // namespace

Reporter::Reporter(const SyncSettings& settings, limiter::Limiter& limiter, Random random,
                   SyncStatistics& statistics)
    : settings_(settings), limiter_(limiter), random_(random), statistics_(statistics) {}

std::uint32_t Reporter::draw_run() {
    return static_cast<std::uint32_t>(random_.below(0xffff'fffeu)) + 1;  // 0 means: none
}

void Reporter::tick(Instant now, const gossip::Owners& owners, const HotTable& hot,
                    DeltaSink& sink) {
    ++ticks_;
    adopt_touched(now, owners, hot);
    candidates_.clear();
    for (std::size_t i = 0; i < awake_.size();) {
        const std::uint32_t slot = awake_[i];
        SyncedLimit& limit = slots_[slot];
        const bool due = (ticks_ + slot) % kColdEvery == 0 || limit.looked == Instant{};
        if (due || limit.hot()) look_at(slot, now);
        if (limit.awake) {
            ++i;
        } else {
            awake_[i] = awake_.back();
            awake_.pop_back();
        }
    }
    send_due(now, sink);
    end_rumours(now);
    sweep(now);
    previous_tick_ = now;
}

Instant Reporter::earliest() const { return previous_tick_ - kLookAgain; }

void Reporter::adopt_touched(Instant now, const gossip::Owners& owners, const HotTable& hot) {
    limiter_.drain_active([&](limiter::LimitRef ref) { touched(ref, now, owners, hot); });
}

void Reporter::touched(limiter::LimitRef ref, Instant now, const gossip::Owners& owners,
                       const HotTable& hot) {
    if (ref.record >= by_record_.size()) by_record_.resize(ref.record + std::size_t{1}, 0);
    const std::uint32_t known = by_record_[ref.record];
    if (known != 0 && slots_[known - 1].ref == ref) {
        wake(known - 1, now);
        return;
    }
    if (known != 0) remove(known - 1, now);
    meet(ref, now, owners, hot);
}

void Reporter::meet(limiter::LimitRef ref, Instant now, const gossip::Owners& owners,
                    const HotTable& hot) {
    const auto identity = limiter_.identity(ref);
    const auto counts = limiter_.read(ref, now);
    if (!identity || !counts) return;
    gossip::LimitKey key;
    key.quota = gossip::quota_hash(identity->quota);
    key.unit = static_cast<std::uint8_t>(identity->unit);
    key.period_ms = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(identity->period).count());
    if (const auto other = by_key_.find(key); other != by_key_.end()) remove(other->second, now);
    if (by_key_.size() >= settings_.maximum_synced_limits) {
        ++statistics_.dropped_synced_limits;
        return;
    }
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    SyncedLimit& limit = slots_[slot];
    limit = SyncedLimit{};
    limit.key = key;
    limit.ref = ref;
    limit.name = std::string(identity->quota);
    limit.unit = identity->unit;
    limit.period = identity->period;
    limit.parameters = identity->parameters;
    // What was admitted before the limiter counted for us is in the local level.
    limiter::LocalCounts base;
    const double before = std::max(0.0, counts->local_level);
    base.admitted = counts->admitted - std::max(counts->admitted, before);
    base.offered = counts->offered - std::max(counts->offered, before);
    limit.begin_run(draw_run(), base, now);
    limit.own.open_time = counts->open_time;
    limit.set_owners(owners.of(gossip::shard_of(key.quota)));
    if (const gossip::HotEntry* rumour = hot.find(key)) {
        for (View& view : limit.views) view.rumour(*rumour, limit.own, now);
    }
    by_record_[ref.record] = slot + 1;
    by_key_.emplace(key, slot);
    limit.awake = true;
    limit.touched = now;
    awake_.push_back(slot);
}

void Reporter::wake(std::uint32_t slot, Instant now) {
    SyncedLimit& limit = slots_[slot];
    if (limit.awake) return;
    limit.awake = true;
    limit.looked = Instant{};  // looked at in this very tick
    if (now - limit.touched > kRunIdle) limit.begin_run(draw_run(), limit.last, now);
    limit.touched = now;
    rumoured_.erase(slot);
    awake_.push_back(slot);
}

void Reporter::look_at(std::uint32_t slot, Instant now) {
    SyncedLimit& limit = slots_[slot];
    const auto counts = limiter_.read(limit.ref, now);
    if (!counts) {
        limit.awake = false;
        remove(slot, now);
        return;
    }
    limit.advance(*counts, earliest(), now);
    install(limit, *counts, now);
    const Thresholds thresholds = limit.thresholds(settings_);
    for (std::uint32_t i = 0; i < limit.views.size(); ++i) {
        const Need need =
            limit.views[i].need(settings_, limit.parameters, limit.own, thresholds, now);
        if (need != Need::none) candidates_.push_back({slot, i, need});
    }
    if (limit.may_sleep(settings_, now)) {
        limit.awake = false;
        if (limit.installed) limiter_.uninstall(limit.ref, now);
        limit.installed = false;
    }
}

void Reporter::install(SyncedLimit& limit, const limiter::LocalCounts& counts, Instant now) {
    if (const View* view = limit.believed(settings_, now)) {
        limit.installed = limiter_.install(limit.ref, limit.fleet_view(*view, counts), now);
    } else if (limit.installed) {
        limiter_.uninstall(limit.ref, now);
        limit.installed = false;
    }
}

bool Reporter::may_send(const Candidate& candidate, Instant now) {
    const View& view = slots_[candidate.slot].views[candidate.view];
    if (view.owner() == self_ || !view.asked()) return true;
    const auto last = last_packet_.find(view.owner());
    // A tenth is left for ticks that come a little early.
    return last == last_packet_.end() || now - last->second >= settings_.minimum_interval * 9 / 10;
}

void Reporter::send_due(Instant now, DeltaSink& sink) {
    // Owners to whom a packet goes in this tick; others that are half-way ride along.
    std::vector<const gossip::MemberId*> open;
    for (const Candidate& candidate : candidates_) {
        if (candidate.need != Need::must || !may_send(candidate, now)) continue;
        const gossip::MemberId& owner = slots_[candidate.slot].views[candidate.view].owner();
        const bool known =
            std::any_of(open.begin(), open.end(), [&](const auto* each) { return *each == owner; });
        if (!known) open.push_back(&owner);
    }
    for (const Candidate& candidate : candidates_) {
        SyncedLimit& limit = slots_[candidate.slot];
        View& view = limit.views[candidate.view];
        const bool goes = std::any_of(open.begin(), open.end(),
                                      [&](const auto* each) { return *each == view.owner(); });
        if (!goes) continue;
        if (view.awaiting()) ++statistics_.deltas_resent;
        ++statistics_.deltas_sent;
        const gossip::DeltaEntry entry = limit.delta(settings_, view, now);
        view.sent(limit.own, now);
        sink.send_delta(view.owner(), entry);
    }
    for (const auto* owner : open) last_packet_[*owner] = now;
}

void Reporter::receive(const gossip::MemberId& from, const gossip::TotalEntry& total, Instant now) {
    const auto known = by_key_.find(total.key);
    View* view = known == by_key_.end() ? nullptr : slots_[known->second].view_of(from);
    if (view == nullptr) {
        ++statistics_.refused_unknown;
        return;
    }
    ++statistics_.totals_received;
    SyncedLimit& limit = slots_[known->second];
    const auto counts = limiter_.read(limit.ref, now);
    if (!counts) return;  // gone; the next look at it removes it
    limit.advance(*counts, earliest(), now);
    if (!view->receive(settings_, limit.parameters, total, limit.run, limit.own, now)) return;
    install(limit, *counts, now);
    if (!limit.awake && view->matters(limit.parameters)) {
        limit.awake = true;
        awake_.push_back(known->second);
        rumoured_.erase(known->second);
    }
}

void Reporter::rumour(const gossip::HotEntry& entry, Instant now) {
    const auto known = by_key_.find(entry.key);
    if (known == by_key_.end() || slots_[known->second].awake) return;
    if (rumoured_.size() >= kMaximumRumours && !rumoured_.contains(known->second)) return;
    SyncedLimit& limit = slots_[known->second];
    const auto counts = limiter_.read(limit.ref, now);
    if (!counts) return;
    limiter::FleetView fleet;
    fleet.level = entry.level;
    fleet.admitted_at = counts->admitted - counts->refunded;
    fleet.offered_rate = entry.rate;
    fleet.others_rate = entry.rate;
    fleet.shedding = entry.shedding;
    limit.installed = limiter_.install(limit.ref, fleet, now);
    rumoured_[known->second] = now;
}

void Reporter::end_rumours(Instant now) {
    for (auto each = rumoured_.begin(); each != rumoured_.end();) {
        SyncedLimit& limit = slots_[each->first];
        if (now - each->second < kRumourTime) {
            ++each;
            continue;
        }
        if (!limit.awake && limit.installed) {
            limiter_.uninstall(limit.ref, now);
            limit.installed = false;
        }
        each = rumoured_.erase(each);
    }
}

void Reporter::shard_changed(gossip::Shard shard, const gossip::OwnerList& owners, Instant now) {
    for (const auto& [key, slot] : by_key_) {
        if (gossip::shard_of(key.quota) != shard) continue;
        SyncedLimit& limit = slots_[slot];
        const bool lately = now - limit.touched < settings_.user_memory;
        if (limit.set_owners(owners) && lately && !limit.awake) {
            limit.awake = true;
            awake_.push_back(slot);
        }
    }
}

void Reporter::stopped() {
    for (const auto& [key, slot] : by_key_) {
        for (View& view : slots_[slot].views) view.ask_anew();
    }
}

void Reporter::refresh_parameters() {
    for (const auto& [key, slot] : by_key_) {
        if (const auto identity = limiter_.identity(slots_[slot].ref)) {
            slots_[slot].parameters = identity->parameters;
        }
    }
}

void Reporter::remove(std::uint32_t slot, Instant now) {
    SyncedLimit& limit = slots_[slot];
    limiter_.release(limit.ref, now);
    by_key_.erase(limit.key);
    rumoured_.erase(slot);
    if (limit.ref.record < by_record_.size() && by_record_[limit.ref.record] == slot + 1) {
        by_record_[limit.ref.record] = 0;
    }
    if (limit.awake) std::erase(awake_, slot);
    limit = SyncedLimit{};
    free_.push_back(slot);
}

void Reporter::sweep(Instant now) {
    const bool crowded = by_key_.size() > settings_.maximum_synced_limits * 4 / 5;
    const Duration patience = crowded ? kGiveUpWhenCrowded : kGiveUp;
    for (std::size_t i = 0; i < std::min(kSweptPerTick, slots_.size()); ++i) {
        sweep_at_ = (sweep_at_ + 1) % slots_.size();
        const SyncedLimit& limit = slots_[sweep_at_];
        if (limit.run == 0 || limit.awake) continue;
        if (now - limit.touched > patience || !limiter_.identity(limit.ref)) {
            remove(static_cast<std::uint32_t>(sweep_at_), now);
        }
    }
    // Owners that have not had a packet for long are forgotten.
    if (ticks_ % 1000 == 0) {
        std::erase_if(last_packet_, [now](const auto& each) {
            return now - each.second > std::chrono::seconds(10);
        });
    }
}

const SyncedLimit* Reporter::find(const gossip::LimitKey& key) const {
    const auto known = by_key_.find(key);
    return known == by_key_.end() ? nullptr : &slots_[known->second];
}

Duration Reporter::staleness(Instant now) const {
    Duration oldest{};
    for (const std::uint32_t slot : awake_) {
        const View* view = slots_[slot].believed(settings_, now);
        if (view != nullptr) oldest = std::max(oldest, now - *view->heard_at());
    }
    return oldest;
}

void Reporter::for_each_in_shard(gossip::Shard shard,
                                 const std::function<void(const SyncedLimit&)>& visit) const {
    for (const auto& [key, slot] : by_key_) {
        if (gossip::shard_of(key.quota) == shard) visit(slots_[slot]);
    }
}

}  // namespace weir::engine

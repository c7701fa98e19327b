#include "sync/reporter.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/assert.h"

namespace weir::sync {
namespace {

/// Limits that are not hot are looked at in every so many ticks.
constexpr std::uint64_t kColdEvery = 5;
/// So few are looked at in each tick all the same: a flood shows in the first.
constexpr std::size_t kColdEachTick = 64;
/// ... that is, after this time at the latest.
constexpr Duration kLookAgain = std::chrono::milliseconds(50);
/// A run that counted so much ends: 2^50, where what is sent ends at 2^55.
constexpr double kLongestRun = 1125899906842624.0;
/// An origin idle for so long begins a new run; shorter than owners remember a cell.
constexpr Duration kRunIdle = std::chrono::seconds(50);
/// A limit that slept for so long is given up.
constexpr Duration kGiveUp = std::chrono::minutes(10);
constexpr Duration kGiveUpWhenCrowded = std::chrono::minutes(1);
constexpr std::size_t kSweptPerTick = 16;
/// The owners of limits at rest are asked after this share of rest_memory at the soonest, and at
/// multiples of kAskedTogether, so that questions share datagrams.
constexpr double kAskedAfter = 0.75;
constexpr Duration kAskedTogether = std::chrono::seconds(10);
/// The owners of so many limits at rest are asked in a tick.
constexpr std::size_t kAskedPerTick = 128;

}  // namespace

Reporter::Reporter(const SyncSettings& settings, limiter::Limiter& limiter, const Side& side,
                   QuietLimits& quiet, Random random, SyncStatistics& statistics,
                   WeightLedger* ledger)
    : settings_(settings),
      limiter_(limiter),
      side_(side),
      quiet_(quiet),
      random_(random),
      runs_(random_),
      statistics_(statistics),
      ledger_(ledger),
      by_record_(random_) {}

void Reporter::begin_run(SyncedLimit& limit, const limiter::LocalCounts& base, Instant now) {
    limit.begin_run(runs_.next(), base, now);
    if (ledger_ != nullptr) {
        ledger_->run_began(limit.key, limit.run);
    }
}

std::uint64_t Reporter::cold_every() const {
    return std::clamp<std::uint64_t>(awake_.size() / kColdEachTick, 1, kColdEvery);
}

void Reporter::tick(Instant now, DeltaSink& sink) {
    ++ticks_;
    woken_.clear();
    ask_for_rests(now);
    fall_quiet(now, sink);
    candidates_.clear();
    const std::uint64_t every = cold_every();
    for (std::size_t i = 0; i < awake_.size();) {
        const std::uint32_t slot = awake_[i];
        SyncedLimit& limit = slots_[slot];
        // A shard's limits in the same tick: they have the same owners and share datagrams.
        const membership::Shard turn = membership::shard_of(limit.key.quota);
        const bool due = (ticks_ + turn) % every == 0 || limit.looked == Instant{};
        if (due || limit.hot()) {
            look_at(slot, now);
        }
        if (limit.awake) {
            ++i;
        } else {
            awake_[i] = awake_.back();
            awake_.pop_back();
        }
    }
    send_due(now, sink);
    sweep(now);
    previous_tick_ = now;
}

Instant Reporter::earliest() const { return previous_tick_ - kLookAgain; }

std::optional<std::uint32_t> Reporter::slot_of(std::uint32_t record) const {
    return by_record_.find(record,
                           [&](std::uint32_t slot) { return slots_[slot].ref.record == record; });
}

void Reporter::adopt_touched(Instant now, const membership::Owners& owners, const HotTable& hot) {
    limiter_.drain_active([&](limiter::LimitRef ref) { touched(ref, now, owners, hot); });
}

void Reporter::touched(limiter::LimitRef ref, Instant now, const membership::Owners& owners,
                       const HotTable& hot) {
    touched_at_ = now;
    const auto known = slot_of(ref.record);
    if (known && slots_[*known].ref == ref) {
        wake(*known, now);
        return;
    }
    if (known) {
        remove(*known, now);
    }
    if (!quiet_.touch(ref, now)) {
        meet(ref, now, owners, hot);
    }
}

void Reporter::meet(limiter::LimitRef ref, Instant now, const membership::Owners& owners,
                    const HotTable& hot) {
    const auto identity = limiter_.identity(ref);
    if (!identity) {
        return;
    }
    const LimitKey key = key_of(*identity);
    if (const auto other = by_key_.find(key); other != by_key_.end()) {
        remove(other->second, now);
    }
    const HotEntry* rumour = hot.find(key);
    if (rumour == nullptr) {
        if (!quiet_.meet(ref, key, identity->parameters, now)) {
            ++statistics_.dropped_synced_limits;
        }
        return;
    }
    // Another instance of the same name is quiet, or the limit was. Then its owner knows a part of
    // the level.
    const bool was_quiet = quiet_.find(key) != nullptr || quiet_.was_dismissed(ref);
    if (was_quiet && quiet_.meet(ref, key, identity->parameters, now)) {
        wake_quiet(key, 0, 0, now, owners);
        if (const auto woken = by_key_.find(key); woken != by_key_.end()) {
            believe(slots_[woken->second], *rumour, now);
        }
        return;
    }
    if (by_key_.size() >= settings_.maximum_synced_limits) {
        ++statistics_.dropped_synced_limits;
        return;
    }
    const auto counts = limiter_.read(ref, now);
    if (!counts) {
        return;
    }
    // What was admitted before the limiter counted for us is in the local level. So is what is left
    // of the counts of a limit that waited for a place: the rest of its past has drained.
    limiter::LocalCounts base;
    const double before = std::max(0.0, counts->local_level);
    const bool long_past = counts->admitted > before + identity->parameters.rate + counts->typical;
    base.admitted = counts->admitted - (long_past ? before : std::max(counts->admitted, before));
    base.offered = counts->offered - (long_past ? before : std::max(counts->offered, before));
    base.open_time = counts->open_time;
    if (SyncedLimit* limit = begin(ref, key, *identity, base, now, owners)) {
        believe(*limit, *rumour, now);
    }
}

/// A limit that has just been met begins with what others tell of it.
void Reporter::believe(SyncedLimit& limit, const HotEntry& rumour, Instant now) {
    if (can_be(limit, rumour)) {
        for (OwnerView& view : limit.views) {
            view.rumour(limit.parameters, rumour, limit.own, now);
        }
    }
}

/// Begins to tell all owners of a limit. `base` are the limiter's counts before the run.
SyncedLimit* Reporter::begin(limiter::LimitRef ref, const LimitKey& key,
                             const limiter::LimitIdentity& identity,
                             const limiter::LocalCounts& base, Instant now,
                             const membership::Owners& owners) {
    if (by_key_.size() >= settings_.maximum_synced_limits) {
        ++statistics_.dropped_synced_limits;
        return nullptr;
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
    limit.name = std::string(identity.quota);
    limit.unit = identity.unit;
    limit.period = identity.period;
    limit.parameters = identity.parameters;
    limit.isolation = identity.isolation;
    limit.safe_capacity = identity.safe_capacity;
    begin_run(limit, base, now);
    limit.own.open_time = base.open_time;
    limit.expect_since(previous_tick_);
    limit.set_owners(owners.of(membership::shard_of(key.quota)), self_);
    if (const auto former = slot_of(ref.record)) {
        remove(*former, now);  // of a limit whose instance is gone
    }
    by_record_.add(ref.record, slot);
    by_key_.emplace(key, slot);
    WEIR_ASSERT(by_key_.size() <= settings_.maximum_synced_limits);
    WEIR_ASSERT(by_key_.size() + free_.size() == slots_.size());
    limit.touched = now;
    add_to_awake(slot, now);
    return &limit;
}

void Reporter::add_to_awake(std::uint32_t slot, Instant now) {
    SyncedLimit& limit = slots_[slot];
    WEIR_ASSERT(!limit.awake && limit.run != 0);
    limit.awake = true;
    limit.resting = false;
    limit.woken = now;
    awake_.push_back(slot);
}

void Reporter::wake(std::uint32_t slot, Instant now) {
    SyncedLimit& limit = slots_[slot];
    if (limit.awake) {
        return;
    }
    limit.looked = Instant{};  // looked at in this very tick
    if (now - limit.touched > kRunIdle) {
        begin_run(limit, limit.last, now);
    }
    limit.expect_since(previous_tick_);
    limit.touched = now;
    add_to_awake(slot, now);
}

void Reporter::look_at(std::uint32_t slot, Instant now) {
    ++statistics_.looks;
    SyncedLimit& limit = slots_[slot];
    const auto counts = limiter_.read(limit.ref, now);
    if (!counts) {
        limit.awake = false;
        remove(slot, now);
        return;
    }
    // Counts travel up to 2^55, and a limit that never rests goes on for years.
    if (limit.own.offered > kLongestRun) {
        begin_run(limit, limit.last, now);
    }
    limit.advance(*counts, earliest(), now);
    limit.reckon_moved_load(settings_, now);
    install(limit, *counts, now);
    const Thresholds thresholds = limit.thresholds(settings_);
    for (std::uint32_t i = 0; i < limit.views.size(); ++i) {
        const Need need =
            limit.views[i].need(settings_, limit.parameters, limit.own, thresholds, now);
        if (need != Need::none) {
            candidates_.push_back({slot, i, need});
        }
    }
    if (limit.may_sleep(settings_, now)) {
        fall_asleep(slot, now);
    }
}

void Reporter::fall_asleep(std::uint32_t slot, Instant now) {
    SyncedLimit& limit = slots_[slot];
    WEIR_ASSERT(limit.awake);
    limit.awake = false;
    note_isolation(limit, false, now);
    if (limit.installed && limit.matters()) {
        limit.rest();
        const double share = kAskedAfter + (1 - kAskedAfter) * random_.unit();
        const Instant due = now + from_seconds(share * to_seconds(settings_.rest_memory));
        questions_.add(slot, due - due.time_since_epoch() % kAskedTogether);
        return;
    }
    make_quiet(slot, now);
}

/// The owners of limits at rest are asked once in a long time, because they may have lost whom they
/// have to tell, and soon after one of them has changed.
void Reporter::ask_for_rests(Instant now) {
    for (std::size_t asked = 0; asked < kAskedPerTick; ++asked) {
        const std::optional<std::uint32_t> slot = questions_.take(now);
        if (!slot) {
            return;
        }
        SyncedLimit& limit = slots_[*slot];
        if (limit.resting) {
            limit.looked = Instant{};
            add_to_awake(*slot, now);
        }
    }
}

/// Where the quota has a word for it the limiter is told; else the views say it all.
void Reporter::note_isolation(SyncedLimit& limit, bool isolated, Instant now) {
    if (limit.isolated == isolated) {
        return;
    }
    limit.isolated = isolated;
    isolated_ += isolated ? 1 : std::size_t(-1);
    WEIR_ASSERT(isolated_ <= by_key_.size());
    if (isolated) {
        ++statistics_.isolations;
    }
    const bool special =
        limit.safe_capacity || limit.isolation.mode == limiter::IsolationMode::pessimistic;
    static_cast<void>(limiter_.isolate(limit.ref, isolated && special, now));
    if (isolated && limit.safe_capacity) {
        limit.installed = false;
    }
}

void Reporter::install(SyncedLimit& limit, const limiter::LocalCounts& counts, Instant now) {
    note_isolation(limit, limit.is_isolated(settings_, side_, now), now);
    if (limit.isolated && limit.safe_capacity) {
        return;  // each by itself
    }
    if (const OwnerView* view = limit.believed(settings_, side_, now)) {
        limit.installed = limiter_.install(limit.ref, limit.fleet_view(*view, counts), now);
    } else if (limit.installed) {
        limiter_.uninstall(limit.ref, now);
        limit.installed = false;
    }
}

Reporter::TotalVerdict Reporter::receive(const gossip::MemberId& from, const TotalEntry& total,
                                         Instant now) {
    const auto known = by_key_.find(total.key);
    OwnerView* view = known == by_key_.end() ? nullptr : slots_[known->second].view_of(from);
    if (view == nullptr) {
        // The last answer to a limit that has just fallen quiet is of no use.
        statistics_.refused_unknown += quiet_.find(total.key) == nullptr ? 1U : 0U;
        return TotalVerdict::taken;
    }
    SyncedLimit& limit = slots_[known->second];
    const double heaviest = std::max(total.heaviest, limit.own.heaviest);
    if (!level_can_be(limit.parameters, total.level, limit.own.typical, heaviest)) {
        return TotalVerdict::refused;
    }
    ++statistics_.totals_received;
    const auto counts = limiter_.read(limit.ref, now);
    if (!counts) {
        return TotalVerdict::taken;  // gone; the next look at it removes it
    }
    limit.advance(*counts, earliest(), now);
    if (!view->receive(settings_, limit.parameters, total, limit.run, limit.own, now)) {
        return TotalVerdict::taken;
    }
    if (from != self_) {
        limit.found();
    }
    install(limit, *counts, now);
    if (!limit.awake && view->matters(limit.parameters)) {
        add_to_awake(known->second, now);
    }
    return limit.is_alone_with_its_rate(*view, settings_, now) ? TotalVerdict::doubted
                                                               : TotalVerdict::taken;
}

bool Reporter::rumour(const HotEntry& entry, Instant now, const membership::Owners& owners) {
    const auto known = by_key_.find(entry.key);
    if (known == by_key_.end()) {
        if (quiet_.find(entry.key) != nullptr) {
            wake_quiet(entry.key, 0, 0, now, owners);
        }
        return true;
    }
    SyncedLimit& limit = slots_[known->second];
    if (!can_be(limit, entry)) {
        return false;
    }
    if (limit.resting && limit.is_news(settings_, entry, now)) {
        wake(known->second, now);
    }
    return true;
}

/// A rumour does not tell the heaviest weight: the largest that is believed has to do.
bool Reporter::can_be(const SyncedLimit& limit, const HotEntry& entry) {
    return level_can_be(limit.parameters, entry.level, limit.own.typical,
                        largest_weight(limit.parameters));
}

void Reporter::remove(std::uint32_t slot, Instant now) {
    SyncedLimit& limit = slots_[slot];
    WEIR_ASSERT(limit.run != 0);
    note_isolation(limit, false, now);
    limiter_.release(limit.ref, now);
    by_key_.erase(limit.key);
    questions_.remove(slot);
    by_record_.remove(limit.ref.record, slot);
    if (limit.awake) {
        std::erase(awake_, slot);
    }
    limit = SyncedLimit{};
    free_.push_back(slot);
}

void Reporter::sweep(Instant now) {
    const bool crowded = by_key_.size() > settings_.maximum_synced_limits * 4 / 5;
    WEIR_ASSERT(awake_.size() <= slots_.size());
    const Duration patience = crowded ? kGiveUpWhenCrowded : kGiveUp;
    for (std::size_t i = 0; i < std::min(kSweptPerTick, slots_.size()); ++i) {
        sweep_at_ = (sweep_at_ + 1) % slots_.size();
        const SyncedLimit& limit = slots_[sweep_at_];
        if (limit.run == 0 || limit.awake) {
            continue;
        }
        const bool rests = limit.resting && !limit.has_drained(now) &&
                           (!crowded || now - limit.touched <= kGiveUp);
        const bool given_up = now - limit.touched > patience && !rests;
        if (given_up || !limiter_.identity(limit.ref)) {
            remove(static_cast<std::uint32_t>(sweep_at_), now);
        }
    }
    // Owners that have not had a packet for long are forgotten.
    if (ticks_ % 1000 == 0) {
        std::erase_if(rounds_, [now](const auto& each) {
            return now - each.second.last > std::chrono::seconds(10);
        });
    }
}

const SyncedLimit* Reporter::find(const LimitKey& key) const {
    const auto known = by_key_.find(key);
    return known == by_key_.end() ? nullptr : &slots_[known->second];
}

void Reporter::for_each(const std::function<void(const SyncedLimit&)>& visit) const {
    for (const auto& [key, slot] : by_key_) {
        visit(slots_[slot]);
    }
}

/// Advances the views of a limit at rest as if they had been looked at all the time.
void Reporter::reckon_rest(SyncedLimit& limit, Instant now) {
    if (const auto counts = limiter_.read(limit.ref, now)) {
        limit.advance(*counts, earliest(), now);
    }
}

void Reporter::for_each_in_shard(membership::Shard shard, Instant now,
                                 const std::function<void(const SyncedLimit&)>& visit) {
    for (const auto& [key, slot] : by_key_) {
        if (membership::shard_of(key.quota) != shard) {
            continue;
        }
        if (slots_[slot].resting) {
            reckon_rest(slots_[slot], now);
        }
        visit(slots_[slot]);
    }
}

}  // namespace weir::sync

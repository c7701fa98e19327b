#include "sync/reporter.h"

#include <algorithm>
#include <span>
#include <utility>

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
/// New owners of limits at rest are told within this time: half of that in which they listen.
constexpr double kToldWithinSeconds = 0.5;

}  // namespace

Reporter::Reporter(const SyncSettings& settings, limiter::Limiter& limiter, const Side& side,
                   QuietLimits& quiet, Random random, SyncStatistics& statistics,
                   WeightLedger* ledger)
    : settings_(settings),
      limiter_(limiter),
      side_(side),
      quiet_(quiet),
      random_(random),
      statistics_(statistics),
      ledger_(ledger) {}

std::uint32_t Reporter::draw_run() {
    return static_cast<std::uint32_t>(random_.below(kLargestIdentity)) + 1;
}

void Reporter::begin_run(SyncedLimit& limit, const limiter::LocalCounts& base, Instant now) {
    limit.begin_run(draw_run(), base, now);
    if (ledger_ != nullptr) {
        ledger_->run_began(limit.key, limit.run);
    }
}

void Reporter::tick(Instant now, DeltaSink& sink) {
    ++ticks_;
    woken_.clear();
    ask_for_rests(now);
    fall_quiet(now, sink);
    candidates_.clear();
    const std::uint64_t cold_every =
        std::clamp<std::uint64_t>(awake_.size() / kColdEachTick, 1, kColdEvery);
    for (std::size_t i = 0; i < awake_.size();) {
        const std::uint32_t slot = awake_[i];
        SyncedLimit& limit = slots_[slot];
        // A shard's limits in the same tick: they have the same owners and share datagrams.
        const membership::Shard turn = membership::shard_of(limit.key.quota);
        const bool due = (ticks_ + turn) % cold_every == 0 || limit.looked == Instant{};
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

void Reporter::adopt_touched(Instant now, const membership::Owners& owners, const HotTable& hot) {
    limiter_.drain_active([&](limiter::LimitRef ref) { touched(ref, now, owners, hot); });
}

void Reporter::touched(limiter::LimitRef ref, Instant now, const membership::Owners& owners,
                       const HotTable& hot) {
    if (ref.record >= by_record_.size()) {
        by_record_.resize(ref.record + std::size_t{1}, 0);
    }
    const std::uint32_t known = by_record_[ref.record];
    if (known != 0 && slots_[known - 1].ref == ref) {
        wake(known - 1, now);
        return;
    }
    if (known != 0) {
        remove(known - 1, now);
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
    LimitKey key;
    key.quota = quota_hash(identity->quota);
    key.unit = static_cast<std::uint8_t>(identity->unit);
    key.period_ms = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(identity->period).count());
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
    if (quiet_.find(key) != nullptr && quiet_.meet(ref, key, identity->parameters, now)) {
        wake_quiet(key, 0, 0, now, owners);  // another instance of the same name was quiet
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
    SyncedLimit* limit = begin(ref, key, *identity, base, now, owners);
    if (limit != nullptr && can_be(*limit, *rumour)) {
        for (OwnerView& view : limit->views) {
            view.rumour(limit->parameters, *rumour, limit->own, now);
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
    limit.set_owners(owners.of(membership::shard_of(key.quota)));
    if (ref.record >= by_record_.size()) {
        by_record_.resize(ref.record + std::size_t{1}, 0);
    }
    by_record_[ref.record] = slot + 1;
    by_key_.emplace(key, slot);
    limit.touched = now;
    add_to_awake(slot, now);
    return &limit;
}

void Reporter::add_to_awake(std::uint32_t slot, Instant now) {
    SyncedLimit& limit = slots_[slot];
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

bool Reporter::may_send(const Candidate& candidate, Instant now) {
    const SyncedLimit& limit = slots_[candidate.slot];
    const OwnerView& view = limit.views[candidate.view];
    if (view.owner() == self_ || !view.asked()) {
        return true;
    }
    const auto known = rounds_.find(view.owner());
    if (known == rounds_.end()) {
        return true;
    }
    const Round& round = known->second;
    // Limits that are not hot are not looked at in each tick: another might always be before them.
    const bool waits = candidate.need != Need::urgent && limit.hot();
    const Duration interval = waits ? interval_of(round.limits) : settings_.minimum_interval;
    // A tenth is left for ticks that come a little early.
    const bool waited = now - round.last >= interval * 9 / 10;
    // At an edge rates that are told in the middle of its burst have requests reckoned that do not
    // come: it would refuse the last one of the burst.
    if (limit.parameters.edge() || round.limits > settings_.few_limits) {
        return waited;
    }
    return round.next <= now + settings_.minimum_interval / 10;
}

/// The more limits an owner hears of, the longer a datagram may wait to be full.
Duration Reporter::interval_of(std::size_t limits) const {
    const std::size_t more = limits > settings_.few_limits ? limits - settings_.few_limits : 0;
    const auto longest = std::max(settings_.minimum_interval, settings_.longest_interval);
    return std::min(longest, settings_.minimum_interval * static_cast<Duration::rep>(1 + 2 * more));
}

void Reporter::send_due(Instant now, DeltaSink& sink) {
    // Owners to whom a packet goes in this tick, and the least need that rides along: what is
    // half-way, or more where a limit that is not hot has opened it.
    std::vector<std::pair<const gossip::MemberId*, Need>> open;
    const auto opened = [&open](const gossip::MemberId& owner) {
        return std::find_if(open.begin(), open.end(),
                            [&](const auto& each) { return *each.first == owner; });
    };
    for (const Candidate& candidate : candidates_) {
        if (candidate.need < Need::must || !may_send(candidate, now)) {
            continue;
        }
        const SyncedLimit& limit = slots_[candidate.slot];
        const gossip::MemberId& owner = limit.views[candidate.view].owner();
        auto known = opened(owner);
        if (known == open.end()) {
            known = open.insert(known, {&owner, Need::ride_along});
        }
        if (!limit.hot()) {
            known->second = Need::together;
        }
    }
    for (const Candidate& candidate : candidates_) {
        SyncedLimit& limit = slots_[candidate.slot];
        OwnerView& view = limit.views[candidate.view];
        const auto packet = opened(view.owner());
        if (packet == open.end() || candidate.need < packet->second) {
            continue;
        }
        if (view.awaiting()) {
            ++statistics_.deltas_resent;
        }
        ++statistics_.deltas_sent;
        const DeltaEntry entry = limit.delta(settings_, view, now);
        view.sent(limit.own, now);
        sink.send_delta(view.owner(), entry);
    }
    const Duration credit = settings_.minimum_interval * settings_.interval_burst;
    for (const auto& [owner, least] : open) {
        Round& round = rounds_[*owner];
        round.last = now;
        round.next = std::max(round.next, now - credit) + settings_.minimum_interval;
        round.limits = count_limits(*owner);
    }
}

/// Limits awake here that the owner is told of.
std::size_t Reporter::count_limits(const gossip::MemberId& owner) {
    constexpr std::size_t kMany = 256;
    std::size_t count = 0;
    for (std::size_t i = 0; i < std::min(kMany, awake_.size()); ++i) {
        count += slots_[awake_[i]].view_of(owner) != nullptr ? 1U : 0U;
    }
    return count;
}

Reporter::Verdict Reporter::receive(const gossip::MemberId& from, const TotalEntry& total,
                                    Instant now) {
    const auto known = by_key_.find(total.key);
    OwnerView* view = known == by_key_.end() ? nullptr : slots_[known->second].view_of(from);
    if (view == nullptr) {
        // The last answer to a limit that has just fallen quiet is of no use.
        statistics_.refused_unknown += quiet_.find(total.key) == nullptr ? 1U : 0U;
        return Verdict::taken;
    }
    SyncedLimit& limit = slots_[known->second];
    const double heaviest = std::max(total.heaviest, limit.own.heaviest);
    if (!level_can_be(limit.parameters, total.level, limit.own.typical, heaviest)) {
        return Verdict::refused;
    }
    ++statistics_.totals_received;
    const auto counts = limiter_.read(limit.ref, now);
    if (!counts) {
        return Verdict::taken;  // gone; the next look at it removes it
    }
    limit.advance(*counts, earliest(), now);
    if (!view->receive(settings_, limit.parameters, total, limit.run, limit.own, now)) {
        return Verdict::taken;
    }
    if (from != self_) {
        limit.found();
    }
    install(limit, *counts, now);
    if (!limit.awake && view->matters(limit.parameters)) {
        add_to_awake(known->second, now);
    }
    return limit.is_alone_with_its_rate(*view, settings_, now) ? Verdict::doubted : Verdict::taken;
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

void Reporter::shard_changed(membership::Shard shard, const membership::OwnerList& owners,
                             Instant now) {
    for (const auto& [key, slot] : by_key_) {
        if (membership::shard_of(key.quota) != shard) {
            continue;
        }
        SyncedLimit& limit = slots_[slot];
        const bool lately = now - limit.touched < settings_.user_memory;
        if (!limit.set_owners(owners) || limit.awake) {
            continue;
        }
        if (lately) {
            add_to_awake(slot, now);
        } else if (limit.resting) {
            questions_.add(slot, now + from_seconds(kToldWithinSeconds * random_.unit()));
        }
    }
}

void Reporter::lost(const gossip::MemberId& owner) {
    for (const std::uint32_t slot : awake_) {
        slots_[slot].lost(owner);
    }
}

void Reporter::distrust(const gossip::MemberId& owner, Instant now) {
    for (const std::uint32_t slot : awake_) {
        SyncedLimit& limit = slots_[slot];
        OwnerView* view = limit.view_of(owner);
        if (view == nullptr) {
            continue;
        }
        view->distrust();
        if (const auto counts = limiter_.read(limit.ref, now)) {
            install(limit, *counts, now);
        }
    }
}

void Reporter::ask_anew(Instant now) {
    for (const auto& [key, slot] : by_key_) {
        for (OwnerView& view : slots_[slot].views) {
            view.ask_anew();
        }
        if (slots_[slot].resting) {
            slots_[slot].looked = Instant{};
            add_to_awake(slot, now);
        }
    }
}

void Reporter::refresh_parameters(Instant now) {
    for (const auto& [key, slot] : by_key_) {
        if (const auto identity = limiter_.identity(slots_[slot].ref)) {
            SyncedLimit& limit = slots_[slot];
            if (limit.resting && limit.parameters != identity->parameters) {
                reckon_rest(limit, now);
                wake(slot, now);
            }
            limit.parameters = identity->parameters;
            if (limit.isolation == identity->isolation &&
                limit.safe_capacity == identity->safe_capacity) {
                continue;
            }
            note_isolation(limit, false, now);  // looked at again in the next tick
            limit.isolation = identity->isolation;
            limit.safe_capacity = identity->safe_capacity;
        }
    }
}

void Reporter::drop_changed(Instant now) {
    std::vector<std::uint32_t> changed;
    for (const auto& [key, slot] : by_key_) {
        const SyncedLimit& limit = slots_[slot];
        const auto identity = limiter_.identity(limit.ref);
        if (!identity || identity->unit != limit.unit || identity->period != limit.period) {
            changed.push_back(slot);
        }
    }
    // All at once: they may be tens of thousands.
    for (const std::uint32_t slot : changed) {
        slots_[slot].awake = false;
    }
    std::erase_if(awake_, [this](std::uint32_t slot) { return !slots_[slot].awake; });
    for (const std::uint32_t slot : changed) {
        remove(slot, now);
    }
}

void Reporter::remove(std::uint32_t slot, Instant now) {
    SyncedLimit& limit = slots_[slot];
    note_isolation(limit, false, now);
    limiter_.release(limit.ref, now);
    by_key_.erase(limit.key);
    questions_.remove(slot);
    if (limit.ref.record < by_record_.size() && by_record_[limit.ref.record] == slot + 1) {
        by_record_[limit.ref.record] = 0;
    }
    if (limit.awake) {
        std::erase(awake_, slot);
    }
    limit = SyncedLimit{};
    free_.push_back(slot);
}

void Reporter::sweep(Instant now) {
    const bool crowded = by_key_.size() > settings_.maximum_synced_limits * 4 / 5;
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

Duration Reporter::staleness(const Owner& owner, Instant now) const {
    Duration oldest{};
    for (const std::uint32_t slot : awake_) {
        const SyncedLimit& limit = slots_[slot];
        // Without load here nothing is let through on what is known.
        if (now - limit.touched >= 2 * settings_.keep_alive || limit.own.rate <= 0) {
            continue;
        }
        oldest = std::max(oldest, limit.staleness(settings_, side_, self_, now));
        if (!owner.owns(membership::shard_of(limit.key.quota))) {
            continue;
        }
        const OwnedLimit* owned = owner.find(limit.key);
        if (owned != nullptr && owned->oldest_word) {
            oldest = std::max(oldest, now - *owned->oldest_word);
        }
    }
    return oldest;
}

std::uint8_t Reporter::pace() const {
    std::uint8_t most = 0;
    for (const std::uint32_t slot : awake_) {
        most = std::max(most, slots_[slot].pace());
    }
    return most;
}

std::vector<LimitSilence> Reporter::silences(std::size_t most, Instant now) const {
    struct Row {
        Duration silence;
        std::uint32_t slot;
    };
    std::vector<Row> rows;
    for (const std::uint32_t slot : awake_) {
        const SyncedLimit& limit = slots_[slot];
        std::optional<Instant> last;
        bool others = false;
        for (const OwnerView& view : limit.views) {
            if (view.owner() == self_) {
                continue;
            }
            others = true;
            if (view.heard_at()) {
                last = std::max(last.value_or(Instant::min()), *view.heard_at());
            }
        }
        if (others) {
            rows.push_back({now - last.value_or(limit.run_began), slot});
        }
    }
    const auto longer = [this](const Row& row, const Row& other) {
        return row.silence != other.silence ? row.silence > other.silence
                                            : slots_[row.slot].name < slots_[other.slot].name;
    };
    const std::size_t count = std::min(most, rows.size());
    std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end(),
                      longer);
    std::vector<LimitSilence> result;
    for (const Row& row : std::span(rows).first(count)) {
        const SyncedLimit& limit = slots_[row.slot];
        LimitSilence& told = result.emplace_back();
        told.quota = limit.name;
        told.unit = limiter::to_string(limit.unit);
        told.period = limit.period;
        told.silence = row.silence;
        told.isolated = limit.isolated;
        for (const OwnerView& view : limit.views) {
            if (view.owner() == self_) {
                continue;
            }
            ++told.owners;
            told.believed += view.filled() && view.fresh(settings_, now) ? 1U : 0U;
        }
    }
    return result;
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

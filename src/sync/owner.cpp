#include "sync/owner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.h"

namespace weir::sync {
namespace {

/// Limits are looked at in every so many ticks of 10 ms.
constexpr std::uint64_t kLookEvery = 5;
constexpr std::uint64_t kLookPhase = 1;
constexpr Duration kTick = std::chrono::milliseconds(10);
/// ... or after two, when that is too late.
constexpr Duration kUrgentAfter = std::chrono::milliseconds(18);
/// A name that was not told is asked for again after this, when the limit is heard of; when it is
/// not, kNameAsks times more, each after twice as long.
constexpr Duration kAskNameAgain = std::chrono::milliseconds(100);
/// Of all limits in a tick; an inventor of limits must not make us ask for ever.
constexpr std::size_t kNamesEachTick = 32;
/// What others told us a limit is: they may have been wrong.
constexpr Duration kAskToldAgain = std::chrono::seconds(1);
/// A new owner asks to be filled so often, so far apart.
constexpr std::uint8_t kAsks = 3;
constexpr Duration kAskAgain = std::chrono::milliseconds(300);
/// Limits of a shard that was lost are kept for as long, to fill others.
constexpr Duration kKeepLost = std::chrono::seconds(3);
/// So many limits whose rest has ended are forgotten in a tick.
constexpr std::size_t kRestsEachTick = 256;
/// When the table is full, so many are looked at for one that can make room.
constexpr std::size_t kLookedAtForRoom = 16;
/// A limit that somebody may rest with makes room only if it is emptier than this share of low.
constexpr double kMakesRoom = 0.5;

bool holds(const membership::OwnerList& list, const gossip::MemberId& member) {
    return std::find(list.begin(), list.end(), member) != list.end();
}

}  // namespace

Owner::Owner(const SyncSettings& settings, Silence& silence, Random random, Resolver resolver,
             SyncStatistics& statistics, WeightLedger* ledger)
    : settings_(settings),
      silence_(silence),
      random_(random),
      resolver_(std::move(resolver)),
      statistics_(statistics),
      ledger_(ledger),
      quiet_(settings, statistics) {}

std::uint32_t Owner::draw_life() {
    return static_cast<std::uint32_t>(random_.below(kLargestIdentity)) + 1;
}

OwnedLimit* Owner::obtain(const LimitKey& key, Instant now) {
    if (const auto known = by_key_.find(key); known != by_key_.end()) {
        wake(known->second, now);
        return &slots_[known->second];
    }
    if (by_key_.size() >= settings_.maximum_owned_limits && !make_room(now)) {
        ++statistics_.dropped_owned_limits;
        return nullptr;
    }
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
        awake_flag_.push_back(false);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    WEIR_ASSERT(!awake_flag_[slot] && awake_flag_.size() == slots_.size());
    const ShardState& shard = shards_[membership::shard_of(key.quota)];
    OwnedLimit& limit = slots_[slot];
    limit = OwnedLimit{};
    limit.restart(draw_life(), now);
    limit.key = key;
    limit.born = shard.born;
    limit.handed_over = shard.filled;
    limit.last_use = limit.looked = now;
    by_key_.emplace(key, slot);
    WEIR_ASSERT(by_key_.size() <= settings_.maximum_owned_limits);
    WEIR_ASSERT(by_key_.size() + free_.size() == slots_.size());
    resolve(limit);
    wake(slot, now);
    return &limit;
}

/// In a full table each new limit would be every sidecar's own: the emptiest of a few, in turn,
/// that nobody uses goes. All slots are in use then.
bool Owner::make_room(Instant now) {
    OwnedLimit* emptiest = nullptr;
    WEIR_ASSERT(free_.empty());
    for (std::size_t i = 0; i < std::min(kLookedAtForRoom, slots_.size()); ++i) {
        room_at_ = (room_at_ + 1) % slots_.size();
        OwnedLimit& limit = slots_[room_at_];
        limit.advance(now);
        const bool rests =
            limit.fullness() < kMakesRoom && now - limit.last_use > settings_.user_memory;
        // The tick forgets those that are awake and not used.
        if (awake_flag_[room_at_] || (!rests && !limit.unused(settings_, now))) {
            continue;
        }
        if (emptiest == nullptr || limit.fullness() < emptiest->fullness()) {
            emptiest = &limit;
        }
    }
    if (emptiest == nullptr) {
        return false;
    }
    ++statistics_.room_made;
    emptiest->forget_cells(ledger_);
    by_key_.erase(emptiest->key);
    const auto slot = static_cast<std::uint32_t>(emptiest - slots_.data());
    rests_.remove(slot);
    free_.push_back(slot);
    return true;
}

void Owner::resolve(OwnedLimit& limit) {
    limiter::LimitParameters parameters;
    limiter::Isolation isolation;
    if (!resolver_(limit.key, limit.name, parameters, isolation)) {
        return;
    }
    limit.when_isolated = isolation.mode;
    limit.hold = isolation.hold;
    limit.parameters_told = false;
    limit.know(parameters);
}

void Owner::ask_name(OwnedLimit& limit, MemberNumber whom, Instant now, OwnerSink& sink) {
    limit.asked_name = now;
    limit.asked = whom;
    limit.advance(now);
    if (!limit.parameters) {
        resolve(limit);  // it may be used here meanwhile
    }
    if (limit.parameters && !limit.parameters_told) {
        return;
    }
    ++statistics_.names_asked;
    sink.ask_name(silence_.id(whom), limit.key);
}

/// Question or answer may have been lost, and nobody has spoken of the limit since.
void Owner::ask_name_again(OwnedLimit& limit, Instant now, OwnerSink& sink) {
    if (limit.parameters || limit.asks_left == 0 || names_left_ == 0) {
        return;
    }
    if (now - limit.asked_name < kAskNameAgain * (1 << (kNameAsks - limit.asks_left))) {
        return;
    }
    if (silence_.is_gone(limit.asked)) {
        return;
    }
    --limit.asks_left;
    --names_left_;
    WEIR_ASSERT(limit.asks_left < kNameAsks);
    ask_name(limit, limit.asked, now, sink);
}

void Owner::wake(std::uint32_t slot, Instant now) {
    if (awake_flag_[slot]) {
        return;
    }
    slots_[slot].end_rest(now);
    slots_[slot].begin_awake(now);
    awake_flag_[slot] = true;
    awake_.push_back(slot);
    WEIR_ASSERT(awake_.size() <= slots_.size());
}

/// A limit that refuses requests is told to others as a rumour while it is awake, so that nobody
/// lets the first request of a new sidecar pass. Only so many can be told.
bool Owner::may_rest(const OwnedLimit& limit) {
    if (!limit.at_rest() || quiet_.is_asleep(limit.key)) {
        return false;
    }
    if (limit.published_probability <= 0) {
        return true;
    }
    if (refusing_idly_ <= settings_.hot_limits) {
        return false;
    }
    WEIR_ASSERT(refusing_idly_ > 0);
    --refusing_idly_;
    return true;
}

void Owner::rest(std::uint32_t slot) {
    WEIR_ASSERT(awake_flag_[slot]);
    OwnedLimit& limit = slots_[slot];
    awake_flag_[slot] = false;
    limit.begin_rest();
    WEIR_ASSERT(!limit.urgent);
    rests_.add(slot, limit.rest_ends(settings_));
}

/// Forgets limits whose rest is over.
void Owner::end_rests(Instant now) {
    for (std::size_t ended = 0; ended < kRestsEachTick; ++ended) {
        const std::optional<std::uint32_t> due = rests_.take(now);
        if (!due) {
            return;
        }
        const std::uint32_t slot = *due;
        OwnedLimit& limit = slots_[slot];
        if (awake_flag_[slot]) {
            continue;
        }
        limit.advance(now);
        if (const Instant end = limit.rest_ends(settings_); end > now) {
            rests_.add(slot, end);
            continue;
        }
        limit.forget_cells(ledger_);
        remove(slot);
    }
}

void Owner::forget(const std::vector<MemberNumber>& members) {
    if (members.empty()) {
        return;
    }
    quiet_.forget(members);
    for (const auto& [key, slot] : by_key_) {
        for (const MemberNumber member : members) {
            slots_[slot].forget_cell(member, ledger_);
        }
    }
}

void Owner::receive(const gossip::MemberId& from, MemberNumber number, const DeltaEntry& delta,
                    Instant now, OwnerSink& sink) {
    if (!plausible(delta)) {
        ++statistics_.refused_values;
        silence_.refused(number);
        return;
    }
    if (!shards_[membership::shard_of(delta.key.quota)].owned) {
        ++statistics_.refused_not_owner;
        return;
    }
    OwnedLimit* limit = obtain(delta.key, now);
    if (limit == nullptr) {
        return;
    }
    const bool asks = limit->parameters ? limit->parameters_told : true;
    if (asks && now - limit->asked_name >= (limit->parameters ? kAskToldAgain : kAskNameAgain)) {
        limit->asks_left = kNameAsks;
        ask_name(*limit, number, now, sink);
    }
    if (limit->find(number) == nullptr) {
        limit->adopt_run(number, delta.run, silence_);
    }
    DeltaEntry bounded = delta;
    bounded.keep_alive = bounded_keep_alive(*limit, delta);
    const DeltaOutcome outcome =
        limit->receive(settings_, number, bounded, now, {statistics_, ledger_});
    if (outcome == DeltaOutcome::falling) {
        ++statistics_.refused_falling;
    }
    if (outcome == DeltaOutcome::leaping) {
        ++statistics_.refused_leaps;
    }
    if (outcome == DeltaOutcome::falling || outcome == DeltaOutcome::leaping) {
        silence_.refused(number);
    }
    if (outcome == DeltaOutcome::full) {
        ++statistics_.dropped_cells;
    }
    const Duration patience = crowded() ? settings_.publication_wait : Duration(kLookEvery * kTick);
    limit->urgent = limit->urgent || limit->is_urgent(settings_, patience);
    if (!crowded()) {
        limit->note_answered();
    }
    OwnedCell* cell = limit->find(number);
    if (cell != nullptr) {
        cell->deferred = false;
    }
    sink.send_total(from, limit->total(settings_, cell, pacing_.tenths(), now));
    if (outcome == DeltaOutcome::old) {
        return;  // it may have fallen quiet since
    }
    note_awake(delta.key, number, now, sink);
    let_fall_quiet(from, *find_owned(delta.key), delta, now, sink);
}

/// A big share promises to be heard often: whoever claims one may not be silent for long.
Duration Owner::bounded_keep_alive(const OwnedLimit& limit, const DeltaEntry& delta) const {
    const double fleet = std::max(limit.bucket.offered_rate, delta.rate);
    return std::min(delta.keep_alive,
                    2 * keep_alive_of(settings_, delta.rate, fleet, pacing_.tenths()));
}

bool Owner::was_owner(const gossip::MemberId& member, membership::Shard shard) const {
    return holds(shards_[shard].former, member);
}

bool Owner::receive(MemberNumber from, const HandoverEntry& entry, Instant now, OwnerSink& sink) {
    OwnedLimit* limit = obtain(entry.key, now);
    if (limit == nullptr) {
        return true;
    }
    if (limit->parameters &&
        !level_can_be(*limit->parameters, entry.level, entry.typical, entry.heaviest)) {
        return false;
    }
    shards_[membership::shard_of(entry.key.quota)].asks_left = 0;
    limit->receive(settings_, entry, silence_.side(), now);
    if (!limit->parameters) {
        limit->asks_left = kNameAsks;
        ask_name(*limit, from, now, sink);
    }
    return true;
}

void Owner::fill(const HandoverEntry& entry, const std::string& name,
                 const limiter::LimitParameters& parameters, Instant now) {
    OwnedLimit* limit = obtain(entry.key, now);
    if (limit == nullptr) {
        return;
    }
    limit->name = name;
    limit->advance(now);
    if (!limit->parameters) {
        limit->know(parameters);
    }
    const bool handed_over = limit->handed_over;
    limit->receive(settings_, entry, silence_.side(), now);
    limit->handed_over = handed_over;  // what we believed ourselves fills nobody
    limit->held_told = false;
}

void Owner::name_told(MemberNumber from, const NameEntry& entry, Instant now) {
    const auto known = by_key_.find(entry.key);
    if (known == by_key_.end()) {
        return;
    }
    OwnedLimit& limit = slots_[known->second];
    if (limit.parameters && !limit.parameters_told) {
        return;
    }
    // Only who uses the limit is asked, or the owner who handed it over.
    if (limit.find(from) == nullptr && limit.parameters) {
        return;
    }
    limit.advance(now);
    limit.name = entry.name;
    resolve(limit);
    if (limit.parameters) {
        return;
    }
    // Our definitions lack it: what the origin goes by has to do.
    limit.parameters_told = true;
    limit.know(
        {entry.rate, entry.low, entry.high, entry.debt, static_cast<limiter::Law>(entry.law)});
}

void Owner::refresh_parameters(Instant now) {
    for (const auto& [key, slot] : by_key_) {
        OwnedLimit& limit = slots_[slot];
        if (limit.name.empty()) {
            continue;
        }
        limit.advance(now);
        const auto before = limit.parameters;
        resolve(limit);
        if (limit.parameters != before) {
            wake(slot, now);  // its users may reckon wrongly from now on
        }
    }
}

void Owner::hand_over(const gossip::MemberId& to, std::uint16_t shards, Instant now,
                      OwnerSink& sink) {
    if (to == self_) {
        return;
    }
    for (const auto& [key, slot] : by_key_) {
        OwnedLimit& limit = slots_[slot];
        if ((shards & membership::bit_of(membership::shard_of(key.quota))) == 0) {
            continue;
        }
        if (!limit.filled(settings_, now)) {
            continue;
        }
        limit.advance(now);
        if (limit.bucket.level <= 0 && limit.bucket.offered_rate <= 0) {
            continue;
        }
        ++statistics_.handovers_sent;
        sink.send_handover(to, limit.handover(settings_, to, silence_, now));
    }
}

void Owner::owner_asked(const gossip::MemberId& from, std::uint16_t shards, Instant now,
                        OwnerSink& sink) {
    hand_over(from, shards, now, sink);
    hand_quiet_over_again(from, shards, now, sink);
}

void Owner::begin_shard(membership::Shard shard, const membership::OwnerList& owners, Instant now) {
    ShardState& state = shards_[shard];
    state.owned = true;
    state.filled = false;
    state.born = now;
    state.owners = owners;
    state.others = owners;
    std::erase(state.others, self_);
    state.asks_left = state.others.empty() ? std::uint8_t{0} : kAsks;
    for (const auto& [key, slot] : by_key_) {
        if (membership::shard_of(key.quota) != shard) {
            continue;
        }
        // Kept from an earlier ownership: too old to build upon, but name and parameters hold.
        slots_[slot].restart(draw_life(), now);
        wake(slot, now);
    }
}

void Owner::shard_changed(const membership::OwnerChange& change, Instant now, OwnerSink& sink) {
    ShardState& state = shards_[change.shard];
    // Whether we were an owner is our own knowledge: our name may have changed in between.
    const bool before = state.owned;
    const bool after = holds(change.after, self_);
    state.former = change.before;
    const bool was_first = is_first(change.shard);
    state.owners = change.after;
    if (was_first && !change.after.empty() && change.after.front() != self_) {
        hand_quiet_over(change.shard, change.after.front(), now, sink);
    }
    if (before) {
        for (const gossip::MemberId& owner : change.after) {
            if (owner != self_ && !holds(change.before, owner)) {
                hand_over(owner, membership::bit_of(change.shard), now, sink);
            }
        }
    }
    if (after && !before) {
        begin_shard(change.shard, change.after, now);
        asked_at_ = {};
    } else if (after && change.before.size() == 1) {
        // We were alone, on our way in or cut off: the others may know more.
        state.others = change.after;
        std::erase(state.others, self_);
        state.asks_left = kAsks;
        asked_at_ = {};
    }
    if (before && !after) {
        state.owned = false;
        state.lost = now;
        quiet_.drop_shard(change.shard);
        for (const auto& [key, slot] : by_key_) {
            if (membership::shard_of(key.quota) == change.shard) {
                wake(slot, now);  // to be forgotten soon
            }
        }
    }
}

void Owner::start(const membership::Owners& owners, Instant now) {
    for (membership::Shard shard = 0; shard < membership::kShards; ++shard) {
        if (owners.owns(self_, shard)) {
            begin_shard(shard, owners.of(shard), now);
        }
    }
}

void Owner::leave(const membership::Owners& owners, Instant now, OwnerSink& sink) {
    for (membership::Shard shard = 0; shard < membership::kShards; ++shard) {
        if (!shards_[shard].owned) {
            continue;
        }
        const membership::OwnerList& list = owners.of(shard);
        for (const gossip::MemberId& owner : list) {
            if (owner != self_) {
                hand_over(owner, membership::bit_of(shard), now, sink);
            }
        }
        if (is_first(shard) && !list.empty() && list.front() != self_) {
            hand_quiet_over(shard, list.front(), now, sink);
        }
    }
}

void Owner::stopped(Instant now, const membership::Owners& owners, OwnerSink& sink) {
    for (membership::Shard shard = 0; shard < membership::kShards; ++shard) {
        if (shards_[shard].owned) {
            begin_shard(shard, owners.of(shard), now);
        }
    }
    asked_at_ = {};
    ask_again(now, sink);
}

void Owner::ask_again(Instant now, OwnerSink& sink) {
    if (asked_at_ != Instant{} && now - asked_at_ < kAskAgain) {
        return;
    }
    std::map<gossip::MemberId, std::uint16_t> asks;
    for (membership::Shard shard = 0; shard < membership::kShards; ++shard) {
        ShardState& state = shards_[shard];
        if (!state.owned || state.asks_left == 0) {
            continue;
        }
        --state.asks_left;
        WEIR_ASSERT(state.asks_left < kAsks);
        for (const gossip::MemberId& other : state.others) {
            std::uint16_t& bits = asks[other];
            bits = static_cast<std::uint16_t>(bits | membership::bit_of(shard));
        }
    }
    if (asks.empty()) {
        return;
    }
    asked_at_ = now;
    for (const auto& [other, shards] : asks) {
        sink.ask_owner(other, shards);
    }
}

void Owner::tick(Instant now, OwnerSink& sink) {
    ++ticks_;
    names_left_ = kNamesEachTick;
    ask_again(now, sink);
    for (std::size_t i = 0; i < awake_.size();) {
        const std::uint32_t slot = awake_[i];
        bool stays = true;
        bool forgotten = false;
        // A shard's limits together, so that what is published shares datagrams.
        const membership::Shard turn = membership::shard_of(slots_[slot].key.quota);
        OwnedLimit& limit = slots_[slot];
        // Ticks of a process that is often stopped come late.
        const Duration since = now - limit.looked;
        const bool due =
            (ticks_ + turn) % kLookEvery == kLookPhase || since >= (kLookEvery + 1) * kTick;
        if (due || (limit.urgent && since >= kUrgentAfter)) {
            const ShardState& shard = shards_[membership::shard_of(limit.key.quota)];
            forgotten =
                limit.idle(settings_, now) || (!shard.owned && now - shard.lost > kKeepLost);
            stays = !forgotten && look_at(limit, now, sink);
        }
        if (stays) {
            ++i;
            continue;
        }
        awake_[i] = awake_.back();
        awake_.pop_back();
        if (forgotten) {
            remove(slot);
        } else {
            rest(slot);
        }
    }
    end_rests(now);
    quiet_.sweep(now);
    publish_overdue(now, sink);
}

bool Owner::look_at(OwnedLimit& limit, Instant now, OwnerSink& sink) {
    WEIR_ASSERT(by_key_.contains(limit.key));
    ++statistics_.looks;
    const Duration since = now - limit.looked;
    limit.looked = now;
    const bool urgent = std::exchange(limit.urgent, false) || !limit.was_published;
    // The origins of a shard that was lost tell its new owners: their silence here means nothing.
    if (!shards_[membership::shard_of(limit.key.quota)].owned) {
        limit.advance(now);
        return true;
    }
    limit.judge_silence(settings_, silence_, now, ledger_);
    limit.advance(now);
    limit.note_offered(now);
    if (!limit.is_calm(now)) {
        order_to_wake(limit.key, !limit.at_rest(), sink);
    }
    ask_name_again(limit, now, sink);
    if (limit.must_publish(settings_, publish_error(), pace(), since)) {
        if (sink.has_room_to_publish(urgent)) {
            publish(limit, urgent, now, sink);
        } else {
            limit.urgent = urgent && limit.was_published;
            ++statistics_.publications_put_off;
        }
        return true;
    }
    return !may_rest(limit);
}

/// By how much users may be wrong about p. With many limits answers correct them sooner.
double Owner::publish_error() const {
    if (!crowded()) {
        return settings_.publish_error;
    }
    const double crowds =
        static_cast<double>(awake_.size()) / static_cast<double>(settings_.crowd_of_limits);
    return settings_.publish_error *
           std::min(settings_.most_crowded_error, settings_.crowded_error * crowds);
}

bool Owner::crowded() const { return awake_.size() >= settings_.crowd_of_limits; }

void Owner::publish(OwnedLimit& limit, bool urgent, Instant now, OwnerSink& sink) {
    limit.note_published();
    ++statistics_.publications;
    if (crowded() && !urgent) {
        defer_publication(limit, now);
        return;
    }
    // Copied: a total to ourselves may come back as a delta at once.
    const std::vector<OwnedCell> cells = limit.cells;
    for (OwnedCell& cell : limit.cells) {
        cell.deferred = false;
    }
    for (const OwnedCell& each : cells) {
        if (!limit.listens(settings_, each, now) || silence_.is_gone(each.member)) {
            continue;
        }
        if (sink.has_room_to_publish(urgent)) {
            sink.send_total(silence_.id(each.member),
                            limit.total(settings_, &each, pacing_.tenths(), now));
        } else if (OwnedCell* cell = limit.find(each.member)) {
            defer_publication(limit.key, *cell, now);
        }
    }
}

/// With many limits a publication is seldom the only thing that a user will be told soon: it waits
/// a little for the answer to a delta, or for other publications, to share their datagram.
void Owner::defer_publication(OwnedLimit& limit, Instant now) {
    for (OwnedCell& cell : limit.cells) {
        if (limit.listens(settings_, cell, now)) {
            defer_publication(limit.key, cell, now);
        }
    }
}

void Owner::defer_publication(const LimitKey& key, OwnedCell& cell, Instant now) {
    if (std::exchange(cell.deferred, true)) {
        return;
    }
    DeferredPublications& deferred = deferred_[cell.member];
    WEIR_ASSERT(cell.deferred);
    if (deferred.limits.empty()) {
        deferred.since = now;
    }
    deferred.limits.push_back(key);
}

void Owner::publish_deferred(MemberNumber user, Instant now, OwnerSink& sink) {
    const auto found = deferred_.find(user);
    if (found == deferred_.end()) {
        return;
    }
    const DeferredPublications deferred = std::move(found->second);
    deferred_.erase(found);
    WEIR_ASSERT(!deferred.limits.empty());
    for (const LimitKey& key : deferred.limits) {
        const auto known = by_key_.find(key);
        OwnedCell* cell = known == by_key_.end() ? nullptr : slots_[known->second].find(user);
        if (cell == nullptr || !cell->deferred) {
            continue;  // told meanwhile
        }
        cell->deferred = false;
        if (silence_.is_gone(user)) {
            continue;
        }
        OwnedLimit& limit = slots_[known->second];
        limit.advance(now);
        sink.send_total(silence_.id(user), limit.total(settings_, cell, pacing_.tenths(), now));
    }
}

void Owner::publish_overdue(Instant now, OwnerSink& sink) {
    std::vector<std::pair<Instant, MemberNumber>> due;
    for (const auto& [user, deferred] : deferred_) {
        if (now - deferred.since >= settings_.publication_wait) {
            due.emplace_back(deferred.since, user);
        }
    }
    std::sort(due.begin(), due.end());  // where there is no room for all, who has waited longest
    for (const auto& [since, user] : due) {
        if (!sink.has_room_to_publish(false)) {
            return;
        }
        publish_deferred(user, now, sink);
    }
}

void Owner::remove(std::uint32_t slot) {
    WEIR_ASSERT(by_key_.contains(slots_[slot].key));
    by_key_.erase(slots_[slot].key);
    rests_.remove(slot);
    awake_flag_[slot] = false;
    slots_[slot] = OwnedLimit{};
    free_.push_back(slot);
}

void Owner::note_hot(HotTable& hot, Instant now) {
    refusing_idly_ = 0;
    for (const std::uint32_t slot : awake_) {
        const OwnedLimit& limit = slots_[slot];
        if (limit.published_probability <= 0 && !limit.bucket.shedding) {
            continue;
        }
        refusing_idly_ += limit.bucket.offered_rate <= 0 ? 1U : 0U;
        hot.note({limit.key, std::max(0.0, limit.bucket.level), limit.bucket.offered_rate,
                  Duration::zero(), limit.bucket.shedding},
                 now);
    }
}

const OwnedLimit* Owner::find(const LimitKey& key) const {
    const auto known = by_key_.find(key);
    return known == by_key_.end() ? nullptr : &slots_[known->second];
}

void Owner::for_each(const std::function<void(const OwnedLimit&)>& visit) const {
    for (const auto& [key, slot] : by_key_) {
        visit(slots_[slot]);
    }
}

std::size_t Owner::cells() const {
    std::size_t sum = 0;
    for (const auto& [key, slot] : by_key_) {
        sum += slots_[slot].cells.size();
    }
    return sum;
}

}  // namespace weir::sync

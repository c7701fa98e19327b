#include "engine/owner.h"

#include <algorithm>
#include <map>
#include <utility>

namespace weir::engine {
namespace {

/// Limits are looked at in every so many ticks of 10 ms.
constexpr std::uint64_t kLookEvery = 5;
constexpr Duration kLookInterval = std::chrono::milliseconds(50);
/// A name that was not told is asked for again after this.
constexpr Duration kAskNameAgain = std::chrono::milliseconds(100);
/// A new owner asks to be filled so often, so far apart.
constexpr std::uint8_t kAsks = 3;
constexpr Duration kAskAgain = std::chrono::milliseconds(300);
/// Limits of a shard that was lost are kept for as long, to fill others.
constexpr Duration kKeepLost = std::chrono::seconds(3);
/// Pace in tenths: the largest, and the steps up and down each second.
constexpr std::uint8_t kLargestPace = 20;
constexpr std::uint8_t kPaceStep = 5;

std::uint16_t bit_of(gossip::Shard shard) { return static_cast<std::uint16_t>(1u << shard); }

bool holds(const gossip::OwnerList& list, const gossip::MemberId& member) {
    return std::find(list.begin(), list.end(), member) != list.end();
}

}  // namespace

Owner::Owner(const SyncSettings& settings, Silence& silence, Random random, Resolver resolver,
             SyncStatistics& statistics)
    : settings_(settings),
      silence_(silence),
      random_(random),
      resolver_(std::move(resolver)),
      statistics_(statistics) {}

std::uint32_t Owner::draw_life() {
    return static_cast<std::uint32_t>(random_.below(0xffff'fffeu)) + 1;  // 0 means: none
}

OwnedLimit* Owner::obtain(const gossip::LimitKey& key, Instant now) {
    if (const auto known = by_key_.find(key); known != by_key_.end()) {
        wake(known->second);
        return &slots_[known->second];
    }
    if (by_key_.size() >= settings_.maximum_owned_limits) {
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
    const ShardState& shard = shards_[gossip::shard_of(key.quota)];
    OwnedLimit& limit = slots_[slot];
    limit = OwnedLimit{};
    limit.restart(draw_life(), now);
    limit.key = key;
    limit.born = shard.born;
    limit.handed_over = shard.filled;
    limit.last_use = now;
    by_key_.emplace(key, slot);
    resolve(limit);
    wake(slot);
    return &limit;
}

void Owner::resolve(OwnedLimit& limit) {
    limiter::LimitParameters parameters;
    if (!resolver_(limit.key, limit.name, parameters)) return;
    limit.parameters = parameters;
    limit.bucket.clamp(parameters);
}

void Owner::wake(std::uint32_t slot) {
    if (awake_flag_[slot]) return;
    awake_flag_[slot] = true;
    awake_.push_back(slot);
}

void Owner::receive(const gossip::MemberId& from, MemberNumber number,
                    const gossip::DeltaEntry& delta, Instant now, OwnerSink& sink) {
    if (!gossip::plausible(delta)) {
        ++statistics_.refused_values;
        silence_.refused(number);
        return;
    }
    if (!shards_[gossip::shard_of(delta.key.quota)].owned) {
        ++statistics_.refused_not_owner;
        return;
    }
    OwnedLimit* limit = obtain(delta.key, now);
    if (limit == nullptr) return;
    if (!limit->parameters && now - limit->asked_name >= kAskNameAgain) {
        limit->asked_name = now;
        ++statistics_.names_asked;
        sink.ask_name(from, delta.key);
    }
    if (limit->find(number) == nullptr) limit->adopt_run(number, delta.run, silence_);
    const DeltaOutcome outcome = limit->receive(settings_, number, delta, now, statistics_);
    if (outcome == DeltaOutcome::falling) {
        ++statistics_.refused_falling;
        silence_.refused(number);
    }
    if (outcome == DeltaOutcome::full) ++statistics_.dropped_cells;
    sink.send_total(from, limit->total(settings_, limit->find(number), pace_, now));
}

void Owner::receive(const gossip::HandoverEntry& entry, Instant now) {
    ShardState& shard = shards_[gossip::shard_of(entry.key.quota)];
    shard.asks_left = 0;
    if (OwnedLimit* limit = obtain(entry.key, now)) limit->receive(settings_, entry, now);
}

void Owner::fill(const gossip::HandoverEntry& entry, const std::string& name,
                 const limiter::LimitParameters& parameters, Instant now) {
    OwnedLimit* limit = obtain(entry.key, now);
    if (limit == nullptr) return;
    limit->name = name;
    if (!limit->parameters) limit->parameters = parameters;
    const bool handed_over = limit->handed_over;
    limit->receive(settings_, entry, now);
    limit->handed_over = handed_over;  // what we believed ourselves fills nobody
}

void Owner::name_told(const gossip::NameEntry& entry, Instant now) {
    const auto known = by_key_.find(entry.key);
    if (known == by_key_.end()) return;
    OwnedLimit& limit = slots_[known->second];
    if (limit.parameters) return;
    limit.advance(now);
    limit.name = entry.name;
    resolve(limit);
    if (limit.parameters) return;
    // Our definitions lack it: what the origin goes by has to do.
    limit.parameters = limiter::LimitParameters{entry.rate, entry.low, entry.high, entry.debt,
                                                static_cast<limiter::Law>(entry.law)};
    limit.bucket.clamp(*limit.parameters);
}

void Owner::refresh_parameters() {
    for (const auto& [key, slot] : by_key_) {
        if (!slots_[slot].name.empty()) resolve(slots_[slot]);
    }
}

void Owner::hand_over(const gossip::MemberId& to, std::uint16_t shards, Instant now,
                      OwnerSink& sink) {
    for (const auto& [key, slot] : by_key_) {
        OwnedLimit& limit = slots_[slot];
        if ((shards & bit_of(gossip::shard_of(key.quota))) == 0) continue;
        if (!limit.filled(settings_, now)) continue;
        limit.advance(now);
        if (limit.bucket.level <= 0 && limit.bucket.offered_rate <= 0) continue;
        ++statistics_.handovers_sent;
        sink.send_handover(to, limit.handover(silence_, now));
    }
}

void Owner::owner_asked(const gossip::MemberId& from, std::uint16_t shards, Instant now,
                        OwnerSink& sink) {
    hand_over(from, shards, now, sink);
}

void Owner::begin_shard(gossip::Shard shard, const gossip::OwnerList& owners, Instant now) {
    ShardState& state = shards_[shard];
    state.owned = true;
    state.filled = false;
    state.born = now;
    state.others = owners;
    std::erase(state.others, self_);
    state.asks_left = state.others.empty() ? std::uint8_t{0} : kAsks;
    for (const auto& [key, slot] : by_key_) {
        if (gossip::shard_of(key.quota) != shard) continue;
        // Kept from an earlier ownership: too old to build upon, but name and parameters hold.
        slots_[slot].restart(draw_life(), now);
    }
}

void Owner::shard_changed(const gossip::OwnerChange& change, Instant now, OwnerSink& sink) {
    ShardState& state = shards_[change.shard];
    // Whether we were an owner is our own knowledge: our name may have changed in between.
    const bool before = state.owned;
    const bool after = holds(change.after, self_);
    if (before) {
        for (const gossip::MemberId& owner : change.after) {
            if (owner != self_ && !holds(change.before, owner)) {
                hand_over(owner, bit_of(change.shard), now, sink);
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
    }
}

void Owner::start(const gossip::Owners& owners, Instant now) {
    for (gossip::Shard shard = 0; shard < gossip::kShards; ++shard) {
        if (owners.owns(self_, shard)) begin_shard(shard, owners.of(shard), now);
    }
}

void Owner::leave(const gossip::Owners& owners, Instant now, OwnerSink& sink) {
    for (gossip::Shard shard = 0; shard < gossip::kShards; ++shard) {
        if (!shards_[shard].owned) continue;
        for (const gossip::MemberId& owner : owners.of(shard)) {
            if (owner != self_) hand_over(owner, bit_of(shard), now, sink);
        }
    }
}

void Owner::stopped(Instant now, const gossip::Owners& owners, OwnerSink& sink) {
    for (gossip::Shard shard = 0; shard < gossip::kShards; ++shard) {
        if (shards_[shard].owned) begin_shard(shard, owners.of(shard), now);
    }
    asked_at_ = {};
    ask_again(now, sink);
}

void Owner::ask_again(Instant now, OwnerSink& sink) {
    if (asked_at_ != Instant{} && now - asked_at_ < kAskAgain) return;
    std::map<gossip::MemberId, std::uint16_t> asks;
    for (gossip::Shard shard = 0; shard < gossip::kShards; ++shard) {
        ShardState& state = shards_[shard];
        if (!state.owned || state.asks_left == 0) continue;
        --state.asks_left;
        for (const gossip::MemberId& other : state.others) {
            std::uint16_t& bits = asks[other];
            bits = static_cast<std::uint16_t>(bits | bit_of(shard));
        }
    }
    if (asks.empty()) return;
    asked_at_ = now;
    for (const auto& [other, shards] : asks) sink.ask_owner(other, shards);
}

void Owner::tick(Instant now, OwnerSink& sink) {
    ++ticks_;
    ask_again(now, sink);
    for (std::size_t i = 0; i < awake_.size();) {
        const std::uint32_t slot = awake_[i];
        bool stays = true;
        if ((ticks_ + slot) % kLookEvery == 0) {
            OwnedLimit& limit = slots_[slot];
            const ShardState& shard = shards_[gossip::shard_of(limit.key.quota)];
            if (limit.idle(settings_, now) || (!shard.owned && now - shard.lost > kKeepLost)) {
                stays = false;
            } else {
                look_at(limit, now, sink);
            }
        }
        if (stays) {
            ++i;
            continue;
        }
        awake_[i] = awake_.back();
        awake_.pop_back();
        remove(slot);
    }
}

void Owner::look_at(OwnedLimit& limit, Instant now, OwnerSink& sink) {
    limit.judge_silence(settings_, silence_, now);
    limit.advance(now);
    if (!shards_[gossip::shard_of(limit.key.quota)].owned) return;
    if (limit.must_publish(settings_, kLookInterval)) publish(limit, now, sink);
}

void Owner::publish(OwnedLimit& limit, Instant now, OwnerSink& sink) {
    limit.note_published();
    ++statistics_.publications;
    // Copied: a total to ourselves may come back as a delta at once.
    const std::vector<OwnedCell> cells = limit.cells;
    for (const OwnedCell& cell : cells) {
        if (now - cell.heard >= settings_.user_memory || silence_.is_gone(cell.member)) continue;
        sink.send_total(silence_.id(cell.member), limit.total(settings_, &cell, pace_, now));
    }
}

void Owner::remove(std::uint32_t slot) {
    by_key_.erase(slots_[slot].key);
    awake_flag_[slot] = false;
    slots_[slot] = OwnedLimit{};
    free_.push_back(slot);
}

void Owner::note_load(std::uint64_t datagrams_per_second) {
    const double load = static_cast<double>(datagrams_per_second) /
                        static_cast<double>(settings_.datagrams_per_second);
    if (load > 0.8) pace_ = std::min<std::uint8_t>(kLargestPace, pace_ + kPaceStep);
    if (load < 0.4 && pace_ > 0) --pace_;
}

void Owner::note_hot(HotTable& hot, Instant now) const {
    for (const std::uint32_t slot : awake_) {
        const OwnedLimit& limit = slots_[slot];
        if (limit.published_probability <= 0 && !limit.bucket.shedding) continue;
        hot.note({limit.key, std::max(0.0, limit.bucket.level), limit.bucket.offered_rate,
                  Duration::zero(), limit.bucket.shedding},
                 now);
    }
}

const OwnedLimit* Owner::find(const gossip::LimitKey& key) const {
    const auto known = by_key_.find(key);
    return known == by_key_.end() ? nullptr : &slots_[known->second];
}

std::size_t Owner::cells() const {
    std::size_t sum = 0;
    for (const auto& [key, slot] : by_key_) sum += slots_[slot].cells.size();
    return sum;
}

}  // namespace weir::engine

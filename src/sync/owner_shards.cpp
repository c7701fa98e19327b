#include "sync/owner.h"

#include <algorithm>
#include <map>

#include "base/assert.h"

namespace weir::sync {
namespace {

/// A new owner asks to be filled so often, so far apart.
constexpr std::uint8_t kAsks = 3;
constexpr Duration kAskAgain = std::chrono::milliseconds(300);
/// After a stop an owner tells what it has admitted before it asks. Until then the others have only
/// reckoned it.
constexpr Duration kTellFirst = std::chrono::milliseconds(100);

bool holds(const membership::OwnerList& list, const gossip::MemberId& member) {
    return std::find(list.begin(), list.end(), member) != list.end();
}

}  // namespace

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
    note_level(*limit);
    if (!limit->parameters) {
        begin_asking(*limit, from, now, sink);
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
    const double certain = limit->bucket.level - limit->level_believed;
    limit->receive(settings_, entry, silence_.side(), now);
    limit->note_believed(certain);
    note_level(*limit);
    limit->handed_over = handed_over;  // what we believed ourselves fills nobody
    limit->held_told = false;
}

void Owner::hand_over(const gossip::MemberId& to, std::uint16_t shards, Instant now,
                      OwnerSink& sink) {
    if (to == self_) {
        return;
    }
    limits_.visit_all([&](OwnedLimit& limit) {
        if ((shards & membership::bit_of(membership::shard_of(limit.key.quota))) == 0 ||
            !limit.filled(settings_, now)) {
            return;
        }
        limit.advance(now);
        if (limit.bucket.level <= 0 && limit.bucket.offered_rate <= 0) {
            return;
        }
        ++statistics_.handovers_sent;
        sink.send_handover(to, limit.handover(settings_, to, silence_, now));
    });
}

void Owner::owner_asked(const gossip::MemberId& from, std::uint16_t shards, Instant now,
                        OwnerSink& sink) {
    hand_over(from, shards, now, sink);
    hand_quiet_over_again(from, shards, now, sink);
}

void Owner::begin_shard(membership::Shard shard, const membership::OwnerList& owners, Instant now) {
    ShardState& state = shards_[shard];
    state.owned = true;
    state.born = now;
    state.owners = owners;
    state.others = owners;
    std::erase(state.others, self_);
    state.asks_left = state.others.empty() ? std::uint8_t{0} : kAsks;
    limits_.visit_all([&](OwnedLimit& limit) {
        if (membership::shard_of(limit.key.quota) == shard) {
            // Kept from an earlier ownership: too old to build upon, but name and parameters hold.
            limit.restart(draw_life(), now);
            limits_.wake(limit, now);
        }
    });
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
        ask_soon();
    } else if (after && change.before.size() == 1) {
        // We were alone, on our way in or cut off: the others may know more.
        state.others = change.after;
        std::erase(state.others, self_);
        state.asks_left = kAsks;
        ask_soon();
    }
    if (before && !after) {
        state.owned = false;
        state.lost = now;
        quiet_.drop_shard(change.shard);
        limits_.visit_all([&](OwnedLimit& limit) {
            if (membership::shard_of(limit.key.quota) == change.shard) {
                limits_.wake(limit, now);  // to be forgotten soon
            }
        });
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
    leaves_ = true;
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

void Owner::stopped(Instant now, const membership::Owners& owners) {
    for (membership::Shard shard = 0; shard < membership::kShards; ++shard) {
        if (shards_[shard].owned) {
            begin_shard(shard, owners.of(shard), now);
        }
    }
    // Who is stopped again before it has asked must not put it off time and again.
    if (!tells_first_) {
        tells_first_ = true;
        asked_at_ = now - (kAskAgain - kTellFirst);
    }
}

/// Asks with the next tick, unless this member was stopped and has to tell first.
void Owner::ask_soon() {
    if (!tells_first_) {
        asked_at_ = {};
    }
}

void Owner::ask_again(Instant now, OwnerSink& sink) {
    if (asked_at_ != Instant{} && now - asked_at_ < kAskAgain) {
        return;
    }
    tells_first_ = false;
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

}  // namespace weir::sync

// What an owner does for quiet limits: it takes in what origins tell of them, wakes those that come
// near their limit, and lets those fall quiet that have been far from it for seconds.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "sync/owner.h"

namespace weir::sync {
namespace {

/// An origin that goes on with quiet entries, or says nothing, is ordered to wake so many times.
constexpr std::uint8_t kOrders = 5;
/// For so long a limit that was woken waits for its origins to tell of it.
constexpr Duration kOriginsAnswer = std::chrono::seconds(1);
/// Within this time after a hand-over its receiver may ask for it again.
constexpr Duration kGiveAgain = std::chrono::seconds(5);

QuietOrder wake_order(const LimitKey& key, std::uint32_t run, double admitted) {
    return {.key = key, .kind = OrderKind::wake, .run = run, .admitted = admitted};
}

}  // namespace

QuietReceipt Owner::receive_quiet(const gossip::MemberId& from, MemberNumber number,
                                  const QuietEntry& entry, Instant now, OwnerSink& sink) {
    if (!shards_[membership::shard_of(entry.key.quota)].owned) {
        ++statistics_.refused_not_owner;
        return {};
    }
    if (!plausible(entry)) {
        ++statistics_.refused_values;
        silence_.refused(number);
        return {.taken_in = true};
    }
    ++statistics_.quiet_received;
    OwnedLimit* limit = limits_.find(entry.key);
    if (limit != nullptr) {
        limit->advance(now);
        if (is_awake(*limit, now)) {
            const bool taken_in = entry.no_room
                                      ? count_beside(*limit, from, number, entry, now, sink)
                                      : order_one(from, number, entry, now, sink);
            return {.taken_in = taken_in, .place = taken_in ? place_of(entry.key) : 0};
        }
    }
    if (leaves_ || !is_first(membership::shard_of(entry.key.quota))) {
        // What is taken in by who has handed over already, nobody would hand over.
        ++statistics_.refused_not_owner;
        return {};
    }
    QuietTold* told = quiet_.receive(number, entry, now);
    if (told == nullptr) {
        return {};  // no room: who is not answered makes the limit an awake one
    }
    if (QuietCell* cell = silence_.is_gone(number) ? told->find(number) : nullptr) {
        cell->steady = cell->rate = 0;  // last words that came late
    }
    // Who hands over does not say which rate the limit has.
    level_news_ += told->rate <= 0 || is_long({.rate = told->rate, .low = told->low}) ? 1U : 0U;
    const double level = limit == nullptr ? 0 : std::max(0.0, limit->bucket.level);
    const std::uint32_t place = told->place;
    if (told->rate > 0 && has_to_wake(told->low, told->bound() + level, told->rates(now))) {
        wake_quiet(entry.key, now, sink);
    }
    return {.taken_in = true, .place = place};
}

std::uint32_t Owner::place_of(const LimitKey& key) {
    const QuietTold* told = quiet_.find(key);
    return told == nullptr ? 0 : told->place;
}

bool Owner::is_first(membership::Shard shard) const {
    const ShardState& state = shards_[shard];
    return state.owned && !state.owners.empty() && state.owners.front() == self_;
}

/// An origin tells of an awake limit as of a quiet one. It is to begin a run with all that no owner
/// has taken in, so that every owner learns of it.
bool Owner::order_one(const gossip::MemberId& origin, MemberNumber number, const QuietEntry& entry,
                      Instant now, OwnerSink& sink) {
    const QuietCell* cell = quiet_.note_asleep(number, entry, now);
    WEIR_ASSERT(cell == nullptr || cell->member == number);
    // The counts of a former run say nothing of the present one.
    if (cell != nullptr && cell->run == entry.run) {
        // What a former first owner had confirmed is in the level that it handed over.
        const double known = std::max(cell->admitted, entry.admitted - entry.fresh);
        sink.send_order(origin, wake_order(entry.key, cell->run, known));
    }
    return false;
}

/// The origin has no room for the limit among those that are awake there, or leaves: what it tells
/// is counted here, and the other owners are told of it. When it has room again, it begins a run.
bool Owner::count_beside(OwnedLimit& limit, const gossip::MemberId& origin, MemberNumber number,
                         const QuietEntry& entry, Instant now, OwnerSink& sink) {
    const std::optional<double> weight = quiet_.receive_beside(number, entry, now);
    WEIR_ASSERT(!weight || *weight >= 0);
    if (!weight) {
        return false;
    }
    limit.add_told(*weight);
    limit.last_use = now;
    note_level(limit);
    tell_level(entry.key, *weight, sink);
    if (!silence_.is_gone(number)) {
        sink.send_order(origin, wake_order(entry.key, entry.run, entry.admitted));
    }
    return true;
}

/// The other owners count what was told here of a limit that is awake.
void Owner::tell_level(const LimitKey& key, double level, OwnerSink& sink) {
    for (const gossip::MemberId& owner : shards_[membership::shard_of(key.quota)].owners) {
        if (owner != self_ && level > 0) {
            sink.send_order(owner, {.key = key, .kind = OrderKind::level, .level = level});
        }
    }
}

/// Whether every origin has to tell of the limit as an awake one.
bool Owner::is_awake(const OwnedLimit& limit, Instant now) const {
    const bool looked_at = limits_.is_awake(limit);
    if (limit.parameters && limit.bucket.level > limit.parameters->low / 2) {
        return true;
    }
    const bool just_woken = now - limit.awake_since < kOriginsAnswer;
    return looked_at && (just_woken || !limit.at_rest()) && !limit.is_calm(now);
}

/// Makes a limit an awake one, with what was told of it so far, and tells its origins and the other
/// owners.
void Owner::wake_quiet(const LimitKey& key, Instant now, OwnerSink& sink) {
    QuietTold* told = quiet_.find(key);
    if (told == nullptr) {
        return;
    }
    OwnedLimit* limit = obtain(key, now);
    if (limit == nullptr) {
        return;
    }
    ++statistics_.woken;
    limit->advance(now);
    limit->begin_awake(now);
    told->advance(quiet_.shares(), now);
    const double level = told->level();
    WEIR_ASSERT(level >= 0);
    limit->add_told(level);
    limit->last_use = now;
    tell_level(key, level, sink);
    told->clear();
    const auto lives = [this](const QuietCell& cell) { return !silence_.is_gone(cell.member); };
    const auto whom = std::find_if(told->cells.begin(), told->cells.end(), lives);
    if (!limit->parameters && whom != told->cells.end()) {
        begin_asking(*limit, whom->member, now, sink);
    }
    order_to_wake(key, true, sink);
}

/// Orders origins to wake that told of the limit as a quiet one. With `all` these are all that have
/// not answered yet, else those that were ordered before. Who has no room is not asked again and
/// again: each entry that it tells is answered with an order.
void Owner::order_to_wake(const LimitKey& key, bool all, OwnerSink& sink) {
    QuietTold* told = quiet_.find(key);
    if (told == nullptr) {
        return;
    }
    std::optional<QuietCell> own;
    for (QuietCell& cell : told->cells) {
        const bool asked = cell.orders > 0 || all;
        if (silence_.is_gone(cell.member) || cell.no_room || !asked) {
            continue;
        }
        const bool is_own = silence_.id(cell.member) == self_;
        if (!is_own && !sink.has_room_to_publish(true)) {
            cell.orders = std::max<std::uint8_t>(cell.orders, 1);  // ordered at the next look
            ++statistics_.orders_put_off;
            continue;
        }
        ++cell.orders;
        WEIR_ASSERT(cell.orders <= kOrders + 1);
        if (is_own) {
            own = cell;
        } else {
            sink.send_order(silence_.id(cell.member), wake_order(key, cell.run, cell.admitted));
        }
    }
    told->drop_cells([this](const QuietCell& cell) {
        return cell.orders > kOrders || silence_.is_gone(cell.member);
    });
    if (own) {
        // Last: it may come back as a delta at once, which changes the cells.
        sink.send_order(self_, wake_order(key, own->run, own->admitted));
    }
}

/// The origin tells of the limit as an awake one.
void Owner::note_awake(const LimitKey& key, MemberNumber origin, Instant now, OwnerSink& sink) {
    QuietTold* told = quiet_.find(key);
    if (told == nullptr) {
        return;
    }
    told->advance(quiet_.shares(), now);
    told->drop_cells([&](const QuietCell& cell) { return cell.member == origin; });
    if (told->cells.empty() && told->bound() <= 0 && told->given.sum <= 0) {
        quiet_.remove(key);
        return;
    }
    const OwnedLimit* limit = limits_.find(key);
    // One that was let fall quiet and has not heard of it yet wakes nobody.
    if (told->bound() <= 0 || (limit != nullptr && limit->is_calm(now))) {
        return;
    }
    if (is_first(membership::shard_of(key.quota))) {
        wake_quiet(key, now, sink);
    } else {
        give_to_first(*told, now, sink);
    }
}

/// A member that did not know all others yet took this one for the first owner, and handed over to
/// it. Origins may have told the true first owner of the same weight, so this one counts nothing of
/// it. It sends it to the first owner, which counts what it lacks.
void Owner::give_to_first(QuietTold& told, Instant now, OwnerSink& sink) {
    ShardState& state = shards_[membership::shard_of(told.key.quota)];
    const OwnedLimit* limit = limits_.find(told.key);
    if (told.rate <= 0 && limit != nullptr && limit->parameters) {
        // A hand-over does not say how fast the limit drains, so nothing has drained since it came.
        told.learn_parameters(*limit->parameters);
        told.advanced = told.told_at;
        told.advance(quiet_.shares(), now);
    }
    told.give();
    WEIR_ASSERT(told.bound() <= 0);
    if (!state.owners.empty()) {
        send_given(told, state.owners.front(), sink);
        state.quiet_given = now;
    }
}

void Owner::let_fall_quiet(const gossip::MemberId& origin, const OwnedLimit& limit,
                           const DeltaEntry& delta, Instant now, OwnerSink& sink) {
    if (delta.rate > 0 && is_first(membership::shard_of(limit.key.quota)) && limit.is_calm(now)) {
        sink.send_order(origin,
                        {.key = limit.key, .kind = OrderKind::fall_quiet, .run = delta.run});
    }
}

void Owner::take_level(const QuietOrder& order, Instant now) {
    if (!shards_[membership::shard_of(order.key.quota)].owned) {
        return;
    }
    if (OwnedLimit* limit = obtain(order.key, now)) {
        limit->advance(now);
        limit->add_told(order.level);
        limit->last_use = now;
        note_level(*limit);
    }
}

void Owner::take_over(const QuietOrder& order, Instant now, OwnerSink& sink) {
    if (!shards_[membership::shard_of(order.key.quota)].owned) {
        return;
    }
    OwnedLimit* limit = limits_.find(order.key);
    if (limit != nullptr) {
        limit->advance(now);
        if (is_awake(*limit, now)) {
            // What woke it may be a part of what is handed over, or this may come a second time.
            limit->add_told(std::max(0.0, order.level - limit->bucket.level));
            limit->last_use = now;
            note_level(*limit);
            return;
        }
    }
    const QuietTold* told = quiet_.take_over(order, HandedBy::former_owner, now);
    if (told == nullptr) {
        return;
    }
    level_news_ += is_long({.rate = told->rate, .low = told->low}) ? 1U : 0U;
    // Who is not the first owner may have been taken for it: see give_to_first().
    const double level = limit == nullptr ? 0 : std::max(0.0, limit->bucket.level);
    if (is_first(membership::shard_of(order.key.quota)) && told->low > 0 &&
        has_to_wake(told->low, told->bound() + level, 0)) {
        wake_quiet(order.key, now, sink);
    }
}

/// Another member is the first owner now, or will be when we have left: it is told what only the
/// first owner knows, as some of it was told by origins that are gone.
void Owner::hand_quiet_over(membership::Shard shard, const gossip::MemberId& to, Instant now,
                            OwnerSink& sink) {
    quiet_.for_each_in_shards(membership::bit_of(shard), now, [&](QuietTold& told) {
        told.give();
        // What origins tell if this member is the first owner again, another one may have handed
        // over.
        told.cells.clear();
        send_given(told, to, sink);
    });
    shards_[shard].quiet_given = now;
}

/// A new first owner asks: it may have been told before it could know who we are.
void Owner::hand_quiet_over_again(const gossip::MemberId& to, std::uint16_t shards, Instant now,
                                  OwnerSink& sink) {
    for (membership::Shard shard = 0; shard < membership::kShards; ++shard) {
        const ShardState& state = shards_[shard];
        const bool lately = now - state.quiet_given < kGiveAgain;
        if (!lately || state.owners.empty() || state.owners.front() != to) {
            shards = static_cast<std::uint16_t>(shards & ~membership::bit_of(shard));
        }
    }
    if (shards == 0) {
        return;
    }
    quiet_.for_each_in_shards(shards, now,
                              [&](const QuietTold& told) { send_given(told, to, sink); });
}

void Owner::send_given(const QuietTold& told, const gossip::MemberId& to, OwnerSink& sink) {
    if (told.given.sum <= 0) {
        return;
    }
    ++statistics_.handovers_sent;
    WEIR_ASSERT(told.given.full >= 0 && to != self_);
    sink.send_order(to, {.key = told.key,
                         .kind = OrderKind::hand_over,
                         .level = told.given.full,
                         .sum = told.given.sum});
}

}  // namespace weir::sync

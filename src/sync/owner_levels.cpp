// What an owner does with the levels of a snapshot: it says what it knows, to be written, and takes
// over what was read.
#include <algorithm>

#include "base/assert.h"
#include "sync/owner.h"

namespace weir::sync {
namespace {

/// What origins have told of a quiet limit stands for its parameters until its name is known.
limiter::LimitParameters parameters_told_in(const QuietTold& told) {
    return {.rate = told.rate, .low = told.low, .high = told.low};
}

/// The level that was counted. Of a limit without parameters nothing has drained so far.
void take_counted_level(KeptLevel& kept, const OwnedLimit& limit, double idle) {
    kept.level = std::max(0.0, limit.bucket.level);
    kept.drain(std::max(0.0, idle) + limit.undrained);
    WEIR_ASSERT(kept.level >= 0);
}

}  // namespace

/// What bounds the quiet sum of this limit. An owner that leaves has given it to the next one, and
/// its snapshot still has to have it: all may leave at once.
double Owner::kept_bound(const QuietTold& told) const {
    return std::max<double>(told.bound(), leaves_ ? told.given.sum : 0);
}

/// An owner that has just begun to count a limit may not know yet what it is called. It goes by
/// what origins have told of it while it was quiet.
KeptLevel Owner::kept_level(std::uint32_t slot, Instant now) {
    const OwnedLimit* limit = limits_.at(slot);
    if (limit == nullptr) {
        return {};
    }
    const membership::Shard shard = membership::shard_of(limit->key.quota);
    const QuietTold* told = is_first(shard) ? quiet_.find(limit->key) : nullptr;
    if (!owns(shard) || (told != nullptr && kept_bound(*told) > 0)) {
        return {};  // it is written with what was told while it was quiet
    }
    KeptLevel kept{.key = limit->key, .name = limit->name};
    if (limit->parameters) {
        kept.parameters = *limit->parameters;
    } else if (told != nullptr) {
        kept.parameters = parameters_told_in(*told);
    }
    if (!is_long(kept.parameters)) {
        return {};
    }
    // One with load was advanced a moment ago, and what comes meanwhile is not known yet.
    const double idle = limit->bucket.offered_rate > 0 ? 0 : to_seconds(now - limit->advanced);
    take_counted_level(kept, *limit, idle);
    return kept;
}

/// What was told of a quiet limit, with what was counted of it before. A former first owner that
/// hands a sum over does not say which rate the limit has.
KeptLevel Owner::kept_quiet_level(std::uint32_t slot, Instant now) {
    QuietTold* const told = quiet_.at(slot);
    if (told == nullptr || kept_bound(*told) <= 0 ||
        !is_first(membership::shard_of(told->key.quota))) {
        return {};
    }
    KeptLevel kept{.key = told->key};
    limiter::Isolation isolation;
    const OwnedLimit* const limit = limits_.find(told->key);
    if (limit != nullptr && limit->parameters) {
        kept.name = limit->name;
        kept.parameters = *limit->parameters;
    } else if (!resolver_(told->key, kept.name, kept.parameters, isolation)) {
        kept.parameters = parameters_told_in(*told);
    }
    if (limit != nullptr) {
        take_counted_level(kept, *limit, to_seconds(now - limit->advanced));
    }
    if (!is_long(kept.parameters)) {
        return {};
    }
    told->learn_parameters(kept.parameters);
    told->advance(quiet_.shares(), now);
    kept.sum = kept_bound(*told);
    kept.full = std::max<double>(told->level(), leaves_ ? told->given.full : 0);
    WEIR_ASSERT(kept.sum >= 0 && kept.full >= 0);
    return kept;
}

void Owner::raise(const KeptLevel& kept, Instant now) {
    const membership::Shard shard = membership::shard_of(kept.key.quota);
    if (kept.level <= 0 || !owns(shard)) {
        return;
    }
    OwnedLimit* limit = obtain(kept.key, now);
    if (limit == nullptr) {
        return;
    }
    learn_parameters(*limit, kept, now);
    const double missing = kept.level - std::max(0.0, limit->bucket.level);
    if (missing <= 0) {
        return;
    }
    ++level_news_;
    limit->last_use = now;
    if (limit->parameters) {
        limit->bucket.add(*limit->parameters, missing);
    } else {
        limit->bucket.level = kept.level;
    }
    // What another owner has counted was told here while the limit was quiet.
    if (QuietTold* told = quiet_.find(kept.key)) {
        told->advance(quiet_.shares(), now);
        told->handed.take(missing);
    }
    WEIR_ASSERT(limit->bucket.level > 0 || limit->parameters);
}

void Owner::learn_parameters(OwnedLimit& limit, const KeptLevel& kept, Instant now) {
    limit.advance(now);
    if (limit.parameters || kept.name.empty()) {
        return;  // who tells the level will be asked
    }
    if (limit.name.empty()) {
        limit.name = kept.name;
    }
    resolve(limit);
    if (!limit.parameters) {
        limit.parameters_told = true;
        learn(limit, kept.parameters);
    }
    WEIR_ASSERT(limit.parameters.has_value());
}

/// The parameters of the limit may have changed since the level was kept: a bucket that is full now
/// is the most that counts.
KeptLevel Owner::bounded(KeptLevel kept) const {
    limiter::LimitParameters parameters = kept.parameters;
    limiter::Isolation isolation;
    std::string name = kept.name;
    if (const OwnedLimit* limit = limits_.find(kept.key); limit != nullptr && limit->parameters) {
        parameters = *limit->parameters;
    } else if (!resolver_(kept.key, name, parameters, isolation)) {
        parameters = kept.parameters;
    }
    const double most = limiter::ceiling(parameters, 1, 0);
    WEIR_ASSERT(most >= 0);
    kept.level = std::min(kept.level, most);
    kept.full = std::min(kept.full, most - kept.level);
    kept.sum = std::min(kept.sum, most);
    kept.parameters = parameters;
    return kept;
}

void Owner::restore(const KeptLevel& read, HandedBy who, Instant now, OwnerSink& sink) {
    const KeptLevel kept = bounded(read);
    raise(kept, now);
    const membership::Shard shard = membership::shard_of(kept.key.quota);
    if (kept.full <= 0 || !is_first(shard)) {
        return;
    }
    OwnedLimit* const limit = limits_.find(kept.key);
    if (limit != nullptr) {
        limit->advance(now);
    }
    const double level = limit == nullptr ? 0 : std::max(0.0, limit->bucket.level);
    // What is counted beyond the level of that time was told while the limit was quiet.
    const double since = std::max(0.0, level - kept.level);
    const double full = std::max(0.0, kept.full - since);
    const double sum = std::max(full, kept.sum - since);
    if (full <= 0) {
        return;
    }
    const QuietTold* known = quiet_.find(kept.key);
    const double bound = known == nullptr ? sum : std::max(sum, known->bound());
    const bool awake = limit != nullptr && is_awake(*limit, now);
    if (awake || (kept.parameters.low > 0 && has_to_wake(kept.parameters.low, bound + level, 0))) {
        count_at_all_owners(kept, level + full, now, sink);
        return;
    }
    QuietTold* told = quiet_.take_over(
        {.key = kept.key, .kind = OrderKind::hand_over, .level = full, .sum = sum}, who, now);
    if (told != nullptr) {
        ++level_news_;
        told->learn_parameters(kept.parameters);
    }
}

/// A limit that is awake has a level at each of its owners. It is told to them as one that was
/// kept, because they may have counted some of it already.
void Owner::count_at_all_owners(const KeptLevel& kept, double level, Instant now, OwnerSink& sink) {
    WEIR_ASSERT(level > 0);
    KeptLevel counted = kept;
    counted.level = level;
    counted.sum = counted.full = 0;
    raise(counted, now);
    for (const gossip::MemberId& owner : shards_[membership::shard_of(kept.key.quota)].owners) {
        if (owner != self_) {
            sink.send_order(owner, order_of(counted));
        }
    }
}

void Owner::take_kept(const QuietOrder& order, MemberNumber from, Instant now, OwnerSink& sink) {
    if (!owns(membership::shard_of(order.key.quota))) {
        ++statistics_.refused_not_owner;
        return;
    }
    if (order.limit_rate <= 0 || order.low <= 0) {
        ++statistics_.refused_leaps;  // it would never drain
        silence_.refused(from);
        return;
    }
    KeptLevel kept{.key = order.key,
                   .parameters = {.rate = order.limit_rate, .low = order.low, .high = order.low},
                   .level = order.level,
                   .sum = order.sum,
                   .full = order.full};
    if (const OwnedLimit* limit = limits_.find(order.key); limit != nullptr && limit->parameters) {
        kept.parameters = *limit->parameters;
        if (!level_can_be(kept.parameters, kept.whole(), 1, 0)) {
            ++statistics_.refused_leaps;
            silence_.refused(from);
            return;
        }
    }
    restore(kept, HandedBy::other_snapshot, now, sink);
    OwnedLimit* const limit = limits_.find(order.key);
    if (limit != nullptr && !limit->parameters) {
        begin_asking(*limit, from, now, sink);
    }
}

}  // namespace weir::sync

// When quiet limits are told of, and what is told (the origin's side).
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "sync/kept_level.h"
#include "sync/number_forms.h"
#include "sync/quiet_limits.h"
#include "sync/reckoning.h"

namespace weir::sync {
namespace {

constexpr double kFirstUseShare = 0.25;  // of the time in which the rate fills `low`
/// An entry without a confirmation is sent again after this time, and the time for which the
/// confirmation may wait; after the second one each waits twice as long as the one before.
constexpr Duration kSendAgain = std::chrono::milliseconds(60);
constexpr int kLongestBackOff = 9;  // doublings, to half a minute
/// After so many entries in vain, which takes a minute, it waits until the limit is used again.
constexpr std::uint8_t kMostTries = 11;
/// After so many entries in vain a full share is told to all owners: within two seconds where
/// answers do not take long. With 30 % of all packets lost that happens to one entry of sixty.
constexpr std::uint8_t kTriesBeforeWaking = 6;
/// In a tick so many are looked at that may have something to tell.
constexpr std::size_t kToldPerTick = 2000;
/// An owner to whom there was no room to send is tried again after this time.
constexpr Duration kPutOff = std::chrono::milliseconds(20);
/// What is urgent is tried again in the next tick, before what becomes due after this one.
constexpr Duration kUrgentPutOff = std::chrono::nanoseconds(1);
/// Before all others that are due.
constexpr Instant kAtOnce{};
/// A share so many times above the border is told at once.
constexpr double kUrgent = 2;
/// A leap of the load is told at once where the share would be full in so many ticks like the last
/// one.
constexpr double kTicksAhead = 8;
/// New first owners are told within this time.
constexpr double kNewOwnerToldWithin = 0.5;

/// How long an entry waits for its confirmation that is the n-th in a row.
Duration wait_after(std::uint8_t tries) {
    return kSendAgain * (1 << std::clamp(tries - 2, 0, kLongestBackOff));
}

double told_rate(double rate) { return std::min(rate, kLargestRate); }

Instant next_round(Instant when) {
    const auto since = when.time_since_epoch() % kTellingRound;
    return since == Duration::zero() ? when : when + (kTellingRound - since);
}

}  // namespace

/// Decides by when something has to be told. `before` is the share before the newest weight.
void QuietLimits::plan(std::uint32_t slot, double before, Instant now) {
    QuietLimit& limit = slots_[slot];
    const double border = silent_share(limit.low, shares());
    WEIR_ASSERT(limit.run != 0);
    const double increase = limit.share.untold - before;
    const bool leaps = increase >= kLeapRequests * limit.typical &&
                       limit.share.untold + kTicksAhead * increase > kUrgent * border;
    // A long limit may be nearly full without being used. An origin that has just been started is
    // not to admit its whole share before it hears what is left.
    const bool begins_long =
        limit.sent_at == Instant{} && is_long({.rate = limit.rate, .low = limit.low});
    limit.again = limit.again || begins_long;
    if (limit.share.untold > kUrgent * border || leaps || begins_long) {
        due_.add(slot, kAtOnce);
    } else if (limit.share.untold > border) {
        due_.add(slot, next_round(now));
    } else if (!limit.known || now - limit.told_at >= kSayAgain) {
        const double fills = limit.rate > 0 ? limit.low / limit.rate : 0;
        due_.add(slot, next_round(now + std::min(kFirstUse, from_seconds(kFirstUseShare * fills))));
    }
}

void QuietLimits::tick(const membership::Owners& owners, Instant now, QuietSink& sink,
                       std::vector<LimitKey>& has_to_wake) {
    for (std::size_t taken = 0; taken < kToldPerTick; ++taken) {
        const std::optional<std::uint32_t> slot = due_.take(now);
        if (!slot) {
            break;
        }
        QuietLimit& limit = slots_[*slot];
        limit.share.advance(limit.rate, shares(), now);
        const bool full = limit.share.untold > silent_share(limit.low, shares());
        if (limit.tries >= kTriesBeforeWaking && full) {
            has_to_wake.push_back(limit.key);
            if (!limit.no_room) {
                continue;
            }
        }
        const bool again = limit.known && std::exchange(limit.again, false) &&
                           limit.share.admitted > limit.share.acknowledged;
        const bool news = !limit.known || limit.leaves || full || again ||
                          limit.share.acknowledged < limit.sent || now - limit.told_at >= kSayAgain;
        if (!news || waits_for_answer(*slot, owners, now, sink)) {
            continue;
        }
        if (has_room(limit, full, owners, sink)) {
            tell(*slot, owners, now, sink);
            continue;
        }
        ++statistics_.quiet_put_off;
        due_.add(*slot, full ? now + kUrgentPutOff : now + kPutOff);
    }
    sweep(now);
    previous_tick_ = now;
}

/// Whether the last entry may still be confirmed. If so, the limit is due when that is over.
bool QuietLimits::waits_for_answer(std::uint32_t slot, const membership::Owners& owners,
                                   Instant now, QuietSink& sink) {
    const QuietLimit& limit = slots_[slot];
    const membership::OwnerList& list = owners.of(membership::shard_of(limit.key.quota));
    if (limit.tries == 0 || list.empty()) {
        return false;
    }
    // What has come since then may make the owner wake the limit. But where the first owner has
    // changed, the former one is waited for.
    const bool grown =
        limit.sent > 0 && limit.share.admitted - limit.sent > silent_share(limit.low, shares());
    const Duration wait =
        grown ? std::max(wait_after(limit.tries), sink.quiet_answer_wait(list.front()))
              : wait_for_answer(limit, list.front(), sink);
    const bool waits = now - limit.sent_at < wait;
    WEIR_ASSERT(wait > Duration::zero());
    if (waits) {
        due_.add(slot, limit.sent_at + wait);
    }
    return waits;
}

Duration QuietLimits::wait_for_answer(const QuietLimit& limit, const gossip::MemberId& owner,
                                      QuietSink& sink) {
    return std::max(wait_after(limit.tries),
                    std::max(kSendAgain, sink.quiet_answer_wait(owner)) + kQuietAnswerMayWait);
}

bool QuietLimits::has_room(const QuietLimit& limit, bool urgent, const membership::Owners& owners,
                           QuietSink& sink) {
    const membership::OwnerList& list = owners.of(membership::shard_of(limit.key.quota));
    return list.empty() || sink.has_room_for_quiet(list.front(), urgent);
}

void QuietLimits::tell(std::uint32_t slot, const membership::Owners& owners, Instant now,
                       QuietSink& sink) {
    QuietLimit& limit = slots_[slot];
    if (limit.tries >= kMostTries && limit.touched <= limit.sent_at) {
        ++statistics_.quiet_given_up;
        return;
    }
    const membership::OwnerList& list = owners.of(membership::shard_of(limit.key.quota));
    if (list.empty()) {
        return;
    }
    const gossip::MemberId& owner = list.front();
    ++statistics_.quiet_sent;
    statistics_.quiet_resent += limit.tries > 0 ? 1U : 0U;
    limit.leaves = false;
    limit.sent = limit.share.admitted;
    limit.sent_at = now;
    limit.tries = static_cast<std::uint8_t>(std::min(255, limit.tries + 1));
    WEIR_ASSERT(limit.tries > 0);
    const QuietEntry entry = entry_of(limit);
    due_.add(slot, now + wait_for_answer(limit, owner, sink));
    sink.send_quiet(owner, entry);
}

QuietEntry QuietLimits::entry_of(const QuietLimit& limit) const {
    QuietEntry entry;
    entry.key = limit.key;
    entry.run = limit.run;
    entry.admitted = limit.share.admitted;
    entry.untold = limit.share.untold;
    entry.untold_full = std::min(limit.share.untold, limit.share.untold_full);
    entry.fresh = std::min(limit.share.untold, limit.share.fresh);
    WEIR_ASSERT(entry.run != 0);
    WEIR_ASSERT(entry.untold_full <= entry.untold && entry.fresh <= entry.untold);
    entry.rate = told_rate(limit.offered_rate);
    const Duration silent = limit.sent_at - limit.told_at;
    entry.place = silent < cell_memory(settings_) * 4 / 5 ? limit.owner_place : 0;
    // Owners forget what was not told for long, and with it what the limit is. They do not take in
    // then what is told by its place.
    if (!limit.known || (entry.place == 0 && silent >= kSayAgain)) {
        entry.limit_rate = told_rate(limit.rate);
        entry.low = told_rate(limit.low);
    }
    entry.no_room = limit.no_room;
    return entry;
}

void QuietLimits::stay(const LimitKey& key, Instant now) {
    const auto slot = slot_of(key);
    if (!slot || slots_[*slot].no_room) {
        return;
    }
    QuietLimit& limit = slots_[*slot];
    limit.no_room = true;
    limit.tries = 0;
    due_.add(*slot, now);
}

/// The slot of the limit, if it still has this run.
std::optional<std::uint32_t> QuietLimits::slot_of_run(const LimitKey& key,
                                                      std::uint32_t run) const {
    const auto slot = slot_of(key);
    return slot && slots_[*slot].run == run ? slot : std::nullopt;
}

void QuietLimits::acknowledge(const QuietSaid& said, Instant now) {
    const auto slot = slot_of_run(said.key, said.run);
    if (!slot) {
        return;
    }
    QuietLimit& limit = slots_[*slot];
    if (said.admitted > limit.sent) {
        // It was told before another member was the first owner for a while.
        acknowledge_former(said, now);
        return;
    }
    limit.share.advance(limit.rate, shares(), now);
    limit.share.acknowledge(said.admitted);
    limit.owner_place = said.place;
    WEIR_ASSERT(limit.share.acknowledged <= limit.share.admitted);
    // What was under way when the definition changed told the former one.
    limit.known = limit.known ||
                  (said.limit_rate == told_rate(limit.rate) && said.low == told_rate(limit.low));
    limit.told_at = now;
    if (limit.share.acknowledged >= limit.sent) {
        limit.tries = 0;
        due_.remove(*slot);
        plan(*slot, limit.share.untold, now);
        if (limit.again) {
            due_.add(*slot, next_round(now + kFirstUse));
        }
    }
}

void QuietLimits::forget_place(const QuietSaid& said, Instant now) {
    const auto slot = slot_of_run(said.key, said.run);
    if (!slot || said.place == 0 || slots_[*slot].owner_place != said.place) {
        return;
    }
    QuietLimit& limit = slots_[*slot];
    limit.owner_place = 0;
    limit.known = false;
    limit.tries = 0;
    due_.add(*slot, now);
}

void QuietLimits::acknowledge_former(const QuietSaid& said, Instant now) {
    const auto slot = slot_of_run(said.key, said.run);
    if (!slot) {
        return;
    }
    QuietLimit& limit = slots_[*slot];
    limit.share.advance(limit.rate, shares(), now);
    limit.share.acknowledge_former(said.admitted);
    if (!limit.known && limit.sent == 0) {
        limit.tries = 0;  // the new owner need not wait any longer
        due_.add(*slot, next_round(now));
    }
}

void QuietLimits::owners_changed(std::uint16_t shards, Instant now) {
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
        QuietLimit& limit = slots_[slot];
        if ((shards & membership::bit_of(membership::shard_of(limit.key.quota))) == 0) {
            continue;
        }
        limit.share.advance(limit.rate, shares(), now);
        limit.share.begin_anew();
        limit.known = false;
        limit.owner_place = 0;
        // What is under way the former owner may confirm in a moment, and hand over.
        limit.tries = std::min<std::uint8_t>(limit.tries, 1);
        limit.sent = 0;
        due_.remove(slot);
        // What may matter by now is told at once, and the rest so that not all comes together.
        if (limit.share.own > silent_share(limit.low, this->shares())) {
            due_.add(slot, now);
        } else if (limit.share.own > 0) {
            due_.add(slot, next_round(now + from_seconds(kNewOwnerToldWithin * random_.unit())));
        }
    }
}

void QuietLimits::tell_all(const membership::Owners& owners, Instant now, QuietSink& sink) {
    // From the last one on: who is told may be this member itself, and what it answers may take
    // limits out, whose slots others take then that have been told.
    for (auto slot = static_cast<std::uint32_t>(slots_.size()); slot-- > 0;) {
        if (slot >= slots_.size()) {
            continue;  // what was told has taken several out
        }
        QuietLimit& limit = slots_[slot];
        if (const auto counts = limiter_.take_unviewed(limit.ref, now)) {
            count(limit, *counts, now);
        }
        // Of a limit that had another slot when it was told of a moment ago.
        const bool just_told =
            limit.no_room && limit.sent_at == now && limit.sent == limit.share.admitted;
        if (!just_told && !all_told(limit)) {
            limit.tries = 0;
            limit.no_room = true;  // who leaves cannot wake it, so the owner is to count it
            tell(slot, owners, now, sink);
        }
    }
}

}  // namespace weir::sync

#include "sync/allowance_origin.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "sync/synced_limit.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;

/// The control thread's tick: nothing can be noticed sooner.
constexpr Duration kSoon = 10ms;
/// Later than this tick. What is granted in a tick is confirmed with the next one, so that this
/// member, when it is the owner itself, does not talk to itself without end.
constexpr Duration kNextTick = 1ns;
/// While the limit is scarce, what an origin wants may change so often.
constexpr Duration kChangeEvery = 100ms;
/// An origin that wants more than it was granted asks again after so long; of many origins each
/// asks more seldom, up to kAskSeldom times.
constexpr Duration kAskEvery = 200ms;
constexpr double kManyAsk = 50;
constexpr double kAskSeldom = 5;
/// A report without an answer is sent again after so long, and each next time after twice the time,
/// because a longer round trip would make every answer come too late.
constexpr Duration kResendAfter = 200ms;
constexpr Duration kResendAtMost = 5s;
/// An owner that has not answered for so long, although it lives, does not know allowances, or has
/// no room for this one.
constexpr Duration kGiveUpAfter = 15s;
/// So many limits are looked at for ones that can be forgotten, and when the table is full.
constexpr std::size_t kSweptEachTick = 8;
constexpr std::size_t kSweptForRoom = 64;
/// A limit with an allowance of at least so many asks for more before the last place is taken. One
/// with less asks when it has refused a request: else every use of a small limit would ask.
constexpr double kAskAhead = 4;
/// The share of what was in flight that is wanted in addition while there is enough.
constexpr std::uint64_t kSpare = 4;
/// While the limit is scarce, an origin is at rest when no request came for so long.
constexpr Duration kRestAfter = 1s;
/// Numbers of reports begin at the time in such steps, so that they are above those of an earlier
/// entry that the owner may still remember.
constexpr Duration kNumberStep = 16ms;

std::uint64_t whole(double requests) {
    WEIR_ASSERT(requests >= 0);
    return static_cast<std::uint64_t>(std::ceil(requests));
}

/// Whether the requests in flight come near the allowance.
bool is_near(const limiter::InFlightCounts& counts) {
    return counts.allowance >= kAskAhead && counts.allowance < counts.most &&
           counts.in_flight >= counts.allowance - std::floor(counts.allowance / kSpare);
}

Duration resend_after(std::uint32_t unanswered) {
    constexpr std::uint32_t doublings = 5;
    WEIR_ASSERT(unanswered > 0);
    return std::min(kResendAtMost, kResendAfter * (1U << std::min(unanswered - 1, doublings)));
}

Duration ask_every(std::uint32_t origins) {
    return from_seconds(to_seconds(kAskEvery) * std::clamp(origins / kManyAsk, 1.0, kAskSeldom));
}

}  // namespace

void AllowanceOrigin::tick(Instant now, std::uint32_t members, const membership::Owners& owners,
                           AllowanceSink& sink) {
    follow(members, owners, now);
    sweep(kSweptEachTick);
    limiter_.drain_in_flight([&](limiter::LimitRef ref) { touched(ref, now); });
    while (const auto slot = due_.take(now)) {
        look(*slot, now, owners, sink);
    }
}

/// Equal parts follow the number of members, and what owners have told is reported to new owners.
void AllowanceOrigin::follow(std::uint32_t members, const membership::Owners& owners, Instant now) {
    std::uint16_t moved = 0;
    for (membership::Shard shard = 0; shard < membership::kShards; ++shard) {
        const membership::OwnerList& list = owners.of(shard);
        const gossip::MemberId first = list.empty() ? gossip::MemberId{} : list.front();
        if (first != owners_[shard]) {
            owners_[shard] = first;
            moved = static_cast<std::uint16_t>(moved | membership::bit_of(shard));
        }
    }
    if (members == members_ && moved == 0) {
        return;
    }
    members_ = members;
    limits_.for_each([&](const LimitKey& key, std::uint32_t slot) {
        const Limit& limit = limits_[slot];
        if (limit.told && (moved & membership::bit_of(membership::shard_of(key.quota))) != 0) {
            due_.add(slot, now);
        } else if (limit.ref && !limit.told) {
            limiter_.allow_in_flight(*limit.ref, std::nullopt);
        }
    });
}

/// Forgets limits at rest whose records are gone; of a full table also others at rest.
void AllowanceOrigin::sweep(std::size_t most) {
    const bool full = limits_.size() >= kMostLimits;
    for (std::size_t i = 0; i < std::min(most, limits_.slots()); ++i) {
        hand_ = hand_ + 1 < limits_.slots() ? hand_ + 1 : 0;
        const auto slot = static_cast<std::uint32_t>(hand_);
        Limit& limit = limits_[slot];
        if (limits_.find(limit.key) != slot || !rests(limit)) {
            continue;
        }
        if (full || !limit.ref || !limiter_.allow_in_flight(*limit.ref, std::nullopt)) {
            drop(slot);
        }
    }
}

bool AllowanceOrigin::rests(const Limit& limit) {
    return !limit.told && limit.counts.in_flight == 0 && limit.counts.no_room == 0;
}

// --- the table -----------------------------------------------------------------------------------

void AllowanceOrigin::touched(limiter::LimitRef ref, Instant now) {
    if (const auto known = by_record_.find(ref.record); known != by_record_.end()) {
        Limit& limit = limits_[known->second];
        if (limit.ref == ref) {
            due_.add(known->second, now);
            return;
        }
        unlink(limit);
    }
    if (const auto identity = limiter_.identity(ref)) {
        const LimitKey key = key_of(*identity);
        const auto known = limits_.find(key);
        if (const auto slot = known ? known : add(key, now)) {
            link(*slot, ref);
            due_.add(*slot, now);
            return;
        }
    }
    limiter_.allow_in_flight(ref, std::nullopt);
}

std::optional<std::uint32_t> AllowanceOrigin::add(const LimitKey& key, Instant now) {
    if (limits_.size() >= kMostLimits) {
        sweep(kSweptForRoom);
    }
    if (limits_.size() >= kMostLimits) {
        ++statistics_.dropped_entries;
        return std::nullopt;
    }
    const std::uint32_t slot = limits_.add(key);
    limits_[slot].said.number = static_cast<std::uint16_t>(now.time_since_epoch() / kNumberStep);
    return slot;
}

void AllowanceOrigin::link(std::uint32_t slot, limiter::LimitRef ref) {
    Limit& limit = limits_[slot];
    WEIR_ASSERT(is_in_flight(limit.key));
    unlink(limit);
    limit.ref = ref;
    by_record_[ref.record] = slot;
    limiter_.allow_in_flight(ref, limit.told);
}

void AllowanceOrigin::unlink(Limit& limit) {
    if (limit.ref) {
        by_record_.erase(limit.ref->record);
        limit.ref.reset();
    }
    WEIR_ASSERT(by_record_.size() <= limits_.size());
}

/// Puts an allowance in force, also for a record that is made later.
void AllowanceOrigin::set(Limit& limit, std::optional<std::uint64_t> told) {
    if (limit.told != told) {
        told_ += told ? 1U : 0U;
        told_ -= limit.told ? 1U : 0U;
        WEIR_ASSERT(told_ <= limits_.size());
        limit.told = told;
        limiter_.foretell_in_flight(limit.key.quota, told, &quota_hash);
    }
    if (limit.ref) {
        limiter_.allow_in_flight(*limit.ref, told);
    }
}

void AllowanceOrigin::drop(std::uint32_t slot) {
    Limit& limit = limits_[slot];
    set(limit, std::nullopt);
    unlink(limit);
    limits_.remove(slot);
    due_.remove(slot);
}

// --- what is reported ----------------------------------------------------------------------------

/// Reads what is in flight, after the allowance was set in the record that is now the limit's.
void AllowanceOrigin::measure(Limit& limit, Instant now) {
    const double no_room = limit.counts.no_room;
    std::optional<limiter::InFlightCounts> counts;
    if (limit.ref && limiter_.allow_in_flight(*limit.ref, limit.told)) {
        counts = limiter_.take_in_flight(*limit.ref);
    }
    if (!counts) {
        unlink(limit);
        limit.counts.in_flight = 0;
        return;
    }
    WEIR_ASSERT(counts->allowance <= counts->most);
    limit.counts = *counts;
    limit.busy = counts->no_room > 0 || counts->in_flight > 0 ? now : limit.busy;
    limit.counts.no_room += no_room;
    limit.peak = std::max(limit.peak, counts->in_flight);
}

/// How many requests would be admitted here if there were room: those in flight and those that
/// found no room lately; else what was in flight and some to spare. 0 at rest.
std::uint64_t AllowanceOrigin::wanted_of(const Limit& limit, Instant now) {
    const limiter::InFlightCounts& counts = limit.counts;
    const std::uint64_t most = whole(counts.most);
    if (counts.no_room > 0) {
        const double lacking = std::min(counts.no_room, counts.most);
        return std::min(most, whole(counts.in_flight) + whole(lacking));
    }
    const std::uint64_t used = whole(limit.peak);
    if (used == 0) {
        return limit.scarce && now - limit.busy < kRestAfter ? 1 : 0;
    }
    return std::min(most, used + (limit.scarce ? 1 : std::max<std::uint64_t>(1, used / kSpare)));
}

void AllowanceOrigin::look(std::uint32_t slot, Instant now, const membership::Owners& owners,
                           AllowanceSink& sink) {
    Limit& limit = limits_[slot];
    measure(limit, now);
    const std::uint64_t wanted = wanted_of(limit, now);
    const bool asks = limit.counts.no_room > 0 || is_near(limit.counts);
    const membership::OwnerList& list = owners.of(membership::shard_of(limit.key.quota));
    const bool gives_up = limit.unanswered > 0 && now - limit.heard > kGiveUpAfter;
    if (members_ <= 1 || list.empty() || gives_up) {
        set(limit, std::nullopt);
        limit.reported = limit.scarce = false;
    }
    if (!limit.told && (!asks || members_ <= 1 || list.empty())) {
        limit.peak = limit.counts.in_flight;
        limit.counts.no_room = 0;
        if (limit.counts.in_flight > 0) {
            due_.add(slot, now + kKeepAlive);
        }
        return;
    }
    const bool moved = limit.owner && *limit.owner != list.front();
    if (moved || is_due(limit, wanted, now)) {
        report(limit, wanted, list.front(), now, sink);
    }
    due_.add(slot, next_look(limit, wanted, now));
}

/// How long after its last report an origin may ask for more: soon, unless it has just asked.
Duration AllowanceOrigin::ask_after(const Limit& limit) {
    const bool asked = limit.said.wanted > limit.said.allowance;
    return asked ? ask_every(limit.origins) : kSoon;
}

bool AllowanceOrigin::is_due(const Limit& limit, std::uint64_t wanted, Instant now) const {
    const Duration since = now - limit.sent;
    if (limit.told && (!limit.reported || *limit.told != limit.said.allowance)) {
        return true;
    }
    if (!limit.reported) {
        return since >= (wanted > whole(limit.counts.allowance) ? ask_after(limit) : kKeepAlive);
    }
    if (!limit.answered) {
        return since >= resend_after(limit.unanswered);
    }
    const bool at_rest = limit.said.wanted == 0;
    return is_news(limit, wanted, since) || since >= (at_rest ? kKeepAliveAtRest : kKeepAlive);
}

/// Whether something has changed so long after the last report that the owner should know.
bool AllowanceOrigin::is_news(const Limit& limit, std::uint64_t wanted, Duration since) {
    const AllowanceReport& said = limit.said;
    if (wanted > whole(limit.counts.allowance)) {
        return since >= ask_after(limit);
    }
    if (said.in_flight > said.allowance && whole(limit.counts.in_flight) < said.in_flight) {
        return since >= kSoon;  // a request has ended whose place somebody else is to have
    }
    if (said.wanted == 0 && wanted > 0) {
        return true;
    }
    const bool matters = limit.scarce ? wanted != said.wanted : wanted == 0 && said.wanted > 0;
    return matters && since >= kChangeEvery;
}

void AllowanceOrigin::report(Limit& limit, std::uint64_t wanted, const gossip::MemberId& owner,
                             Instant now, AllowanceSink& sink) {
    limit.said = {.key = limit.key,
                  .number = static_cast<std::uint16_t>(limit.said.number + 1),
                  .told = limit.told.has_value(),
                  .most = whole(limit.counts.most),
                  .allowance = limit.told ? *limit.told : whole(limit.counts.allowance),
                  .in_flight = whole(limit.counts.in_flight),
                  .wanted = wanted};
    if (limit.said.number == 0) {
        limit.said.number = 1;  // 0 stands for none
    }
    WEIR_ASSERT(limit.said.wanted <= limit.said.most || limit.said.most == 0);
    limit.unanswered = limit.owner == owner ? limit.unanswered : 0;
    limit.owner = owner;
    limit.sent = now;
    limit.heard = limit.unanswered == 0 ? now : limit.heard;
    ++limit.unanswered;
    limit.reported = true;
    limit.answered = false;
    limit.counts.no_room = 0;
    limit.peak = limit.counts.in_flight;
    ++statistics_.allowances_reported;
    sink.send_report(owner, limit.said);
}

Instant AllowanceOrigin::next_look(const Limit& limit, std::uint64_t wanted, Instant now) {
    if (limit.reported && limit.answered && wanted == 0 && limit.said.wanted == 0) {
        return limit.sent + kKeepAliveAtRest;
    }
    const bool busy = limit.scarce || !limit.answered || wanted > whole(limit.counts.allowance);
    return now + (busy ? kSoon : kChangeEvery);
}

void AllowanceOrigin::receive(const AllowanceGrant& grant, Instant now) {
    const auto known = limits_.find(grant.key);
    if (!known) {
        const auto slot = grant.number == 0 && grant.told ? add(grant.key, now) : std::nullopt;
        if (slot) {
            set(limits_[*slot], grant.allowance);
            due_.add(*slot, now + kNextTick);
        }
        return;
    }
    Limit& limit = limits_[*known];
    if (grant.number != (limit.reported ? limit.said.number : 0)) {
        return;  // a report has overtaken it
    }
    limit.answered = true;
    limit.unanswered = 0;
    limit.scarce = grant.told && grant.scarce;
    limit.origins = grant.origins;
    set(limit, grant.told ? std::optional(grant.allowance) : std::nullopt);
    limit.reported = limit.reported && grant.told;  // the owner has forgotten what was reported
    due_.add(*known, now + kNextTick);
}

}  // namespace weir::sync

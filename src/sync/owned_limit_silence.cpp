#include "sync/owned_limit.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace weir::sync {
namespace {

/// A silent origin's rate falls to a third in this time.
constexpr double kFadeTime = 0.1;
/// So long it takes until the load of one that died is part of others' rates.
constexpr Duration kMoved = std::chrono::milliseconds(300);
/// Handed-over rates end when the origins have had the time to speak.
constexpr Duration kHandedTime = std::chrono::milliseconds(1200);
/// For so long a held rate that another owner told counts where nobody is missed.
constexpr Duration kToldHold = std::chrono::seconds(10);

}  // namespace

/// What the level holds for origins that have not reported. A limit that drains quickly has made up
/// for it meanwhile, by what it refused or by being empty.
double OwnedLimit::unclaimed() const {
    WEIR_ASSERT(handed_weight >= 0);
    return remembers() ? std::min(handed_weight, std::max(0.0, bucket.level)) : 0;
}

void OwnedLimit::end_handed_rates() {
    if (const double weight = unclaimed(); weight > 0) {
        bucket.add(*parameters, -weight);
    }
    handed_rate = handed_excess = handed_weight = 0;
}

void OwnedLimit::receive(const SyncSettings& settings, const HandoverEntry& entry, const Side& side,
                         Instant now) {
    advance(now);
    // What an owner knows replaces what our own views believed.
    const bool first = !handed_over;
    if (first) {
        end_handed_rates();
        held_rate = 0;
    }
    handed_over = true;
    if (now - born > settings.refill_time) {
        return;  // we know better by now
    }
    if (first) {
        bucket.level -= std::min(level_believed, std::max(0.0, bucket.level));
        level_believed = 0;
    }
    if (entry.level > bucket.level) {
        bucket.level = entry.level;
        handed_weight = 0;
    }
    bucket.shedding = bucket.shedding || entry.shedding;
    bucket.typical = std::max(1e-6, entry.typical);
    if (handed_rate <= 0) {
        handed_open_time = open_time;
    }
    handed_rate = std::max(handed_rate, entry.rate);
    WEIR_ASSERT(bucket.typical > 0 && handed_rate >= 0);
    handed_until = now + kHandedTime;
    if (first) {
        held_rate = entry.held_rate;
        held_until = Instant::max();
    }
    take_held_rate(settings, entry, side, now);
    if (parameters) {
        bucket.heaviest =
            std::max(bucket.heaviest, std::min(entry.heaviest, largest_weight(*parameters)));
        bucket.clamp(*parameters);
    }
    add_rates(now);
}

/// Whoever was an owner as well knows of a split, too: the one who says less is believed.
void OwnedLimit::take_held_rate(const SyncSettings& settings, const HandoverEntry& entry,
                                const Side& side, Instant now) {
    if (entry.held_rate <= held_rate) {
        held_rate = entry.held_rate;
        heard_beside = entry.rate;
    }
    const Duration hold_of_limit = hold_time(settings);
    const Instant since = now + std::min(entry.hold_left, hold_of_limit) - hold_of_limit;
    const bool nothing = entry.held_rate <= 0 && entry.hold_left <= Duration::zero();
    const Instant end = nothing ? now : since + side.hold_time(settings, hold_of_limit);
    if (end < held_until) {
        held_since = since;
        held_until = end;
    }
    held_told = true;
    held_told_at = now;
    WEIR_ASSERT(held_rate >= 0);
}

void OwnedLimit::add_rates(Instant now) {
    if (now >= handed_until && handed_rate > 0) {
        end_handed_rates();
    }
    if (now >= held_until || when_isolated == limiter::IsolationMode::optimistic) {
        held_rate = 0;
    }
    double sum = 0;
    for (const OwnedCell& cell : cells) {
        sum += cell.reckoned_rate();
    }
    handed_excess = std::max(0.0, handed_rate - sum);
    held_now = left_of_held();
    bucket.offered_rate = std::max(sum, handed_rate) + held_now;
    WEIR_ASSERT(held_now >= 0 && held_now <= held_rate);
    WEIR_ASSERT(bucket.offered_rate >= held_now);
}

/// What is left of the held rate: what is offered here beyond what those that are heard were
/// offered before is load of the silent ones that has come here (see hold_by_load()).
double OwnedLimit::left_of_held() const {
    if (held_rate <= 0) {
        return 0;
    }
    double heard = 0;
    for (const OwnedCell& cell : cells) {
        heard += cell.held ? 0 : cell.reckoned_rate();
    }
    const double more = heard - heard_beside;
    return has_grown(more, bucket.typical, heard) ? std::max(0.0, held_rate - more) : held_rate;
}

void OwnedLimit::fade(OwnedCell& cell, const Silence& silence, double seconds) {
    if (!silence.is_unreachable(cell.member)) {
        cell.fade *= std::exp(-seconds / kFadeTime);
        return;
    }
    // Its load goes elsewhere at once and is noticed there within the window: until then the sum of
    // all rates is best kept. But nothing is admitted there any more.
    const double before = cell.reckoned;
    cell.reckoned = 0;
    if (parameters) {
        bucket.add(*parameters, -before);
    }
    cell.fade *= std::exp(-seconds / to_seconds(kMoved));
    WEIR_ASSERT(cell.fade >= 0 && cell.fade <= 1);
}

/// Who hears most of the others for certain holds nothing. But one that has joined lately has not
/// missed anybody and cannot know: it goes by what another owner told, for a while.
void OwnedLimit::judge_held_rate(const SyncSettings& settings, const Side& side, Instant now) {
    if (held_rate > 0) {
        held_until = held_since + side.hold_time(settings, hold_time(settings));
    }
    if (side.confirmed) {
        held_until = std::min(held_until, held_told ? held_told_at + kToldHold : now);
    }
}

Presence OwnedLimit::presence_of(const SyncSettings& settings, const OwnedCell& cell,
                                 Silence& silence, Instant now) {
    // Who promised nothing is not missed.
    const Duration quiet = cell.rate > 0 ? now - cell.heard : Duration::zero();
    const Presence presence =
        silence.judge(cell.member, quiet, cell.keep_alive, hold_time(settings), now);
    // It may have no room to tell of all its limits: whoever has no load left says so. But who was
    // missed and speaks again has not kept its word, and its rate is of before.
    if (presence == Presence::unmentioned) {
        if (cell.missed) {
            return Presence::fading;
        }
        return quiet > settings.unmentioned_memory ? presence : Presence::heard;
    }
    if (presence != Presence::held) {
        return presence;
    }
    holding = true;
    return when_isolated == limiter::IsolationMode::optimistic ? Presence::fading : presence;
}

void OwnedLimit::judge_silence(const SyncSettings& settings, Silence& silence, Instant now,
                               WeightLedger* ledger) {
    const double seconds = std::max(0.0, to_seconds(now - judged));
    judged = now;
    judge_held_rate(settings, silence.side(), now);
    holding = now < held_until;
    if (holding && held_rate > 0) {
        silence.note_held_rate(held_since, now);
    }
    oldest_word.reset();
    std::erase_if(cells, [&](OwnedCell& cell) {
        const Duration age = now - cell.heard;
        const Presence presence = presence_of(settings, cell, silence, now);
        cell.settle(open_time);
        if (presence == Presence::fading || presence == Presence::unmentioned) {
            fade(cell, silence, seconds);
        }
        cell.held = presence == Presence::held;
        cell.missed = cell.missed || cell.held || presence == Presence::fading;
        if (cell.held || presence == Presence::heard) {
            cell.fade = 1;
        }
        // Its rate goes at once. Its counts stay: another incarnation may go on with the run, and
        // must not be taken for one that was never heard of.
        if (presence == Presence::gone) {
            cell.rate = 0;
        }
        const bool listens_still = presence != Presence::gone && listens(settings, cell, now);
        const bool forgotten = age > cell_memory(settings) && !cell.held && !listens_still;
        // A member that has spoken for long, only not of this limit, has left the limit.
        const bool counts = presence == Presence::heard || silence.is_missing(cell.member);
        if (counts && !forgotten && cell.rate > 0 && !silence.is_self(cell.member)) {
            oldest_word = std::min(oldest_word.value_or(now), cell.heard);
        }
        note(ledger, WeightFate::forgotten, forgotten ? cell.counts.net() : 0);
        return forgotten;
    });
    origins = 0;
    const Duration lately = from_seconds(settings.silence_factor * to_seconds(settings.keep_alive));
    for (const OwnedCell& cell : cells) {
        origins += now - cell.heard < lately ? 1u : 0u;
    }
    WEIR_ASSERT(origins <= cells.size());
    hold_by_load();
    add_rates(now);
}

/// What is held for silent origins is what the fleet offered before, less what is offered here now.
/// An origin that was cut off takes its load with it, so nothing is more here. The load of one that
/// died comes here instead, and with it its room. Only more than chance counts as more.
void OwnedLimit::hold_by_load() {
    double before = 0;
    double held = 0;
    double heard = 0;
    for (const OwnedCell& cell : cells) {
        (cell.held ? held : heard) += cell.reckoned_rate();
        before = std::max(before, cell.held ? cell.fleet_rate : 0);
    }
    const double more = heard - (before - held);
    if (held <= 0 || !has_grown(more, bucket.typical, heard)) {
        return;
    }
    const double kept = std::max(0.0, 1 - more / held);
    WEIR_ASSERT(kept <= 1);
    for (OwnedCell& cell : cells) {
        if (cell.held) {
            cell.fade = kept;
        }
    }
}

HandoverEntry OwnedLimit::handover(const SyncSettings& settings, const gossip::MemberId& to,
                                   const Silence& silence, Instant now) const {
    HandoverEntry entry;
    entry.key = key;
    entry.level = std::max(0.0, bucket.level - unclaimed());
    entry.heaviest = bucket.heaviest;
    entry.typical = bucket.typical;
    entry.shedding = bucket.shedding;
    entry.held_rate = left_of_held();
    entry.hold_left = std::max(Duration::zero(), held_until - now);
    for (const OwnedCell& cell : cells) {
        const Duration left = silence.hold_left(cell.member, hold_time(settings), now);
        if (left > Duration::zero() && silence.id(cell.member).address == to.address) {
            continue;
        }
        (left > Duration::zero() ? entry.held_rate : entry.rate) += cell.reckoned_rate();
        entry.hold_left = std::max(entry.hold_left, left);
    }
    entry.rate = std::max(entry.rate, handed_rate);
    WEIR_ASSERT(entry.rate >= 0 && entry.held_rate >= 0);
    return entry;
}

}  // namespace weir::sync

// Which deltas go to which owner in a tick (the origin's side).
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "sync/reporter.h"

namespace weir::sync {

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
    // Where there was no room for all of the last round, the datagrams of the next one are full.
    const bool waits = candidate.need != Need::urgent && limit.hot() && !round.cut_short;
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
    WEIR_ASSERT(settings_.minimum_interval > Duration::zero());
    const auto longest = std::max(settings_.minimum_interval, settings_.longest_interval);
    return std::min(longest, settings_.minimum_interval * static_cast<Duration::rep>(1 + 2 * more));
}

/// Who has not answered yet is not asked again sooner than its answers have taken lately; but never
/// so late that it would take this origin for silent. An answer that may wait holds nothing up.
void Reporter::leave_out_awaited(Instant now, DeltaSink& sink) {
    std::erase_if(candidates_, [&](const Candidate& candidate) {
        const SyncedLimit& limit = slots_[candidate.slot];
        const OwnerView& view = limit.views[candidate.view];
        if (view.owner() == self_ || !view.misses_answer(settings_, now)) {
            return false;
        }
        const Duration wait = std::min(sink.delta_answer_wait(view.owner()),
                                       view.keep_alive(settings_, limit.own.rate));
        return now - view.asked_at() < wait;
    });
}

/// What is sent first where there is no room for all: what is new or has leapt, then what is near
/// its limit, where each second of waiting counts as much as the whole way to the limit.
double Reporter::priority(const Candidate& candidate, Instant now) const {
    constexpr double kFirst = 100;
    const SyncedLimit& limit = slots_[candidate.slot];
    const OwnerView& view = limit.views[candidate.view];
    const double low = std::max(limit.parameters.low, limit.own.typical);
    const double level = view.heard() ? view.bucket().level : limit.own.believed_level;
    const Instant since = view.asked() ? view.asked_at() : limit.woken;
    return (candidate.is_urgent(view) ? kFirst : 0) + std::clamp(level / low, 0.0, 2.0) +
           to_seconds(now - since);
}

void Reporter::sort_by_priority(Instant now) {
    for (Candidate& candidate : candidates_) {
        candidate.priority = priority(candidate, now);
    }
    std::stable_sort(
        candidates_.begin(), candidates_.end(),
        [](const Candidate& one, const Candidate& other) { return one.priority > other.priority; });
}

/// Whether a delta that has to go waits for the next round of what is told of quiet limits, because
/// nothing is lost between two owners and the limit is not hot. Of many limits each is looked at
/// only now and then, and might miss all rounds; but many fill a datagram by themselves.
bool Reporter::waits_for_round(const Candidate& candidate, Instant now) const {
    const SyncedLimit& limit = slots_[candidate.slot];
    const OwnerView& view = limit.views[candidate.view];
    return candidate.need == Need::must && view.steady() && !limit.hot() && cold_every() == 1 &&
           !view.misses_answer(settings_, now) && !begins_telling_round(previous_tick_, now);
}

/// Whether a packet goes because of this delta, or between two owners shortly before its time
/// because of an answer.
bool Reporter::opens(const Candidate& candidate, Instant now, DeltaSink& sink) {
    const OwnerView& view = slots_[candidate.slot].views[candidate.view];
    const bool goes = candidate.need >= Need::must && !waits_for_round(candidate, now);
    const bool goes_along =
        view.steady() && candidate.need >= Need::ride_along && sink.answer_goes_to(view.owner());
    return (goes || goes_along) && may_send(candidate, now);
}

/// The owners to whom a packet goes in this tick, and the least need that rides along: what is
/// half-way, or more where a limit that is not hot has opened it.
std::vector<Reporter::Opened> Reporter::open_packets(Instant now, DeltaSink& sink) {
    std::vector<Opened> all;
    for (const Candidate& candidate : candidates_) {
        if (!opens(candidate, now, sink)) {
            continue;
        }
        const SyncedLimit& limit = slots_[candidate.slot];
        Opened* one = find_opened(all, limit.views[candidate.view].owner());
        if (one == nullptr) {
            const gossip::MemberId& owner = limit.views[candidate.view].owner();
            const auto round = rounds_.find(owner);
            one = &all.emplace_back();
            one->owner = owner;
            one->limits = round == rounds_.end() ? 0 : round->second.limits;
        }
        if (!limit.hot()) {
            one->least = Need::together;
        }
    }
    open_for_presence(all, now);
    return all;
}

/// Limits of many are mentioned more seldom than an origin may be silent. Where nothing else is due
/// for that long, one of them is told before its turn.
void Reporter::open_for_presence(std::vector<Opened>& all, Instant now) const {
    std::vector<std::pair<gossip::MemberId, Round>> left_alone;
    for (const auto& [owner, round] : rounds_) {
        // Not before what has to be told may be told.
        if (now - round.last >= interval_of(round.limits) && find_opened(all, owner) == nullptr) {
            left_alone.emplace_back(owner, round);
        }
    }
    if (left_alone.empty()) {
        return;  // so it is in most ticks, which then do not look at each candidate
    }
    for (const Candidate& candidate : candidates_) {
        const SyncedLimit& limit = slots_[candidate.slot];
        const OwnerView& view = limit.views[candidate.view];
        const auto found =
            std::find_if(left_alone.begin(), left_alone.end(),
                         [&](const auto& each) { return each.first == view.owner(); });
        if (candidate.need >= Need::must || found == left_alone.end()) {
            continue;
        }
        const Round& round = found->second;
        if (now - round.last >= view.keep_alive(settings_, limit.own.rate)) {
            Opened& one = all.emplace_back();
            one.owner = found->first;
            one.limits = round.limits;
            one.presence = true;
            left_alone.erase(found);
        }
    }
}

void Reporter::send_due(Instant now, DeltaSink& sink) {
    leave_out_awaited(now, sink);
    if (put_off_) {
        sort_by_priority(now);
    }
    // What waits for a round has to find it sorted.
    put_off_ = put_off_ && !begins_telling_round(previous_tick_, now);
    std::vector<Opened> opened = open_packets(now, sink);
    for (const Candidate& candidate : candidates_) {
        SyncedLimit& limit = slots_[candidate.slot];
        OwnerView& view = limit.views[candidate.view];
        Opened* packet = find_opened(opened, view.owner());
        if (packet == nullptr) {
            continue;
        }
        const bool shows = std::exchange(packet->presence, false);
        if (candidate.need < packet->least && !shows) {
            continue;
        }
        const bool urgent = candidate.is_urgent(view);
        bool& full = urgent ? packet->full_for_urgent : packet->full;
        full = full || !sink.has_room_for_delta(view.owner(), urgent);
        if (full) {
            put_off_ = true;
            ++statistics_.deltas_put_off;
            continue;
        }
        packet->used = true;
        send(limit, view, packet->limits, now, sink);
    }
    note_rounds(opened, now);
}

void Reporter::send(SyncedLimit& limit, OwnerView& view, std::size_t told_limits, Instant now,
                    DeltaSink& sink) {
    OwnerLink& link = rounds_[view.owner()].link;
    const bool hot = limit.hot();
    if (view.begin_telling(settings_, limit.parameters, hot, link, now, told_limits)) {
        ++statistics_.deltas_resent;
    }
    ++statistics_.deltas_sent;
    // The thresholds are reckoned again only where an answer may wait at all.
    const auto news = [&] {
        return view.news(settings_, limit.parameters, limit.own, limit.thresholds(settings_), now);
    };
    const bool may_wait = view.steady() && view.lets_answer_wait(news(), hot, now);
    DeltaEntry entry = limit.delta(settings_, view, now);
    entry.answer_may_wait = may_wait;
    WEIR_ASSERT(entry.run != 0 && entry.run == limit.run);
    view.sent(limit.own, now, told_limits, may_wait);
    sink.send_delta(view.owner(), entry);
}

void Reporter::tell_all(Instant now, DeltaSink& sink) {
    // By index: who is told may be this member itself, and what it answers may wake a limit.
    for (std::size_t i = 0; i < awake_.size(); ++i) {
        SyncedLimit& limit = slots_[awake_[i]];
        const auto counts = limiter_.read(limit.ref, now);
        if (!counts) {
            continue;  // its counts are gone
        }
        limit.advance(*counts, earliest(), now);
        for (OwnerView& view : limit.views) {
            if (view.is_told(limit.own, now)) {
                continue;
            }
            if (!sink.has_room_for_delta(view.owner(), true)) {
                ++statistics_.deltas_put_off;
                continue;
            }
            send(limit, view, 1, now, sink);
        }
    }
}

void Reporter::note_rounds(const std::vector<Opened>& opened, Instant now) {
    const Duration credit = settings_.minimum_interval * settings_.interval_burst;
    for (const Opened& packet : opened) {
        if (packet.used) {
            Round& round = rounds_[packet.owner];
            round.last = now;
            round.next = std::max(round.next, now - credit) + settings_.minimum_interval;
            round.limits = count_limits(packet.owner);
            round.cut_short = packet.full;
        }
    }
}

/// Limits awake here that the owner is told of; of many, by a part of them.
std::size_t Reporter::count_limits(const gossip::MemberId& owner) {
    constexpr std::size_t kMany = 256;
    const std::size_t looks = std::min(kMany, awake_.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < looks; ++i) {
        count += slots_[awake_[i]].view_of(owner) != nullptr ? 1U : 0U;
    }
    WEIR_ASSERT(count <= looks);
    return looks < kMany ? count : count * awake_.size() / looks;
}

}  // namespace weir::sync

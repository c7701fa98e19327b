#include "engine/owned_limit.h"

#include <algorithm>
#include <cmath>

namespace weir::engine {
namespace {

/// A silent origin's rate falls to a third in this time.
constexpr double kFadeTime = 0.1;
/// Handed-over rates end when the origins have had the time to speak.
constexpr Duration kHandedTime = std::chrono::milliseconds(1200);
/// W beyond this many seconds of the rate is not believed from others: it bounds the harm of a lie.
constexpr double kLongestDebt = 60;
/// How fast the owner's mean of typical weights follows.
constexpr double kTypicalShare = 0.125;

double largest_weight(const limiter::LimitParameters& limit) {
    return std::max(limit.high, kLongestDebt * limit.rate);
}

}  // namespace

void OwnedLimit::restart(std::uint32_t new_life, Instant now) {
    life = new_life;
    born = now;
    handed_over = false;
    bucket = {};
    open_time = 0;
    advanced = now;
    judged = now;
    cells.clear();
    origins = 0;
    handed_rate = held_rate = 0;
    published = {};
    published_probability = 0;
    was_published = false;
}

void OwnedLimit::advance(Instant now) {
    const double seconds = to_seconds(now - advanced);
    if (seconds <= 0) return;
    advanced = now;
    if (parameters) open_time += bucket.advance(*parameters, bucket.offered_rate, seconds);
}

OwnedCell* OwnedLimit::place(MemberNumber member) {
    const auto at = std::lower_bound(
        cells.begin(), cells.end(), member,
        [](const OwnedCell& cell, MemberNumber number) { return cell.member < number; });
    if (at != cells.end() && at->member == member) return &*at;
    OwnedCell cell;
    cell.member = member;
    cell.open_time = open_time;
    return &*cells.insert(at, cell);
}

const OwnedCell* OwnedLimit::find(MemberNumber member) const {
    const auto at = std::lower_bound(
        cells.begin(), cells.end(), member,
        [](const OwnedCell& cell, MemberNumber number) { return cell.member < number; });
    return at != cells.end() && at->member == member ? &*at : nullptr;
}

bool OwnedLimit::adopt_run(MemberNumber from, std::uint32_t run, const Silence& silence) {
    const Endpoint& address = silence.id(from).address;
    const auto known = std::find_if(cells.begin(), cells.end(), [&](const OwnedCell& cell) {
        return cell.counts.run == run && cell.member != from &&
               silence.id(cell.member).address == address;
    });
    if (known == cells.end()) return false;
    OwnedCell moved = *known;
    moved.member = from;
    cells.erase(known);
    *place(from) = moved;
    return true;
}

DeltaOutcome OwnedLimit::receive(const SyncSettings& settings, MemberNumber from,
                                 const gossip::DeltaEntry& delta, Instant now,
                                 SyncStatistics& statistics) {
    advance(now);
    last_use = now;
    const crdt::CounterCell counts{delta.run, delta.admitted, delta.refunded, delta.offered};
    const bool room = cells.size() < settings.maximum_cells_per_limit || find(from) != nullptr;
    if (!room) return DeltaOutcome::full;
    OwnedCell& cell = *place(from);
    if (cell.counts.run != delta.run) {
        // Rule 1, first sight: a baseline, unless the run is younger than our ownership.
        const bool young = delta.run_age < settings.fresh_run && now - delta.run_age > born;
        bucket.offered_rate = std::max(0.0, bucket.offered_rate - cell.reckoned_rate());
        cell.counts = {delta.run, 0, 0, 0};
        cell.rate = 0;
        cell.open_time = open_time;
        take_state(delta);
        if (young) {
            count(settings, cell, delta, counts, statistics);
        } else {
            ++statistics.baselines;
            if (now - born < settings.refill_time && parameters) {
                bucket.level = std::max(bucket.level, delta.believed_level);
                bucket.clamp(*parameters);
            }
        }
        cell.counts = counts;
        take_rate(cell, delta, now);
        return young ? DeltaOutcome::counted : DeltaOutcome::baseline;
    }
    if (!crdt::follows(counts, cell.counts)) {
        // Late packets have nothing that is new; a mixture of more and less is a lie.
        if (crdt::follows(cell.counts, counts)) return DeltaOutcome::old;
        return DeltaOutcome::falling;
    }
    take_state(delta);
    count(settings, cell, delta, counts, statistics);
    cell.counts = crdt::merge(cell.counts, counts);
    take_rate(cell, delta, now);
    return DeltaOutcome::counted;
}

void OwnedLimit::count(const SyncSettings& settings, OwnedCell& cell,
                       const gossip::DeltaEntry& delta, const crdt::CounterCell& counts,
                       SyncStatistics& statistics) {
    double increase = counts.net() - cell.counts.net();
    double reckoned = cell.reckoned_rate() * (open_time - cell.open_time);
    // Rule 2, late lumps: only the last second's share counts, the rest has drained or is forgiven.
    const double age = to_seconds(delta.oldest_age);
    const bool late = age > settings.silence_factor * to_seconds(settings.keep_alive);
    if (late) {
        increase /= age;
        reckoned = std::min(reckoned, increase);
        ++statistics.late_lumps;
    }
    if (!parameters) {
        bucket.level = std::max(0.0, bucket.level + increase);
        return;
    }
    double change = increase - reckoned;
    if (late) {
        // It tells of seconds that are over: it may fill the bucket to where shedding is in
        // balance, not beyond. Two healed halves would else pay for their split a second time.
        const double balance = 0.5 * (parameters->low + parameters->high);
        change = std::min(change, std::max(0.0, balance - bucket.level));
    }
    // Rule 3, the ceiling, is in Bucket::add.
    if (bucket.level + change > bucket.ceiling(*parameters)) ++statistics.ceiling_hits;
    bucket.add(*parameters, change);
}

void OwnedLimit::take_rate(OwnedCell& cell, const gossip::DeltaEntry& delta, Instant now) {
    const double before = cell.reckoned_rate();
    cell.rate = delta.rate;
    cell.fade = 1;
    cell.open_time = open_time;
    cell.keep_alive = delta.keep_alive;
    cell.heard = now;
    // While rates are handed over, what is heard replaces them instead of adding to them.
    if (handed_rate > 0) {
        add_rates(now);
    } else {
        bucket.offered_rate = std::max(0.0, bucket.offered_rate + delta.rate - before);
    }
}

void OwnedLimit::take_state(const gossip::DeltaEntry& delta) {
    if (!parameters) return;
    const double largest = largest_weight(*parameters);
    const double typical = std::clamp(delta.typical, 1e-6, std::max(1.0, largest));
    bucket.typical += (typical - bucket.typical) * (cells.size() < 2 ? 1 : kTypicalShare);
    bucket.heaviest = std::max(bucket.heaviest, std::min(delta.heaviest, largest));
    // An origin refused at the edge: all shall hand out free room carefully from now on.
    if (delta.shedding && parameters->edge()) {
        bucket.shedding = limiter::next_shedding(*parameters, true, bucket.level, bucket.typical);
    }
}

void OwnedLimit::receive(const SyncSettings& settings, const gossip::HandoverEntry& entry,
                         Instant now) {
    advance(now);
    // What an owner knows replaces what our own views believed.
    if (!handed_over) handed_rate = held_rate = 0;
    handed_over = true;
    if (now - born > settings.refill_time) return;  // we know better by now
    bucket.level = std::max(bucket.level, entry.level);
    bucket.shedding = bucket.shedding || entry.shedding;
    bucket.typical = std::max(1e-6, entry.typical);
    handed_rate = std::max(handed_rate, entry.rate);
    handed_until = now + kHandedTime;
    held_rate = std::max(held_rate, entry.held_rate);
    held_until = now + std::min(entry.hold_left, settings.split_hold);
    if (parameters) {
        bucket.heaviest =
            std::max(bucket.heaviest, std::min(entry.heaviest, largest_weight(*parameters)));
        bucket.clamp(*parameters);
    }
    add_rates(now);
}

void OwnedLimit::add_rates(Instant now) {
    if (now >= handed_until) handed_rate = 0;
    if (now >= held_until) held_rate = 0;
    double sum = 0;
    for (const OwnedCell& cell : cells) sum += cell.reckoned_rate();
    bucket.offered_rate = std::max(sum, handed_rate) + held_rate;
}

void OwnedLimit::judge_silence(const SyncSettings& settings, Silence& silence, Instant now) {
    const double seconds = std::max(0.0, to_seconds(now - judged));
    const double fading = std::exp(-seconds / kFadeTime);
    judged = now;
    std::erase_if(cells, [&](OwnedCell& cell) {
        const Duration age = now - cell.heard;
        // Who promised nothing is not missed.
        const Duration missed = cell.rate > 0 ? age : Duration::zero();
        const Presence presence = silence.judge(cell.member, missed, cell.keep_alive, now);
        if (presence == Presence::fading) cell.fade *= fading;
        if (presence == Presence::held || presence == Presence::heard) cell.fade = 1;
        // Its rate goes at once. Its counts stay: another incarnation may go on with the run, and
        // must not be taken for one that was never heard of.
        if (presence == Presence::gone) cell.rate = 0;
        // Kept for longer than an origin goes on with its run, and than a run counts as young.
        return age > settings.user_memory * 5 / 4;
    });
    origins = 0;
    const Duration lately = from_seconds(settings.silence_factor * to_seconds(settings.keep_alive));
    for (const OwnedCell& cell : cells) origins += now - cell.heard < lately ? 1u : 0u;
    add_rates(now);
}

bool OwnedLimit::must_publish(const SyncSettings& settings, Duration since_last_look) {
    if (!parameters) return false;
    const limiter::LimitParameters& limit = *parameters;
    const double probability = bucket.probability(limit);
    const double seconds = to_seconds(since_last_look);
    if (was_published && seconds > 0) {
        published.typical = bucket.typical;
        published.advance(limit, published.offered_rate, seconds);
    }
    const bool relevant = bucket.level > 0.5 * limit.low || published_probability > 0;
    published_probability = relevant ? probability : 0;
    if (!relevant) return false;
    if (!was_published || bucket.shedding != published.shedding) return true;
    const double requests = bucket.offered_rate / bucket.typical;
    const double noise =
        1 / std::sqrt(2 * std::max(1.0, requests) * to_seconds(settings.rate_window));
    const double width = limiter::threshold_width(limit, bucket.typical);
    const double probability_bound =
        2 * std::max(settings.publish_error, noise) * std::max(0.1, 1 - probability);
    // Where nothing is reckoned between messages each single request is news.
    const double level_bound = limiter::counts_singly(limit, bucket.law_state())
                                   ? 0.5 * bucket.typical
                                   : std::max(2 * settings.error_budget, noise) * width;
    return std::abs(published.probability(limit) - probability) > probability_bound ||
           std::abs(published.level - bucket.level) > level_bound;
}

void OwnedLimit::note_published() {
    published = bucket;
    was_published = true;
}

gossip::TotalEntry OwnedLimit::total(const SyncSettings& settings, const OwnedCell* cell,
                                     std::uint8_t pace, Instant now) const {
    gossip::TotalEntry entry;
    entry.key = key;
    entry.life = life;
    entry.filled = filled(settings, now);
    entry.shedding = bucket.shedding;
    entry.level = std::max(0.0, bucket.level);
    entry.rate = bucket.offered_rate;
    entry.origins = std::max(1u, origins);
    const bool heavy = parameters && bucket.heaviest > limiter::debt(*parameters, bucket.typical);
    entry.heaviest = heavy ? bucket.heaviest : 0;
    entry.keep_alive = settings.keep_alive_floor;
    entry.pace = pace;
    if (cell == nullptr) return entry;
    entry.run = cell->counts.run;
    entry.admitted = cell->counts.admitted;
    entry.refunded = cell->counts.refunded;
    entry.offered = cell->counts.offered;
    return entry;
}

gossip::HandoverEntry OwnedLimit::handover(const Silence& silence, Instant now) const {
    gossip::HandoverEntry entry;
    entry.key = key;
    entry.level = std::max(0.0, bucket.level);
    entry.heaviest = bucket.heaviest;
    entry.typical = bucket.typical;
    entry.shedding = bucket.shedding;
    entry.held_rate = held_rate;
    entry.hold_left = held_rate > 0 ? held_until - now : Duration::zero();
    for (const OwnedCell& cell : cells) {
        const Duration left = silence.hold_left(cell.member, now);
        (left > Duration::zero() ? entry.held_rate : entry.rate) += cell.reckoned_rate();
        entry.hold_left = std::max(entry.hold_left, left);
    }
    entry.rate = std::max(entry.rate, handed_rate);
    return entry;
}

bool OwnedLimit::idle(const SyncSettings& settings, Instant now) const {
    return cells.empty() && bucket.level <= 0 && now - last_use > settings.user_memory;
}

}  // namespace weir::engine

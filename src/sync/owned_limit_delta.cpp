#include "sync/owned_limit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/assert.h"
#include "sync/run_number.h"

namespace weir::sync {
namespace {

/// How fast the owner's mean of typical weights follows.
constexpr double kTypicalShare = 0.125;
/// More than so many times what can have happened is a lie.
constexpr double kLeap = 10;
/// Requests of a limit that was not counted for the engine yet.
constexpr double kUncounted = 30;

}  // namespace

DeltaOutcome OwnedLimit::receive(const SyncSettings& settings, MemberNumber from, DeltaEntry delta,
                                 Instant now, const Accounts& accounts) {
    advance(now);
    last_use = now;
    const CounterCell counts{delta.run, delta.admitted, delta.refunded, delta.offered};
    const bool room = cells.size() < settings.maximum_cells_per_limit || find(from) != nullptr;
    if (!room) {
        return DeltaOutcome::full;
    }
    OwnedCell& cell = *place(from);
    WEIR_ASSERT(cells.size() <= settings.maximum_cells_per_limit);
    const bool new_run = cell.counts.run != delta.run;
    // A run that began after the last word of the one that is known follows it.
    const bool follows_it = now - delta.run_age > cell.heard;
    if (began_before(delta.run, cell.counts.run) && !follows_it &&
        now - cell.heard < kLatestPacket) {
        return DeltaOutcome::old;
    }
    const double seconds = to_seconds(new_run ? delta.run_age : now - cell.heard);
    bool lie = false;
    if (const auto founded = unfounded_rate(cell, delta, seconds)) {
        delta.rate = *founded;
        lie = true;
    }
    if (new_run) {
        return receive_new_run(settings, cell, delta, lie, now, accounts);
    }
    if (!follows(counts, cell.counts)) {
        // Late packets have nothing that is new; a mixture of more and less is a lie.
        if (follows(cell.counts, counts)) {
            return DeltaOutcome::old;
        }
        return DeltaOutcome::falling;
    }
    if (leaps(cell, delta, counts, seconds)) {
        lie = true;
        note(accounts.ledger, WeightFate::refused, counts.net() - cell.counts.net());
    } else {
        take_state(delta);
        count(settings, cell, delta, counts, now, accounts);
    }
    cell.counts = merge(cell.counts, counts);
    WEIR_ASSERT(cell.counts == counts);
    take_rate(cell, delta, now);
    return lie ? DeltaOutcome::leaping : DeltaOutcome::counted;
}

/// The first word of a run. Rule 1, first sight: it is a baseline, unless the run is younger than
/// our ownership. `lie`: whether the delta's rate was already found to be unfounded.
DeltaOutcome OwnedLimit::receive_new_run(const SyncSettings& settings, OwnedCell& cell,
                                         const DeltaEntry& delta, bool lie, Instant now,
                                         const Accounts& accounts) {
    const CounterCell counts{delta.run, delta.admitted, delta.refunded, delta.offered};
    const double seconds = to_seconds(delta.run_age);
    const bool young = delta.run_age < settings.fresh_run && now - delta.run_age > born;
    bucket.offered_rate = std::max(0.0, bucket.offered_rate - cell.reckoned_rate());
    WEIR_ASSERT(cell.counts.run != delta.run && delta.run != 0);
    note(accounts.ledger, WeightFate::forgotten, cell.counts.net());
    cell.counts = {delta.run, 0, 0, 0};
    cell.rate = cell.reckoned = 0;
    cell.open_time = open_time;
    take_state(delta);
    if (young && leaps(cell, delta, counts, seconds)) {
        lie = true;
        note(accounts.ledger, WeightFate::refused, counts.net());
    } else if (young) {
        count(settings, cell, delta, counts, now, accounts);
    } else {
        ++accounts.statistics.baselines;
        note(accounts.ledger, WeightFate::first_sight, counts.net());
        take_baseline(settings, delta);
    }
    cell.counts = counts;
    take_rate(cell, delta, now);
    if (lie) {
        return DeltaOutcome::leaping;
    }
    return young ? DeltaOutcome::counted : DeltaOutcome::baseline;
}

/// An origin reports for the first time. What it has admitted since the rates were handed over was
/// reckoned by these.
void OwnedLimit::take_baseline(const SyncSettings& settings, const DeltaEntry& delta) {
    if (handed_rate > 0) {
        const double own = delta.rate * (open_time - handed_open_time);
        handed_weight = std::max(0.0, handed_weight - own);
    }
    if (parameters && (!handed_over || remembers()) && advanced - born < settings.refill_time &&
        delta.believed_level > bucket.level) {
        const double certain = bucket.level - level_believed;
        bucket.level = delta.believed_level;
        bucket.clamp(*parameters);
        handed_weight = 0;
        note_believed(certain);
    }
}

/// Of a limit that takes long to drain an origin may remember what the owners have lost, so that
/// the higher level always counts there.
void OwnedLimit::note_believed(double certain) {
    level_believed = remembers() ? 0 : std::max(0.0, bucket.level - certain);
    WEIR_ASSERT(level_believed >= 0);
}

/// Even alone an origin lets through no more than its bucket holds and what has drained since.
bool OwnedLimit::leaps(const OwnedCell& cell, const DeltaEntry& delta, const CounterCell& counts,
                       double seconds) const {
    if (!parameters) {
        return false;
    }
    const double longest = std::max({1.0, seconds, to_seconds(delta.oldest_age)});
    const double most =
        std::max(bucket.ceiling(*parameters), delta.heaviest) + parameters->rate * longest;
    return counts.net() - cell.counts.net() > kLeap * most;
}

/// The rate that the counts can account for, if the one that is told is out of all proportion. A
/// rate is a decaying sum over the window: what is left of the former one, and each weight since.
std::optional<double> OwnedLimit::unfounded_rate(const OwnedCell& cell, const DeltaEntry& delta,
                                                 double seconds) const {
    const bool new_run = cell.counts.run != delta.run;
    const double window = limiter::kRateWindow;
    const double before =
        new_run ? 0 : cell.rate * std::exp(-0.5 * std::max(0.0, seconds) / window);
    const double since = delta.offered - (new_run ? 0 : cell.counts.offered);
    const double founded = before + std::max(0.0, since) / window;
    const double weight = parameters ? std::min(delta.typical, parameters->low) : delta.typical;
    const double few = kUncounted * std::max(1.0, weight) / window;
    if (delta.rate <= kLeap * founded + few) {
        return std::nullopt;
    }
    return founded;
}

void OwnedLimit::count(const SyncSettings& settings, OwnedCell& cell, const DeltaEntry& delta,
                       const CounterCell& counts, Instant now, const Accounts& accounts) {
    double increase = counts.net() - cell.counts.net();
    cell.settle(open_time);
    double reckoned = cell.reckoned;
    // Rule 2, late lumps: what its silence made us give up has drained meanwhile as far as the
    // limit drains (kept_of_late()). Nothing in it is older than its word before.
    const Duration quiet = cell.heard == Instant{} ? delta.oldest_age : now - cell.heard;
    const Duration age = std::min(delta.oldest_age, quiet);
    const Duration unmentioned =
        unmentioned_after(settings, std::max(cell.keep_alive, delta.keep_alive));
    // The rate of an origin that was not missed went on counting, and stands for what came
    // meanwhile: what was reckoned too much is taken back, and only what is beyond it is late.
    const bool went_on = cell.rate > 0 && !cell.missed;
    const double expected = went_on ? reckoned : 0;
    const Duration patience =
        went_on ? std::max(unmentioned, settings.unmentioned_memory) : unmentioned;
    const bool late = age > patience && (!went_on || increase > expected);
    if (late) {
        // Of a limit that is not known yet anything may have drained.
        const double rate = parameters ? parameters->rate : std::numeric_limits<double>::infinity();
        const double kept = expected + kept_of_late(increase - expected, to_seconds(age), rate);
        note(accounts.ledger, WeightFate::late, increase - kept);
        increase = kept;
        reckoned = std::min(reckoned, increase);
        ++accounts.statistics.late_lumps;
    }
    if (!parameters) {
        bucket.level = std::max(0.0, bucket.level + increase);
        note(accounts.ledger, WeightFate::counted, increase);
        return;
    }
    double change = increase - reckoned;
    if (late) {
        // It tells of seconds that are over: it may fill the bucket to where shedding is in
        // balance, not beyond. Two healed halves would else pay for their split a second time.
        const double balance = 0.5 * (parameters->low + parameters->high);
        const double most = std::max(
            0.0, balance - limiter::level_to_charge(bucket.level, bucket.typical, bucket.shedding));
        note(accounts.ledger, WeightFate::late, std::max(0.0, change - most));
        change = std::min(change, most);
    }
    // Rule 3, the ceiling, is in ReckonedLimit::add.
    if (bucket.level <= 0.5 * parameters->low) {
        ++emptied;
    }
    make_room_for_crowd(cell, increase, change);
    if (bucket.level + change > bucket.ceiling(*parameters)) {
        ++accounts.statistics.ceiling_hits;
    }
    // What drained of a late lump while it came is not in it any more.
    pour(change, late ? 0 : to_seconds(age), reckoned, accounts.ledger);
}

/// A crowd that comes to an empty hard edge at many origins at once fills it once at each of them,
/// before any of them can know of the others. All of it is paid back: it counts like one heavy
/// weight. Each origin adds at most `low` to it until the limit is half empty again, and all
/// together no more than others believe.
void OwnedLimit::make_room_for_crowd(OwnedCell& cell, double increase, double change) {
    if (!parameters->edge() || parameters->debt >= 0) {
        return;
    }
    if (cell.emptied != emptied) {
        cell.emptied = emptied;
        cell.filled = 0;
    }
    const double room = std::max(0.0, parameters->low - cell.filled);
    cell.filled += std::max(0.0, increase);
    WEIR_ASSERT(cell.filled >= 0 && cell.emptied == emptied);
    const double above = bucket.level + std::min(change, room) - parameters->high;
    if (room > 0 && above > debt(*parameters, bucket.typical)) {
        bucket.heaviest = std::max(bucket.heaviest, std::min(above, largest_crowd(*parameters)));
    }
}

void OwnedLimit::pour(double change, double seconds, double reckoned, WeightLedger* ledger) {
    WEIR_ASSERT(parameters.has_value() && seconds >= 0);
    const double before = bucket.level_before(*parameters, change, seconds);
    bucket.add(*parameters, change, seconds);
    WEIR_ASSERT(bucket.level <= bucket.ceiling(*parameters));
    const double taken = bucket.level - before;
    note(ledger, WeightFate::counted, reckoned + taken);
    note(ledger, WeightFate::ceiling, std::max(0.0, change - taken));
    note(ledger, WeightFate::drained, change < 0 ? taken - change : 0);
}

void OwnedLimit::take_rate(OwnedCell& cell, const DeltaEntry& delta, Instant now) {
    const double before = cell.reckoned_rate();
    cell.rate = delta.rate;
    cell.fade = 1;
    cell.missed = false;
    cell.reckoned = 0;
    cell.open_time = open_time;
    cell.keep_alive = delta.keep_alive;
    cell.heard = now;
    // While rates are handed over, what is heard replaces them instead of adding to them.
    if (handed_rate > 0) {
        add_rates(now);
    } else {
        bucket.offered_rate = std::max(0.0, bucket.offered_rate + delta.rate - before);
    }
    cell.fleet_rate = std::max(0.0, bucket.offered_rate - held_now);
    WEIR_ASSERT(bucket.offered_rate >= 0 && cell.fleet_rate >= 0);
}

void OwnedLimit::take_state(const DeltaEntry& delta) {
    if (!parameters) {
        return;
    }
    const double largest = largest_weight(*parameters);
    const double typical = std::clamp(delta.typical, 1e-6, std::max(1.0, largest));
    bucket.typical += (typical - bucket.typical) * (cells.size() < 2 ? 1 : kTypicalShare);
    WEIR_ASSERT(bucket.typical > 0);
    bucket.heaviest = std::max(bucket.heaviest, std::min(delta.heaviest, largest));
    // An origin refused at the edge: all shall hand out free room carefully from now on.
    if (delta.shedding && parameters->edge()) {
        bucket.shedding = limiter::next_shedding(*parameters, true, bucket.level, bucket.typical,
                                                 bucket.offered_rate);
    }
}

}  // namespace weir::sync

#include "sync/owned_limit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "sync/run_number.h"

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
/// How fast the owner's mean of typical weights follows.
constexpr double kTypicalShare = 0.125;

/// By so many standard deviations a rate must have grown to be more than chance.
constexpr double kGrownDeviations = 1;

/// A limit whose low drains within this time forgets by itself what its owners reckoned wrongly.
constexpr Duration kForgets = std::chrono::seconds(10);

/// More than so many times what can have happened is a lie.
constexpr double kLeap = 10;
/// Requests of a limit that was not counted for the engine yet.
constexpr double kUncounted = 30;

/// Over this time the offered rate is averaged that decides whether a limit may fall quiet, and for
/// so long it is awake at least.
constexpr Duration kCalmTime = std::chrono::seconds(5);
/// Up to these shares of rate and `low` a limit may fall quiet; it is woken again at a half.
constexpr double kCalmShareOfRate = 0.25;
constexpr double kCalmShareOfLow = 0.25;
constexpr double kCalmRequests = 2;

/// A limit at rest is looked at again after this time, even if its level has not drained by then.
constexpr Duration kLongestRest = std::chrono::hours(24);

}  // namespace

void OwnedLimit::restart(std::uint32_t new_life, Instant now) {
    WEIR_ASSERT(new_life != 0 && new_life <= kLargestIdentity);
    life = new_life;
    born = now;
    handed_over = false;
    bucket = {};
    open_time = 0;
    undrained = 0;
    advanced = now;
    judged = now;
    ++emptied;
    cells.clear();
    origins = 0;
    oldest_word.reset();
    handed_rate = handed_excess = handed_weight = held_rate = held_now = 0;
    begin_awake(now);
    holding = false;
    published = {};
    answered.reset();
    published_probability = 0;
    was_published = false;
    urgent = false;
}

void OwnedLimit::advance(Instant now) {
    const double seconds = to_seconds(now - advanced);
    if (seconds <= 0) {
        return;
    }
    advanced = now;
    if (parameters) {
        const double opened = bucket.advance(*parameters, bucket.offered_rate, seconds);
        open_time += opened;
        // What is not certain drains before what is.
        handed_weight =
            std::max(0.0, handed_weight + handed_excess * opened - parameters->rate * seconds);
        WEIR_ASSERT(open_time >= 0);
    } else {
        undrained = bucket.level > 0 ? undrained + seconds : 0;
    }
}

void OwnedLimit::know(const limiter::LimitParameters& found) {
    WEIR_ASSERT(undrained >= 0);
    const bool made_up = !parameters && undrained > 0;
    parameters = found;
    bucket.clamp(found);
    // What came was counted whole, nothing of it by its rate.
    if (made_up) {
        bucket.advance(found, 0, undrained);
    }
    undrained = 0;
}

OwnedCell* OwnedLimit::place(MemberNumber member) {
    const auto at = std::lower_bound(
        cells.begin(), cells.end(), member,
        [](const OwnedCell& cell, MemberNumber number) { return cell.member < number; });
    if (at != cells.end() && at->member == member) {
        return &*at;
    }
    WEIR_ASSERT(at == cells.begin() || std::prev(at)->member < member);
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

OwnedCell* OwnedLimit::find(MemberNumber member) {
    return const_cast<OwnedCell*>(std::as_const(*this).find(member));
}

bool OwnedLimit::adopt_run(MemberNumber from, std::uint32_t run, const Silence& silence) {
    const Endpoint& address = silence.id(from).address;
    const auto known = std::find_if(cells.begin(), cells.end(), [&](const OwnedCell& cell) {
        return cell.counts.run == run && cell.member != from &&
               silence.id(cell.member).address == address;
    });
    if (known == cells.end()) {
        return false;
    }
    OwnedCell moved = *known;
    moved.member = from;
    cells.erase(known);
    *place(from) = moved;
    return true;
}

void OwnedLimit::begin_awake(Instant now) {
    awake_since = offered_at = now;
    offered_lately = 0;
}

void OwnedLimit::add_told(double weight) {
    WEIR_ASSERT(weight >= 0);
    if (!parameters) {
        bucket.level += weight;
        return;
    }
    // One heavy weight may be all of it, and is paid back whole.
    const double above =
        std::min(bucket.level + weight - parameters->high, largest_weight(*parameters));
    bucket.heaviest = std::max(bucket.heaviest, above);
    bucket.add(*parameters, weight);
}

void OwnedLimit::note_offered(Instant now) {
    const double old =
        std::exp(-std::max(0.0, to_seconds(now - offered_at)) / to_seconds(kCalmTime));
    offered_lately = bucket.offered_rate + (offered_lately - bucket.offered_rate) * old;
    offered_at = std::max(offered_at, now);
    WEIR_ASSERT(offered_lately >= 0);
}

bool OwnedLimit::is_calm(Instant now) const {
    if (!parameters || parameters->zero() || bucket.shedding || holding ||
        now - awake_since < kCalmTime) {
        return false;
    }
    // The average begins at 0, so that it is too low at first.
    const double known =
        1 - std::exp(-to_seconds(offered_at - awake_since) / to_seconds(kCalmTime));
    const double most =
        std::max(bucket.typical / to_seconds(kCalmTime), kCalmShareOfRate * parameters->rate);
    const double level =
        std::max(kCalmShareOfLow * parameters->low, kCalmRequests * bucket.typical);
    const bool small = level >= parameters->low / 2;
    return offered_lately <= most * known && bucket.level <= (small ? 0 : level);
}

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
    if (parameters && advanced - born < settings.refill_time &&
        delta.believed_level > bucket.level) {
        bucket.level = delta.believed_level;
        bucket.clamp(*parameters);
        handed_weight = 0;
    }
}

/// What the level holds for origins that have not reported. A limit that drains quickly has made up
/// for it meanwhile, by what it refused or by being empty.
double OwnedLimit::unclaimed() const {
    WEIR_ASSERT(handed_weight >= 0);
    return remembers() ? std::min(handed_weight, std::max(0.0, bucket.level)) : 0;
}

bool OwnedLimit::remembers() const {
    return parameters && !parameters->zero() &&
           parameters->low > to_seconds(kForgets) * parameters->rate;
}

void OwnedLimit::end_handed_rates() {
    if (const double weight = unclaimed(); weight > 0) {
        bucket.add(*parameters, -weight);
    }
    handed_rate = handed_excess = handed_weight = 0;
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
    // Rule 2, late lumps: what its silence made us give up counts with its last second's share
    // only, the rest has drained or is forgiven. Nothing in it is older than its word before.
    const Duration quiet = cell.heard == Instant{} ? delta.oldest_age : now - cell.heard;
    const Duration age = std::min(delta.oldest_age, quiet);
    const bool late =
        age > unmentioned_after(settings, std::max(cell.keep_alive, delta.keep_alive));
    if (late) {
        const double share = std::min(1.0, 1 / to_seconds(age));
        note(accounts.ledger, WeightFate::late, increase - increase * share);
        increase *= share;
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
        const double most = std::max(0.0, balance - bucket.level);
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
    pour(change, reckoned, accounts.ledger);
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

void OwnedLimit::pour(double change, double reckoned, WeightLedger* ledger) {
    WEIR_ASSERT(parameters.has_value());
    const double before =
        change > 0 ? limiter::level_to_charge(bucket.level, bucket.typical, bucket.shedding)
                   : bucket.level;
    bucket.add(*parameters, change);
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
    const bool grown = more > kGrownDeviations * limiter::rate_noise(bucket.typical, heard);
    return grown ? std::max(0.0, held_rate - more) : held_rate;
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

/// Who hears most of the others holds nothing. But one that has joined lately has not missed
/// anybody and cannot know: it goes by what another owner told, for a while.
void OwnedLimit::judge_held_rate(const SyncSettings& settings, const Side& side, Instant now) {
    if (held_rate > 0) {
        held_until = held_since + side.hold_time(settings, hold_time(settings));
    }
    if (side.majority) {
        held_until = std::min(held_until, held_told ? held_told_at + kToldHold : now);
    }
}

Presence OwnedLimit::presence_of(const SyncSettings& settings, const OwnedCell& cell,
                                 Silence& silence, Instant now) {
    // Who promised nothing is not missed.
    const Duration missed = cell.rate > 0 ? now - cell.heard : Duration::zero();
    const Presence presence =
        silence.judge(cell.member, missed, cell.keep_alive, hold_time(settings), now);
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
        if (presence == Presence::fading) {
            fade(cell, silence, seconds);
        }
        cell.held = presence == Presence::held;
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
        // A member that speaks, only not of this limit, has left the limit.
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
    if (held <= 0 || more <= kGrownDeviations * limiter::rate_noise(bucket.typical, heard)) {
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

bool OwnedLimit::must_publish(const SyncSettings& settings, double publish_error, std::uint8_t pace,
                              Duration since_last_look) {
    if (!parameters) {
        return false;
    }
    const limiter::LimitParameters& limit = *parameters;
    const double probability = bucket.probability(limit);
    const double seconds = to_seconds(since_last_look);
    if (was_published && seconds > 0) {
        published.typical = bucket.typical;
        published.advance(limit, published.offered_rate, seconds);
    }
    if (answered && seconds > 0) {
        answered->typical = bucket.typical;
        answered->advance(limit, answered->offered_rate, seconds);
    }
    // Low again, while some still reckon that it is not, matters as well.
    const double half = 0.5 * limit.low;
    const bool relevant = bucket.level > half || published_probability > 0 ||
                          (was_published && published.level > half) ||
                          (answered && answered->level > half);
    published_probability = relevant ? probability : 0;
    if (holding != published_holding) {
        return true;
    }
    if (!relevant) {
        return false;
    }
    if (!was_published || bucket.shedding != published.shedding) {
        return true;
    }
    return misleads(settings, publish_error, pace, published) ||
           (answered && misleads(settings, publish_error, pace, *answered));
}

/// Whether who reckons by that is wrong by more than the bounds by now.
bool OwnedLimit::misleads(const SyncSettings& settings, double publish_error, std::uint8_t pace,
                          const ReckonedLimit& told) const {
    WEIR_ASSERT(parameters.has_value());
    const limiter::LimitParameters& limit = *parameters;
    const double slack = 1 + pace * 0.1;
    const double probability = bucket.probability(limit);
    const double requests = bucket.offered_rate / bucket.typical;
    WEIR_ASSERT(requests >= 0);
    const double noise =
        1 / std::sqrt(2 * std::max(1.0, requests) * to_seconds(settings.rate_window));
    const double width = limiter::threshold_width(limit, bucket.typical);
    const double probability_bound =
        2 * std::max(slack * publish_error, noise) * std::max(0.1, 1 - probability);
    // Where nothing is reckoned between messages each single request is news.
    // Whoever rests with the limit does not ask, and learns of chance, too, only from the owner.
    const double budget = 2 * slack * settings.error_budget;
    const double level_bound = limiter::counts_singly(limit, bucket)
                                   ? 0.5 * bucket.typical
                                   : (remembers() ? budget : std::max(budget, noise)) * width;
    return std::abs(told.probability(limit) - probability) > probability_bound ||
           std::abs(told.level - bucket.level) > level_bound;
}

void OwnedLimit::note_answered() {
    const auto distance = [this](const ReckonedLimit& told) {
        return std::abs(told.offered_rate - published.offered_rate);
    };
    if (!answered || distance(bucket) > distance(*answered)) {
        answered = bucket;
    }
    WEIR_ASSERT(answered.has_value());
}

bool OwnedLimit::is_urgent(const SyncSettings& settings, Duration next_look) const {
    if (!parameters) {
        return false;
    }
    // Where single requests count, two sidecars that see the same room would both fill it.
    if (bucket.shedding && limiter::counts_singly(*parameters, bucket)) {
        return bucket.level - published.level > 0.5 * bucket.typical;
    }
    const double wrong =
        std::abs(published.probability(*parameters) - bucket.probability(*parameters));
    const double width = limiter::threshold_width(*parameters, bucket.typical);
    return wrong * bucket.offered_rate * to_seconds(next_look) > 2 * settings.error_budget * width;
}

void OwnedLimit::note_published() {
    published = bucket;
    answered.reset();
    published_holding = holding;
    was_published = true;
}

TotalEntry OwnedLimit::total(const SyncSettings& settings, const OwnedCell* cell, std::uint8_t pace,
                             Instant now) const {
    TotalEntry entry;
    entry.key = key;
    entry.life = life;
    entry.filled = filled(settings, now);
    entry.shedding = bucket.shedding;
    entry.held = holding;
    entry.level = bucket.shedding ? bucket.level : std::max(0.0, bucket.level);
    entry.rate = bucket.offered_rate;
    entry.origins = std::max(1u, origins);
    const bool heavy = parameters && bucket.heaviest > limiter::debt(*parameters, bucket.typical);
    entry.heaviest = heavy ? bucket.heaviest : 0;
    entry.keep_alive = settings.keep_alive_floor;
    entry.pace = pace;
    if (cell == nullptr) {
        return entry;
    }
    WEIR_ASSERT(cell->counts.run <= kLargestIdentity);
    entry.run = cell->counts.run;
    entry.admitted = cell->counts.admitted;
    entry.refunded = cell->counts.refunded;
    entry.offered = cell->counts.offered;
    return entry;
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

bool OwnedLimit::at_rest() const {
    const bool offered = bucket.offered_rate > 0 || handed_rate > 0 || held_rate > 0;
    const bool told = !urgent && holding == published_holding;
    if (offered || !told || holding || (!parameters && asks_left > 0)) {
        return false;
    }
    return std::all_of(cells.begin(), cells.end(), [](const OwnedCell& cell) {
        return cell.rate <= 0 && !cell.deferred && !cell.held;
    });
}

/// Whoever still reckons with a rate asks until it is told that there is none.
void OwnedLimit::begin_rest() {
    WEIR_ASSERT(at_rest());
    published.offered_rate = 0;
    answered.reset();
}

void OwnedLimit::end_rest(Instant now) {
    if (was_published && parameters && now > looked) {
        published.advance(*parameters, published.offered_rate, to_seconds(now - looked));
    }
    looked = now;
}

Instant OwnedLimit::rest_ends(const SyncSettings& settings) const {
    const Instant unheard =
        last_use + (cells.empty() ? settings.user_memory : cell_memory(settings));
    // How fast it drains nobody has said; one of 0 never does.
    if (!parameters || parameters->zero() || bucket.level <= 0) {
        return unheard;
    }
    const double seconds = std::min(to_seconds(kLongestRest), bucket.level / parameters->rate);
    WEIR_ASSERT(seconds >= 0);
    const Instant drained = advanced + from_seconds(seconds);
    const Instant believed = parameters_told ? last_use + settings.told_memory : drained;
    return std::max(unheard, std::min(drained, believed));
}

bool OwnedLimit::listens(const SyncSettings& settings, const OwnedCell& cell, Instant now) const {
    return now - cell.heard < settings.user_memory ||
           (remembers() && cell.rate <= 0 && bucket.level > 0);
}

void OwnedLimit::forget_cell(MemberNumber member, WeightLedger* ledger) {
    if (const OwnedCell* cell = find(member)) {
        note(ledger, WeightFate::forgotten, cell->counts.net());
        cells.erase(cells.begin() + (cell - cells.data()));
    }
    WEIR_ASSERT(find(member) == nullptr);
}

void OwnedLimit::forget_cells(WeightLedger* ledger) {
    for (const OwnedCell& cell : cells) {
        note(ledger, WeightFate::forgotten, cell.counts.net());
    }
    cells.clear();
}

bool OwnedLimit::idle(const SyncSettings& settings, Instant now) const {
    if (!unused(settings, now)) {
        return false;
    }
    // How fast it drains nobody has said, or somebody who may have lied. One of 0 never does.
    if (!parameters || parameters->zero()) {
        return true;
    }
    return bucket.level <= 0 || (parameters_told && now - last_use > settings.told_memory);
}

double OwnedLimit::fullness() const {
    if (!parameters || parameters_told || parameters->low <= 0) {
        return 0;
    }
    return bucket.level / parameters->low;
}

}  // namespace weir::sync

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "base/assert.h"
#include "base/random.h"
#include "limiter/admission.h"
#include "limiter/bucket_state.h"
#include "limiter/in_flight.h"
#include "limiter/levels.h"
#include "limiter/lots.h"

// Grants as many of the wanted units as the chain has free; see Limiter::obtain(). The units are
// thought of in a row, as single requests at one moment: at each limit the first ones fit below
// `low`, those after them are shed by its law, and those beyond `high` find no room. The rows of
// all limits of the chain lie side by side, so a unit is granted with the product of the limits'
// chances for it.

namespace weir::limiter {
namespace {

/// How often a grant is computed anew because other threads have charged the levels meanwhile.
constexpr int kTries = 8;
/// The waiting time that is told when the minimum is never free.
constexpr Duration kTooMuchRetry = std::chrono::seconds(60);

/// What one limit gives of a row of units: the first `free` ones, of those up to `most` the share
/// `share`, and none beyond.
struct ObtainRoom {
    double free = 0;
    double most = 0;
    double share = 0;

    [[nodiscard]] double chance(double position) const {
        return position < free ? 1 : position < most ? share : 0;
    }
    [[nodiscard]] double expected(double units) const {
        return std::min(units, free) + std::max(0.0, std::min(units, most) - free) * share;
    }
};
using Rooms = std::array<ObtainRoom, kMaxChainLimits>;

/// All that is wanted if there is room for it, else a whole number.
double whole(double units, double wanted) {
    return units >= wanted ? wanted : std::max(0.0, std::floor(units));
}

/// What the limit has for these units, one of which weighs level.weight.
ObtainRoom room_of(const Level& level, double units, std::int64_t now) {
    WEIR_ASSERT(units > 0);
    const LimitParameters& limit = level.limit().parameters;
    if (level.p >= 1) {
        return {};  // there is no room for a single one
    }
    if (level.weight <= 0) {
        return {level.p > 0 ? 0 : units, units, 1 - level.p};
    }
    LawState state = law_state(level.bucket, level.reading.level, 0);
    const double one = std::min(1.0, units);
    const double to_low = (limit.low - state.level + kLevelSlack) / level.weight;
    const double to_high = limit.edge() ? to_low : (limit.high - state.level) / level.weight;
    ObtainRoom room;
    room.most = std::max(one, whole(to_high, units));
    if (level.p <= 0 && !state.shedding) {
        room.free = std::max(one, whole(to_low, units));
    }
    const double rest = std::min(units, room.most) - room.free;
    if (rest > 0) {
        // The rest counts as offered already, and is judged as it is in its middle.
        state.offered_rate = law_offered_rate(level.bucket, now) +
                             std::max(0.0, units - room.free - one) * level.weight / kRateWindow;
        state.level += (room.free + std::max(0.0, rest - one) / 2) * level.weight;
        // Where the quota sheds fairly, `p` is that of this child.
        const double law = level.child.head != 0
                               ? level.p
                               : std::max(level.p, discard_probability(limit, state, level.weight));
        room.share = 1 - law;
        WEIR_ASSERT(room.share >= 0 && room.share <= 1);
    }
    return room;
}

/// How many of these units all the limits that count grant on average.
template <class Counts>
double given(const Levels& levels, const Rooms& rooms, double units, Counts counts) {
    double granted = 0;
    for (double at = 0; at < units;) {
        double chance = 1;
        double next = units;
        for (std::size_t i = 0; i < levels.level.size(); ++i) {
            if (!counts(i)) {
                continue;
            }
            chance *= rooms[i].chance(at);
            next = rooms[i].free > at ? std::min(next, rooms[i].free) : next;
            next = rooms[i].most > at ? std::min(next, rooms[i].most) : next;
        }
        if (chance <= 0) {
            break;
        }
        WEIR_ASSERT(next > at);
        granted += (next - at) * chance;
        at = next;
    }
    return granted;
}

void find_rooms(const Levels& levels, double units, std::int64_t now, Rooms& rooms) {
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        rooms[i] = room_of(levels.level[i], units, now);
    }
}

/// The enforcing level that gives least of these units; kNoLevel if none enforces.
std::size_t least(const Levels& levels, const Rooms& rooms, double units) {
    std::size_t best = kNoLevel;
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        const bool better =
            best == kNoLevel || rooms[i].expected(units) < rooms[best].expected(units);
        if (levels.level[i].enforce && better) {
            best = i;
        }
    }
    return best;
}

/// How many of its units a limit can have free between empty and this border, but at least one.
double units_below(const Level& level, double border) {
    const bool weighs = level.weight > 0 && !level.limit().parameters.zero();
    return weighs ? std::max(1.0, (border + kLevelSlack) / level.weight)
                  : std::numeric_limits<double>::infinity();
}

/// The part of the wish that counts as offered, and is granted at most: what is free below `low`
/// and, beyond it, kDebtSeconds of the rate. So a caller that always asks for a million takes no
/// more from others than one that asks for what there is, and the laws are not asked to shed
/// thousands of times the limit, at which they would swing.
double most_of(const Levels& levels, const Rooms& rooms, double wanted) {
    double most = wanted;
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        const Level& level = levels.level[i];
        if (level.enforce && level.weight > 0) {
            const double rest = kDebtSeconds * level.limit().parameters.rate / level.weight;
            most = std::min(most, rooms[i].free + std::max(1.0, std::ceil(rest)));
        }
    }
    return most;
}

/// The enforcing level whose `low` has no room for the minimum even when it is empty.
std::size_t too_small(const Levels& levels, const Wish& wish) {
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        const Level& level = levels.level[i];
        if (level.enforce && wish.minimum > units_below(level, level.limit().parameters.low)) {
            return i;
        }
    }
    return kNoLevel;
}

/// The highest level to which the limit may be charged this weight.
double highest_level(const Level& level, double weight, bool last) {
    const LimitParameters& limit = level.limit().parameters;
    const double below_low = limit.low - std::min(weight, limit.low);
    if (limit.edge()) {
        return below_low;
    }
    return last ? std::numeric_limits<double>::infinity()
                : std::max(below_low, level.reading.level);
}

Weights times(const Weights& each, double units) {
    return {each.requests * units, each.request_bytes * units, each.cost * units};
}

/// Charges every level the units that it gives: `granted` ones where it enforces, and what it would
/// have given where it only shadows. False, and nothing is charged, when another thread has taken
/// the room meanwhile; `failed` is the level.
bool charge_all(Levels& levels, std::span<const double> units, const Grant& grant, bool judge,
                bool last, std::int64_t now, std::size_t& failed) {
    WEIR_ASSERT(units.size() >= levels.level.size());
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        Level& level = levels.level[i];
        const double weight = units[i] * level.weight;
        const bool judges = judge && level.enforce;
        const double highest =
            judges ? highest_level(level, weight, last) : std::numeric_limits<double>::infinity();
        if (level.limit().parameters.in_flight && units[i] < grant.granted) {
            continue;  // a place is given back as a whole: a part of it would be forgotten
        }
        if (weight > 0 && !charge_units(level.bucket, weight, level.weight, highest, now)) {
            failed = i;
            for (std::size_t done = 0; done < i; ++done) {
                Level& other = levels.level[done];
                if (other.charged || !other.limit().parameters.in_flight) {
                    uncharge(other.bucket, units[done] * other.weight, now);
                }
                other.charged = false;
            }
            return false;
        }
        level.charged = units[i] >= grant.granted;
    }
    return true;
}

/// A leaf's lot, and the generator that moves it.
struct Draw {
    std::atomic<std::uint32_t>& lot;
    Random& random;
};

/// Whether no enforcing limit is full before so many units.
bool fits(const Levels& levels, const Rooms& rooms, double units) {
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        if (levels.level[i].enforce && rooms[i].most < units) {
            return false;
        }
    }
    return true;
}

/// How many of the wanted units all the limits grant together. A fraction is rounded by a lot. A
/// mean below the minimum becomes the minimum or nothing, by the same lot, because the fleet
/// reckons with the mean.
double decide(const Levels& levels, const Rooms& rooms, const Wish& wish, Draw draw, Grant& grant) {
    const auto enforces = [&](std::size_t i) { return levels.level[i].enforce; };
    const double wanted = wish.wanted;
    const double mean = given(levels, rooms, wanted, enforces);
    WEIR_ASSERT(mean >= 0 && wanted > 0);
    grant.decision.discard_probability = 1 - mean / wanted;
    if (mean < wish.minimum) {
        const bool possible = mean > 0 && fits(levels, rooms, wish.minimum);
        const bool taken =
            possible && !draw_refusal(draw.lot, 1 - mean / wish.minimum, draw.random);
        return taken ? wish.minimum : 0;
    }
    const double sure = whole(mean + kLevelSlack, wanted);
    if (mean <= sure) {
        return sure;
    }
    const double more = std::min(sure + 1, wanted);
    const double chance = (mean - sure) / (more - sure);
    return draw_refusal(draw.lot, 1 - chance, draw.random) ? sure : more;
}

/// What quotas that only shadow would have given, level by level; `granted` where a level enforces.
/// What is missing counts as refused in shadow.
void shadow_parts(Levels& levels, const Rooms& rooms, const Wish& wish, std::span<double> units,
                  Grant& grant) {
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        units[i] = grant.granted;
    }
    for (Visited& quota : levels.quota) {
        const auto own = [&](std::size_t i) { return levels.level[i].head == quota.head; };
        const double enough = given(levels, rooms, grant.granted, own);
        if (!quota.shadows || enough >= grant.granted) {
            continue;
        }
        quota.shadow_refused = true;
        grant.decision.shadow_refused = true;
        const double part = std::floor(enough) >= wish.minimum ? std::floor(enough) : 0;
        for (std::size_t i = 0; i < levels.level.size(); ++i) {
            units[i] = own(i) ? part : units[i];
        }
    }
}

/// How many units a quota would have given that only shadows.
double shadow_units(const Levels& levels, const Visited& quota, std::span<const double> units) {
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        if (levels.level[i].head == quota.head) {
            return units[i];
        }
    }
    return 0;
}

}  // namespace

/// Counts the wish as offered to each limit, less what the others of its chain do not let through,
/// and in the figures of the quotas.
void Admission::count_grant(ThreadContext& thread, const Levels& levels, const Wish& wish,
                            const Grant& grant, std::span<const double> units, std::size_t named) {
    for (const Visited& quota : levels.quota) {
        DefinitionFigures& figures = thread.figures[quota.definition->statistics];
        const double unit = weight_of(figure_unit(*quota.definition), wish.each, 0);
        figures.offered.add(unit * wish.wanted);
        figures.admitted.add(unit * grant.granted);
        if (named != kNoLevel && quota.head == levels.level[named].head) {
            figures.refused.add(unit * (wish.wanted - grant.granted));
        }
        if (quota.shadow_refused) {
            figures.shadow_refused.add(unit * (grant.granted - shadow_units(levels, quota, units)));
        }
        if (quota.definition->overflow && !quota.only_counted) {
            figures.overflowed.add(1);
            thread.overflowed.add(1);
        }
    }
}

/// Counts for the laws and for the engine what was offered to each limit and what it was charged.
void Admission::report_grant(const Levels& levels, std::span<const double> offers,
                             std::span<const double> charged, std::int64_t now) {
    WEIR_ASSERT(offers.size() >= levels.level.size() && charged.size() >= levels.level.size());
    const bool listening = fleet_.is_listening();
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        const Level& level = levels.level[i];
        note_offered(level.record(), offers[i], now);
        if (level.child.head != 0) {
            fair_.note(level.child, offers[i], now);
        } else if (level.branch.head != 0) {
            fair_.note(level.branch, offers[i], now);
        }
        if (level.counts_for_engine(listening)) {
            note_pending(level.bucket, offers[i], charged[i] * level.weight, now);
        }
    }
}

bool Admission::try_to_grant(ThreadContext& thread, LeafId leaf, const Wish& wish, std::int64_t now,
                             CheckMode mode, const RequestFields* fields, bool last, Grant& grant) {
    const bool judge = mode != CheckMode::charge_without_judging;
    const bool charges = mode != CheckMode::peek;
    Levels levels;
    levels.fields = fields;
    levels.response_bytes = 0;  // what is obtained has no response yet
    collect_chain(leaf, wish.each, now, levels);
    note_active(thread, levels);
    Wish offered = wish;
    Rooms rooms;
    find_rooms(levels, wish.wanted, now, rooms);
    if (judge) {
        offered.wanted = std::max(most_of(levels, rooms, wish.wanted), wish.minimum);
        find_rooms(levels, offered.wanted, now, rooms);
    }
    const std::size_t impossible = judge ? too_small(levels, wish) : kNoLevel;
    std::size_t named = impossible != kNoLevel ? impossible : least(levels, rooms, offered.wanted);
    std::array<double, kMaxChainLimits> offers;
    for (std::size_t i = 0; i < levels.level.size(); ++i) {
        const auto others = [&](std::size_t j) { return j != i && levels.level[j].enforce; };
        offers[i] = levels.level[i].weight * given(levels, rooms, offered.wanted, others);
    }
    grant.granted = offered.wanted;
    if (judge && named != kNoLevel) {
        const Draw draw{store_.record(levels.level[named].head).lot, thread.random};
        grant.granted = decide(levels, rooms, offered, draw, grant);
    }
    if (impossible != kNoLevel || grant.granted < wish.minimum) {
        grant.granted = 0;
    }
    std::array<double, kMaxChainLimits> units;
    shadow_parts(levels, rooms, wish, units, grant);
    if (charges && !charge_all(levels, units, grant, judge, last, now, named)) {
        if (!last) {
            return false;
        }
        grant.granted = 0;
        units.fill(0);
    }
    WEIR_ASSERT(grant.granted >= 0 && grant.granted <= wish.wanted);
    grant.decision.admitted = grant.granted > 0;
    if (charges || !grant.decision.admitted) {
        report_grant(levels, offers, units, now);
        count_grant(thread, levels, offered, grant, units, named);
    }
    if (charges && named != kNoLevel && fleet_.is_listening()) {
        ask_for_room(levels.level[named], wish.wanted - grant.granted);
    }
    describe_grant(levels, leaf, wish, impossible, named, grant);
    return true;
}

/// If this limit that only counts, which the fleet shares, did not grant all units, the engine asks
/// for a larger allowance.
void Admission::ask_for_room(const Level& level, double units) {
    const LimitParameters& parameters = level.limit().parameters;
    if (parameters.only_counts() && level.limit().fleet && !parameters.zero() && units > 0) {
        level.note_lack(units * level.weight);
    }
}

/// Describes one limit in the answer, as it is after the grant or, after a refusal, when the
/// minimum is wanted from it.
void Admission::describe_grant(Levels& levels, LeafId leaf, const Wish& wish,
                               std::size_t impossible, std::size_t named, Grant& grant) const {
    const double shown = grant.decision.admitted
                             ? grant.granted
                             : std::max(wish.minimum, std::min(1.0, wish.wanted));
    for (Level& level : levels.level) {
        level.weight *= shown;
    }
    if (grant.decision.admitted) {
        grant.decision.charge.units = grant.granted;
        grant.decision.charge.weights = times(wish.each, grant.granted);
        tell_admitted(levels, {&leaf, 1}, grant.decision);
        return;
    }
    tell_refused(levels, named, grant.decision);
    if (impossible != kNoLevel && grant.decision.reason == Reason::limit) {
        grant.decision.reason = Reason::too_much;
        grant.decision.retry_after = kTooMuchRetry;
    }
}

Grant Admission::obtain(ThreadContext& thread, LeafId leaf, const Wish& wish, Instant when,
                        CheckMode mode, const RequestFields* fields) {
    WEIR_ASSERT(wish.wanted > 0 && wish.minimum >= 0 && wish.minimum <= wish.wanted);
    Grant grant;
    if (!leaf) {
        grant.granted = wish.wanted;
        grant.decision.reason = Reason::no_quota;
        return grant;
    }
    Wish bounded_wish = wish;
    bounded_wish.each = clamp(thread, wish.each);
    const double heaviest = std::max(
        {bounded_wish.each.requests, bounded_wish.each.request_bytes, bounded_wish.each.cost});
    if (heaviest * wish.wanted > max_weight_) {
        thread.clamped_weights.add(1);
        bounded_wish.wanted = std::max(1.0, std::floor(max_weight_ / heaviest));
        if (wish.minimum > bounded_wish.wanted) {
            // No limit is asked: less than the minimum is of no use to the caller.
            grant.decision.admitted = false;
            grant.decision.reason = Reason::too_much;
            grant.decision.retry_after = kTooMuchRetry;
            return grant;
        }
    }
    for (int i = 1; i <= kTries; ++i) {
        grant = {};
        grant.decision.charge.admitted_at = nanoseconds(when);
        if (try_to_grant(thread, leaf, bounded_wish, nanoseconds(when), mode, fields, i == kTries,
                         grant)) {
            break;
        }
    }
    return grant;
}

}  // namespace weir::limiter

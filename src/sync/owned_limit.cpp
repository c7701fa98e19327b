#include "sync/owned_limit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "sync/kept_level.h"

namespace weir::sync {
namespace {

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
    level_believed = 0;
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
        level_believed = std::max(0.0, level_believed - parameters->rate * seconds);
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

bool OwnedLimit::remembers() const { return parameters && is_long(*parameters); }

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

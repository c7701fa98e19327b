#include "sync/quiet_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "base/assert.h"
#include "sync/reckoning.h"
#include "sync/run_number.h"

namespace weir::sync {
namespace {

/// Rates that were told longer ago do not count any more.
constexpr Duration kRatesLast = std::chrono::seconds(1);
/// The former first owner hands over within this time after the sums have begun here.
constexpr Duration kHandsOverWithin = std::chrono::seconds(1);
/// Over this time the load is averaged that an origin's entries show.
constexpr double kSteadySeconds = 5;
constexpr double kUncertainRequests = 1.5;
constexpr double kUncertainDeviations = 2;
/// The table is swept in about this many ticks.
constexpr std::size_t kSumSweepTicks = 6000;

[[nodiscard]] float single(double value) {
    WEIR_ASSERT(std::abs(value) <= std::numeric_limits<float>::max());
    return static_cast<float>(value);
}

/// Makes a cell for a run that is not known here, without taking in what its entry tells. Only what
/// no owner has confirmed is new: the rest is in the level that a former first owner handed over.
void begin_run(QuietCell& cell, const QuietEntry& entry, Instant now) {
    if (cell.run == entry.run) {
        return;
    }
    cell = {.admitted = std::max(0.0, entry.admitted - entry.fresh),
            .told_at = now,
            .member = cell.member,
            .run = entry.run,
            .limit_rate = cell.limit_rate,
            .low = cell.low};
}

/// Takes the limit's parameters that the entry tells; an origin tells them until it is confirmed.
void take_limit_of(QuietCell& cell, const QuietEntry& entry) {
    if (entry.limit_rate > 0 || entry.low > 0) {
        cell.limit_rate = single(entry.limit_rate);
        cell.low = single(entry.low);
    }
}

/// Whether the entry is of a former run and came after one of the present run.
bool is_late(const QuietCell& cell, const QuietEntry& entry, Instant now) {
    return began_before(entry.run, cell.run) && now - cell.told_at < kLatestPacket;
}

}  // namespace

QuietCell* QuietTold::find(MemberNumber member) {
    const auto cell = std::find_if(cells.begin(), cells.end(),
                                   [&](const QuietCell& each) { return each.member == member; });
    return cell == cells.end() ? nullptr : &*cell;
}

void QuietTold::take_parameters(MemberNumber teller, Duration memory, Instant now) {
    constexpr float kNone = std::numeric_limits<float>::infinity();
    float least_rate = kNone;
    float least_low = kNone;
    for (const QuietCell& cell : cells) {
        const bool lately = cell.member == teller || now - cell.told_at <= memory;
        if (lately && (cell.limit_rate > 0 || cell.low > 0)) {
            least_rate = std::min(least_rate, cell.limit_rate);
            least_low = std::min(least_low, cell.low);
        }
    }
    if (least_rate < kNone) {
        WEIR_ASSERT(least_low < kNone);
        rate = least_rate;
        low = least_low;
    }
}

void QuietTold::learn_parameters(const limiter::LimitParameters& parameters) {
    WEIR_ASSERT(parameters.rate >= 0 && parameters.low >= 0);
    rate = rate > 0 ? rate : single(parameters.rate);
    low = low > 0 ? low : single(parameters.low);
}

void QuietTold::advance(double shares, Instant now) {
    const double seconds = std::max(0.0, to_seconds(now - advanced));
    advanced = std::max(advanced, now);
    double expected = 0;
    for (QuietCell& cell : cells) {
        // Who had admitted more than this, or gone on for longer, would have told.
        const double silent = to_seconds(std::min(now - cell.told_at, kSayAgain + kFirstUse));
        const double most =
            silent_share(low, shares) + rate / (2 * shares) * silent - cell.expected;
        const double more = std::clamp(cell.steady * seconds, 0.0, std::max(0.0, most));
        WEIR_ASSERT(more >= 0);
        cell.expected += single(more);
        expected += more;
    }
    sum.advance(rate, expected, seconds);
    handed.advance(rate, expected, seconds);
    given.sum = single(std::max(0.0, given.sum - rate * seconds / 2));
    given.full = single(std::max(0.0, given.full - rate * seconds));
}

void QuietTold::begin_if_empty(Instant now) {
    if (bound() <= 0) {
        began_at = now;
        handed_over = false;
    }
}

void QuietTold::give() {
    given.sum = std::max(given.sum, single(bound()));
    given.full = std::max(given.full, single(level()));
    WEIR_ASSERT(given.sum >= 0 && given.full >= 0);
    clear();
}

double QuietTold::uncounted(const QuietCell& cell) const {
    // What does not drain at the full rate meanwhile, the origin begins its run with.
    const double drains = rate * std::max(0.0, to_seconds(advanced - cell.told_at));
    const double counts = std::min<double>(cell.expected, drains);
    const double chance = kUncertainRequests + kUncertainDeviations * std::sqrt(counts);
    WEIR_ASSERT(counts >= 0);
    return cell.expected - counts + std::min(counts, chance);
}

double QuietTold::level() const {
    double untold = 0;
    for (const QuietCell& cell : cells) {
        untold += uncounted(cell);
    }
    WEIR_ASSERT(untold >= 0);
    // Sum and shares together bound the fleet's bucket, whatever is expected.
    const double reckoned = std::max(sum.reckoned, handed.reckoned) - untold;
    return std::max({sum.full, handed.full, std::min(reckoned, bound() + low / 2)});
}

void QuietTold::forget(const QuietCell& cell) {
    const double untold = uncounted(cell);
    sum.reckoned = std::max(0.0, sum.reckoned - untold);
    handed.reckoned = std::max(0.0, handed.reckoned - untold);
    cells.erase(cells.begin() + (&cell - cells.data()));
}

double QuietTold::rates(Instant now) const {
    double result = 0;
    for (const QuietCell& cell : cells) {
        result += now - cell.told_at < kRatesLast ? cell.rate : 0;
    }
    return result;
}

QuietTold* QuietSums::obtain(const LimitKey& key, Instant now) {
    if (const auto known = slot_of(key)) {
        return &slots_[*known];
    }
    if (by_key_.size() >= settings_.maximum_owned_limits) {
        ++statistics_.dropped_owned_limits;
        return nullptr;
    }
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    QuietTold& told = slots_[slot];
    WEIR_ASSERT(told.place == 0 && told.cells.empty());
    told.key = key;
    told.place = slot + 1;
    told.advanced = now;
    by_key_.add(hash(key), slot);
    WEIR_ASSERT(by_key_.size() <= settings_.maximum_owned_limits);
    WEIR_ASSERT(by_key_.size() + free_.size() == slots_.size());
    return &told;
}

bool QuietSums::find_place(MemberNumber from, QuietEntry& entry) {
    WEIR_ASSERT(entry.place > 0);
    QuietTold* told = entry.place <= slots() ? at(entry.place - 1) : nullptr;
    const QuietCell* cell = told == nullptr ? nullptr : told->find(from);
    if (cell == nullptr || cell->run != entry.run) {
        return false;
    }
    entry.key = told->key;
    return true;
}

QuietTold* QuietSums::receive(MemberNumber from, const QuietEntry& entry, Instant now) {
    QuietTold* told = obtain(entry.key, now);
    if (told == nullptr) {
        return nullptr;
    }
    QuietCell* cell = obtain_cell(*told, from, now);
    if (cell != nullptr) {
        take_limit_of(*cell, entry);
    }
    told->take_parameters(from, cell_memory(settings_), now);
    told->advance(shares_, now);
    told->begin_if_empty(now);
    told->told_at = now;
    if (cell == nullptr) {
        return nullptr;
    }
    const bool known = cell->run == entry.run;
    const bool returned = !known && cell->run != 0;
    if ((known && entry.admitted < cell->admitted) || is_late(*cell, entry, now)) {
        return told;  // older than what is known
    }
    // At first sight all is new that was not confirmed here. If the origin had forgotten the limit
    // since it told of it here, what it has forgotten is known.
    const double forgotten = returned ? std::min(forgotten_share(told->low, shares_),
                                                 std::max(0.0, entry.untold - entry.admitted))
                                      : 0;
    const double increase = known ? entry.admitted - cell->admitted : entry.untold - forgotten;
    WEIR_ASSERT(increase >= 0);
    told->sum.sum += std::min(increase, entry.untold);
    told->sum.full += std::min(increase, entry.untold_full);
    // What was told before to a former owner may have come over a long time, and have drained.
    const double counted =
        known ? increase : std::min(increase, std::max(entry.fresh, entry.untold_full));
    told->sum.reckoned = std::max(0.0, told->sum.reckoned + counted - cell->expected);
    // What was confirmed by another first owner is in what that hands over. Only what is fresh is
    // not.
    const bool all_fresh = known && entry.fresh >= entry.untold;
    const double more = all_fresh ? increase : std::min(increase, entry.fresh);
    told->handed.sum += std::min(more, entry.untold);
    told->handed.full += std::min(more, entry.untold_full);
    told->handed.reckoned = std::max(
        0.0, told->handed.reckoned + (all_fresh ? increase : std::min(more, entry.untold_full)) -
                 cell->expected);
    if (known) {
        const double seconds = std::max(1e-3, to_seconds(now - cell->told_at));
        const double part = 1 - std::exp(-seconds / kSteadySeconds);
        cell->steady += single((increase / seconds - cell->steady) * part);
    } else {
        cell->steady = single(entry.rate);
    }
    WEIR_ASSERT(!known || entry.admitted >= cell->admitted);
    cell->run = entry.run;
    cell->admitted = entry.admitted;
    cell->rate = single(entry.rate);
    cell->expected = 0;
    cell->told_at = now;
    cell->no_room = entry.no_room;
    cell->orders = 0;
    return told;
}

QuietTold* QuietSums::take_over(const QuietOrder& order, HandedBy who, Instant now) {
    QuietTold* told = obtain(order.key, now);
    if (told == nullptr) {
        return nullptr;
    }
    told->advance(shares_, now);
    told->begin_if_empty(now);
    told->told_at = now;
    // What origins have told just now is not in it, and what they have told since a restart is not
    // in this member's own snapshot. Later, or a second time, it may well be.
    const bool lately = now - told->began_at <= kHandsOverWithin;
    const bool adds = !told->handed_over &&
                      (who == HandedBy::own_snapshot || (who == HandedBy::former_owner && lately));
    const QuietSum before = adds ? told->handed : QuietSum{};
    told->handed_over = told->handed_over || who != HandedBy::other_snapshot;
    told->handed.sum = std::max(told->handed.sum, order.sum + before.sum);
    told->handed.full = std::max(told->handed.full, order.level + before.full);
    told->handed.reckoned = std::max(told->handed.reckoned, order.level + before.reckoned);
    WEIR_ASSERT(told->handed.sum >= 0 && told->handed.full >= 0);
    return told;
}

QuietCell* QuietSums::obtain_cell(QuietTold& told, MemberNumber from, Instant now) {
    if (QuietCell* known = told.find(from)) {
        return known;
    }
    if (told.cells.size() >= settings_.maximum_cells_per_limit) {
        ++statistics_.dropped_cells;
        return nullptr;
    }
    QuietCell& cell = told.cells.emplace_back();
    WEIR_ASSERT(told.cells.size() <= settings_.maximum_cells_per_limit);
    cell.member = from;
    cell.told_at = now;
    return &cell;
}

const QuietCell* QuietSums::note_asleep(MemberNumber from, const QuietEntry& entry, Instant now) {
    QuietTold* told = obtain(entry.key, now);
    QuietCell* cell = told == nullptr ? nullptr : obtain_cell(*told, from, now);
    if (cell == nullptr) {
        return nullptr;
    }
    if (!is_late(*cell, entry, now)) {
        begin_run(*cell, entry, now);
    }
    cell->orders = 1;
    told->told_at = now;
    return cell;
}

std::optional<double> QuietSums::receive_beside(MemberNumber from, const QuietEntry& entry,
                                                Instant now) {
    QuietTold* told = obtain(entry.key, now);
    QuietCell* cell = told == nullptr ? nullptr : obtain_cell(*told, from, now);
    if (cell == nullptr) {
        return std::nullopt;
    }
    if (is_late(*cell, entry, now)) {
        return 0;
    }
    begin_run(*cell, entry, now);
    take_limit_of(*cell, entry);
    told->take_parameters(from, cell_memory(settings_), now);
    const double increase = std::max(0.0, entry.admitted - cell->admitted);
    cell->admitted += increase;
    WEIR_ASSERT(told->rate >= 0 && told->low >= 0);
    cell->rate = single(entry.rate);
    cell->expected = 0;
    cell->told_at = told->told_at = now;
    cell->no_room = true;
    cell->orders = 0;
    return std::min(increase, entry.untold_full);
}

std::optional<std::uint32_t> QuietSums::slot_of(const LimitKey& key) const {
    return by_key_.find(hash(key), [&](std::uint32_t slot) { return slots_[slot].key == key; });
}

QuietTold* QuietSums::find(const LimitKey& key) {
    const auto slot = slot_of(key);
    return slot ? &slots_[*slot] : nullptr;
}

bool QuietSums::is_asleep(const LimitKey& key) {
    const QuietTold* told = find(key);
    return told != nullptr && std::any_of(told->cells.begin(), told->cells.end(),
                                          [](const QuietCell& cell) { return cell.orders > 0; });
}

void QuietSums::remove(const LimitKey& key) {
    if (const auto slot = slot_of(key)) {
        remove_slot(*slot);
    }
}

void QuietSums::remove_slot(std::uint32_t slot) {
    WEIR_ASSERT(slots_[slot].place == slot + 1);
    by_key_.remove(hash(slots_[slot].key), slot);
    // Made anew in place: to assign an empty one would keep the room of its cells.
    std::destroy_at(&slots_[slot]);
    std::construct_at(&slots_[slot]);
    free_.push_back(slot);
}

void QuietSums::drop_shard(membership::Shard shard) {
    for (std::uint32_t slot = 0; slot < slots(); ++slot) {
        if (slots_[slot].place != 0 && membership::shard_of(slots_[slot].key.quota) == shard) {
            remove_slot(slot);
        }
    }
}

void QuietSums::expect_no_more(const std::vector<MemberNumber>& members, Instant now) {
    if (members.empty()) {
        return;
    }
    for (std::uint32_t slot = 0; slot < slots(); ++slot) {
        QuietTold& told = slots_[slot];
        for (QuietCell& cell : told.cells) {
            if (cell.steady > 0 &&
                std::find(members.begin(), members.end(), cell.member) != members.end()) {
                told.advance(shares_, now);
                cell.steady = 0;
            }
        }
    }
}

void QuietSums::forget(const std::vector<MemberNumber>& members, Instant now) {
    if (members.empty()) {
        return;
    }
    for (std::uint32_t slot = 0; slot < slots(); ++slot) {
        QuietTold& told = slots_[slot];
        for (const MemberNumber member : members) {
            if (const QuietCell* cell = told.find(member)) {
                told.advance(shares_, now);
                told.forget(*cell);
            }
        }
    }
}

/// A cell is of use for as long as its origin may go on with the run.
bool QuietSums::may_go(const QuietTold& told, Instant now) const {
    return (told.bound() <= 0 && now - told.told_at > cell_memory(settings_)) ||
           now - told.told_at > settings_.told_memory;
}

void QuietSums::sweep(Instant now) {
    const std::size_t looks = slots_.empty() ? 0 : slots_.size() / kSumSweepTicks + 1;
    for (std::size_t i = 0; i < looks; ++i) {
        sweep_at_ = (sweep_at_ + 1) % slots_.size();
        QuietTold& told = slots_[sweep_at_];
        if (told.place == 0) {
            continue;
        }
        told.advance(shares_, now);
        if (may_go(told, now)) {
            remove_slot(static_cast<std::uint32_t>(sweep_at_));
        }
    }
}

}  // namespace weir::sync

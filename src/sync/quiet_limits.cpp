#include "sync/quiet_limits.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"

namespace weir::sync {
namespace {

/// The time between two ticks of the engine that are not late, in seconds.
constexpr double kShortestTick = 0.01;
/// An entry that was not used for so long goes if its owner knows all of it. Who uses a limit more
/// seldom tells of each use anyway.
constexpr Duration kForgetQuietAfter = kSayAgain;
/// Each entry is looked at about so often, to see whether it can go.
constexpr double kQuietSweepSeconds = 20;
/// After a pause of the ticks work goes on as after this time, in seconds.
constexpr double kLongestTick = 1;
/// When the table is full, so many are looked at for one that can make room.
constexpr std::size_t kLookedAtForPlace = 16;
/// A run that counted so much ends: 2^50, where what is sent ends at 2^55.
constexpr double kLongestQuietRun = 1125899906842624.0;
constexpr Duration kHalfMinute = std::chrono::seconds(30);

/// A number from 1 to 255 that tells a limit from others that have its record later. The next one
/// has another number if its instance begins with the same record, because the generation of a
/// record grows by two; of all others one in 255 has the same. Such a limit is taken for the
/// forgotten one, and what it admitted before meet() is not told.
std::uint8_t tag_of(const limiter::LimitRef& ref) {
    return static_cast<std::uint8_t>(1 +
                                     (std::uint64_t{ref.instance} * 7 + ref.generation / 2) % 255);
}

/// A part from 2^-16 to 1 in a byte, rounded up by 4.5 % at most.
constexpr double kSteps = 16;  // for each power of two
constexpr double kLargestStep = 255;
std::uint8_t rounded_up(double part) {
    const double step = part > 0 ? std::ceil(kLargestStep + kSteps * std::log2(part)) : 0;
    return static_cast<std::uint8_t>(std::clamp(step, 0.0, kLargestStep));
}
double part_of(std::uint8_t step) {
    return step == 0 ? 0 : std::exp2((step - kLargestStep) / kSteps);
}

}  // namespace

QuietLimits::QuietLimits(const SyncSettings& settings, limiter::Limiter& limiter, Random random,
                         SyncStatistics& statistics, WeightLedger* ledger)
    : settings_(settings),
      limiter_(limiter),
      random_(random),
      runs_(random_),
      statistics_(statistics),
      ledger_(ledger),
      by_key_(random_),
      by_record_(random_) {}

void QuietLimits::set_members(std::size_t count, Instant now) {
    if (now - half_minute_ >= kHalfMinute) {
        half_minute_ = now;
        members_before_ = std::exchange(members_now_, count);
    }
    members_now_ = std::max(members_now_, count);
    members_ = std::max(members_now_, members_before_);
    WEIR_ASSERT(members_ >= 1 && members_ >= count);
}

std::optional<std::uint32_t> QuietLimits::slot_of(const LimitKey& key) const {
    return by_key_.find(hash(key), [&](std::uint32_t slot) { return slots_[slot].key == key; });
}

std::optional<std::uint32_t> QuietLimits::slot_of(std::uint32_t record) const {
    return by_record_.find(record,
                           [&](std::uint32_t slot) { return slots_[slot].ref.record == record; });
}

void QuietLimits::claim_record(std::uint32_t slot) {
    const std::uint32_t record = slots_[slot].ref.record;
    if (const auto former = slot_of(record)) {
        by_record_.move(record, *former, slot);  // of a limit whose instance is gone
    } else {
        by_record_.add(record, slot);
    }
    WEIR_ASSERT(slot_of(record) == slot);
    if (record < dismissed_.size()) {
        dismissed_[record] = {};
    }
}

bool QuietLimits::was_dismissed(const limiter::LimitRef& ref) const {
    return ref.record < dismissed_.size() && dismissed_[ref.record].tag == tag_of(ref);
}

void QuietLimits::release_record(std::uint32_t slot) {
    by_record_.remove(slots_[slot].ref.record, slot);
}

bool QuietLimits::touch(limiter::LimitRef ref, Instant now) {
    const auto slot = slot_of(ref.record);
    if (!slot || slots_[*slot].ref != ref) {
        return false;
    }
    const auto counts = limiter_.take_unviewed(ref, now);
    if (!counts) {
        remove(*slot);
        return false;
    }
    QuietLimit& limit = slots_[*slot];
    limit.share.advance(limit.rate, shares(), now);
    const double before = limit.share.untold;
    count(limit, *counts, now);
    limit.touched = now;
    plan(*slot, before, now);
    return true;
}

void QuietLimits::count(QuietLimit& limit, const limiter::UnviewedCounts& counts, Instant now) {
    limit.share.advance(limit.rate, shares(), now);
    const double net = quantise(std::abs(counts.admitted)) * (counts.admitted < 0 ? -1 : 1);
    limit.share.add(net);
    limit.share.bound(limit.low);
    WEIR_ASSERT(limit.run != 0);
    if (ledger_ != nullptr) {
        ledger_->counted_quietly(limit.key, net);
    }
    if (limit.share.admitted > kLongestQuietRun) {
        begin_run(limit);
    }
    const double seconds = std::max(0.0, to_seconds(now - limit.counted));
    const double weight = std::max(0.0, counts.admitted);
    limit.counted = now;
    limit.typical = counts.typical;
    limit.quick_rate = limit.quick_rate * std::exp(-seconds / kQuickWindow) + weight / kQuickWindow;
    // Without the newest request: an estimate right after an arrival is too high.
    limit.offered_rate = std::max(0.0, counts.offered_rate - counts.typical / limiter::kRateWindow);
    WEIR_ASSERT(limit.quick_rate >= 0);
    // The window's average notices a leap too late: half a share or more that came within a tick.
    const double tick = std::max(kShortestTick, to_seconds(now - previous_tick_));
    const double expected = limit.offered_rate * tick;
    const double noise = std::sqrt(counts.typical * std::max(expected, counts.typical));
    if (weight >= kLeapRequests * counts.typical &&
        weight > silent_share(limit.low, shares()) / 2 &&
        weight > expected + settings_.offered_deviations * noise) {
        limit.offered_rate = std::max(limit.offered_rate, weight / tick);
    }
}

/// Begins a new run with what no owner has confirmed of the former one.
void QuietLimits::begin_run(QuietLimit& limit) {
    limit.run = runs_.next();
    limit.share.admitted = limit.share.untold;
    limit.share.acknowledged = limit.share.excess = limit.sent = 0;
    WEIR_ASSERT(limit.run != 0);
}

bool QuietLimits::meet(limiter::LimitRef ref, const LimitKey& key,
                       const limiter::LimitParameters& parameters, Instant now) {
    const auto known = slot_of(key);
    if (!known && !has_room(now)) {
        if (!was_dismissed(ref)) {
            // What has not drained by the time when there is room, its level says then.
            (void)limiter_.take_unviewed(ref, now);
        }
        return false;
    }
    const auto counts = limiter_.take_unviewed(ref, now);
    if (!counts) {
        return true;  // it is gone
    }
    const std::uint32_t slot = known ? *known : place(key);
    QuietLimit& limit = slots_[slot];
    if (known) {
        release_record(slot);  // another instance of the same name
    } else {
        limit.share.at = now;
    }
    limit.ref = ref;
    limit.rate = parameters.rate;
    limit.low = parameters.low;
    limit.share.advance(limit.rate, shares(), now);
    const double before = limit.share.untold;
    const limiter::UnviewedCounts news = known ? *counts : first_counts(limit, *counts, now);
    claim_record(slot);
    count(limit, news, now);
    limit.touched = now;
    plan(slot, before, now);
    return true;
}

/// What is counted of a limit that was not in the table.
limiter::UnviewedCounts QuietLimits::first_counts(QuietLimit& limit, limiter::UnviewedCounts counts,
                                                  Instant now) const {
    if (!was_dismissed(limit.ref)) {
        // What was admitted before the limiter counted for us is in the level.
        counts.admitted = std::max(counts.admitted, counts.level);
        return counts;
    }
    // While there was no room for it the limiter went on counting. Of that no more is left than the
    // level, and what has drained since the last tick.
    const double tick = std::clamp(to_seconds(now - previous_tick_), kShortestTick, kLongestTick);
    counts.admitted = std::min(counts.admitted, counts.level + limit.rate * tick);
    limit.share.own_full = std::max(0.0, counts.level - counts.admitted);
    // What was forgotten drained at a lower rate than the level. Where a limit is forgotten and
    // returns time and again, it would add up.
    limit.share.own =
        std::max(limit.share.own_full, part_of(dismissed_[limit.ref.record].own) * limit.low);
    WEIR_ASSERT(limit.share.untold == 0 && limit.run != 0);
    return counts;
}

void QuietLimits::fall_quiet(limiter::LimitRef ref, const LimitKey& key,
                             const limiter::LimitParameters& parameters, Instant now) {
    const std::uint32_t slot = place(key);
    QuietLimit& limit = slots_[slot];
    limit.ref = ref;
    limit.rate = parameters.rate;
    limit.low = parameters.low;
    limit.share.at = limit.touched = now;
    if (const auto counts = limiter_.take_unviewed(ref, now)) {
        limit.share.own = limit.share.own_full = std::max(0.0, counts->level - counts->admitted);
        if (counts->admitted > 0) {
            count(limit, *counts, now);  // by workers, since it was told of for the last time
        }
    }
    claim_record(slot);
}

std::uint32_t QuietLimits::place(const LimitKey& key) {
    WEIR_ASSERT(slots_.size() < settings_.maximum_quiet_limits);
    WEIR_ASSERT(!slot_of(key));
    const auto slot = static_cast<std::uint32_t>(slots_.size());
    QuietLimit& limit = slots_.emplace_back();
    limit.key = key;
    limit.run = runs_.next();
    by_key_.add(hash(key), slot);
    return slot;
}

bool QuietLimits::has_room(Instant now) {
    return slots_.size() < settings_.maximum_quiet_limits || make_room(now);
}

/// Of a few entries, in turn, the emptiest goes of which all is told and which has drained or was
/// not used for long: else limits of days would fill the table for days. What is left of it the
/// first owner knows, until another takes its place.
bool QuietLimits::make_room(Instant now) {
    std::optional<std::uint32_t> emptiest;
    double least = 0;
    for (std::size_t i = 0; i < std::min(kLookedAtForPlace, slots_.size()); ++i) {
        room_at_ = (room_at_ + 1) % slots_.size();
        const auto slot = static_cast<std::uint32_t>(room_at_);
        QuietLimit& limit = slots_[slot];
        limit.share.advance(limit.rate, shares(), now);
        if (limit.share.own > 0 && now - limit.touched <= kForgetQuietAfter) {
            continue;
        }
        if (!all_told(limit)) {
            limit.leaves = true;
            due_.add(slot, now);
            continue;
        }
        if (!may_be_dismissed(limit)) {
            continue;
        }
        const double fullness = limit.share.own / std::max(1e-9, limit.low);
        if (!emptiest || fullness < least) {
            emptiest = slot;
            least = fullness;
        }
    }
    if (!emptiest) {
        return false;
    }
    ++statistics_.room_made;
    dismiss(*emptiest);
    return true;
}

std::optional<QuietLimit> QuietLimits::take(const LimitKey& key, Instant now) {
    const auto slot = slot_of(key);
    if (!slot) {
        return std::nullopt;
    }
    QuietLimit& limit = slots_[*slot];
    if (const auto counts = limiter_.take_unviewed(limit.ref, now)) {
        count(limit, *counts, now);
        limit.unviewed = true;
    }
    const QuietLimit taken = limit;
    remove(*slot);
    WEIR_ASSERT(!slot_of(key));
    return taken;
}

void QuietLimits::refresh_parameters(Instant now) {
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
        QuietLimit& limit = slots_[slot];
        const auto identity = limiter_.identity(limit.ref);
        if (!identity ||
            (identity->parameters.rate == limit.rate && identity->parameters.low == limit.low)) {
            continue;
        }
        limit.share.advance(limit.rate, shares(), now);
        limit.rate = identity->parameters.rate;
        limit.low = identity->parameters.low;
        limit.known = false;  // the owner judges by what it was told of the limit
        plan(slot, limit.share.untold, now);
    }
}

void QuietLimits::drop_changed() {
    // From the last one on: the entry that takes the slot of a removed one has been looked at.
    for (auto slot = static_cast<std::uint32_t>(slots_.size()); slot-- > 0;) {
        const LimitKey& key = slots_[slot].key;
        const auto identity = limiter_.identity(slots_[slot].ref);
        if (!identity || static_cast<std::uint8_t>(identity->unit) != key.unit ||
            std::chrono::duration_cast<std::chrono::milliseconds>(identity->period).count() !=
                static_cast<std::int64_t>(key.period_ms)) {
            remove(slot);
        }
    }
}

const QuietLimit* QuietLimits::find(const LimitKey& key) const {
    const auto slot = slot_of(key);
    return slot ? &slots_[*slot] : nullptr;
}

std::size_t QuietLimits::memory() const {
    return slots_.memory() + by_key_.memory() + by_record_.memory() + due_.memory() +
           dismissed_.capacity() * sizeof(Dismissed);
}

void QuietLimits::remove(std::uint32_t slot) {
    by_key_.remove(hash(slots_[slot].key), slot);
    release_record(slot);
    due_.remove(slot);
    const auto last = static_cast<std::uint32_t>(slots_.size() - 1);
    if (slot != last) {
        by_key_.move(hash(slots_[last].key), last, slot);
        by_record_.move(slots_[last].ref.record, last, slot);
        due_.move(last, slot);
        slots_[slot] = slots_[last];
    }
    slots_.pop_back();
    due_.shrink(slots_.size());
    WEIR_ASSERT(by_key_.size() == slots_.size() && by_record_.size() <= slots_.size());
}

void QuietLimits::dismiss(std::uint32_t slot) {
    const QuietLimit& limit = slots_[slot];
    WEIR_ASSERT(may_be_dismissed(limit));
    const std::uint32_t record = limit.ref.record;
    if (slot_of(record) == slot) {  // else another limit has it by now
        if (record >= dismissed_.size()) {
            dismissed_.resize(record + std::size_t{1});
        }
        const double part = limit.low > 0 ? limit.share.own / limit.low : 0;
        dismissed_[record] = {.tag = tag_of(limit.ref), .own = rounded_up(part)};
    }
    remove(slot);
}

bool QuietLimits::may_go(QuietLimit& limit, Instant now) const {
    if (now - limit.touched <= kForgetQuietAfter) {
        return false;
    }
    limit.share.advance(limit.rate, shares(), now);
    return may_be_dismissed(limit) && limit.share.own <= forgotten_share(limit.low, shares());
}

void QuietLimits::sweep(Instant now) {
    const double pause = std::clamp(to_seconds(now - previous_tick_), 0.0, kLongestTick);
    if (sweep_at_ >= slots_.size()) {
        sweep_at_ = sweep_size_ = 0;
    }
    sweep_size_ = std::max(sweep_size_, slots_.size());
    sweep_due_ += static_cast<double>(sweep_size_) * pause / kQuietSweepSeconds;
    for (; sweep_due_ >= 1 && sweep_at_ < slots_.size(); --sweep_due_) {
        const auto slot = static_cast<std::uint32_t>(sweep_at_);
        if (may_go(slots_[slot], now)) {
            dismiss(slot);  // the last one has its slot now, and is looked at next
        } else {
            ++sweep_at_;
        }
    }
}

}  // namespace weir::sync

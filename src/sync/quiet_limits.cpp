#include "sync/quiet_limits.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"

namespace weir::sync {
namespace {

/// The time between two ticks of the engine that are not late, in seconds.
constexpr double kShortestTick = 0.01;
/// An entry that was not used for so long goes, when it has drained.
constexpr Duration kForgetQuietAfter = std::chrono::seconds(60);
/// The table is swept in about this many ticks.
constexpr std::size_t kQuietSweepTicks = 6000;
/// When the table is full, so many are looked at for one that can make room.
constexpr std::size_t kLookedAtForPlace = 16;
/// A run that counted so much ends: 2^50, where what is sent ends at 2^55.
constexpr double kLongestQuietRun = 1125899906842624.0;
constexpr Duration kHalfMinute = std::chrono::seconds(30);

}  // namespace

QuietLimits::QuietLimits(const SyncSettings& settings, limiter::Limiter& limiter, Random random,
                         SyncStatistics& statistics, WeightLedger* ledger)
    : settings_(settings),
      limiter_(limiter),
      random_(random),
      runs_(random_),
      statistics_(statistics),
      ledger_(ledger) {}

void QuietLimits::set_members(std::size_t count, Instant now) {
    if (now - half_minute_ >= kHalfMinute) {
        half_minute_ = now;
        members_before_ = std::exchange(members_now_, count);
    }
    members_now_ = std::max(members_now_, count);
    members_ = std::max(members_now_, members_before_);
    WEIR_ASSERT(members_ >= 1 && members_ >= count);
}

QuietLimit* QuietLimits::slot_of(limiter::LimitRef ref) {
    const std::uint32_t known = ref.record < by_record_.size() ? by_record_[ref.record] : 0;
    const bool kept = known != 0 && known != kAllTold;
    WEIR_ASSERT(!kept || known <= slots_.size());
    return kept && slots_[known - 1].ref == ref ? &slots_[known - 1] : nullptr;
}

std::uint32_t* QuietLimits::slot_place(std::uint32_t record) {
    if (record >= by_record_.size()) {
        by_record_.resize(record + std::size_t{1}, 0);
    }
    return &by_record_[record];
}

bool QuietLimits::touch(limiter::LimitRef ref, Instant now) {
    QuietLimit* limit = slot_of(ref);
    if (limit == nullptr) {
        return false;
    }
    const auto slot = static_cast<std::uint32_t>(limit - slots_.data());
    const auto counts = limiter_.take_unviewed(ref, now);
    if (!counts) {
        remove(slot);
        return false;
    }
    limit->share.advance(limit->rate, shares(), now);
    const double before = limit->share.untold;
    count(*limit, *counts, now);
    limit->touched = now;
    plan(slot, before, now);
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
    const auto counts = limiter_.take_unviewed(ref, now);
    if (!counts) {
        return true;  // it is gone
    }
    const auto known = by_key_.find(key);
    const auto slot = known != by_key_.end() ? std::optional(known->second) : place(key, now);
    if (!slot) {
        return false;
    }
    QuietLimit& limit = slots_[*slot];
    const bool again = known != by_key_.end();  // another instance of the same name
    if (again && limit.ref.record < by_record_.size() &&
        by_record_[limit.ref.record] == *slot + 1) {
        by_record_[limit.ref.record] = 0;
    }
    limit.ref = ref;
    limit.rate = parameters.rate;
    limit.low = parameters.low;
    const bool all_told = std::exchange(*slot_place(ref.record), *slot + 1) == kAllTold;
    limiter::UnviewedCounts first = *counts;
    if (!again) {
        limit.share.at = now;
    }
    if (!again && all_told) {
        limit.share.own = limit.share.own_full = std::max(0.0, first.level - first.admitted);
    } else if (!again) {
        // What was admitted before the limiter counted for us is in the level.
        first.admitted = std::max(first.admitted, first.level);
    }
    limit.share.advance(limit.rate, shares(), now);
    const double before = limit.share.untold;
    count(limit, first, now);
    limit.touched = now;
    plan(*slot, before, now);
    return true;
}

void QuietLimits::fall_quiet(limiter::LimitRef ref, const LimitKey& key,
                             const limiter::LimitParameters& parameters, Instant now) {
    const auto slot = place(key, now);
    if (!slot) {
        return;
    }
    QuietLimit& limit = slots_[*slot];
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
    *slot_place(ref.record) = *slot + 1;
}

std::optional<std::uint32_t> QuietLimits::place(const LimitKey& key, Instant now) {
    if (!has_room(now)) {
        return std::nullopt;
    }
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot] = QuietLimit{};
    slots_[slot].key = key;
    slots_[slot].run = runs_.next();
    by_key_.emplace(key, slot);
    WEIR_ASSERT(by_key_.size() <= settings_.maximum_quiet_limits);
    WEIR_ASSERT(by_key_.size() + free_.size() == slots_.size());
    return slot;
}

bool QuietLimits::has_room(Instant now) {
    return by_key_.size() < settings_.maximum_quiet_limits || make_room(now);
}

/// Of a few entries, in turn, the emptiest goes of which all is told and which has drained or was
/// not used for long: else limits of days would fill the table for days. What is left of it the
/// first owner knows, until another takes its place.
bool QuietLimits::make_room(Instant now) {
    QuietLimit* emptiest = nullptr;
    double least = 0;
    for (std::size_t i = 0; i < std::min(kLookedAtForPlace, slots_.size()); ++i) {
        sweep_at_ = (sweep_at_ + 1) % slots_.size();
        QuietLimit& limit = slots_[sweep_at_];
        limit.share.advance(limit.rate, shares(), now);
        const bool unused = limit.share.own <= 0 || now - limit.touched > kForgetQuietAfter;
        if (limit.run == 0 || !unused) {
            continue;
        }
        if (limit.share.untold > 0 && limit.share.admitted > limit.share.acknowledged) {
            limit.leaves = true;
            due_.add(static_cast<std::uint32_t>(sweep_at_), now);
            continue;
        }
        const double fullness = limit.share.own / std::max(1e-9, limit.low);
        if (emptiest == nullptr || fullness < least) {
            emptiest = &limit;
            least = fullness;
        }
    }
    if (emptiest == nullptr) {
        return false;
    }
    ++statistics_.room_made;
    const std::uint32_t record = emptiest->ref.record;
    remove(static_cast<std::uint32_t>(emptiest - slots_.data()));
    *slot_place(record) = kAllTold;
    return true;
}

std::optional<QuietLimit> QuietLimits::take(const LimitKey& key, Instant now) {
    const auto known = by_key_.find(key);
    if (known == by_key_.end()) {
        return std::nullopt;
    }
    QuietLimit& limit = slots_[known->second];
    if (const auto counts = limiter_.take_unviewed(limit.ref, now)) {
        count(limit, *counts, now);
        limit.unviewed = true;
    }
    const QuietLimit taken = limit;
    remove(known->second);
    WEIR_ASSERT(!by_key_.contains(key));
    return taken;
}

void QuietLimits::refresh_parameters(Instant now) {
    for (const auto& [key, slot] : by_key_) {
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
    std::vector<std::uint32_t> changed;
    for (const auto& [key, slot] : by_key_) {
        const auto identity = limiter_.identity(slots_[slot].ref);
        if (!identity || static_cast<std::uint8_t>(identity->unit) != key.unit ||
            std::chrono::duration_cast<std::chrono::milliseconds>(identity->period).count() !=
                static_cast<std::int64_t>(key.period_ms)) {
            changed.push_back(slot);
        }
    }
    for (const std::uint32_t slot : changed) {
        remove(slot);
    }
}

const QuietLimit* QuietLimits::find(const LimitKey& key) const {
    const auto known = by_key_.find(key);
    return known == by_key_.end() ? nullptr : &slots_[known->second];
}

void QuietLimits::remove(std::uint32_t slot) {
    WEIR_ASSERT(slots_[slot].run != 0);
    QuietLimit& limit = slots_[slot];
    by_key_.erase(limit.key);
    due_.remove(slot);
    if (limit.ref.record < by_record_.size() && by_record_[limit.ref.record] == slot + 1) {
        by_record_[limit.ref.record] = 0;
    }
    limit = QuietLimit{};
    free_.push_back(slot);
}

bool QuietLimits::may_go(const QuietLimit& limit, Instant now) const {
    return limit.share.own <= 0 && now - limit.touched > kForgetQuietAfter;
}

void QuietLimits::sweep(Instant now) {
    const std::size_t looks = slots_.empty() ? 0 : slots_.size() / kQuietSweepTicks + 1;
    for (std::size_t i = 0; i < looks; ++i) {
        sweep_at_ = (sweep_at_ + 1) % slots_.size();
        QuietLimit& limit = slots_[sweep_at_];
        if (limit.run == 0) {
            continue;
        }
        limit.share.advance(limit.rate, shares(), now);
        if (may_go(limit, now)) {
            remove(static_cast<std::uint32_t>(sweep_at_));
        }
    }
}

}  // namespace weir::sync

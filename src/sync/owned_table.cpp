#include "sync/owned_table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/assert.h"

namespace weir::sync {
namespace {

/// So many limits whose rest has ended are forgotten in a tick.
constexpr std::size_t kRestsEachTick = 256;
/// When the table is full, so many are looked at for one that can make room.
constexpr std::size_t kLookedAtForRoom = 16;
/// A limit that somebody may rest with makes room only if it is emptier than this share of low.
constexpr double kMakesRoom = 0.5;

}  // namespace

const OwnedLimit* OwnedTable::find(const LimitKey& key) const {
    const auto known = by_key_.find(key);
    return known == by_key_.end() ? nullptr : &slots_[known->second];
}

OwnedLimit* OwnedTable::find(const LimitKey& key) {
    return const_cast<OwnedLimit*>(std::as_const(*this).find(key));
}

OwnedLimit* OwnedTable::insert(const LimitKey& key, Instant now) {
    WEIR_ASSERT(!by_key_.contains(key));
    if (by_key_.size() >= settings_.maximum_owned_limits && !make_room(now)) {
        ++statistics_.dropped_owned_limits;
        return nullptr;
    }
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
        awake_flag_.push_back(false);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    WEIR_ASSERT(!awake_flag_[slot] && awake_flag_.size() == slots_.size());
    slots_[slot] = OwnedLimit{};
    slots_[slot].key = key;
    by_key_.emplace(key, slot);
    WEIR_ASSERT(by_key_.size() <= settings_.maximum_owned_limits);
    WEIR_ASSERT(by_key_.size() + free_.size() == slots_.size());
    return &slots_[slot];
}

/// In a full table each new limit would be every sidecar's own: the emptiest of a few, in turn,
/// that nobody uses goes. All slots are in use then.
bool OwnedTable::make_room(Instant now) {
    OwnedLimit* emptiest = nullptr;
    WEIR_ASSERT(free_.empty());
    for (std::size_t i = 0; i < std::min(kLookedAtForRoom, slots_.size()); ++i) {
        room_at_ = (room_at_ + 1) % slots_.size();
        OwnedLimit& limit = slots_[room_at_];
        limit.advance(now);
        const bool rests =
            limit.fullness() < kMakesRoom && now - limit.last_use > settings_.user_memory;
        // The tick forgets those that are awake and not used.
        if (awake_flag_[room_at_] || (!rests && !limit.unused(settings_, now))) {
            continue;
        }
        if (emptiest == nullptr || limit.fullness() < emptiest->fullness()) {
            emptiest = &limit;
        }
    }
    if (emptiest == nullptr) {
        return false;
    }
    ++statistics_.room_made;
    emptiest->forget_cells(ledger_);
    remove(slot_of(*emptiest));
    return true;
}

void OwnedTable::wake(OwnedLimit& limit, Instant now) {
    const std::uint32_t slot = slot_of(limit);
    if (awake_flag_[slot]) {
        return;
    }
    limit.end_rest(now);
    limit.begin_awake(now);
    awake_flag_[slot] = true;
    awake_.push_back(slot);
    WEIR_ASSERT(awake_.size() <= slots_.size());
}

void OwnedTable::rest(std::uint32_t slot) {
    WEIR_ASSERT(awake_flag_[slot]);
    OwnedLimit& limit = slots_[slot];
    awake_flag_[slot] = false;
    limit.begin_rest();
    WEIR_ASSERT(!limit.urgent);
    rests_.add(slot, limit.rest_ends(settings_));
}

void OwnedTable::end_rests(Instant now) {
    for (std::size_t ended = 0; ended < kRestsEachTick; ++ended) {
        const std::optional<std::uint32_t> slot = rests_.take(now);
        if (!slot) {
            return;
        }
        OwnedLimit& limit = slots_[*slot];
        if (awake_flag_[*slot]) {
            continue;
        }
        WEIR_ASSERT(by_key_.contains(limit.key));  // free slots do not rest
        limit.advance(now);
        if (const Instant end = limit.rest_ends(settings_); end > now) {
            rests_.add(*slot, end);
            continue;
        }
        limit.forget_cells(ledger_);
        remove(*slot);
    }
}

void OwnedTable::remove(std::uint32_t slot) {
    WEIR_ASSERT(by_key_.contains(slots_[slot].key));
    by_key_.erase(slots_[slot].key);
    rests_.remove(slot);
    awake_flag_[slot] = false;
    slots_[slot] = OwnedLimit{};
    free_.push_back(slot);
    WEIR_ASSERT(by_key_.size() + free_.size() == slots_.size());
}

}  // namespace weir::sync

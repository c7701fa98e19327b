#pragma once
// The limits that an owner keeps, each in a slot of one table. A limit is awake while the owner
// looks at it regularly, or it rests until it is heard of again or until its rest ends, when it is
// forgotten. The table is bounded: when it is full, the emptiest of a few limits that nobody uses
// makes room for a new one. Belongs to the control thread; owned by the Owner, whose settings and
// statistics it borrows.
//
// Invariants: each slot holds one limit or is free; a limit is in the list of those awake once at
// most; a pointer to a limit holds until another one is inserted.

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/assert.h"
#include "base/instant.h"
#include "sync/due_queue.h"
#include "sync/messages.h"
#include "sync/owned_limit.h"
#include "sync/settings.h"
#include "sync/statistics.h"
#include "sync/weight_ledger.h"

namespace weir::sync {

/// What becomes of a limit that was awake when it was looked at.
enum class AfterLook : std::uint8_t {
    stays,     ///< it will be looked at again
    rests,     ///< it is not looked at until it is heard of or its rest ends
    forgotten  ///< it leaves the table
};

class OwnedTable {
  public:
    OwnedTable(const SyncSettings& settings, SyncStatistics& statistics, WeightLedger* ledger)
        : settings_(settings), statistics_(statistics), ledger_(ledger) {}

    [[nodiscard]] OwnedLimit* find(const LimitKey& key);
    [[nodiscard]] const OwnedLimit* find(const LimitKey& key) const;
    /// The limit with this slot, below slots(); null if none has it.
    [[nodiscard]] const OwnedLimit* at(std::uint32_t slot) const {
        WEIR_ASSERT(slot < slots_.size());
        return slots_[slot].life == 0 ? nullptr : &slots_[slot];
    }
    [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(slots_.size()); }
    /// Puts an empty limit, not awake yet, into the table, which must not have one with this key.
    /// Null, and counted, when the table is full of limits that somebody uses.
    [[nodiscard]] OwnedLimit* insert(const LimitKey& key, Instant now);
    /// The limit is looked at regularly from now on.
    void wake(OwnedLimit& limit, Instant now);
    [[nodiscard]] bool is_awake(const OwnedLimit& limit) const {
        return awake_flag_[slot_of(limit)];
    }
    /// Forgets limits whose rest is over: a bounded number in each call.
    void end_rests(Instant now);

    /// Calls `visit` with each limit that is awake, and does what it returns (an AfterLook). Limits
    /// may be woken and inserted meanwhile.
    template <typename Visit>
    void visit_awake(Visit visit);
    /// Calls `visit` with every limit, in no order. Limits may be woken meanwhile, not inserted.
    template <typename Visit>
    void visit_all(Visit visit);
    template <typename Visit>
    void visit_all(Visit visit) const;

    [[nodiscard]] std::size_t size() const { return by_key_.size(); }
    [[nodiscard]] std::size_t awake() const { return awake_.size(); }

  private:
    struct KeyHash {
        std::size_t operator()(const LimitKey& key) const { return hash(key); }
    };
    [[nodiscard]] std::uint32_t slot_of(const OwnedLimit& limit) const {
        WEIR_ASSERT(&limit >= slots_.data() && &limit < slots_.data() + slots_.size());
        return static_cast<std::uint32_t>(&limit - slots_.data());
    }
    [[nodiscard]] bool make_room(Instant now);
    void rest(std::uint32_t slot);
    void remove(std::uint32_t slot);

    const SyncSettings& settings_;
    SyncStatistics& statistics_;
    WeightLedger* ledger_;
    std::vector<OwnedLimit> slots_;
    std::vector<bool> awake_flag_;
    std::vector<std::uint32_t> free_;
    std::vector<std::uint32_t> awake_;
    std::unordered_map<LimitKey, std::uint32_t, KeyHash> by_key_;
    std::size_t room_at_ = 0;  // the slot that was looked at last
    DueQueue rests_;  // when limits at rest can be forgotten; a limit stays in it while it is awake
};

template <typename Visit>
void OwnedTable::visit_awake(Visit visit) {
    for (std::size_t i = 0; i < awake_.size();) {
        const std::uint32_t slot = awake_[i];
        const AfterLook after = visit(slots_[slot]);
        if (after == AfterLook::stays) {
            ++i;
            continue;
        }
        WEIR_ASSERT(awake_[i] == slot);  // whoever is woken meanwhile comes behind
        awake_[i] = awake_.back();
        awake_.pop_back();
        if (after == AfterLook::forgotten) {
            remove(slot);
        } else {
            rest(slot);
        }
    }
}

template <typename Visit>
void OwnedTable::visit_all(Visit visit) {
    for (const auto& entry : by_key_) {
        visit(slots_[entry.second]);
    }
}

template <typename Visit>
void OwnedTable::visit_all(Visit visit) const {
    for (const auto& entry : by_key_) {
        visit(slots_[entry.second]);
    }
}

}  // namespace weir::sync

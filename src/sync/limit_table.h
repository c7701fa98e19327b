#pragma once
// A table of limits by their keys. Each limit has a slot, whose number stays the same while other
// limits come and go, so that queues and other tables can name it. The slot of a limit that was
// removed is given to the next one that is added. The caller bounds how many there are.
//
// Thread-safety: none, belongs to the control thread. Ownership: owns the limits; a reference to
// one is valid until that limit is removed. Invariant: every slot has a limit or is free.

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/assert.h"
#include "sync/messages.h"

namespace weir::sync {

/// `Limit` has a member `key`.
template <class Limit>
class LimitTable {
  public:
    /// The slot of this limit; nothing if it is not in the table.
    [[nodiscard]] std::optional<std::uint32_t> find(const LimitKey& key) const {
        const auto known = by_key_.find(key);
        return known == by_key_.end() ? std::nullopt : std::optional(known->second);
    }
    /// Adds a limit, which is as new but for its key, and returns its slot.
    std::uint32_t add(const LimitKey& key) {
        WEIR_ASSERT(!by_key_.contains(key));
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(slots_.size()));
            slots_.emplace_back();
        }
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        slots_[slot] = Limit{};
        slots_[slot].key = key;
        by_key_.emplace(key, slot);
        return slot;
    }
    void remove(std::uint32_t slot) {
        WEIR_ASSERT(slot < slots_.size());
        by_key_.erase(slots_[slot].key);
        slots_[slot] = Limit{};
        free_.push_back(slot);
        WEIR_ASSERT(by_key_.size() + free_.size() == slots_.size());
    }
    [[nodiscard]] Limit& operator[](std::uint32_t slot) {
        WEIR_ASSERT(slot < slots_.size());
        return slots_[slot];
    }
    [[nodiscard]] const Limit& operator[](std::uint32_t slot) const {
        WEIR_ASSERT(slot < slots_.size());
        return slots_[slot];
    }
    /// How many limits there are.
    [[nodiscard]] std::size_t size() const { return by_key_.size(); }
    /// How many slots there are, those included that are free.
    [[nodiscard]] std::size_t slots() const { return slots_.size(); }
    /// Calls visit(key, slot) for every limit.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const auto& [key, slot] : by_key_) {
            visit(key, slot);
        }
    }

  private:
    struct KeyHash {
        std::size_t operator()(const LimitKey& key) const { return hash(key); }
    };
    std::deque<Limit> slots_;  // where a limit stays while others are added
    std::vector<std::uint32_t> free_;
    std::unordered_map<LimitKey, std::uint32_t, KeyHash> by_key_;
};

}  // namespace weir::sync

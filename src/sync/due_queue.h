#pragma once
// Slots of a table by the time at which something is due for them, soonest first. Looking for what
// is due costs nothing for the slots that are not. Not thread-safe.
//
// Invariants: a slot is due once at most; the queue has at most kSpare entries and twice as many as
// there are slots, however often slots are added and removed. When less is due, memory is given
// back. It owns its entries, and knows slots by their numbers only.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/instant.h"
#include "base/mapped_memory.h"

namespace weir::sync {

class DueQueue {
  public:
    static constexpr std::size_t kSpare = 64;

    /// Makes the slot due at this time, unless it is due sooner.
    void add(std::uint32_t slot, Instant when);
    /// Nothing is due for the slot any more.
    void remove(std::uint32_t slot);
    /// What was in one slot, and is due when it was, is in another one now, for which nothing is
    /// due.
    void move(std::uint32_t from, std::uint32_t to);
    /// There are only so many slots now: nothing is due for the others.
    void shrink(std::size_t slots);
    /// Takes the slot that has been due for longest; nothing when none is due by now.
    [[nodiscard]] std::optional<std::uint32_t> take(Instant now);
    /// How many entries there are, with those that were removed or replaced by a sooner time.
    [[nodiscard]] std::size_t size() const { return queue_.size(); }
    [[nodiscard]] std::size_t memory() const {
        return due_.capacity() * sizeof(Instant) + queue_.capacity() * sizeof(Entry);
    }

  private:
    using Entry = std::pair<Instant, std::uint32_t>;
    static constexpr Instant kNever = Instant::max();
    void drop_outdated();

    MappedVector<Instant> due_;  // by slot; kNever for a slot that is not due
    MappedVector<Entry> queue_;  // a heap, whose first entry is the soonest
};

}  // namespace weir::sync

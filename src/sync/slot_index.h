#pragma once
// Finds slots of a table by the hash of what they hold: a hash table with open addressing (linear
// probing, and removal by moving later entries back) of eight bytes an entry, at most five eighths
// full. The table compares what its slots hold itself. Not thread-safe. Owns its entries, and knows
// slots by their numbers only.
//
// Hashes are mixed with a secret, so that nobody can choose names whose entries get in each other's
// way. A slot has at most one entry in one index.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/hash.h"
#include "base/mapped_memory.h"
#include "base/random.h"

namespace weir::sync {

class SlotIndex {
  public:
    /// The secret is drawn from a copy of the generator, so that what the caller draws later is the
    /// same with and without an index; and it is no number of which others see a part.
    explicit SlotIndex(Random copy) : secret_(copy.fork().next()), entries_(kLeast) {}

    /// The slot with this hash for which `is(slot)` holds; nothing if there is none.
    template <class Is>
    [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t hash, Is is) const {
        const std::uint32_t mixed = mix_in(hash);
        for (std::size_t i = home(mixed); entries_[i].slot != kFree; i = next(i)) {
            if (entries_[i].hash == mixed && is(entries_[i].slot)) {
                return entries_[i].slot;
            }
        }
        return std::nullopt;
    }
    /// Adds a slot that has no entry yet.
    void add(std::uint64_t hash, std::uint32_t slot) {
        WEIR_ASSERT(slot != kFree && !place_of(mix_in(hash), slot));
        if ((size_ + 1) * 8 > entries_.size() * 5) {
            resize(entries_.size() * 2);
        }
        put({.hash = mix_in(hash), .slot = slot});
        ++size_;
    }
    /// Nothing if the slot has no entry with this hash.
    void remove(std::uint64_t hash, std::uint32_t slot) {
        const auto place = place_of(mix_in(hash), slot);
        if (!place) {
            return;
        }
        WEIR_ASSERT(size_ > 0);
        free_place(*place);
        --size_;
        if (entries_.size() > kLeast && size_ * 8 < entries_.size()) {
            resize(entries_.size() / 2);
        }
    }
    /// What was in one slot is in another one now. Nothing if the slot has no entry with this hash.
    void move(std::uint64_t hash, std::uint32_t from, std::uint32_t to) {
        if (const auto place = place_of(mix_in(hash), from)) {
            entries_[*place].slot = to;
        }
    }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t memory() const { return entries_.capacity() * sizeof(Entry); }

  private:
    static constexpr std::size_t kLeast = 16;
    static constexpr std::uint32_t kFree = ~std::uint32_t{0};
    struct Entry {
        std::uint32_t hash = 0;
        std::uint32_t slot = kFree;
    };
    using Entries = MappedVector<Entry>;

    [[nodiscard]] std::uint32_t mix_in(std::uint64_t hash) const {
        return static_cast<std::uint32_t>(mix(hash ^ secret_));
    }
    [[nodiscard]] std::size_t home(std::uint32_t mixed) const {
        return mixed & (entries_.size() - 1);
    }
    [[nodiscard]] std::size_t next(std::size_t place) const {
        return (place + 1) & (entries_.size() - 1);
    }
    [[nodiscard]] std::optional<std::size_t> place_of(std::uint32_t mixed,
                                                      std::uint32_t slot) const {
        for (std::size_t i = home(mixed); entries_[i].slot != kFree; i = next(i)) {
            if (entries_[i].slot == slot && entries_[i].hash == mixed) {
                return i;
            }
        }
        return std::nullopt;
    }
    void put(const Entry& entry) {
        std::size_t i = home(entry.hash);
        while (entries_[i].slot != kFree) {
            i = next(i);
        }
        entries_[i] = entry;
    }
    /// Moves back each entry behind that would not be found any more if the place were empty.
    void free_place(std::size_t place) {
        for (std::size_t i = next(place); entries_[i].slot != kFree; i = next(i)) {
            const std::size_t mask = entries_.size() - 1;
            const std::size_t distance = (i - home(entries_[i].hash)) & mask;
            if (distance >= ((i - place) & mask)) {
                entries_[place] = entries_[i];
                place = i;
            }
        }
        entries_[place] = Entry{};
    }
    void resize(std::size_t places) {
        WEIR_ASSERT((places & (places - 1)) == 0 && places > size_);
        const Entries former = std::exchange(entries_, Entries(places));
        for (const Entry& entry : former) {
            if (entry.slot != kFree) {
                put(entry);
            }
        }
    }

    std::uint64_t secret_;
    Entries entries_;
    std::size_t size_ = 0;
};

}  // namespace weir::sync

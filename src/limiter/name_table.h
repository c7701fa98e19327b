#pragma once
// A hash table from the keyed 64-bit hash of a name to two numbers, with open addressing and slots
// of 16 bytes. Names themselves are not compared: under a secret SipHash key, the chance that any
// two of 1,000,000 names have the same hash is 3e-8, and on the wire a quota is its 64-bit hash as
// well.
//
// Thread-safety: any thread inside an Epochs section may call find() and prefetch(), which never
// wait. Everything else is for one writer at a time, which the caller's lock ensures. Ownership:
// grow() gives the old slots to the caller, who frees them when no thread can read them any more.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/assert.h"
#include "limiter/lazy_array.h"

namespace weir::limiter {

struct TableEntry {
    std::uint32_t value = 0;
    std::uint32_t extra = 0;
};

class NameTable {
  public:
    struct Slots;
    /// Values of Slots::Slot::hash in a slot without an entry: never used, or erased.
    static constexpr std::uint64_t kEmpty = 0;
    static constexpr std::uint64_t kTombstone = 1;
    /// A table that is fuller than this is grown.
    static constexpr double kGrowLoad = 0.6;

    explicit NameTable(std::size_t minimum_capacity);
    ~NameTable();

    [[nodiscard]] std::optional<TableEntry> find(std::uint64_t hash) const;
    /// Has the processor fetch the slot at which find() will begin.
    void prefetch(std::uint64_t hash) const;
    /// Adds an entry. The hash must not be in the table yet, and load() must be below 0.9.
    void insert(std::uint64_t hash, TableEntry entry);
    /// Changes an entry in place. Does nothing if there is none with this hash.
    void update(std::uint64_t hash, TableEntry entry);
    void erase(std::uint64_t hash);
    [[nodiscard]] std::size_t size() const { return size_; }
    /// The share of slots that are not empty, 0 to 1.
    [[nodiscard]] double load() const;
    [[nodiscard]] std::size_t bytes() const;
    /// Doubles the capacity, or keeps it if most of the used slots are tombstones. Removes all
    /// tombstones. Returns the old slots.
    [[nodiscard]] std::unique_ptr<Slots> grow();

  private:
    /// A hash that equals one of the two marks is stored as another number.
    static std::uint64_t key_of(std::uint64_t hash) { return hash > kTombstone ? hash : hash + 2; }

    std::atomic<Slots*> slots_;
    std::size_t size_ = 0;
};

/// The memory of a table. Readers may still be looking at the old one after grow().
struct NameTable::Slots {
    struct Slot {
        std::atomic<std::uint64_t> hash;
        std::atomic<std::uint64_t> entry;
    };
    /// The capacity must be a power of two.
    explicit Slots(std::size_t capacity) : mask(capacity - 1), slots(capacity) {
        WEIR_ASSERT(std::has_single_bit(capacity));
    }
    std::size_t mask;
    std::size_t used = 0;  // slots that are not empty: entries and tombstones
    LazyArray<Slot> slots;
};

inline void NameTable::prefetch(std::uint64_t hash) const {
    const Slots& table = *slots_.load(std::memory_order_acquire);
    __builtin_prefetch(&table.slots[key_of(hash) & table.mask], 0, 3);
}

inline std::optional<TableEntry> NameTable::find(std::uint64_t hash) const {
    const Slots& table = *slots_.load(std::memory_order_acquire);
    const std::uint64_t key = key_of(hash);
    for (std::size_t i = key & table.mask, probes = 0; probes <= table.mask; ++probes) {
        const Slots::Slot& slot = table.slots[i];
        const std::uint64_t found = slot.hash.load(std::memory_order_acquire);
        if (found == key) {
            const std::uint64_t entry = slot.entry.load(std::memory_order_acquire);
            if (slot.hash.load(std::memory_order_relaxed) == key) {
                return TableEntry{static_cast<std::uint32_t>(entry),
                                  static_cast<std::uint32_t>(entry >> 32)};
            }
            return std::nullopt;  // erased during this call
        }
        if (found == kEmpty) {
            return std::nullopt;
        }
        i = (i + 1) & table.mask;
    }
    return std::nullopt;
}

}  // namespace weir::limiter

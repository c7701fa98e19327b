#pragma once
// From the keyed 64-bit hash of a name to two numbers: flat open addressing, 16 bytes a slot.
// Names themselves are not compared: under a secret SipHash key two of 1,000,000 names meet with
// chance 3e-8, and on the wire a quota is its 64-bit hash as well (design 5).
//
// find: any thread inside an Epochs section, never waits. Everything else: one writer at a time
// (the caller's lock). A grown table's predecessor is given to the caller, to be freed when no
// thread can still read it.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/assert.h"
#include "limiter/lazy_array.h"

namespace weir::limiter {

struct NameEntry {
    std::uint32_t value = 0;
    std::uint32_t extra = 0;
};

class NameTable {
  public:
    struct Slots;
    /// Marks of slots without an entry.
    static constexpr std::uint64_t kEmpty = 0;
    static constexpr std::uint64_t kTombstone = 1;

    explicit NameTable(std::size_t minimum_capacity);
    ~NameTable();

    [[nodiscard]] std::optional<NameEntry> find(std::uint64_t hash) const;
    /// The hash must not be in the table, and there must be room: load() below 0.9.
    void insert(std::uint64_t hash, NameEntry entry);
    /// Changes an entry in place; nothing if there is none.
    void update(std::uint64_t hash, NameEntry entry);
    void erase(std::uint64_t hash);
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] double load() const;
    [[nodiscard]] std::size_t bytes() const;
    /// Doubles the capacity (or only sweeps tombstones away) and returns the old slots.
    [[nodiscard]] std::unique_ptr<Slots> grow();

  private:
    /// The two marks are not hashes.
    static std::uint64_t key_of(std::uint64_t hash) { return hash > kTombstone ? hash : hash + 2; }

    std::atomic<Slots*> slots_;
    std::size_t size_ = 0;
};

/// What a reader may still be looking at after grow().
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
    std::size_t used = 0;  // not empty: entries and tombstones
    LazyArray<Slot> slots;
};

inline std::optional<NameEntry> NameTable::find(std::uint64_t hash) const {
    const Slots& table = *slots_.load(std::memory_order_acquire);
    const std::uint64_t key = key_of(hash);
    for (std::size_t i = key & table.mask, probes = 0; probes <= table.mask; ++probes) {
        const Slots::Slot& slot = table.slots[i];
        const std::uint64_t found = slot.hash.load(std::memory_order_acquire);
        if (found == key) {
            const std::uint64_t entry = slot.entry.load(std::memory_order_acquire);
            if (slot.hash.load(std::memory_order_relaxed) == key) {
                return NameEntry{static_cast<std::uint32_t>(entry),
                                 static_cast<std::uint32_t>(entry >> 32)};
            }
            return std::nullopt;  // erased under our eyes
        }
        if (found == kEmpty) {
            return std::nullopt;
        }
        i = (i + 1) & table.mask;
    }
    return std::nullopt;
}

}  // namespace weir::limiter

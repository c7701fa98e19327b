#include "limiter/name_table.h"

#include <bit>

#include "base/assert.h"

namespace weir::limiter {
namespace {

constexpr std::uint64_t kEmpty = NameTable::kEmpty;
constexpr std::uint64_t kTombstone = NameTable::kTombstone;

std::uint64_t pack_entry(TableEntry entry) {
    return static_cast<std::uint64_t>(entry.extra) << 32 | entry.value;
}

using Slots = NameTable::Slots;

Slots::Slot* find_slot(Slots& table, std::uint64_t key) {
    for (std::size_t i = key & table.mask;; i = (i + 1) & table.mask) {
        Slots::Slot& slot = table.slots[i];
        const std::uint64_t found = slot.hash.load(std::memory_order_relaxed);
        if (found == key) {
            return &slot;
        }
        if (found == kEmpty) {
            return nullptr;
        }
    }
}

void insert_key(Slots& table, std::uint64_t key, std::uint64_t entry) {
    std::size_t i = key & table.mask;
    std::uint64_t found = table.slots[i].hash.load(std::memory_order_relaxed);
    while (found > kTombstone) {
        i = (i + 1) & table.mask;
        found = table.slots[i].hash.load(std::memory_order_relaxed);
    }
    table.used += found == kEmpty ? 1 : 0;
    WEIR_ASSERT(table.used <= table.mask);  // there must be an empty slot, at which searches end
    // A reader that has seen the slot's former hash reads the hash again after the entry. Because
    // of the release it sees at least the tombstone that was there in between.
    table.slots[i].entry.store(entry, std::memory_order_release);
    table.slots[i].hash.store(key, std::memory_order_release);
}

}  // namespace

NameTable::NameTable(std::size_t minimum_capacity)
    : slots_(std::make_unique<Slots>(std::bit_ceil(minimum_capacity)).release()) {}

NameTable::~NameTable() { delete slots_.load(std::memory_order_relaxed); }

void NameTable::insert(std::uint64_t hash, TableEntry entry) {
    Slots& table = *slots_.load(std::memory_order_relaxed);
    WEIR_ASSERT(table.used < table.mask);
    insert_key(table, key_of(hash), pack_entry(entry));
    ++size_;
}

void NameTable::update(std::uint64_t hash, TableEntry entry) {
    if (Slots::Slot* slot = find_slot(*slots_.load(std::memory_order_relaxed), key_of(hash))) {
        slot->entry.store(pack_entry(entry), std::memory_order_release);
    }
}

void NameTable::erase(std::uint64_t hash) {
    Slots& table = *slots_.load(std::memory_order_relaxed);
    Slots::Slot* slot = find_slot(table, key_of(hash));
    if (slot == nullptr) {
        return;
    }
    WEIR_ASSERT(size_ > 0);
    --size_;
    slot->hash.store(kTombstone, std::memory_order_release);
    std::size_t i = static_cast<std::size_t>(slot - &table.slots[0]);
    const std::size_t next = (i + 1) & table.mask;
    if (table.slots[next].hash.load(std::memory_order_relaxed) != kEmpty) {
        return;
    }
    // The next slot is empty, so this tombstone and those in front of it are not needed.
    while (table.slots[i].hash.load(std::memory_order_relaxed) == kTombstone) {
        WEIR_ASSERT(table.used > size_);
        table.slots[i].hash.store(kEmpty, std::memory_order_release);
        --table.used;
        i = (i - 1) & table.mask;
    }
}

double NameTable::load() const {
    const Slots& table = *slots_.load(std::memory_order_relaxed);
    return static_cast<double>(table.used) / static_cast<double>(table.mask + 1);
}

std::size_t NameTable::bytes() const {
    return (slots_.load(std::memory_order_relaxed)->mask + 1) * sizeof(Slots::Slot);
}

std::unique_ptr<NameTable::Slots> NameTable::grow() {
    Slots* old = slots_.load(std::memory_order_relaxed);
    const std::size_t capacity = old->mask + 1;
    const bool mostly_tombstones = size_ < capacity / 4;
    auto larger = std::make_unique<Slots>(mostly_tombstones ? capacity : capacity * 2);
    for (std::size_t i = 0; i < capacity; ++i) {
        const std::uint64_t key = old->slots[i].hash.load(std::memory_order_relaxed);
        if (key > kTombstone) {
            insert_key(*larger, key, old->slots[i].entry.load(std::memory_order_relaxed));
        }
    }
    WEIR_ASSERT(larger->used == size_);  // entries only
    slots_.store(larger.release(), std::memory_order_release);
    return std::unique_ptr<Slots>(old);
}

}  // namespace weir::limiter

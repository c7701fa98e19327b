#pragma once
// The state that one worker thread has for itself: its random generator, its place in the epochs,
// its figures, the list of limits that it touched, and the names that it recently looked up in vain
// or could make no instance for.
//
// Thread-safety: only its own thread writes it. The control thread reads the atomics and empties
// the list of limits.
// Ownership: the limiter's ThreadContexts own all of them.

#include <array>
#include <atomic>
#include <cstdint>

#include "base/assert.h"
#include "base/random.h"
#include "limiter/epochs.h"
#include "limiter/lazy_array.h"

namespace weir::limiter {

/// A bounded queue of record ids with one writing and one reading thread.
class ActiveList {
  public:
    static constexpr std::uint32_t kCapacity = 1 << 15;

    /// False when the queue is full.
    [[nodiscard]] bool push(std::uint32_t record) {
        WEIR_ASSERT(record != 0);
        const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
        if (tail - head_.load(std::memory_order_acquire) == kCapacity) {
            return false;
        }
        records_[tail % kCapacity] = record;
        tail_.store(tail + 1, std::memory_order_release);
        return true;
    }
    /// The oldest id, or 0 when the queue is empty.
    [[nodiscard]] std::uint32_t pop() {
        const std::uint32_t head = head_.load(std::memory_order_relaxed);
        if (head == tail_.load(std::memory_order_acquire)) {
            return 0;
        }
        const std::uint32_t record = records_[head % kCapacity];
        WEIR_ASSERT(record != 0);
        head_.store(head + 1, std::memory_order_release);
        return record;
    }

  private:
    LazyArray<std::uint32_t> records_{kCapacity};
    alignas(64) std::atomic<std::uint32_t> head_{0};
    alignas(64) std::atomic<std::uint32_t> tail_{0};
};

/// A number that one thread changes and any thread reads.
template <class T>
struct Figure {
    std::atomic<T> value{0};
    void add(T amount) {
        value.store(value.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }
    [[nodiscard]] T get() const { return value.load(std::memory_order_relaxed); }
};

/// What one thread counted for one definition; see DefinitionStatistics.
struct DefinitionFigures {
    Figure<double> offered;
    Figure<double> admitted;
    Figure<double> refused;
    Figure<double> shadow_refused;
    Figure<double> refunded;
    Figure<std::uint64_t> overflowed;
    Figure<std::uint64_t> waited;
};

/// A direct-mapped cache of names, by their hash: of those that were looked up in vain, and of
/// those that got no instance of their own because of contention. An entry counts only for the
/// version of the definitions with which it was made.
class NameCache {
  public:
    [[nodiscard]] bool contains(std::uint64_t hash, std::uint32_t version) const {
        const Entry& entry = entries_[hash % kEntries];
        return entry.hash == hash && entry.version == version;
    }
    void insert(std::uint64_t hash, std::uint32_t version) {
        entries_[hash % kEntries] = {hash, version};
    }

  private:
    static constexpr std::size_t kEntries = 1024;
    struct Entry {
        std::uint64_t hash = 0;
        std::uint32_t version = 0;
    };
    std::array<Entry, kEntries> entries_{};
};

class ThreadContext {
  public:
    ThreadContext(std::uint64_t seed, std::size_t statistics) : random(seed), figures(statistics) {}

    Epochs::Slot epoch;
    Random random;
    ActiveList active;
    NameCache misses;
    NameCache contended_names;
    LazyArray<DefinitionFigures> figures;
    Figure<std::uint64_t> overflowed;
    Figure<std::uint64_t> contended;
    Figure<std::uint64_t> active_dropped;
    Figure<std::uint64_t> clamped_weights;
};

}  // namespace weir::limiter

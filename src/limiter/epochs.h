#pragma once
// Quiescent-state reclamation: memory that has been unlinked may be used again once no thread can
// hold a pointer to it. A thread enters before it looks anything up, and leaves when it holds no
// pointer any more. An idle thread is outside and does not delay the reuse of memory.
//
// Thread-safety: enter() and leave() are for the slot's own thread, retire() and oldest() for any.
// Ownership: a slot belongs to its thread's context.
// Invariant: an object that was retired at epoch e is seen by no thread once oldest() exceeds e.

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace weir::limiter {

class Epochs {
  public:
    static constexpr std::uint64_t kOutside = ~std::uint64_t{0};
    struct alignas(64) Slot {
        std::atomic<std::uint64_t> entered{kOutside};
    };

    void enter(Slot& slot) {
        if (slot.entered.load(std::memory_order_relaxed) == kOutside) {
            slot.entered.store(current_.load(std::memory_order_acquire), std::memory_order_relaxed);
            // Either oldest() sees this store, or the look-ups of this thread from here on see the
            // unlinking.
            std::atomic_thread_fence(std::memory_order_seq_cst);
        }
    }
    static void leave(Slot& slot) { slot.entered.store(kOutside, std::memory_order_release); }

    /// To be called after an object was unlinked. The object may be freed once oldest() exceeds the
    /// result.
    std::uint64_t retire() { return current_.fetch_add(1, std::memory_order_seq_cst); }

    /// The oldest epoch that some thread may still be in.
    template <class Slots>
    [[nodiscard]] std::uint64_t oldest(const Slots& slots) const {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        std::uint64_t oldest = current_.load(std::memory_order_acquire);
        for (const Slot* slot : slots) {
            oldest = std::min(oldest, slot->entered.load(std::memory_order_acquire));
        }
        return oldest;
    }

  private:
    std::atomic<std::uint64_t> current_{0};
};

}  // namespace weir::limiter

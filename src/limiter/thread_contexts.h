#pragma once
// The contexts of all threads that check requests, in the order in which they were registered. The
// limiter owns one ThreadContexts; contexts live as long as it does.
//
// Thread-safety: calls of add() must not overlap; any thread may make them, as the embedding
// library does under its lock. The other functions may run on any thread at the same time.
// Invariant: a context is never moved or freed, so references to it stay valid.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/assert.h"
#include "limiter/epochs.h"
#include "limiter/limiter_options.h"
#include "limiter/thread_context.h"

namespace weir::limiter {

class ThreadContexts {
  public:
    /// Registers a thread. `seed` is of its random generator; `figures` is the number of slots that
    /// it has for the figures of definitions.
    ThreadContext& add(std::uint64_t seed, std::size_t figures) {
        const std::uint32_t index = count_.load(std::memory_order_relaxed);
        WEIR_ASSERT(index < kMaxThreads);  // whoever registers threads bounds their number
        contexts_[index] = std::make_unique<ThreadContext>(seed, figures);
        count_.store(index + 1, std::memory_order_release);
        return *contexts_[index];
    }

    template <class Visit>
    void for_each(Visit visit) const {
        const std::uint32_t count = count_.load(std::memory_order_acquire);
        for (std::uint32_t i = 0; i < count; ++i) {
            WEIR_ASSERT(contexts_[i] != nullptr);
            visit(*contexts_[i]);
        }
    }

    /// The oldest epoch that some thread may still be in.
    [[nodiscard]] std::uint64_t oldest(const Epochs& epochs) const {
        std::array<const Epochs::Slot*, kMaxThreads> slots{};
        std::size_t count = 0;
        for_each([&](const ThreadContext& thread) {
            WEIR_ASSERT(count < slots.size());
            slots[count++] = &thread.epoch;
        });
        return epochs.oldest(std::span(slots).first(count));
    }

  private:
    std::array<std::unique_ptr<ThreadContext>, kMaxThreads> contexts_;
    std::atomic<std::uint32_t> count_{0};
};

}  // namespace weir::limiter

#pragma once
// How many requests wait for each instance, of all threads together. A queue of a quota is bounded
// by this count, and while it is above 0 the instance's record says so (kWaiting), so that requests
// that come later do not overtake. wait_queues.h has who waits
// in which order.
//
// Thread-safety: any thread may call anything; no function takes a lock or waits.
// Ownership: it owns its slots. It holds the instances for which somebody waits, so that they are
// not dropped as idle.
// Invariants: a slot belongs to one instance for as long as its count is above 0. When two threads
// begin the first two places of an instance at the same moment, it may get two slots; then twice as
// many may wait.

#include <array>
#include <atomic>
#include <cstdint>

#include "limiter/decision.h"
#include "limiter/instance_store.h"

namespace weir::limiter {

class Waiting {
  public:
    explicit Waiting(InstanceStore& store) : store_(store) {}

    /// Takes a place for this live instance if fewer than `most` have one.
    [[nodiscard]] WaitPlace begin(std::uint32_t instance, std::uint32_t most);
    void end(const WaitPlace& place);
    /// How many wait for this instance now.
    [[nodiscard]] std::uint32_t count(std::uint32_t instance) const;

  private:
    static constexpr std::uint32_t kProbes = 8;
    /// Has the instance's record say that somebody waits.
    void confirm(const WaitPlace& place);
    [[nodiscard]] std::uint32_t slot_at(std::uint64_t key, std::uint32_t probe) const;
    [[nodiscard]] bool join(std::uint32_t slot, std::uint64_t key, std::uint32_t most, bool fresh);

    InstanceStore& store_;
    /// The instance's id and generation in the upper half, the count in the lower; 0 = free.
    std::array<std::atomic<std::uint64_t>, kWaitSlots> slots_{};
};

}  // namespace weir::limiter

#pragma once
// The bounds of one limiter, given when it is made and never changed. A plain value.

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/instant.h"

namespace weir::limiter {

/// Worker threads of one limiter.
inline constexpr std::size_t kMaxThreads = 64;

struct LimiterOptions {
    /// Live instances of templates; at most 12,000,000.
    std::uint32_t max_instances = 1'000'000;
    /// Seed of the secret key under which names are hashed. Threads have seeds of their own.
    std::uint64_t seed = 0;
    /// The largest weight of a request; what is heavier counts as this.
    double max_weight = 1e12;
    /// An instance that has been empty and unused for so long is dropped.
    Duration idle_after = std::chrono::seconds(60);
    /// An instance that was used in this time is never replaced by another.
    Duration busy_for = std::chrono::seconds(1);
    /// Of one template; 0 stands for max_instances.
    std::uint32_t max_instances_per_template = 0;
    /// Of one instance; 0 stands for max_instances.
    std::uint32_t max_children_per_parent = 0;
    /// Definitions with figures of their own; all others share one line.
    std::uint32_t max_statistics = 4096;
    /// Limits that carry a view of the fleet.
    std::uint32_t max_views = 1'000'000;
    /// How often a worker tries to get the lock for making an instance before it uses the overflow
    /// instance instead. Making an instance takes a microsecond or two. With 0 a worker never gets
    /// the lock, which tests use.
    std::uint32_t creation_tries = 4096;
};

}  // namespace weir::limiter

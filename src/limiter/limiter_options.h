#pragma once
// The bounds of one limiter, given when it is made and never changed. A plain value.

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/instant.h"

namespace weir::limiter {

/// The largest number of worker threads of one limiter.
inline constexpr std::size_t kMaxThreads = 64;

/// For so long after its last use an instance never makes room for another, unless the options say
/// otherwise. Who corrects a charge later than that holds it (Limiter::hold()).
inline constexpr Duration kBusyFor = std::chrono::seconds(1);

struct LimiterOptions {
    /// The largest number of live instances of templates. May be at most 12,000,000.
    std::uint32_t max_instances = 1'000'000;
    /// Seed of the secret key under which names are hashed. Threads have seeds of their own.
    std::uint64_t seed = 0;
    /// The largest weight of a request, in any unit. A heavier request counts as this.
    double max_weight = 1e12;
    /// An instance that has been empty and unused for this time is dropped.
    Duration idle_after = std::chrono::seconds(60);
    /// An instance that was used in this time is never replaced by another.
    Duration busy_for = kBusyFor;
    /// The largest number of live instances of one template, unless its definition has a bound of
    /// its own. 0 stands for max_instances.
    std::uint32_t max_instances_per_template = 0;
    /// The largest number of live children of one instance, unless its definition has a bound of
    /// its own. 0 stands for max_instances.
    std::uint32_t max_children_per_parent = 0;
    /// How many definitions have figures of their own; all others share one row of figures.
    std::uint32_t max_statistics = 4096;
    /// The largest number of limits that are synchronised with the fleet at the same time.
    std::uint32_t max_views = 1'000'000;
    /// How often a worker tries to take the creation lock before it goes on without an instance of
    /// the name's own (see LeafId). Making an instance takes one or two microseconds. With 0, which
    /// is for tests, a worker never gets the lock.
    std::uint32_t creation_tries = 4096;
};

}  // namespace weir::limiter

#pragma once
// The random generators of an engine's parts, all derived from one seed. Plain values.

#include <cstdint>

#include "base/random.h"

namespace weir::engine {

/// The order in which the generators are derived must not change: runs of the simulator are
/// compared byte for byte with earlier ones.
struct Generators {
    explicit Generators(std::uint64_t seed) : Generators(Random(seed)) {}

    Random reporter;
    Random owner;
    Random transport;
    std::uint64_t store;
    Random exchange;

  private:
    explicit Generators(Random random)
        : reporter(random.fork()),
          owner(random.fork()),
          transport(random.fork()),
          store(random.next()),
          exchange(random.fork()) {}
};

}  // namespace weir::engine

#pragma once
// The generators of an engine's parts, all drawn from one seed. Plain values.

#include <cstdint>

#include "base/random.h"

namespace weir::engine {

/// What every part draws its own choices from, in the order in which a run has always drawn them:
/// the simulator's runs repeat byte for byte.
struct Seeds {
    explicit Seeds(std::uint64_t seed) : Seeds(Random(seed)) {}

    Random reporter;
    Random owner;
    Random transport;
    std::uint64_t store;
    Random exchange;

  private:
    explicit Seeds(Random random)
        : reporter(random.fork()),
          owner(random.fork()),
          transport(random.fork()),
          store(random.next()),
          exchange(random.fork()) {}
};

}  // namespace weir::engine

#pragma once
// The operating system's entropy, from which a process takes the one seed of all its generators.
// Thread-safe. It keeps nothing.

#include <cstdint>

namespace weir::net {

[[nodiscard]] std::uint64_t system_seed();

}  // namespace weir::net

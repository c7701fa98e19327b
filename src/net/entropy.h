#pragma once
// The system's entropy: the one seed from which everything random in a process grows.
// Thread-safe.

#include <cstdint>

namespace weir::net {

[[nodiscard]] std::uint64_t system_seed();

}  // namespace weir::net

#pragma once
// Addresses that lead back to this machine. Pure functions, thread-safe.

#include <cstdint>

#include "base/endpoint.h"

namespace weir {

/// 127.0.0.1
[[nodiscard]] Endpoint loopback_address(std::uint16_t port);
/// Whether the address is one of 127.0.0.0/8 or ::1.
[[nodiscard]] bool is_loopback(const Endpoint& endpoint);

}  // namespace weir

#pragma once
// Turns an Address into socket addresses. Names block in getaddrinfo: for start-up and reload, not
// for event loops (cluster/seed_resolver.h does it without blocking). Thread-safe.

#include <vector>

#include "base/result.h"
#include "net/address.h"
#include "net/socket_address.h"

namespace weir::net {

/// At least one address: of a unix socket or literal address that one, of a name all that it has,
/// in the system's order of preference, at most kMaxResolved.
inline constexpr std::size_t kMaxResolved = 64;
[[nodiscard]] Result<std::vector<SocketAddress>> resolve(const Address& address);

}  // namespace weir::net

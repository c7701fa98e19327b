#pragma once
// Turns an Address into socket addresses. A host name is looked up with getaddrinfo, which blocks:
// this is for start-up and reload, not for event loops (cluster/seed_resolver.h looks up without
// blocking). Thread-safe. It keeps nothing.

#include <vector>

#include "base/result.h"
#include "net/address.h"
#include "net/socket_address.h"

namespace weir::net {

/// At least one socket address. A unix socket or a literal address gives one; a host name gives all
/// of its addresses in the system's order of preference, at most kMaxResolved. A name that cannot
/// be found is an error `not_found`.
inline constexpr std::size_t kMaxResolved = 64;
[[nodiscard]] Result<std::vector<SocketAddress>> resolve(const Address& address);

}  // namespace weir::net

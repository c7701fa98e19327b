#pragma once
// Converts between Endpoint or Address and the kernel's sockaddr. Functions without state,
// thread-safe.

#include <sys/socket.h>

#include <string>

#include "base/endpoint.h"
#include "base/result.h"

namespace weir::net {

/// A sockaddr of any family, with its length.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;

    [[nodiscard]] int family() const { return storage.ss_family; }
    [[nodiscard]] const sockaddr* get() const {
        return reinterpret_cast<const sockaddr*>(&storage);
    }
    [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    [[nodiscard]] bool is_unix() const { return family() == AF_UNIX; }
};

/// AF_INET for IPv4 endpoints, AF_INET6 for others.
[[nodiscard]] SocketAddress to_socket_address(const Endpoint& endpoint);
/// AF_INET6 for every endpoint, for sockets that handle both families.
[[nodiscard]] SocketAddress to_v6_socket_address(const Endpoint& endpoint);
/// AF_UNIX; a leading '@' means the abstract name space. The path must fit into a sockaddr_un,
/// which the parser of Address checks.
[[nodiscard]] SocketAddress to_unix_socket_address(const std::string& path);
/// The Endpoint of a socket address; all zero for families other than AF_INET and AF_INET6.
[[nodiscard]] Endpoint to_endpoint(const SocketAddress& address);
/// The address that a socket is bound to.
[[nodiscard]] Result<SocketAddress> local_address(int descriptor);
/// An Error of code `io`: `what`, then the system's text for errno `number`.
[[nodiscard]] Error system_error(std::string_view what, int number);

}  // namespace weir::net

#pragma once
// Where to listen or connect: a TCP host and port, or a unix socket. A plain value. resolve.h looks
// names up.

#include <cstdint>
#include <optional>
#include <string>

#include "base/endpoint.h"

namespace weir::net {

struct Address {
    /// A host name or a literal address without brackets; empty for a unix socket.
    std::string host;
    std::uint16_t port = 0;
    /// Path of a unix socket; a leading '@' means Linux's abstract name space.
    std::string path;

    [[nodiscard]] bool is_unix() const { return !path.empty(); }
    /// The endpoint if the host is a literal address; nothing for host names and unix sockets.
    [[nodiscard]] std::optional<Endpoint> literal() const;
    friend bool operator==(const Address&, const Address&) = default;

    [[nodiscard]] static Address from(const Endpoint& endpoint);
};

/// Writes "10.0.0.1:80", "[::1]:80", "name:80" or "unix:/run/app.sock".
[[nodiscard]] std::string to_string(const Address& address);

}  // namespace weir::net

#pragma once
// Where to listen or connect, as written in configuration: a TCP host and port or a unix socket.
// A plain value; parsing never looks a name up (resolve.h does).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/endpoint.h"
#include "base/result.h"

namespace weir::net {

struct Address {
    /// A host name or a literal address without brackets; empty for a unix socket.
    std::string host;
    std::uint16_t port = 0;
    /// Path of a unix socket; a leading '@' stands for Linux' abstract name space.
    std::string path;

    [[nodiscard]] bool is_unix() const { return !path.empty(); }
    /// The endpoint if the host is a literal address, nothing for names and unix sockets.
    [[nodiscard]] std::optional<Endpoint> literal() const;
    friend bool operator==(const Address&, const Address&) = default;

    [[nodiscard]] static Address from(const Endpoint& endpoint);
};

/// "0.0.0.0:8080", "[::1]:8080", ":8080" (every address), "localhost:8080" or
/// "unix:/run/weir.sock".
[[nodiscard]] Result<Address> parse_listen_address(std::string_view text);

/// The same with an optional "http://" in front; the port defaults to 80 if that is given.
/// "https://" and a path behind the port are errors that say so.
[[nodiscard]] Result<Address> parse_upstream_address(std::string_view text);

/// "10.0.0.1:80", "[::1]:80", "name:80" or "unix:/run/app.sock".
[[nodiscard]] std::string to_string(const Address& address);

}  // namespace weir::net

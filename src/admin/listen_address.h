#pragma once
// Where a status or admin listener listens: a TCP address or a unix socket's path.

#include <string>
#include <string_view>

#include "base/endpoint.h"
#include "base/result.h"

namespace weir::admin {

struct ListenAddress {
    Endpoint tcp;
    /// Not empty for a unix socket; `tcp` is unused then.
    std::string unix_path;

    [[nodiscard]] bool is_unix() const { return !unix_path.empty(); }
    /// Only processes of this machine can reach it.
    [[nodiscard]] bool is_local() const;
};

/// "127.0.0.1:9901", "[::1]:9901" or "unix:/run/weir/admin.sock".
[[nodiscard]] Result<ListenAddress> parse_listen_address(std::string_view text);
[[nodiscard]] std::string to_string(const ListenAddress& address);

}  // namespace weir::admin

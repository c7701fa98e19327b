#pragma once
// Who sent a request, as far as routing needs it. Plain values; the functions are pure and
// thread-safe.

#include <optional>
#include <span>

#include "base/address_block.h"
#include "base/endpoint.h"

namespace weir::http {
class Fields;
}

namespace weir::routing {

struct Client {
    /// Who is connected; Endpoint{} for a client of a unix socket, which has no address.
    Endpoint address{};
    /// It may state weights, and say of whom its request is.
    bool trusted = false;
    /// It asks about a request that somebody else has sent (/check), so `address` is not that of
    /// the sender.
    bool asks = false;
    /// The proxies that may say of whom a request is.
    std::span<const AddressBlock> proxies{};
};

/// The address of whoever sent the request: the last one of X-Forwarded-For that is not one of the
/// trusted proxies, if a trusted client says that field, and else the address of the client itself.
/// Nothing if it is not known. At most kMostProxies addresses of the field are looked at.
[[nodiscard]] std::optional<Endpoint> sender_of(const http::Fields& fields, const Client& client);
inline constexpr std::size_t kMostProxies = 64;

}  // namespace weir::routing

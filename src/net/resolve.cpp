#include "net/resolve.h"

#include <netdb.h>

#include <cstring>
#include <memory>

namespace weir::net {

Result<std::vector<SocketAddress>> resolve(const Address& address) {
    if (address.is_unix()) {
        return std::vector{to_unix_socket_address(address.path)};
    }
    if (const auto literal = address.literal()) {
        return std::vector{to_socket_address(*literal)};
    }
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_ADDRCONFIG;
    addrinfo* found = nullptr;
    const int problem =
        ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
    if (problem != 0) {
        return error(ErrorCode::not_found,
                     "looking up " + address.host + ": " + ::gai_strerror(problem));
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
    std::vector<SocketAddress> addresses;
    for (auto* item = found; item != nullptr && addresses.size() < kMaxResolved;
         item = item->ai_next) {
        SocketAddress one;
        std::memcpy(&one.storage, item->ai_addr, item->ai_addrlen);
        one.length = item->ai_addrlen;
        addresses.push_back(one);
    }
    return addresses;
}

}  // namespace weir::net

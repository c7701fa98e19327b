#include "net/socket_address.h"

#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

namespace weir::net {
namespace {

constexpr std::size_t kMappedPrefix = 12;  // ::ffff:0:0/96

template <class T>
SocketAddress store(const T& concrete, std::size_t length) {
    SocketAddress address;
    std::memcpy(&address.storage, &concrete, sizeof(concrete));
    address.length = static_cast<socklen_t>(length);
    return address;
}

}  // namespace

SocketAddress to_socket_address(const Endpoint& endpoint) {
    if (!endpoint.is_v4()) {
        return to_v6_socket_address(endpoint);
    }
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    std::memcpy(&v4.sin_addr, endpoint.address.data() + kMappedPrefix, sizeof(v4.sin_addr));
    return store(v4, sizeof(v4));
}

SocketAddress to_v6_socket_address(const Endpoint& endpoint) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(endpoint.port);
    std::memcpy(&v6.sin6_addr, endpoint.address.data(), sizeof(v6.sin6_addr));
    return store(v6, sizeof(v6));
}

SocketAddress to_unix_socket_address(const std::string& path) {
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    const auto size = std::min(path.size(), sizeof(local.sun_path) - 1);
    std::memcpy(local.sun_path, path.data(), size);
    const bool abstract = path.starts_with('@');
    if (abstract) {
        local.sun_path[0] = '\0';
    }
    return store(local, offsetof(sockaddr_un, sun_path) + size + (abstract ? 0 : 1));
}

Endpoint to_endpoint(const SocketAddress& address) {
    if (address.family() == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &address.storage, sizeof(v4));
        return Endpoint::v4(ntohl(v4.sin_addr.s_addr), ntohs(v4.sin_port));
    }
    Endpoint endpoint;
    if (address.family() != AF_INET6) {
        return endpoint;
    }
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address.storage, sizeof(v6));
    std::memcpy(endpoint.address.data(), &v6.sin6_addr, endpoint.address.size());
    endpoint.port = ntohs(v6.sin6_port);
    return endpoint;
}

Result<SocketAddress> local_address(int descriptor) {
    SocketAddress address;
    address.length = sizeof(address.storage);
    if (::getsockname(descriptor, address.get(), &address.length) != 0) {
        return system_error("getsockname", errno);
    }
    return address;
}

Error system_error(std::string_view what, int number) {
    return error(ErrorCode::io, std::string(what) + ": " + std::generic_category().message(number));
}

}  // namespace weir::net

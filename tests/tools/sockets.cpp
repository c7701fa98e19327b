#include "tools/sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "base/endpoint.h"

namespace weir::tools {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr int kBacklog = 4096;

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    [[nodiscard]] const sockaddr* get() const {
        return reinterpret_cast<const sockaddr*>(&storage);
    }
};

SocketAddress unix_address(std::string_view path) {
    SocketAddress result;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
        throw std::runtime_error("the unix socket's path is too long: " + std::string(path));
    }
    path.copy(address.sun_path, path.size());
    std::memcpy(&result.storage, &address, sizeof(address));
    result.size = sizeof(address);
    return result;
}

SocketAddress internet_address(const Endpoint& endpoint) {
    SocketAddress result;
    if (endpoint.is_v4()) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(endpoint.port);
        std::memcpy(&address.sin_addr, endpoint.address.data() + 12, 4);
        std::memcpy(&result.storage, &address, sizeof(address));
        result.size = sizeof(address);
    } else {
        sockaddr_in6 address{};
        address.sin6_family = AF_INET6;
        address.sin6_port = htons(endpoint.port);
        std::memcpy(&address.sin6_addr, endpoint.address.data(), 16);
        std::memcpy(&result.storage, &address, sizeof(address));
        result.size = sizeof(address);
    }
    return result;
}

SocketAddress parse_address(const std::string& text) {
    if (text.starts_with(kUnixPrefix)) {
        return unix_address(std::string_view(text).substr(kUnixPrefix.size()));
    }
    const auto endpoint = parse_endpoint(text);
    if (!endpoint) {
        throw std::runtime_error("not an address: " + text);
    }
    return internet_address(*endpoint);
}

int open_socket(int family) {
    const int descriptor = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
        throw std::runtime_error(std::string("socket: ") + std::strerror(errno));
    }
    const int on = 1;
    ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (family != AF_UNIX) {
        ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    return descriptor;
}

}  // namespace

int listen_on(const std::string& address) {
    const SocketAddress target = parse_address(address);
    if (target.storage.ss_family == AF_UNIX) {
        ::unlink(address.c_str() + kUnixPrefix.size());
    }
    const int descriptor = open_socket(target.storage.ss_family);
    if (::bind(descriptor, target.get(), target.size) != 0 || ::listen(descriptor, kBacklog) != 0) {
        throw std::runtime_error("listen on " + address + ": " + std::strerror(errno));
    }
    return descriptor;
}

std::string bound_address(int listener, const std::string& address) {
    if (address.starts_with(kUnixPrefix)) {
        return address;
    }
    sockaddr_storage bound{};
    socklen_t size = sizeof(bound);
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &size);
    Endpoint endpoint = *parse_endpoint(address);
    // sin_port and sin6_port lie at the same place.
    endpoint.port = ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
    return to_string(endpoint);
}

int accept_from(int listener) {
    const int descriptor = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) {
        const int on = 1;  // fails on a unix socket, which needs it not
        ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    return descriptor;
}

int connect_to(const std::string& address) {
    const SocketAddress target = parse_address(address);
    const int descriptor = open_socket(target.storage.ss_family);
    if (::connect(descriptor, target.get(), target.size) != 0 && errno != EINPROGRESS) {
        ::close(descriptor);
        return -1;
    }
    return descriptor;
}

}  // namespace weir::tools

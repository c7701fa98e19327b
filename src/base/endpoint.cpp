#include "base/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace weir {
namespace {

constexpr std::array<std::uint8_t, 12> kV4Prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

std::optional<std::uint16_t> parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (text.empty() || code != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return port;
}

}  // namespace

Endpoint Endpoint::v4(std::uint32_t host_order, std::uint16_t port) {
    Endpoint endpoint;
    std::copy(kV4Prefix.begin(), kV4Prefix.end(), endpoint.address.begin());
    for (std::size_t i = 0; i < 4; ++i) {
        endpoint.address[12 + i] = static_cast<std::uint8_t>(host_order >> (24 - 8 * i));
    }
    endpoint.port = port;
    return endpoint;
}

bool Endpoint::is_v4() const {
    return std::equal(kV4Prefix.begin(), kV4Prefix.end(), address.begin());
}

std::string to_string(const Endpoint& endpoint) {
    std::array<char, INET6_ADDRSTRLEN> buffer{};
    const std::string port = std::to_string(endpoint.port);
    if (endpoint.is_v4()) {
        ::inet_ntop(AF_INET, endpoint.address.data() + 12, buffer.data(), buffer.size());
        return std::string(buffer.data()) + ":" + port;
    }
    ::inet_ntop(AF_INET6, endpoint.address.data(), buffer.data(), buffer.size());
    return "[" + std::string(buffer.data()) + "]:" + port;
}

std::optional<Endpoint> parse_endpoint(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        return std::nullopt;
    }
    const auto port = parse_port(text.substr(colon + 1));
    if (!port) {
        return std::nullopt;
    }
    std::string host(text.substr(0, colon));
    Endpoint endpoint;
    if (host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
        if (::inet_pton(AF_INET6, host.c_str(), endpoint.address.data()) != 1) {
            return std::nullopt;
        }
    } else {
        std::copy(kV4Prefix.begin(), kV4Prefix.end(), endpoint.address.begin());
        if (::inet_pton(AF_INET, host.c_str(), endpoint.address.data() + 12) != 1) {
            return std::nullopt;
        }
    }
    endpoint.port = *port;
    return endpoint;
}

}  // namespace weir

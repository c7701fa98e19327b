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
    const bool v4 = endpoint.is_v4();
    std::string text = v4 ? "" : "[";
    append_address(text, endpoint);
    text += v4 ? ":" : "]:";
    text += std::to_string(endpoint.port);
    return text;
}

void append_address(std::string& out, const Endpoint& endpoint) {
    if (!endpoint.is_v4()) {
        std::array<char, INET6_ADDRSTRLEN> buffer{};
        ::inet_ntop(AF_INET6, endpoint.address.data(), buffer.data(), buffer.size());
        out += buffer.data();
        return;
    }
    // inet_ntop() takes ten times as long, by way of printf().
    for (std::size_t i = kV4Prefix.size(); i < endpoint.address.size(); ++i) {
        std::array<char, 3> digits{};
        const auto end =
            std::to_chars(digits.data(), digits.data() + digits.size(), endpoint.address[i]).ptr;
        out.append(i == kV4Prefix.size() ? "" : ".");
        out.append(digits.data(), end);
    }
}

std::optional<Endpoint> parse_address(std::string_view text) {
    std::array<char, INET6_ADDRSTRLEN> buffer{};
    if (text.size() >= buffer.size() || text.find('\0') != std::string_view::npos) {
        return std::nullopt;
    }
    std::copy(text.begin(), text.end(), buffer.begin());
    Endpoint endpoint;
    if (text.find(':') != std::string_view::npos) {
        if (::inet_pton(AF_INET6, buffer.data(), endpoint.address.data()) != 1) {
            return std::nullopt;
        }
        return endpoint;
    }
    std::copy(kV4Prefix.begin(), kV4Prefix.end(), endpoint.address.begin());
    if (::inet_pton(AF_INET, buffer.data(), endpoint.address.data() + kV4Prefix.size()) != 1) {
        return std::nullopt;
    }
    return endpoint;
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
    auto host = text.substr(0, colon);
    const bool v6 = host.front() == '[' && host.back() == ']';
    if (v6) {
        host = host.substr(1, host.size() - 2);
    }
    // Only an IPv6 address has colons, and it stands in brackets.
    auto endpoint =
        v6 == (host.find(':') != std::string_view::npos) ? parse_address(host) : std::nullopt;
    if (endpoint) {
        endpoint->port = *port;
    }
    return endpoint;
}

}  // namespace weir

#pragma once
// A UDP or TCP address as a plain value: an IPv4 or IPv6 address and a port. This header needs no
// socket headers.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

struct Endpoint {
    /// An IPv6 address in network order. An IPv4 address is kept as ::ffff:a.b.c.d (RFC 4291,
    /// 2.5.5.2).
    std::array<std::uint8_t, 16> address{};
    std::uint16_t port = 0;

    static Endpoint v4(std::uint32_t address_host_order, std::uint16_t port);
    [[nodiscard]] bool is_v4() const;
    friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

/// "10.1.2.3:7946" or "[2001:db8::1]:7946".
[[nodiscard]] std::string to_string(const Endpoint& endpoint);
/// Reads the form that to_string() writes; nothing when the text is not a literal address with a
/// port from 0 to 65535.
[[nodiscard]] std::optional<Endpoint> parse_endpoint(std::string_view text);

/// Reads an address alone, such as "10.1.2.3" or "2001:db8::1", without brackets and port (which is
/// 0 then). Allocates nothing.
[[nodiscard]] std::optional<Endpoint> parse_address(std::string_view text);
/// Appends the address alone, in the form of RFC 5952.
void append_address(std::string& out, const Endpoint& endpoint);

}  // namespace weir

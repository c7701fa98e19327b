#pragma once
// Host and authority (RFC 9110, 4.2 and 7.2), stricter than RFC 3986's reg-name: letters, digits,
// '-', '.', '_' or an IPv6 address in brackets, then perhaps a port. Pure functions.

#include <string_view>

namespace weir::http {

/// "name", "name:80", "10.0.0.1:80", "[::1]:80"; at most 255 bytes and a port.
[[nodiscard]] bool is_valid_host(std::string_view host);

}  // namespace weir::http

#pragma once
// Checks Host and authority (RFC 9110, 4.2 and 7.2). The rules are stricter than those of RFC
// 3986's reg-name: letters, digits, '-', '.' and '_', or an IPv6 address in brackets, then perhaps
// a port. Pure functions, thread-safe.

#include <string_view>

namespace weir::http {

/// Whether the text is a valid host, such as "name", "name:80", "10.0.0.1:80" or "[::1]:80": at
/// most 255 bytes and a port.
[[nodiscard]] bool is_valid_host(std::string_view host);

}  // namespace weir::http

#include "http/host_name.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/characters.h"
#include "http/words.h"

namespace weir::http {
namespace {

constexpr std::size_t kMaxName = 255;

bool is_valid_port(std::string_view port) {
    if (port.empty() || port.size() > 5) {
        return false;
    }
    unsigned value = 0;
    for (const char c : port) {
        if (!is_digit(c)) {
            return false;
        }
        value = value * 10 + static_cast<unsigned>(c - '0');
    }
    return value <= 65535;
}

/// Whether this is an IPv6 address in brackets (RFC 3986, 3.2.2), without a zone.
bool is_bracketed_address(std::string_view name) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (name.size() < 4 || name.size() - 2 >= text.size()) {
        return false;
    }
    if (name.front() != '[' || name.back() != ']') {
        return false;
    }
    copy_bytes(text.data(), name.substr(1, name.size() - 2));
    std::array<unsigned char, 16> address{};
    return ::inet_pton(AF_INET6, text.data(), address.data()) == 1;
}

constexpr CharacterSet kNameCharacters("-._");

/// The offset at which the name at the front ends. Nothing if a dot is misplaced.
std::optional<std::size_t> end_of_name(std::string_view host) {
    char before = '.';
    for (std::size_t i = 0; i < host.size(); ++i) {
        const char c = host[i];
        if (!kNameCharacters.contains(c)) {
            return i;
        }
        if (c == '.' && before == '.') {
            return std::nullopt;
        }
        before = c;
    }
    return host.size();
}

}  // namespace

bool is_valid_host(std::string_view host) {
    if (host.starts_with('[')) {
        const auto colon = host.find(':', std::min(host.rfind(']'), host.size()));
        if (colon != std::string_view::npos && !is_valid_port(host.substr(colon + 1))) {
            return false;
        }
        return is_bracketed_address(host.substr(0, colon));
    }
    const auto end = end_of_name(host);
    if (!end || *end == 0 || *end > kMaxName) {
        return false;
    }
    return *end == host.size() || (host[*end] == ':' && is_valid_port(host.substr(*end + 1)));
}

}  // namespace weir::http

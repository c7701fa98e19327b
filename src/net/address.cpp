#include "net/address.h"

#include <sys/un.h>

#include <charconv>
#include <utility>

namespace weir::net {
namespace {

constexpr std::size_t kMaxUnixPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::size_t kMaxHostName = 253;  // RFC 1035, 2.3.4, without the root's dot

Error bad(std::string_view text, std::string_view why) {
    return error(ErrorCode::invalid_argument,
                 "\"" + std::string(text) + "\" is not an address: " + std::string(why));
}

bool is_host_character(char character) {
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           (character >= '0' && character <= '9') || character == '-' || character == '.' ||
           character == '_';
}

bool is_host_name(std::string_view host) {
    if (host.empty() || host.size() > kMaxHostName) {
        return false;
    }
    for (const char character : host) {
        if (!is_host_character(character)) {
            return false;
        }
    }
    return true;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (problem != std::errc() || end != text.data() + text.size() || text.empty()) {
        return {};
    }
    return port;
}

Result<Address> parse_unix(std::string_view text, std::string_view path) {
    if (path.empty() || path == "@") {
        return bad(text, "the path of the unix socket is empty");
    }
    if (path.size() > kMaxUnixPath) {
        return bad(text, "the path of the unix socket is too long");
    }
    if (path.find('\0') != std::string_view::npos) {
        return bad(text, "the path holds a zero byte");
    }
    return Address{.host = {}, .port = 0, .path = std::string(path)};
}

/// Host and what follows its colon; the brackets of an IPv6 address are taken off.
struct Split {
    std::string_view host;
    std::optional<std::string_view> port;
    bool bracketed = false;
};

std::optional<Split> split_host(std::string_view text) {
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == std::string_view::npos) {
            return {};
        }
        Split split{.host = text.substr(1, end - 1), .port = {}, .bracketed = true};
        const auto rest = text.substr(end + 1);
        if (rest.empty()) {
            return split;
        }
        if (!rest.starts_with(':')) {
            return {};
        }
        split.port = rest.substr(1);
        return split;
    }
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return Split{.host = text, .port = {}};
    }
    if (text.find(':') != colon) {
        return {};
    }
    return Split{.host = text.substr(0, colon), .port = text.substr(colon + 1)};
}

Result<Address> parse_tcp(std::string_view text, std::string_view host_and_port,
                          std::optional<std::uint16_t> default_port, bool may_be_everywhere) {
    const auto split = split_host(host_and_port);
    if (!split) {
        return bad(text, "expected host:port, with an IPv6 address in brackets");
    }
    std::optional<std::uint16_t> port = default_port;
    if (split->port) {
        port = parse_port(*split->port);
    }
    if (!port) {
        return bad(text, "the port must be a number from 0 to 65535");
    }
    auto host = split->host;
    if (host.empty() && may_be_everywhere && !split->bracketed) {
        host = "0.0.0.0";
    }
    Address address{.host = std::string(host), .port = *port, .path = {}};
    const bool good = split->bracketed ? address.literal().has_value() : is_host_name(host);
    if (!good) {
        return bad(text, "the host is neither a name nor a literal address");
    }
    return address;
}

}  // namespace

std::optional<Endpoint> Address::literal() const {
    if (is_unix() || host.empty()) {
        return {};
    }
    const bool v6 = host.find(':') != std::string::npos;
    return parse_endpoint((v6 ? "[" + host + "]" : host) + ":" + std::to_string(port));
}

Address Address::from(const Endpoint& endpoint) {
    const auto text = weir::to_string(endpoint);
    const auto split = split_host(text);
    return {.host = std::string(split->host), .port = endpoint.port, .path = {}};
}

Result<Address> parse_listen_address(std::string_view text) {
    if (text.starts_with("unix:")) {
        return parse_unix(text, text.substr(5));
    }
    return parse_tcp(text, text, {}, true);
}

Result<Address> parse_upstream_address(std::string_view text) {
    if (text.starts_with("unix:")) {
        return parse_unix(text, text.substr(5));
    }
    if (text.starts_with("https://")) {
        return bad(text, "TLS to the upstream is not in this version; use http:// or unix:");
    }
    std::optional<std::uint16_t> default_port;
    auto rest = text;
    if (rest.starts_with("http://")) {
        rest.remove_prefix(7);
        if (rest.ends_with('/')) {
            rest.remove_suffix(1);
        }
        default_port = 80;
    }
    if (rest.find('/') != std::string_view::npos) {
        return bad(text, "a path has no place here: paths are forwarded as they come");
    }
    return parse_tcp(text, rest, default_port, false);
}

std::string to_string(const Address& address) {
    if (address.is_unix()) {
        return "unix:" + address.path;
    }
    const bool v6 = address.host.find(':') != std::string::npos;
    return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace weir::net

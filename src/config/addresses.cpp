// The functions of values.h that parse addresses.

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/characters.h"
#include "config/guesses.h"
#include "config/values.h"

namespace weir::config {
namespace {

constexpr std::uint16_t kGossipPort = 7946;
constexpr std::uint16_t kHttpPort = 80;
constexpr std::string_view kUnixScheme = "unix:";
/// The longest path that fits into sockaddr_un with its closing zero.
constexpr std::size_t kMaxUnixPath = 107;

Error address_error(std::string_view text, const std::string& what) {
    return error(ErrorCode::invalid_argument, "'" + std::string(text.substr(0, 200)) + "' " + what);
}

Result<std::string> unix_path(std::string_view text) {
    std::string path(text.substr(kUnixScheme.size()));
    if (path.empty() || path.front() != '/') {
        return address_error(text, "needs an absolute path, like unix:/run/weir.sock");
    }
    if (path.size() > kMaxUnixPath) {
        return address_error(text, "is longer than the " + std::to_string(kMaxUnixPath) +
                                       " bytes that a unix socket's path may have");
    }
    return path;
}

std::optional<Endpoint> literal(std::string_view host, std::uint16_t port) {
    const bool is_v6 = host.find(':') != std::string_view::npos;
    const std::string text = is_v6 ? "[" + std::string(host) + "]" : std::string(host);
    return parse_endpoint(text + ":" + std::to_string(port));
}

struct HostPort {
    std::string_view host;  ///< without brackets
    std::optional<std::uint16_t> port;
};

/// Reads "host:port", "host", "[v6]:port" or "[v6]"; nothing if the text is none of these.
std::optional<HostPort> split_host_port(std::string_view text) {
    HostPort split;
    std::string_view rest;
    if (text.starts_with("[")) {
        const std::size_t close = text.find(']');
        if (close == std::string_view::npos || close == 1) {
            return std::nullopt;
        }
        split.host = text.substr(1, close - 1);
        rest = text.substr(close + 1);
    } else {
        const std::size_t colon = std::min(text.find(':'), text.size());
        split.host = text.substr(0, colon);
        rest = text.substr(colon);
    }
    if (rest.empty()) {
        return split;
    }
    std::uint16_t port = 0;
    const auto [end, code] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), port);
    if (rest.front() != ':' || rest.size() < 2 || code != std::errc{} ||
        end != rest.data() + rest.size()) {
        return std::nullopt;
    }
    split.port = port;
    return split;
}

/// Whether the text has only the characters that resolvers accept: letters, digits, dots, dashes
/// and underscores.
bool is_host_name(std::string_view host) {
    const auto fits = [](char c) { return is_alphanumeric(c) || c == '.' || c == '-' || c == '_'; };
    return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), fits);
}

constexpr const char* kListenGrammar =
    "is not an address to listen on, like 0.0.0.0:8080, [::]:8080 or unix:/run/weir.sock";

}  // namespace

std::string to_string(const ListenAddress& address) {
    return address.is_unix() ? "unix:" + address.path : weir::to_string(address.endpoint);
}

std::string host_of(const UpstreamAddress& address) {
    if (address.is_unix()) {
        return "localhost";
    }
    const bool is_v6 = address.host.find(':') != std::string::npos;
    const std::string host = is_v6 ? "[" + address.host + "]" : address.host;
    return host + ":" + std::to_string(address.port);
}

std::string to_string(const UpstreamAddress& address) {
    return address.is_unix() ? "unix:" + address.path : "http://" + host_of(address);
}

bool trusts(const ServingSettings& settings, const Endpoint& client) {
    return settings.trusted_proxies && contains(*settings.trusted_proxies, client);
}

bool passes_forwarded(const ServingSettings& settings, const Endpoint& client) {
    return !settings.trusted_proxies || trusts(settings, client);
}

Result<Endpoint> parse_udp_address(std::string_view text) {
    const auto split = split_host_port(text);
    if (!split || !split->port) {
        return address_error(text, "is not an address and a port, like 0.0.0.0:7946 or [::]:7946");
    }
    const std::string_view host = split->host == "localhost" ? "127.0.0.1" : split->host;
    const auto endpoint = literal(host.empty() ? "0.0.0.0" : host, *split->port);
    if (!endpoint) {
        return address_error(text, "needs a literal address, like 0.0.0.0:7946, not a name");
    }
    return *endpoint;
}

Result<ListenAddress> parse_listen_address(std::string_view text) {
    ListenAddress address;
    if (text.starts_with(kUnixScheme)) {
        auto path = unix_path(text);
        if (!path) {
            return path.error();
        }
        address.path = std::move(*path);
        return address;
    }
    const auto endpoint = parse_udp_address(text);
    if (!endpoint) {
        return address_error(text, kListenGrammar + did_you_mean(guess_listen_address(text)));
    }
    address.endpoint = *endpoint;
    return address;
}

Result<UpstreamAddress> parse_upstream_address(std::string_view text) {
    UpstreamAddress address;
    if (text.starts_with(kUnixScheme)) {
        auto path = unix_path(text);
        if (!path) {
            return path.error();
        }
        address.path = std::move(*path);
        return address;
    }
    if (text.starts_with("https://")) {
        return address_error(text, "asks for TLS to the upstream, which is not in this version");
    }
    const bool has_scheme = text.starts_with("http://");
    std::string_view rest = has_scheme ? text.substr(7) : text;
    if (has_scheme && !rest.empty() && rest.back() == '/') {
        rest.remove_suffix(1);
    }
    if (rest.find_first_of("/?#@") != std::string_view::npos) {
        return address_error(text,
                             "may name a host and a port only: paths are forwarded as they come");
    }
    const auto split = split_host_port(rest);
    const bool is_host =
        split && (is_host_name(split->host) || literal(split->host, 0).has_value());
    if (!is_host || (!split->port && !has_scheme) || split->port == std::uint16_t{0}) {
        return address_error(text,
                             "is not an upstream, like http://127.0.0.1:3000, app:3000 or "
                             "unix:/run/app.sock");
    }
    address.host = std::string(split->host);
    address.port = split->port.value_or(kHttpPort);
    return address;
}

Result<Seed> parse_seed(std::string_view text) {
    constexpr std::string_view kScheme = "dns://";
    const bool has_scheme = text.starts_with(kScheme);
    const auto split = split_host_port(has_scheme ? text.substr(kScheme.size()) : text);
    if (!split || split->port == std::uint16_t{0}) {
        return address_error(text, "is not a seed, like dns://weir-peers:7946 or 10.0.0.7:7946");
    }
    Seed seed;
    seed.host = std::string(split->host);
    seed.port = split->port.value_or(kGossipPort);
    seed.literal = literal(split->host, seed.port);
    if (!seed.literal && !has_scheme) {
        return address_error(text, "is a name: write dns://" + std::string(text.substr(0, 200)));
    }
    if (!seed.literal && !is_host_name(split->host)) {
        return address_error(text, "is not a seed, like dns://weir-peers:7946 or 10.0.0.7:7946");
    }
    return seed;
}

Result<AddressBlock> parse_address_block(std::string_view text) {
    const std::size_t slash = text.find('/');
    const auto base = literal(text.substr(0, slash), 0);
    if (!base) {
        return address_error(text, "is not a block of addresses, like 10.0.0.0/8 or 2001:db8::/32");
    }
    constexpr unsigned kMappedBits = 96;
    const unsigned offset = base->is_v4() ? kMappedBits : 0;
    AddressBlock block{*base, 128};
    if (slash != std::string_view::npos) {
        const auto bits = parse_unsigned(text.substr(slash + 1));
        if (!bits || *bits > 128 - offset) {
            return address_error(text, "has a prefix length that its address cannot have");
        }
        block.prefix_bits = static_cast<unsigned>(*bits) + offset;
    }
    for (unsigned bit = block.prefix_bits; bit < 128; ++bit) {
        if ((block.base.address[bit / 8] & (0x80U >> (bit % 8))) != 0) {
            return address_error(text, "has bits behind its prefix");
        }
    }
    return block;
}

}  // namespace weir::config

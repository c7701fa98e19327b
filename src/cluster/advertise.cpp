#include "cluster/advertise.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/loopback.h"
#include "net/socket_address.h"

namespace weir::cluster {
namespace {

struct FreeInterfaces {
    void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};

bool is_link_local(const Endpoint& endpoint) {
    const auto& a = endpoint.address;
    if (endpoint.is_v4()) {
        return a[12] == 169 && a[13] == 254;
    }
    return a[0] == 0xfe && (a[1] & 0xc0) == 0x80;
}

Endpoint with_port(Endpoint endpoint, std::uint16_t port) {
    endpoint.port = port;
    return endpoint;
}

std::optional<Endpoint> parse_address(const std::string& text, std::uint16_t port) {
    const bool is_v6 = text.find(':') != std::string::npos;
    return parse_endpoint((is_v6 ? "[" + text + "]" : text) + ":" + std::to_string(port));
}

/// Whether a socket bound to `bound` can send to the address: one bound to :: sends to both
/// families, one bound to 0.0.0.0 only to IPv4.
bool reaches(const Endpoint& bound, const Endpoint& address) {
    return !bound.is_v4() || address.is_v4();
}

std::optional<Endpoint> first_interface(const AdvertiseInputs& inputs, bool loopback) {
    for (const Endpoint& address : inputs.interfaces) {
        if (is_loopback(address) == loopback && reaches(inputs.bound, address)) {
            return address;
        }
    }
    return std::nullopt;
}

}  // namespace

bool is_unspecified(const Endpoint& endpoint) {
    const auto begin = endpoint.address.begin() + (endpoint.is_v4() ? 12 : 0);
    return std::all_of(begin, endpoint.address.end(), [](std::uint8_t b) { return b == 0; });
}

Result<Endpoint> choose_advertised(const AdvertiseInputs& inputs) {
    const std::uint16_t port = inputs.bound.port;
    if (inputs.configured) {
        if (is_unspecified(*inputs.configured)) {
            return error(ErrorCode::invalid_argument, "cluster.advertise: peers cannot send to " +
                                                          to_string(*inputs.configured));
        }
        return with_port(*inputs.configured,
                         inputs.configured->port == 0 ? port : inputs.configured->port);
    }
    if (!inputs.pod_ip.empty()) {
        const auto address = parse_address(inputs.pod_ip, port);
        if (!address || is_unspecified(*address)) {
            return error(ErrorCode::invalid_argument,
                         "POD_IP is not an address: " + inputs.pod_ip.substr(0, 64));
        }
        return *address;
    }
    if (!is_unspecified(inputs.bound)) {
        return inputs.bound;
    }
    auto address = first_interface(inputs, false);
    if (!address) {
        address = first_interface(inputs, true);
    }
    if (!address) {
        return error(ErrorCode::not_found,
                     "no interface has an address to advertise; set cluster.advertise or POD_IP");
    }
    return with_port(*address, port);
}

std::vector<Endpoint> interface_addresses() {
    ifaddrs* raw = nullptr;
    if (::getifaddrs(&raw) != 0) {
        return {};
    }
    const std::unique_ptr<ifaddrs, FreeInterfaces> list(raw);
    std::vector<Endpoint> addresses;
    for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) {
            continue;
        }
        const int family = entry->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) {
            continue;
        }
        net::SocketAddress address;
        address.length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        std::memcpy(&address.storage, entry->ifa_addr, address.length);
        const Endpoint endpoint = with_port(net::to_endpoint(address), 0);
        if (!is_link_local(endpoint)) {
            addresses.push_back(endpoint);
        }
    }
    return addresses;
}

}  // namespace weir::cluster

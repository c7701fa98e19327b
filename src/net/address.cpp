#include "net/address.h"

#include <utility>

namespace weir::net {

std::optional<Endpoint> Address::literal() const {
    if (is_unix() || host.empty()) {
        return {};
    }
    const bool v6 = host.find(':') != std::string::npos;
    return parse_endpoint((v6 ? "[" + host + "]" : host) + ":" + std::to_string(port));
}

Address Address::from(const Endpoint& endpoint) {
    const std::string text = weir::to_string(endpoint);
    std::string host = text.substr(0, text.rfind(':'));
    if (host.starts_with('[')) {
        host = host.substr(1, host.size() - 2);
    }
    return {.host = std::move(host), .port = endpoint.port, .path = {}};
}

std::string to_string(const Address& address) {
    if (address.is_unix()) {
        return "unix:" + address.path;
    }
    const bool v6 = address.host.find(':') != std::string::npos;
    return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace weir::net

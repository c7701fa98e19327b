#pragma once
// What the proxy is told: ServerSettings hold for the life of a Server, a Snapshot may be replaced
// while it runs (reload). Plain values, immutable once handed over; a Snapshot is shared by the
// worker threads, which read it only.
//
// Timeouts, bounds and header switches are config's structs, with their defaults.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "config/settings.h"
#include "net/address.h"
#include "net/socket_address.h"

namespace weir::routing {
class Router;
}

namespace weir::proxy {

class AccessLog;

using config::AccessLogMode;

/// Everything that a reload may change. Requests in flight keep what they began with.
struct Snapshot {
    std::shared_ptr<const routing::Router> router{};
    /// Where requests go: the addresses of one service, tried in this order when one refuses.
    std::vector<net::SocketAddress> upstream{};
    config::TimeoutSettings timeouts{};
    config::LimitSettings limits{};
    config::HeaderSettings headers{};
    std::vector<config::AddressBlock> trusted_proxies{};
    /// Who may say that a request has been judged.
    std::vector<config::AddressBlock> judging_proxies{};
    /// Who may ask on the check listener; empty: everybody.
    std::vector<config::AddressBlock> check_clients{};
    AccessLogMode access_log = AccessLogMode::off;
    /// A front tier: what is decided is charged by the tier behind.
    bool peek = false;
};

struct ServerSettings {
    /// TCP (port 0: the kernel chooses) or a unix socket. A host name is looked up by start().
    net::Address listen{};
    /// Where other proxies ask (/check); nothing: nowhere.
    std::optional<net::Address> check{};
    /// Event loops, each on a thread of its own; 0: one per core that this process may use.
    unsigned workers = 0;
    /// Clients, all workers together; further ones wait in the kernel's backlog.
    std::size_t connections = 10'000;
    /// Descriptors that the proxy leaves to others (admin, gossip, files).
    std::size_t spare_descriptors = 32;
    config::DrainSettings drain{};
    /// Feeds the generators of the workers.
    std::uint64_t seed = 0;
    /// Called on the worker threads; nullptr: none. Must outlive the server.
    AccessLog* access_log = nullptr;
};

}  // namespace weir::proxy

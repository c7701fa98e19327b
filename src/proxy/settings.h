#pragma once
// The settings of the proxy. ServerSettings hold for the life of a Server; a Snapshot can be
// replaced while it runs (reload). Plain values that must not change once the server has them: the
// worker threads share a Snapshot and only read it.
//
// Timeouts, bounds and header switches are structs of config, with its defaults.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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

/// Everything that a reload may change. A request that is served keeps the snapshot with which it
/// began, except that it connects to the upstream's addresses of now.
struct Snapshot : config::ServingSettings {
    std::shared_ptr<const routing::Router> router{};
    /// Where requests are forwarded to: the addresses of one service. When one refuses, the next
    /// one is tried.
    std::vector<net::SocketAddress> upstream{};
    /// The upstream's name and port as a Host field has them, for requests that name no host.
    std::string upstream_host = "localhost";
    /// The clients that may use the check listener; empty: all.
    std::vector<AddressBlock> check_clients{};
};

struct ServerSettings {
    /// Where clients connect: TCP (port 0: the kernel chooses one) or a unix socket. start() looks
    /// a host name up.
    net::Address listen{};
    /// Where other proxies send checks (/check); nothing: there is no such listener.
    std::optional<net::Address> check{};
    /// Event loops, each on a thread of its own; 0: one per core that this process may use.
    unsigned workers = 0;
    /// The most client connections of all workers together. Further ones wait in the kernel's
    /// backlog.
    std::size_t connections = 10'000;
    /// Descriptors that the proxy leaves to the rest of the process (admin, gossip, files).
    std::size_t spare_descriptors = 32;
    config::DrainSettings drain{};
    /// Seeds the random generators of the workers.
    std::uint64_t seed = 0;
    /// Called on the worker threads; nullptr: none. Must outlive the server.
    AccessLog* access_log = nullptr;
};

}  // namespace weir::proxy

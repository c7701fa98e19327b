#pragma once
// A proxy in front of a fake upstream, on loopback with ports that the kernel chooses. It has one
// worker unless a test wants more, so that counts and the pool's state are predictable.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "limiter/limiter.h"
#include "proxy/fake_upstream.h"
#include "proxy/http_text.h"
#include "proxy/server.h"
#include "proxy/socket_io.h"
#include "routing/router.h"

namespace weir::proxy::testing {

/// Waits until the condition holds; false after kPatience.
bool eventually(const std::function<bool()>& condition);

/// The median of five runs: a single delay of the machine makes only one of them long.
Duration middle_of_five(const std::function<Duration()>& go);

/// The default settings with more time to connect than the 250 ms for a local upstream, because a
/// busy machine may not run the proxy for so long, and without time for an upstream to restart, so
/// that tests of refused connections need not wait.
Snapshot patient_snapshot();

class Fixture {
  public:
    struct Options {
        ServerSettings server;
        Snapshot snapshot = patient_snapshot();
        std::vector<limiter::QuotaDefinition> quotas;
        routing::RoutingSettings routing;
        /// The upstream's addresses, in place of the fake upstream's.
        std::vector<net::SocketAddress> upstream;
        std::string upstream_path;  ///< the fake upstream listens on this unix socket
    };

    Fixture() : Fixture(Options{}) {}
    explicit Fixture(const Options& options);
    ~Fixture();

    [[nodiscard]] SocketIo connect() const;
    /// A connection to the check listener.
    [[nodiscard]] SocketIo connect_check() const;
    /// Sends one request on a connection of its own and reads the whole answer.
    [[nodiscard]] Message ask(std::string_view request) const;
    [[nodiscard]] Message get(std::string_view path) const;

    [[nodiscard]] ProxyStatistics statistics() const { return server->statistics(); }
    /// Waits until no request is in flight, because an answer reaches its client before it is
    /// counted.
    [[nodiscard]] std::uint64_t operator[](Ending ending) const;
    [[nodiscard]] std::uint64_t operator[](Event event) const { return statistics()[event]; }
    /// The weight that the quota has admitted and refused.
    [[nodiscard]] double admitted(std::string_view quota) const;
    [[nodiscard]] double refused(std::string_view quota) const;
    [[nodiscard]] double counted(std::string_view quota,
                                 double limiter::DefinitionStatistics::*member) const;
    /// Waits until so many requests have ended.
    [[nodiscard]] bool finished(std::uint64_t requests) const;
    [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const { return snapshot_; }

    FakeUpstream upstream;
    limiter::Limiter limiter;

  private:
    std::shared_ptr<const Snapshot> snapshot_;

  public:
    std::unique_ptr<Server> server;
};

/// A quota `name` with so many requests per period (a hard edge unless the rate is high).
[[nodiscard]] limiter::QuotaDefinition quota(std::string name, double amount, Duration period);
/// Routes by which every request is charged to this quota.
[[nodiscard]] routing::RoutingSettings route_all_to(std::string quota);

}  // namespace weir::proxy::testing

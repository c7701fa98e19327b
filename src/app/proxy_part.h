#pragma once
// The proxy of a process, if its role has one: a sidecar's does, an anchor's does not. Without a
// proxy every function below does nothing, and every count is 0, so that the rest of the process
// need not ask which it is.
//
// Thread-safety: for the control thread. Ownership: owns the server; the limiter and the access log
// that open() is given must outlive it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/live_settings.h"
#include "config/settings.h"
#include "proxy/server.h"

namespace weir::app {

class ProxyPart {
  public:
    /// Opens the proxy's listeners and begins to serve, if the role has a proxy. The error names
    /// what failed. To be called once.
    [[nodiscard]] Result<void> open(const config::Settings& settings, limiter::Limiter& limiter,
                                    LiveSettings& live, std::uint64_t seed);
    /// Whether there is a proxy, and it serves.
    [[nodiscard]] bool is_open() const { return server_ != nullptr; }

    // As in proxy::Server.
    void replace(std::shared_ptr<const proxy::Snapshot> snapshot);
    void shed(bool on);
    void bound_buffers(std::size_t bytes);
    void drain();
    /// Without a proxy `stopped` is called at once, on this thread.
    void stop(std::function<void()> stopped);
    void stop_now();
    void join();
    [[nodiscard]] proxy::ProxyStatistics statistics() const;
    [[nodiscard]] std::size_t most_connections() const;
    [[nodiscard]] std::vector<std::string> take_unknown_names();

    /// How many requests found no connection to the upstream so far.
    [[nodiscard]] std::uint64_t upstream_failures() const;
    /// How often clients had to wait so far, or lost their place, because all connections were in
    /// use.
    [[nodiscard]] std::uint64_t crowded() const;
    /// Where clients connect, and where other proxies ask; "none" if there is no such listener.
    [[nodiscard]] std::string listening() const;
    [[nodiscard]] std::string checking() const;
    [[nodiscard]] unsigned workers() const;

  private:
    std::unique_ptr<proxy::Server> server_;
};

}  // namespace weir::app

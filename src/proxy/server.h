#pragma once
// The HTTP/1.1 reverse proxy: one event loop per core, each with its own listening socket
// (SO_REUSEPORT), client connections, upstream pool, timers and counters. The loops share the
// limiter and nothing else.
//
// Thread-safety: start() and the destructor belong to one thread; everything else may be called
// from any thread while the server is running. Ownership: owns its threads and sockets; limiter
// and access log must outlive it. Nothing here throws.
//
//     start() ──► serving ──drain()──► draining ──stop()──► finishing ──► stopped
//
// Serving: connections are kept alive. Draining: still accepts and serves, but every answer says
// Connection: close. Finishing: accepts until drain.keep_accepting has passed since draining began,
// then closes the listeners and idle connections, and waits up to drain.grace for requests in
// flight.

#include <functional>
#include <memory>

#include "base/instant.h"
#include "base/result.h"
#include "net/address.h"
#include "proxy/settings.h"
#include "proxy/statistics.h"

namespace weir::limiter {
class Limiter;
}

namespace weir::proxy {

class Server {
  public:
    /// As many threads as may use a limiter.
    static constexpr unsigned kMaxWorkers = 64;

    Server(const ServerSettings& settings, limiter::Limiter& limiter,
           std::shared_ptr<const Snapshot> snapshot);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    /// Stops at once if it still runs.
    ~Server();

    /// Binds the listeners and starts the threads. An error leaves nothing behind.
    [[nodiscard]] Result<void> start();

    /// Requests whose heads arrive from now on are served by this snapshot.
    void replace(std::shared_ptr<const Snapshot> snapshot);

    /// Memory is short: until it is switched off, requests are answered with 503 and their
    /// connections closed. Checks go on: they hold nothing.
    void shed(bool on);
    /// What all buffers may take in bytes; beyond it transfers get small ones.
    void bound_buffers(std::size_t bytes);

    /// Idempotent.
    void drain();
    /// Drains if drain() was not called, then finishes as above; returns at once. `stopped` is
    /// called once, on a worker's thread, when the last worker has ended. Later calls change
    /// nothing.
    void stop(std::function<void()> stopped);
    /// Closes everything now.
    void stop_now();
    /// Waits until all workers have ended.
    void join();

    [[nodiscard]] bool draining() const;
    /// Where clients connect: the port is known even if 0 was asked for. Valid after start().
    [[nodiscard]] const net::Address& listening() const;
    /// Where other proxies ask; empty if they may not.
    [[nodiscard]] const net::Address& checking() const;
    [[nodiscard]] unsigned workers() const;
    [[nodiscard]] Statistics statistics() const;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace weir::proxy

#pragma once
// The HTTP/1.1 reverse proxy. It has one event loop per core, and each loop has a listening socket
// (SO_REUSEPORT), client connections, an upstream pool, timers and counters of its own. The loops
// share the limiter and a few counts (SharedState).
//
// Thread-safety: start() and the destructor belong to one thread; everything else may be called
// from any thread while the server is running. Ownership: owns its threads and sockets; limiter
// and access log must outlive it. Nothing here throws.
//
//     start() ──► serving ──drain()──► draining ──stop()──► finishing ──► stopped
//
// Serving: connections are kept alive. Draining: the server still accepts and serves, but every
// answer says Connection: close. Finishing: it accepts until drain.keep_accepting has passed since
// draining began, then closes the listeners and idle connections, and waits up to drain.grace for
// requests in flight.

#include <functional>
#include <memory>
#include <string>
#include <vector>

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
    /// The number of threads that may use one limiter.
    static constexpr unsigned kMaxWorkers = 64;

    Server(const ServerSettings& settings, limiter::Limiter& limiter,
           std::shared_ptr<const Snapshot> snapshot);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    /// Closes everything at once if the server still runs, and waits for the threads.
    ~Server();

    /// Binds the listeners and starts the threads. After an error no thread runs and no socket is
    /// open. Errors: `invalid_argument` for more than kMaxWorkers workers, `conflict` when a port
    /// is in use, `not_found` when a host name is unknown, `io` when the system refuses a socket.
    [[nodiscard]] Result<void> start();

    /// Requests whose heads arrive from now on are served with this snapshot.
    void replace(std::shared_ptr<const Snapshot> snapshot);

    /// While `on`, requests are answered with 503 and their connections closed, because memory is
    /// short. Checks are still answered: they take no memory.
    void shed(bool on);
    /// The bytes that all buffers together may take. Beyond them transfers get small buffers.
    void bound_buffers(std::size_t bytes);

    /// Begins to drain. Later calls change nothing.
    void drain();
    /// Drains, if drain() was not called, and then finishes; returns at once. `stopped` is called
    /// once, on a worker's thread, when the last worker has ended. Later calls change nothing.
    void stop(std::function<void()> stopped);
    /// Closes all connections and listeners at once.
    void stop_now();
    /// Waits until all workers have ended.
    void join();

    /// Where clients connect, with the port that the kernel chose if 0 was asked for. Valid after
    /// start().
    [[nodiscard]] const net::Address& listening() const;
    /// Where other proxies send checks; empty if there is no such listener.
    [[nodiscard]] const net::Address& checking() const;
    [[nodiscard]] unsigned workers() const;
    /// The most client connections that are served at a time, all workers together.
    [[nodiscard]] std::size_t most_connections() const;
    [[nodiscard]] ProxyStatistics statistics() const;
    /// Names of quotas for which checks have asked since the last call, and which do not exist. At
    /// most UnknownNames::kMostNames of each worker.
    [[nodiscard]] std::vector<std::string> take_unknown_names();

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace weir::proxy

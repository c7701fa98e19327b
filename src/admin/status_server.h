#pragma once
// The status listener: GET (and HEAD) /livez, /readyz, /readyz?verbose and /metrics; read-only, so
// that it may listen on every address. Control thread only.

#include <functional>

#include "admin/http_server.h"
#include "admin/metrics.h"
#include "admin/sources.h"

namespace weir::admin {

/// The answers without the sockets; `metrics` and the callback must outlive it.
class StatusHandler {
  public:
    StatusHandler(std::function<Health()> health, const Metrics& metrics);
    [[nodiscard]] Response operator()(const Request& request) const;

  private:
    [[nodiscard]] Response ready(bool verbose) const;
    [[nodiscard]] Response metrics(const Request& request) const;

    std::function<Health()> health_;
    const Metrics* metrics_;
};

class StatusServer {
  public:
    StatusServer(boost::asio::io_context& control, config::ListenAddress address,
                 std::function<Health()> health, const Metrics& metrics, HttpLimits limits = {});
    [[nodiscard]] Result<void> start() { return server_.start(); }
    void stop() { server_.stop(); }
    [[nodiscard]] const config::ListenAddress& bound() const { return server_.bound(); }
    [[nodiscard]] const HttpServerStatistics& statistics() const { return server_.statistics(); }

  private:
    HttpServer server_;
};

}  // namespace weir::admin

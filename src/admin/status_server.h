#pragma once
// The status listener. It answers GET and HEAD of /livez, /readyz, /readyz?verbose and /metrics. It
// changes nothing, so it may listen on every address.
//
// Thread-safety: none; control thread only.

#include <functional>

#include "admin/http_server.h"
#include "admin/metrics.h"
#include "admin/sources.h"

namespace weir::admin {

/// Answers requests without sockets; `metrics` and the callbacks must outlive it.
class StatusHandler {
  public:
    /// `problems` may be empty: then no problems are listed.
    StatusHandler(std::function<Health()> health, const Metrics& metrics,
                  std::function<ProblemList()> problems);
    [[nodiscard]] Response operator()(const AdminRequest& request) const;

  private:
    [[nodiscard]] Response ready(bool verbose) const;
    [[nodiscard]] Response metrics(const AdminRequest& request) const;

    std::function<Health()> health_;
    const Metrics* metrics_;
    std::function<ProblemList()> problems_;
};

class StatusServer {
  public:
    StatusServer(boost::asio::io_context& control, config::ListenAddress address,
                 std::function<Health()> health, const Metrics& metrics,
                 std::function<ProblemList()> problems, HttpLimits limits = {});
    [[nodiscard]] Result<void> start() { return server_.start(); }
    void stop() { server_.stop(); }
    [[nodiscard]] const config::ListenAddress& bound() const { return server_.bound(); }
    [[nodiscard]] const HttpServerStatistics& statistics() const { return server_.statistics(); }

  private:
    HttpServer server_;
};

}  // namespace weir::admin

#pragma once
// A small HTTP/1.1 server on the control thread for the status and admin listeners, on Beast:
// one request at a time per connection, bounded in connections, head, body and time. When all
// places are taken, the connection that has sent no complete request for longest makes room.
//
// Thread-safety: none, all on the io_context's thread. The handler must answer at once.
// The io_context must outlive the server; connections still open when it goes are closed.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "admin/http_message.h"
#include "base/result.h"
#include "config/settings.h"

namespace boost::asio {
class io_context;
}

namespace weir::admin {

struct HttpLimits {
    std::size_t connections = 64;
    std::uint32_t head_bytes = 16U << 10;
    std::uint64_t body_bytes = 1U << 20;
    /// From the first wait for a request to its last byte, so idle connections end too.
    std::chrono::milliseconds read_timeout{30'000};
    std::chrono::milliseconds write_timeout{10'000};
};

struct HttpServerStatistics {
    std::uint64_t accepted = 0;
    /// Closed at once since too many were open, all of them with an answer to read.
    std::uint64_t turned_away = 0;
    /// Closed for a newcomer, having waited longest without a complete request.
    std::uint64_t evicted = 0;
    std::uint64_t accept_errors = 0;
    std::uint64_t requests = 0;
    std::uint64_t bad_requests = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t open = 0;
};

class HttpServer {
  public:
    using Handler = std::function<Response(const Request&)>;

    HttpServer(boost::asio::io_context& control, config::ListenAddress address, HttpLimits limits,
               Handler handler);
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;
    ~HttpServer();

    /// Binds and listens; a stale unix socket is replaced.
    [[nodiscard]] Result<void> start();
    /// Accepts no more and closes what is open.
    void stop();

    /// The address that was bound: its port is known even if 0 was asked for.
    [[nodiscard]] const config::ListenAddress& bound() const;
    [[nodiscard]] const HttpServerStatistics& statistics() const;

  private:
    class Implementation;
    std::shared_ptr<Implementation> implementation_;
};

}  // namespace weir::admin

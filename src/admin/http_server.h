#pragma once
// A small HTTP/1.1 server for the status and admin listeners, made of Boost.Beast. A connection has
// one request at a time; connections, heads, bodies and time are bounded. When all places are
// taken, the connection that has sent no complete request for longest makes room.
//
// Thread-safety: none; all calls come on the thread of the io_context. The handler must answer at
// once.
// Ownership: the io_context must outlive the server. Connections that are open when the server goes
// are closed.

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
    /// The time from the end of the last answer (or from accepting the connection) in which the
    /// next request must be complete. It also ends idle connections.
    std::chrono::milliseconds read_timeout{30'000};
    std::chrono::milliseconds write_timeout{10'000};
};

struct HttpServerStatistics {
    std::uint64_t accepted = 0;
    /// Connections closed at once, because too many were open and the clients of all of them had
    /// still to read an answer.
    std::uint64_t turned_away = 0;
    /// Connections closed for a new one, because they had sent no complete request for longest.
    std::uint64_t evicted = 0;
    std::uint64_t accept_errors = 0;
    std::uint64_t requests = 0;
    std::uint64_t bad_requests = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t open = 0;
};

class HttpServer {
  public:
    using Handler = std::function<Response(const AdminRequest&)>;

    HttpServer(boost::asio::io_context& control, config::ListenAddress address, HttpLimits limits,
               Handler handler);
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;
    ~HttpServer();

    /// Binds and listens. The file of a unix socket that nobody serves is replaced.
    [[nodiscard]] Result<void> start();
    /// Accepts no more connections and closes those that are open.
    void stop();

    /// The address that was bound. Its port is known even if 0 was asked for.
    [[nodiscard]] const config::ListenAddress& bound() const;
    [[nodiscard]] const HttpServerStatistics& statistics() const;

  private:
    class Implementation;
    std::shared_ptr<Implementation> implementation_;
};

}  // namespace weir::admin

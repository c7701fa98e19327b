#pragma once
// An upstream that sends exactly the bytes that a test wants. A script serves each connection, on a
// thread of its own. Connections and requests are counted, so that a test can check that none
// arrived.

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/address.h"
#include "proxy/http_text.h"
#include "proxy/socket_io.h"

namespace weir::proxy::testing {

class FakeUpstream {
  public:
    class Session {
      public:
        Session(FakeUpstream& upstream, SocketIo& socket) : upstream_(upstream), io(socket) {}
        /// The next request with its body; nothing when the proxy has closed.
        std::optional<Message> request();
        /// The head of the next request; counts as a request.
        std::optional<Message> head();
        bool send(std::string_view bytes) { return io.send(bytes); }
        /// "HTTP/1.1 <status> X" with a Content-Length and this body.
        bool answer(int status, std::string_view body);

      private:
        FakeUpstream& upstream_;

      public:
        SocketIo& io;
    };
    using Script = std::function<void(Session&)>;

    /// Answers every request with 200 and "ok" until another script is set. Listens on a unix
    /// socket if a path is given.
    explicit FakeUpstream(const std::string& path = {});
    ~FakeUpstream();

    /// Sets the script for connections that are accepted from now on.
    void set_script(Script script);
    [[nodiscard]] const net::Address& address() const { return address_; }
    [[nodiscard]] int connections() const { return connections_; }
    [[nodiscard]] int requests() const { return requests_; }
    /// The heads of all requests that arrived.
    [[nodiscard]] std::vector<Message> heads() const;
    /// The number of connections whose script has ended and that are closed.
    [[nodiscard]] int ended() const { return ended_; }
    /// Stops listening, so that connections are refused. The port stays reserved until
    /// listen_again().
    void stop_listening();
    void listen_again();
    /// The same, but the backlog holds hardly a connection, and none is accepted for so long.
    void listen_again_slowly(std::chrono::milliseconds silence);

    /// Answers each request with 200 and "ok".
    static void serve(Session& session);

  private:
    void listen(std::chrono::milliseconds silence);
    void stop_accepting();
    void accept_loop(std::chrono::milliseconds silence);
    void run_session(net::FileDescriptor descriptor);

    net::Address address_;
    net::FileDescriptor listener_;
    net::FileDescriptor held_;  ///< reserves the port while nothing listens there
    std::atomic<bool> stopping_ = false;
    std::atomic<int> connections_ = 0;
    std::atomic<int> requests_ = 0;
    std::atomic<int> ended_ = 0;
    mutable std::mutex mutex_;  ///< guards script_, heads_, sessions_, open_
    Script script_ = serve;
    std::vector<Message> heads_;
    std::list<std::thread> sessions_;
    std::vector<int> open_;
    std::thread acceptor_;
};

}  // namespace weir::proxy::testing

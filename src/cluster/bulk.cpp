#include "cluster/bulk.h"

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <unordered_set>
#include <utility>
#include <vector>

#include "definitions/stream.h"
#include "engine/engine.h"
#include "net/clock.h"

namespace weir::cluster {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::size_t kReadBytes = 64 * 1024;

tcp::endpoint to_asio(const Endpoint& endpoint) {
    if (endpoint.is_v4()) {
        asio::ip::address_v4::bytes_type bytes{};
        std::copy(endpoint.address.begin() + 12, endpoint.address.end(), bytes.begin());
        return {asio::ip::address_v4(bytes), endpoint.port};
    }
    return {asio::ip::address_v6(endpoint.address), endpoint.port};
}

/// A socket with a deadline. When the deadline passes, the socket is closed, and the operation that
/// waits for it fails.
struct Connection {
    explicit Connection(tcp::socket taken)
        : socket(std::move(taken)), timer(socket.get_executor()) {}

    void expire_after(Duration duration) {
        timer.expires_after(duration);
        timer.async_wait([this, here = std::weak_ptr<int>(alive)](const error_code& failure) {
            if (failure || here.expired()) {
                return;
            }
            timed_out = true;
            close();
        });
    }
    void close() {
        error_code ignored;
        socket.close(ignored);
    }

    tcp::socket socket;
    asio::steady_timer timer;
    bool timed_out = false;
    /// Tells a timer whose deadline passed just when the connection ended that the connection is
    /// gone.
    std::shared_ptr<int> alive = std::make_shared<int>();
};

}  // namespace

class Bulk::Implementation : public std::enable_shared_from_this<Implementation> {
  public:
    Implementation(asio::io_context& control, engine::Engine& engine, BulkLimits limits)
        : control_(control),
          engine_(engine),
          limits_(limits),
          acceptor_(control),
          pause_(control) {}

    Result<void> listen(const Endpoint& local) {
        const tcp::endpoint endpoint = to_asio(local);
        error_code failure;
        acceptor_.open(endpoint.protocol(), failure);
        if (!failure) {
            acceptor_.set_option(asio::socket_base::reuse_address(true), failure);
        }
        if (!failure) {
            acceptor_.bind(endpoint, failure);
        }
        if (!failure) {
            acceptor_.listen(static_cast<int>(limits_.incoming), failure);
        }
        if (failure) {
            error_code ignored;
            acceptor_.close(ignored);
            return error(ErrorCode::io, "TCP on " + to_string(local) + ": " + failure.message());
        }
        asio::co_spawn(control_, accept_all(shared_from_this()), asio::detached);
        return {};
    }

    void poll() {
        while (!stopped_ && outgoing_ < limits_.outgoing) {
            std::unique_ptr<definitions::DefinitionPull> pull = engine_.take_pull();
            if (pull == nullptr) {
                return;
            }
            ++outgoing_;
            asio::co_spawn(control_, this->pull(shared_from_this(), std::move(pull)),
                           asio::detached);
        }
    }

    /// After this no coroutine uses the engine any more, so it may be destroyed.
    void stop() {
        if (std::exchange(stopped_, true)) {
            return;
        }
        error_code ignored;
        acceptor_.close(ignored);
        pause_.cancel();
        for (Connection* connection : connections_) {
            connection->timer.cancel();
            connection->close();
        }
    }

    BulkStatistics statistics;

  private:
    /// Counts a connection as open for as long as its coroutine lives.
    struct CountedConnection {
        CountedConnection(Implementation& bulk, Connection& member)
            : owner(bulk), connection(member) {
            owner.connections_.insert(&connection);
        }
        ~CountedConnection() { owner.connections_.erase(&connection); }
        CountedConnection(const CountedConnection&) = delete;
        CountedConnection& operator=(const CountedConnection&) = delete;
        Implementation& owner;
        Connection& connection;
    };

    // The coroutines keep the implementation alive by their first argument.
    asio::awaitable<void> accept_all(std::shared_ptr<Implementation> self) {
        while (!stopped_) {
            auto [failure, socket] = co_await acceptor_.async_accept(kAwait);
            if (stopped_) {
                break;
            }
            if (failure) {
                ++statistics.accept_errors;
                pause_.expires_after(kAcceptPause);
                co_await pause_.async_wait(kAwait);
                continue;
            }
            ++statistics.accepted;
            if (incoming_ >= limits_.incoming) {
                ++statistics.turned_away;
                continue;  // the socket is closed as it goes out of scope
            }
            ++incoming_;
            asio::co_spawn(control_, serve(self, std::move(socket)), asio::detached);
        }
    }

    asio::awaitable<void> serve(std::shared_ptr<Implementation> self, tcp::socket socket) {
        if (!stopped_) {
            Connection connection(std::move(socket));
            const CountedConnection membership(*this, connection);
            const std::unique_ptr<definitions::DefinitionServe> stream = engine_.serve_pull();
            co_await converse(connection, *stream,
                              [&] { return stream->greeted() ? limits_.idle : limits_.greeting; });
        }
        --incoming_;
        static_cast<void>(self);
    }

    asio::awaitable<void> pull(std::shared_ptr<Implementation> self,
                               std::unique_ptr<definitions::DefinitionPull> stream) {
        if (!stopped_) {
            Connection connection{tcp::socket(control_)};
            const CountedConnection membership(*this, connection);
            ++statistics.connects;
            connection.expire_after(limits_.connect);
            const auto [failure] = co_await connection.socket.async_connect(
                to_asio(stream->wish().from.address), kAwait);
            if (failure) {
                ++statistics.connect_failures;
            } else {
                co_await converse(connection, *stream, [&] { return limits_.idle; });
            }
        }
        --outgoing_;
        if (!stopped_) {
            engine_.end_pull(*stream, net::now());
        }
        static_cast<void>(self);
    }

    /// Sends what the stream wants to send, then reads, again and again until one side ends the
    /// connection.
    template <class Patience>
    asio::awaitable<void> converse(Connection& connection, definitions::DefinitionStream& stream,
                                   Patience patience) {
        std::vector<std::byte> input(kReadBytes);
        const Instant begun = net::now();
        while (!stopped_ && !stream.done() && net::now() - begun < limits_.total) {
            connection.expire_after(patience());
            const std::vector<std::byte> frame = stream.next(net::now());
            if (!frame.empty()) {
                const auto [failure, sent] =
                    co_await asio::async_write(connection.socket, asio::buffer(frame), kAwait);
                statistics.bytes_out += sent;
                if (failure) {
                    break;
                }
                continue;
            }
            const auto [failure, got] =
                co_await connection.socket.async_read_some(asio::buffer(input), kAwait);
            statistics.bytes_in += got;
            if (failure || stopped_) {
                break;
            }
            if (!stream.receive(ByteSpan(input).first(got), net::now())) {
                ++statistics.refused;
                break;
            }
        }
        statistics.timeouts += connection.timed_out ? 1 : 0;
        connection.timer.cancel();
    }

    asio::io_context& control_;
    engine::Engine& engine_;
    BulkLimits limits_;
    tcp::acceptor acceptor_;
    asio::steady_timer pause_;
    std::unordered_set<Connection*> connections_;
    std::size_t incoming_ = 0;
    std::size_t outgoing_ = 0;
    bool stopped_ = false;
};

Bulk::Bulk(asio::io_context& control, engine::Engine& engine, BulkLimits limits)
    : implementation_(std::make_shared<Implementation>(control, engine, limits)) {}
Bulk::~Bulk() { stop(); }
Result<void> Bulk::listen(const Endpoint& local) { return implementation_->listen(local); }
void Bulk::poll() { implementation_->poll(); }
void Bulk::stop() { implementation_->stop(); }
const BulkStatistics& Bulk::statistics() const { return implementation_->statistics; }

}  // namespace weir::cluster

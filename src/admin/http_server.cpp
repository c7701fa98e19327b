#include "admin/http_server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <utility>

#include "admin/connection_places.h"

namespace weir::admin {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using StreamProtocol = asio::generic::stream_protocol;
using Acceptor = asio::basic_socket_acceptor<StreamProtocol>;
using AdminStream = beast::basic_stream<StreamProtocol>;
using Parser = http::request_parser<http::string_body>;
using boost::system::error_code;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
/// The pause after accept() has failed, most likely because no descriptor was left.
constexpr std::chrono::milliseconds kAcceptPause{100};
/// How much a client whose request was refused may still send, and for how long, before the
/// connection is closed.
constexpr std::size_t kLingerBytes = 256U << 10;
constexpr std::chrono::seconds kLingerTime{1};

StreamProtocol::endpoint to_asio(const config::ListenAddress& address) {
    if (address.is_unix()) {
        return asio::local::stream_protocol::endpoint(address.path);
    }
    if (address.endpoint.is_v4()) {
        asio::ip::address_v4::bytes_type bytes{};
        std::copy(address.endpoint.address.begin() + 12, address.endpoint.address.end(),
                  bytes.begin());
        return asio::ip::tcp::endpoint(asio::ip::address_v4(bytes), address.endpoint.port);
    }
    return asio::ip::tcp::endpoint(asio::ip::address_v6(address.endpoint.address),
                                   address.endpoint.port);
}

/// Whether a process listens at the path. The socket file of a process that has ended refuses
/// connections.
bool is_served(asio::io_context& io, const std::string& path) {
    asio::local::stream_protocol::socket probe(io);
    error_code failure;
    probe.connect(asio::local::stream_protocol::endpoint(path), failure);
    return !failure;
}

bool is_socket_file(const std::string& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

std::string text_of(boost::beast::string_view view) { return {view.data(), view.size()}; }

AdminRequest to_request(const Parser& parser, bool local_socket) {
    const auto& message = parser.get();
    return {.method = text_of(message.method_string()),
            .target = text_of(message.target()),
            .host = text_of(message[http::field::host]),
            .origin = text_of(message[http::field::origin]),
            .authorization = text_of(message[http::field::authorization]),
            .accept_encoding = text_of(message[http::field::accept_encoding]),
            .content_type = text_of(message[http::field::content_type]),
            .if_match = text_of(message[http::field::if_match]),
            .if_none_match = text_of(message[http::field::if_none_match]),
            .body = message.body(),
            .hosts = message.count(http::field::host),
            .local_socket = local_socket};
}

/// Whether two programs could understand the framing differently.
bool is_ambiguous(const Parser& parser) {
    const auto& message = parser.get();
    const auto lengths = message.count(http::field::content_length);
    const auto encodings = message.count(http::field::transfer_encoding);
    return lengths > 1 || encodings > 1 || (lengths > 0 && encodings > 0);
}

unsigned status_of_failure(const error_code& failure) {
    if (failure == http::error::header_limit) {
        return 431;
    }
    if (failure == http::error::body_limit) {
        return 413;
    }
    if (failure == http::error::bad_version) {
        return 505;
    }
    return 400;
}

Response plain(unsigned status) {
    return {.status = status,
            .content_type = "text/plain; charset=utf-8",
            .body = text_of(http::obsolete_reason(static_cast<http::status>(status))) + "\n",
            .fields = {}};
}

http::response<http::string_body> to_message(Response response, bool head, bool keep_alive) {
    http::response<http::string_body> message(static_cast<http::status>(response.status), 11);
    if (!response.content_type.empty()) {
        message.set(http::field::content_type, response.content_type);
    }
    message.set(http::field::cache_control, "no-store");
    message.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : response.fields) {
        message.set(name, value);
    }
    const auto length = response.body.size();
    if (!head) {
        message.body() = std::move(response.body);
    }
    message.content_length(length);
    message.keep_alive(keep_alive);
    return message;
}

}  // namespace

class HttpServer::Implementation : public std::enable_shared_from_this<Implementation> {
  public:
    Implementation(asio::io_context& control, config::ListenAddress address, HttpLimits limits,
                   Handler handler)
        : control_(control),
          acceptor_(control),
          pause_(control),
          address_(std::move(address)),
          limits_(limits),
          handler_(std::move(handler)) {}

    Result<void> start() {
        if (auto bound = bind(); bound.has_error()) {
            return bound;
        }
        asio::co_spawn(control_, accept_all(shared_from_this()), asio::detached);
        return {};
    }

    void stop() {
        if (stopped_) {
            return;
        }
        stopped_ = true;
        error_code ignored;
        pause_.cancel();
        acceptor_.close(ignored);
        if (is_bound_ && address_.is_unix()) {
            ::unlink(address_.path.c_str());
        }
        places_.for_each([](AdminStream& stream) { stream.close(); });
    }

    [[nodiscard]] const config::ListenAddress& bound() const { return address_; }
    [[nodiscard]] const HttpServerStatistics& statistics() const { return statistics_; }

  private:
    Result<void> bind() {
        if (auto cleared = clear_stale_socket(); cleared.has_error()) {
            return cleared;
        }
        const auto endpoint = to_asio(address_);
        error_code failure;
        acceptor_.open(endpoint.protocol(), failure);
        if (!failure && !address_.is_unix()) {
            acceptor_.set_option(asio::socket_base::reuse_address(true), failure);
        }
        if (!failure) {
            acceptor_.bind(endpoint, failure);
            is_bound_ = !failure;
        }
        // The mode is set before listen(), so that no other user can connect in between.
        if (!failure && address_.is_unix()) {
            ::chmod(address_.path.c_str(), S_IRUSR | S_IWUSR);
        }
        if (!failure) {
            acceptor_.listen(asio::socket_base::max_listen_connections, failure);
        }
        if (failure) {
            return error(ErrorCode::io,
                         "cannot listen on " + to_string(address_) + ": " + failure.message());
        }
        if (!address_.is_unix()) {
            learn_port();
        }
        return {};
    }

    Result<void> clear_stale_socket() {
        if (!address_.is_unix() || !is_socket_file(address_.path)) {
            return {};
        }
        if (is_served(control_, address_.path)) {
            return error(ErrorCode::conflict,
                         to_string(address_) + " is in use by another process");
        }
        ::unlink(address_.path.c_str());
        return {};
    }

    void learn_port() {
        error_code ignored;
        const auto local = acceptor_.local_endpoint(ignored);
        asio::ip::tcp::endpoint tcp;
        tcp.resize(local.size());
        std::memcpy(tcp.data(), local.data(), local.size());
        address_.endpoint.port = tcp.port();
    }

    // The coroutines keep the implementation alive by their first argument.
    asio::awaitable<void> accept_all(std::shared_ptr<Implementation> self) {
        while (!stopped_) {
            auto [failure, socket] = co_await acceptor_.async_accept(kAwait);
            if (stopped_) {
                break;
            }
            if (failure) {
                ++statistics_.accept_errors;
                pause_.expires_after(kAcceptPause);
                co_await pause_.async_wait(kAwait);
                continue;
            }
            ++statistics_.accepted;
            if (places_.size() >= limits_.connections && !make_room()) {
                ++statistics_.turned_away;
                continue;  // the socket closes as it goes out of scope
            }
            if (!address_.is_unix()) {
                // Without this option every answer to pipelined requests would wait for the
                // client's delayed acknowledgement.
                socket.set_option(asio::ip::tcp::no_delay(true), failure);
            }
            asio::co_spawn(control_, serve(self, AdminStream(std::move(socket))), asio::detached);
        }
    }

    bool make_room() {
        AdminStream* const waiting = places_.make_room();
        if (waiting == nullptr) {
            return false;
        }
        ++statistics_.evicted;
        waiting->close();  // This ends its coroutine.
        return true;
    }

    asio::awaitable<void> serve(std::shared_ptr<Implementation> self, AdminStream stream) {
        // Counts the connection for as long as this frame lives, unless it is closed to make room.
        struct CountedConnection {
            Implementation& server;
            AdminStream& stream;
            CountedConnection(Implementation& owner, AdminStream& member)
                : server(owner), stream(member) {
                server.places_.enter(stream);
                server.statistics_.open = server.places_.size();
            }
            ~CountedConnection() {
                server.places_.leave(stream);
                server.statistics_.open = server.places_.size();
            }
        } membership(*this, stream);

        beast::flat_buffer buffer(limits_.head_bytes + kLingerBytes);
        while (co_await serve_one(stream, buffer)) {
        }
        static_cast<void>(self);
    }

    /// Serves one request. False when the connection is to be closed.
    asio::awaitable<bool> serve_one(AdminStream& stream, beast::flat_buffer& buffer) {
        Parser parser;
        parser.header_limit(limits_.head_bytes);
        parser.body_limit(limits_.body_bytes);
        stream.expires_after(limits_.read_timeout);
        places_.wait(stream, Stage::head);
        error_code failure = co_await read(stream, buffer, parser);
        places_.wait(stream, Stage::answer);
        if (stopped_) {
            co_return false;
        }
        if (failure && !is_request_error(failure)) {
            if (failure == beast::error::timeout) {
                ++statistics_.timeouts;
            }
            co_return false;
        }
        if (failure || is_ambiguous(parser)) {
            ++statistics_.bad_requests;
            const unsigned status = failure ? status_of_failure(failure) : 400;
            co_await write(stream, to_message(plain(status), false, false));
            co_await linger(stream);
            co_return false;
        }
        ++statistics_.requests;
        const bool head = parser.get().method() == http::verb::head;
        const bool keep_alive = parser.get().keep_alive();
        Response response = handler_(to_request(parser, address_.is_unix()));
        const bool written =
            co_await write(stream, to_message(std::move(response), head, keep_alive), head);
        if (written && !keep_alive) {
            co_await linger(stream);
        }
        co_return written&& keep_alive;
    }

    /// Whether the request caused the failure, so that it gets an answer.
    static bool is_request_error(const error_code& failure) {
        return failure.category() == http::make_error_code(http::error::bad_method).category() &&
               failure != http::error::end_of_stream && failure != http::error::partial_message;
    }

    asio::awaitable<error_code> read(AdminStream& stream, beast::flat_buffer& buffer,
                                     Parser& parser) {
        auto [head_failure, head_bytes] =
            co_await http::async_read_header(stream, buffer, parser, kAwait);
        static_cast<void>(head_bytes);
        if (head_failure) {
            co_return head_failure;
        }
        places_.wait(stream, Stage::body);
        if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
            http::response<http::empty_body> go_on(http::status::continue_, 11);
            auto [write_failure, written] = co_await http::async_write(stream, go_on, kAwait);
            static_cast<void>(written);
            if (write_failure) {
                co_return write_failure;
            }
        }
        auto [body_failure, body_bytes] = co_await http::async_read(stream, buffer, parser, kAwait);
        static_cast<void>(body_bytes);
        co_return body_failure;
    }

    asio::awaitable<bool> write(AdminStream& stream, http::response<http::string_body> message,
                                bool head_only = false) {
        stream.expires_after(limits_.write_timeout);
        http::response_serializer<http::string_body> serializer(message);
        error_code failure;
        if (head_only) {
            std::tie(failure, std::ignore) =
                co_await http::async_write_header(stream, serializer, kAwait);
        } else {
            std::tie(failure, std::ignore) = co_await http::async_write(stream, serializer, kAwait);
        }
        if (failure == beast::error::timeout) {
            ++statistics_.timeouts;
        }
        co_return !failure;
    }

    /// Reads until the client has taken the answer: closing with unread bytes would reset the
    /// connection.
    asio::awaitable<void> linger(AdminStream& stream) {
        error_code ignored;
        stream.socket().shutdown(asio::socket_base::shutdown_send, ignored);
        stream.expires_after(kLingerTime);
        std::array<char, 4096> scratch{};
        std::size_t total = 0;
        while (total < kLingerBytes) {
            auto [failure, count] = co_await stream.async_read_some(asio::buffer(scratch), kAwait);
            if (failure || count == 0) {
                break;
            }
            total += count;
        }
    }

    asio::io_context& control_;
    Acceptor acceptor_;
    asio::steady_timer pause_;
    config::ListenAddress address_;
    HttpLimits limits_;
    Handler handler_;
    HttpServerStatistics statistics_;
    ConnectionPlaces<AdminStream> places_;
    bool is_bound_ = false;
    bool stopped_ = false;
};

HttpServer::HttpServer(asio::io_context& control, config::ListenAddress address, HttpLimits limits,
                       Handler handler)
    : implementation_(std::make_shared<Implementation>(control, std::move(address), limits,
                                                       std::move(handler))) {}
HttpServer::~HttpServer() { stop(); }
Result<void> HttpServer::start() { return implementation_->start(); }
void HttpServer::stop() { implementation_->stop(); }
const config::ListenAddress& HttpServer::bound() const { return implementation_->bound(); }
const HttpServerStatistics& HttpServer::statistics() const { return implementation_->statistics(); }

}  // namespace weir::admin

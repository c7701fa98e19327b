#include "app/admin_client.h"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "base/characters.h"
#include "base/loopback.h"
#include "net/socket_address.h"

namespace weir::app {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

/// One request and its answer, step by step.
class AdminExchange {
  public:
    AdminExchange(const config::ListenAddress& address, http::request<http::string_body> request)
        : socket_(context_), request_(std::move(request)) {
        parser_.body_limit(AdminClient::kMaxReply);
        const net::SocketAddress target = address.is_unix()
                                              ? net::to_unix_socket_address(address.path)
                                              : net::to_socket_address(address.endpoint);
        endpoint_ = asio::generic::stream_protocol::endpoint(target.get(), target.length);
    }

    Result<AdminReply> run() {
        socket_.async_connect(endpoint_, [this](const error_code& failure) {
            if (!failed(failure)) {
                write();
            }
        });
        context_.run_for(AdminClient::kTimeout);
        if (!done_) {
            return error(ErrorCode::io, failure_ ? failure_.message() : "no answer in time");
        }
        return AdminReply{parser_.get().result_int(), parser_.get().body()};
    }

  private:
    bool failed(const error_code& failure) {
        if (failure) {
            failure_ = failure;
        }
        return static_cast<bool>(failure);
    }

    void write() {
        http::async_write(socket_, request_, [this](const error_code& failure, std::size_t) {
            if (!failed(failure)) {
                read();
            }
        });
    }

    void read() {
        http::async_read(socket_, buffer_, parser_, [this](const error_code& failure, std::size_t) {
            done_ = !failed(failure);
        });
    }

    asio::io_context context_;
    asio::generic::stream_protocol::socket socket_;
    asio::generic::stream_protocol::endpoint endpoint_;
    http::request<http::string_body> request_;
    boost::beast::flat_buffer buffer_;
    http::response_parser<http::string_body> parser_;
    error_code failure_;
    bool done_ = false;
};

/// The address by which to reach the listener: for one on every address, loopback.
config::ListenAddress reachable(config::ListenAddress address) {
    if (address.is_unix()) {
        return address;
    }
    const Endpoint any_v4 = Endpoint::v4(0, address.endpoint.port);
    const Endpoint any_v6{{}, address.endpoint.port};
    if (address.endpoint == any_v4 || address.endpoint == any_v6) {
        address.endpoint = loopback_address(address.endpoint.port);
    }
    return address;
}

}  // namespace

AdminClient::AdminClient(config::ListenAddress address, std::string token)
    : address_(reachable(std::move(address))), token_(std::move(token)) {}

Result<AdminReply> AdminClient::send(const std::string& method, const std::string& target,
                                     const std::string& body,
                                     const std::optional<std::string>& tag) const {
    http::request<http::string_body> request;
    request.method_string(method);
    request.target(target);
    request.version(11);
    request.set(http::field::host, address_.is_unix() ? "localhost" : to_string(address_.endpoint));
    request.set(http::field::connection, "close");
    request.set(http::field::user_agent, "weir");
    if (!token_.empty()) {
        request.set(http::field::authorization, "Bearer " + token_);
    }
    if (!body.empty()) {
        request.set(http::field::content_type, "application/json");
    }
    if (tag && tag->empty()) {
        request.set(http::field::if_none_match, "*");
    }
    if (tag && !tag->empty()) {
        request.set(http::field::if_match, '"' + *tag + '"');
    }
    request.body() = body;
    request.prepare_payload();
    auto reply = AdminExchange(address_, std::move(request)).run();
    if (!reply) {
        return error(ErrorCode::io, "no answer from the admin listener at " + to_string(address_) +
                                        ": " + reply.error().message +
                                        " (is weir running there? --admin or "
                                        "WEIR_ADMIN_ADDRESS says where)");
    }
    return reply;
}

Result<AdminReply> AdminClient::get(const std::string& target) const {
    return send("GET", target, {});
}
Result<AdminReply> AdminClient::put(const std::string& target, const std::string& json,
                                    const std::optional<std::string>& tag) const {
    return send("PUT", target, json, tag);
}
Result<AdminReply> AdminClient::remove(const std::string& target) const {
    return send("DELETE", target, {});
}
Result<AdminReply> AdminClient::post(const std::string& target, const std::string& json) const {
    return send("POST", target, json);
}

std::string percent_encode(std::string_view text) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool unreserved = is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
        if (unreserved) {
            encoded += c;
        } else {
            encoded += '%';
            encoded += kHex[byte >> 4];
            encoded += kHex[byte & 15];
        }
    }
    return encoded;
}

}  // namespace weir::app

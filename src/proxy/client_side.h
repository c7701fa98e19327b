#pragma once
// The client's half of a connection, as the parts that serve a request share it: socket, bytes that
// have arrived, the head being served. Owned by its ClientConnection.

#include <string>

#include "base/endpoint.h"
#include "http/request_head.h"
#include "http/request_id.h"
#include "net/stream.h"
#include "proxy/buffer.h"
#include "proxy/worker.h"

namespace weir::proxy {

struct ClientSide {
    ClientSide(Worker& owner, const Endpoint& client);

    /// Reads what is there into `in`, borrowing memory only if something may be there.
    net::IoResult read_more();
    /// Sends the text; what the socket does not take is left in `out`.
    net::IoStatus send(std::string_view text);
    /// Sends what is left in `out`.
    net::IoStatus send_rest();

    /// The request's X-Request-Id: its own if that is fit, else one made once. Empty if switched
    /// off. `readable`: the head is complete.
    std::string_view choose_request_id(bool enabled, bool readable);

    Worker& worker;
    net::Stream stream;
    Endpoint endpoint;
    /// As in X-Forwarded-For; empty on a unix socket.
    std::string address;
    /// Bytes from the client, from the head being served on.
    Buffer in;
    /// An answer of ours, or a part of a head, that the socket would not take yet.
    Buffer out;
    http::RequestHead head;
    /// Of the request being served; valid as its head is. Empty before choose_request_id().
    std::string_view request_id{};
    /// What the connection waits for now, if it waits.
    net::Wait* waiting = nullptr;

  private:
    http::MadeRequestId made_id_{};
};

/// Sends pieces and then the first `body` bytes of `content` in one gathered write. What was not
/// taken of the pieces is appended to `rest`; what was taken of the body is consumed. Gives the
/// status and the bytes sent.
struct GatheredWrite {
    net::IoStatus status = net::IoStatus::ok;
    std::size_t bytes = 0;
    std::size_t body_bytes = 0;
};
GatheredWrite write_gathered(net::Stream& stream, std::span<const std::string_view> pieces,
                             std::string_view body, Buffer& rest);

/// Sends `rest` and then `body`, taking off `rest` what was sent.
GatheredWrite write_rest(net::Stream& stream, Buffer& rest, std::string_view body);

}  // namespace weir::proxy

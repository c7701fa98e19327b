#pragma once
// The client's half of a connection: its socket, the bytes that have arrived, and the head that is
// served. The parts that serve a request share it. Not thread-safe; owned by its ClientConnection.

#include <string>

#include "base/endpoint.h"
#include "http/request_head.h"
#include "http/request_id.h"
#include "net/stream.h"
#include "proxy/buffer.h"
#include "proxy/worker.h"

namespace weir::proxy {

/// How many steps in a row one exchange may take before it is the turn of other connections; about
/// half a megabyte.
inline constexpr int kStepsPerTurn = 32;

struct ClientSide {
    ClientSide(Worker& owner, const Endpoint& client);

    /// Reads the bytes that wait into `in`. Borrows memory for them only if bytes may wait.
    net::IoResult read_more();
    /// Sends the text. What the socket does not take is put into `out`.
    net::IoStatus send(std::string_view text);
    /// Sends the bytes in `out`.
    net::IoStatus send_rest();

    /// Chooses the request's X-Request-Id: its own if that is fit, else a new one, which is made
    /// once. Empty if ids are switched off. `readable`: the head is complete.
    std::string_view choose_request_id(bool enabled, bool readable);

    Worker& worker;
    net::Stream stream;
    Endpoint endpoint;
    /// The client's address as X-Forwarded-For has it; empty on a unix socket.
    std::string address;
    /// Bytes from the client, beginning with the head that is served.
    Buffer in;
    /// Bytes of weir's own answer that the socket has not taken yet.
    Buffer out;
    http::RequestHead head;
    /// The id of the request that is served; valid as long as its head. Empty before
    /// choose_request_id().
    std::string_view request_id{};
    /// The wait in which the connection's coroutine is, or nullptr.
    net::Wait* waiting = nullptr;

  private:
    http::MadeRequestId made_id_{};
};

/// The result of a gathered write: its status, all bytes sent, and those of them that are of the
/// body.
struct GatheredWrite {
    net::IoStatus status = net::IoStatus::ok;
    std::size_t bytes = 0;
    std::size_t body_bytes = 0;
};
/// Sends the pieces and then the body in one gathered write. The part of the pieces that the socket
/// does not take is appended to `rest`.
GatheredWrite write_gathered(net::Stream& stream, std::span<const std::string_view> pieces,
                             std::string_view body, Buffer& rest);

/// Sends `rest` and then the body. What is sent of `rest` is removed from it.
GatheredWrite write_rest(net::Stream& stream, Buffer& rest, std::string_view body);

}  // namespace weir::proxy

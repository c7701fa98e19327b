#pragma once
// The client's half of a connection: its socket, the bytes that have arrived, and the head that is
// served. The parts that serve a request share it. Not thread-safe; owned by its ClientConnection.

#include <coroutine>
#include <string>

#include "base/assert.h"
#include "base/endpoint.h"
#include "http/request_head.h"
#include "http/request_id.h"
#include "net/stream.h"
#include "proxy/buffer.h"
#include "proxy/worker.h"

namespace weir::proxy {

/// How many rounds of reading and writing one exchange may make in a row before it is the turn of
/// other connections. That is about ½ MiB of an upload, or 1 MiB of a download.
inline constexpr int kStepsPerTurn = 32;

struct ClientSide {
    ClientSide(Worker& owner, const Endpoint& client);

    /// Reads once into `in`, without waiting. Borrows memory for the bytes only if some may wait.
    net::IoResult read_more();
    /// Sends the text, behind what `out` still holds. What the socket does not take is put into
    /// `out`.
    net::IoStatus send(std::string_view text);
    /// Sends the bytes in `out`, as far as the socket takes them.
    net::IoStatus send_rest();

    /// Returns the X-Request-Id of the request that is served, and chooses it at the first call:
    /// its own if that is fit, else a new one. Empty if `enabled` is false. `readable` says whether
    /// `head` was parsed whole, so that it can be asked for the client's id.
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
    /// What the connection's coroutine waits for at present, or nullptr if it is not waiting.
    net::Wait* waiting = nullptr;

  private:
    http::MadeRequestId made_id_{};
};

/// co_await ClientWait(...) waits as a net::Wait does, and whoever ends the connection finds the
/// wait in ClientSide::waiting. Borrows the client. It is awaited itself, without a coroutine
/// around it, because there is one for every request.
class ClientWait {
  public:
    using Item = net::Wait::Item;
    ClientWait(ClientSide& client, Instant deadline, Item first, Item second = {nullptr, 0})
        : client_(client), wait_(client.worker.loop(), deadline, first, second) {}
    ClientWait(const ClientWait&) = delete;
    ClientWait& operator=(const ClientWait&) = delete;

    [[nodiscard]] bool await_ready() const { return wait_.await_ready(); }
    void await_suspend(std::coroutine_handle<> handle) {
        WEIR_ASSERT(client_.waiting == nullptr);
        client_.waiting = &wait_;
        wait_.await_suspend(handle);
    }
    [[nodiscard]] net::WaitResult await_resume() const {
        client_.waiting = nullptr;
        return wait_.await_resume();
    }

  private:
    ClientSide& client_;
    net::Wait wait_;
};

struct GatheredWrite {
    net::IoStatus status = net::IoStatus::ok;
    std::size_t bytes = 0;       ///< all that were sent
    std::size_t body_bytes = 0;  ///< those of them that belong to the body
};
/// Sends `rest`, the pieces and then the body in one gathered write. The part of the pieces that
/// the socket does not take is appended to `rest`; the part of the body that it does not take stays
/// with the caller.
GatheredWrite write_gathered(net::Stream& stream, std::span<const std::string_view> pieces,
                             std::string_view body, Buffer& rest);

/// Sends `rest` and then the body. What is sent of `rest` is removed from it.
GatheredWrite write_rest(net::Stream& stream, Buffer& rest, std::string_view body);

}  // namespace weir::proxy

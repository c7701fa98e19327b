#pragma once
// The response's way: upstream to client. Parses response heads in place, passes 1xx on, relays the
// body one non-blocking step at a time. Holds a buffer only while bytes are in it.
// Not thread-safe; part of one Exchange.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "proxy/active_snapshot.h"
#include "proxy/body_progress.h"
#include "proxy/buffer.h"
#include "proxy/client_side.h"
#include "proxy/settlement.h"

namespace weir::proxy {

enum class DownloadState : std::uint8_t {
    head,  ///< waiting for the final response's head
    body,
    done,       ///< all of it has been sent to the client
    closed,     ///< the upstream closed before the head was complete
    invalid,    ///< a response that may not be passed on
    truncated,  ///< the upstream broke off within the body
    client_failed,
};

class Download {
  public:
    /// More interim responses than this before the final one are an attack or a bug.
    static constexpr unsigned kMaxInterim = 32;

    Download(ClientSide& client, const ActiveSnapshot& snapshot, Settlement& settlement,
             std::string_view extra_fields);

    /// Begins, or begins anew if nothing has come, from this upstream.
    void begin(net::Stream& upstream);
    /// One step; false when it has to wait or has ended. `request_sent`: nothing of the request
    /// is left, so the connections may stay after the response.
    bool advance(bool request_sent);

    [[nodiscard]] DownloadState state() const { return state_; }
    [[nodiscard]] bool active() const {
        return state_ == DownloadState::head || state_ == DownloadState::body;
    }
    [[nodiscard]] bool waits_for_client() const { return active() && has_unsent(); }
    [[nodiscard]] bool waits_for_upstream() const { return active() && !has_unsent(); }
    /// Anything at all has come from the upstream.
    [[nodiscard]] bool anything_came() const { return received_ > 0; }
    /// The final response's head was passed on.
    [[nodiscard]] bool started() const { return status_ != 0; }
    /// An answer of our own is possible: none has begun, nor does the client lack part of an
    /// interim one.
    [[nodiscard]] bool leaves_room_for_answer() const { return !started() && head_rest_.empty(); }
    [[nodiscard]] unsigned status() const { return status_; }
    /// A "100 Continue" was passed on.
    [[nodiscard]] bool told_to_continue() const { return told_to_continue_; }
    /// Of the final response; valid once started.
    [[nodiscard]] bool client_stays() const { return client_stays_; }
    [[nodiscard]] bool upstream_stays() const { return upstream_stays_; }
    [[nodiscard]] const BodyProgress& body() const { return body_; }
    [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_sent_; }
    /// Content that the client's socket has taken; of a chunked body, to a chunk's framing.
    [[nodiscard]] std::uint64_t content_sent() const {
        const auto payload = body_.payload();
        return payload > unsent_ ? payload - unsent_ : 0;
    }
    [[nodiscard]] Instant started_at() const { return started_at_; }

  private:
    bool read();
    void ended(net::IoStatus status);
    void parse_heads(bool request_sent);
    void pass_interim();
    void pass_final(bool request_sent);
    void take_body();
    /// The final head for the client. A client of HTTP/1.0 gets the content of a chunked body only,
    /// so its head must not announce chunks.
    [[nodiscard]] std::span<const std::string_view> forwarded_pieces();
    void finish_if_complete();
    bool send_unsent();
    bool written(const GatheredWrite& result);
    [[nodiscard]] bool has_unsent() const { return !head_rest_.empty() || unsent_ > 0; }

    ClientSide& client_;
    const ActiveSnapshot& snapshot_;
    Settlement& settlement_;
    std::string_view extra_fields_;
    net::Stream* upstream_ = nullptr;
    Buffer buffer_;
    Buffer head_rest_;
    std::size_t unsent_ = 0;
    std::vector<std::string_view> pieces_;  ///< of a head that is not passed on whole
    BodyProgress body_;
    std::uint64_t received_ = 0;
    std::uint64_t bytes_sent_ = 0;
    Instant started_at_{};
    unsigned interim_ = 0;
    unsigned status_ = 0;
    bool told_to_continue_ = false;
    bool unwraps_ = false;  ///< takes the framing out of a chunked body
    bool client_stays_ = false;
    bool upstream_stays_ = false;
    bool request_sent_ = false;
    DownloadState state_ = DownloadState::head;
};

}  // namespace weir::proxy

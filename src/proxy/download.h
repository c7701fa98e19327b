#pragma once
// Brings one response from the upstream to the client: parses response heads in place, passes 1xx
// responses on, and relays the body one non-blocking step at a time. Holds a buffer only while
// bytes are in it.
// Not thread-safe; part of one Exchange. Borrows everything that it is given.

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
    head,           ///< the final response's head is not complete yet
    body,           ///< the final head has been passed on, and the body is relayed
    done,           ///< the whole response has been sent to the client
    closed,         ///< the upstream closed before the head was complete
    invalid,        ///< the response is malformed and must not be passed on
    truncated,      ///< the upstream closed or failed within the body
    client_failed,  ///< the client's connection failed
};

class Download {
  public:
    /// More interim responses than this before the final one are an attack or a bug.
    static constexpr unsigned kMaxInterim = 32;

    Download(ClientSide& client, const ActiveSnapshot& snapshot, Settlement& settlement,
             std::string_view extra_fields);

    /// Begins with this upstream. May be called again with another one while nothing has come.
    void begin(net::Stream& upstream);
    /// Takes one step. False when it has to wait or has ended. `request_sent`: the whole request
    /// has been sent, so that the connections can be kept after the response.
    bool advance(bool request_sent);

    [[nodiscard]] DownloadState state() const { return state_; }
    [[nodiscard]] bool active() const {
        return state_ == DownloadState::head || state_ == DownloadState::body;
    }
    [[nodiscard]] bool waits_for_client() const { return active() && has_unsent(); }
    [[nodiscard]] bool waits_for_upstream() const { return active() && !has_unsent(); }
    /// Whether any byte has come from the upstream.
    [[nodiscard]] bool anything_came() const { return received_ > 0; }
    /// Whether the head of the final response was passed on.
    [[nodiscard]] bool started() const { return status_ != 0; }
    /// Whether weir may still answer itself: the final response has not begun, and the client has
    /// all bytes of the interim ones.
    [[nodiscard]] bool leaves_room_for_answer() const { return !started() && head_rest_.empty(); }
    [[nodiscard]] unsigned status() const { return status_; }
    /// Whether the upstream has switched to the protocol that the client asked for. From now on the
    /// body is what the upstream sends until it shuts down its sending half, which makes it `done`.
    [[nodiscard]] bool switched() const { return status_ == 101; }
    /// Whether a "100 Continue" was passed on.
    [[nodiscard]] bool told_to_continue() const { return told_to_continue_; }
    /// Whether the client's and the upstream's connection can be kept after the final response.
    /// Valid once started().
    [[nodiscard]] bool client_stays() const { return client_stays_; }
    [[nodiscard]] bool upstream_stays() const { return upstream_stays_; }
    [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_sent_; }
    /// Bytes of content that the client's socket has taken. Of a chunked body too few by at most
    /// the framing that is still unsent.
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
    /// The pieces of the final head for the client. A client of HTTP/1.0 gets a chunked body
    /// without its framing, so its head must not announce chunks, nor that of an answer to HEAD.
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
    std::vector<std::string_view> pieces_;  ///< pieces of a head from which a field is left out
    BodyProgress body_;
    std::uint64_t received_ = 0;
    std::uint64_t bytes_sent_ = 0;
    Instant started_at_{};
    unsigned interim_ = 0;
    unsigned status_ = 0;
    bool told_to_continue_ = false;
    bool unwraps_ = false;  ///< the framing of a chunked body is removed
    bool client_stays_ = false;
    bool upstream_stays_ = false;
    bool request_sent_ = false;
    DownloadState state_ = DownloadState::head;
};

}  // namespace weir::proxy

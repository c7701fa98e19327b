#pragma once
// Brings one request from the client to the upstream: sends the forwarded head, then the body as it
// comes, one non-blocking step at a time. When the body's length is known, it reads at most one
// byte behind it. While it waits for the client it holds no buffer; while the upstream is slow it
// reads nothing. Not thread-safe; serves one Exchange and borrows everything that it is given.

#include <cstdint>

#include "proxy/active_snapshot.h"
#include "proxy/body_progress.h"
#include "proxy/buffer.h"
#include "proxy/client_side.h"

namespace weir::proxy {

enum class UploadState : std::uint8_t {
    sending,          ///< part of the head or the body has still to be sent
    done,             ///< the whole request has been sent
    client_ended,     ///< the client shut down its sending half before the end of its body
    client_failed,    ///< the client's connection failed
    bad_body,         ///< the body is malformed: body().rejection() says why
    upstream_failed,  ///< the upstream takes no more bytes; it may have responded nevertheless
};

class Upload {
  public:
    Upload(ClientSide& client, const ActiveSnapshot& snapshot);

    /// Checks the part of the body that came with the head, before the request is decided. False:
    /// it is malformed.
    [[nodiscard]] bool check_what_came();
    /// Begins to send to this upstream. May be called again with another one while nothing of the
    /// body was sent.
    void begin(net::Stream& upstream);
    /// Takes one step. False when it has to wait or has ended.
    bool advance();

    [[nodiscard]] UploadState state() const { return state_; }
    [[nodiscard]] bool waits_for_client() const {
        return state_ == UploadState::sending && head_sent_ && !has_unsent() && !body_.done();
    }
    [[nodiscard]] bool waits_for_upstream() const {
        return state_ == UploadState::sending && (!head_sent_ || has_unsent());
    }
    /// Whether the whole request has been sent.
    [[nodiscard]] bool all_sent() const {
        return state_ == UploadState::done ||
               (state_ == UploadState::sending && head_sent_ && !has_unsent() && body_.done());
    }
    /// Whether sending has begun, so that the upstream may act on the request.
    [[nodiscard]] bool head_sent() const { return head_sent_; }
    [[nodiscard]] std::uint64_t body_bytes_sent() const { return body_bytes_sent_; }
    [[nodiscard]] const BodyProgress& body() const { return body_; }
    /// Bytes of content that have come from the client, also after a switch.
    [[nodiscard]] std::uint64_t payload() const { return before_switch_ + body_.payload(); }
    /// Has the forwarded head say that this request has been judged. To be called before begin().
    void announce_judged() { announces_judged_ = true; }
    /// The upstream has switched to another protocol: everything that the client sends behind the
    /// request is passed on, until it shuts down its sending half (`client_ended`). The whole
    /// request must have been sent.
    void switch_protocol();
    /// Drops the bytes of the body that came and were not sent, so that they are not taken for the
    /// next request. To be called before leave_rest_to_client() when the exchange ended early.
    void discard_unsent();
    /// Moves the client's bytes behind this request to where the next head is read.
    void leave_rest_to_client();

  private:
    bool send_head();
    bool send_unsent();
    bool read_body();
    bool take_body();
    [[nodiscard]] bool has_unsent() const { return !head_rest_.empty() || unsent_ > 0; }
    bool written(const GatheredWrite& written);

    ClientSide& client_;
    const ActiveSnapshot& snapshot_;
    net::Stream* upstream_ = nullptr;
    BodyProgress body_;
    Buffer head_rest_;
    Buffer relay_;
    /// The buffer with the bytes of the body: first the client's own, later relay_.
    Buffer* source_;
    /// Bytes at the front of *source_ that belong to the body and have to be sent.
    std::size_t unsent_ = 0;
    std::uint64_t body_bytes_sent_ = 0;
    std::uint64_t before_switch_ = 0;  ///< content of the request's own body
    bool announces_judged_ = false;
    bool head_sent_ = false;
    UploadState state_ = UploadState::sending;
};

}  // namespace weir::proxy

#pragma once
// The request's way: client to upstream. Sends the forwarded head, then the body as it comes, one
// non-blocking step at a time; reads no further than the request's end when its length is known.
// While it waits for the client it holds no buffer; while the upstream is slow it reads nothing.
// Not thread-safe; part of one Exchange.

#include <cstdint>

#include "proxy/active_snapshot.h"
#include "proxy/body_progress.h"
#include "proxy/buffer.h"
#include "proxy/client_side.h"

namespace weir::proxy {

enum class UploadState : std::uint8_t {
    sending,
    done,
    client_ended,     ///< the client closed before the end of its body
    client_failed,    ///< or it is gone
    bad_body,         ///< malformed: see rejection()
    upstream_failed,  ///< takes no more; it may have answered nevertheless
};

class Upload {
  public:
    Upload(ClientSide& client, const ActiveSnapshot& snapshot, bool client_trusted);

    /// Checks what has come of the body already, before anything is decided; false: malformed.
    [[nodiscard]] bool check_what_came();
    /// Begins, or begins anew, towards this upstream. Anew only if nothing of the body was sent.
    void begin(net::Stream& upstream);
    /// One step; false when it has to wait or has ended.
    bool advance();

    [[nodiscard]] UploadState state() const { return state_; }
    [[nodiscard]] bool waits_for_client() const {
        return state_ == UploadState::sending && head_sent_ && !has_unsent() && !body_.done();
    }
    [[nodiscard]] bool waits_for_upstream() const {
        return state_ == UploadState::sending && (!head_sent_ || has_unsent());
    }
    /// The whole head has left, so the upstream may act on it.
    [[nodiscard]] bool head_sent() const { return head_sent_; }
    [[nodiscard]] std::uint64_t body_bytes_sent() const { return body_bytes_sent_; }
    [[nodiscard]] const BodyProgress& body() const { return body_; }
    /// Tell the upstream that the request has been judged already.
    void announce_judged() { announces_judged_ = true; }
    /// What came of the body and was not sent is not going to be: it must not be taken for the next
    /// request. To be called before leave_rest_to_client() when the exchange ended early.
    void discard_unsent();
    /// The client's bytes behind this request go back to where the next head is read.
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
    /// Where body bytes come from: the client's own buffer, later relay_.
    Buffer* source_;
    /// Bytes at the front of *source_ that belong to the body and have to be sent.
    std::size_t unsent_ = 0;
    std::uint64_t body_bytes_sent_ = 0;
    bool trusted_;
    bool announces_judged_ = false;
    bool head_sent_ = false;
    UploadState state_ = UploadState::sending;
};

}  // namespace weir::proxy

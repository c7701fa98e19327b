#pragma once
// Private to the definition synchronisation: one message under construction.

#include <array>

#include "base/bytes.h"
#include "definitions/messages.h"
#include "gossip/wire.h"

namespace weir::definitions {

/// One message under construction.
class Payload {
  public:
    Payload() : writer_(buffer_) {}
    Payload(const Payload&) = delete;
    Payload& operator=(const Payload&) = delete;
    ByteWriter& writer() { return writer_; }
    [[nodiscard]] ByteSpan bytes() const { return writer_.written(); }
    [[nodiscard]] bool fits(std::size_t size) const { return writer_.remaining() >= size; }
    void restart() { writer_ = ByteWriter(buffer_); }

  private:
    std::array<std::byte, gossip::kMaximumPayload> buffer_{};
    ByteWriter writer_;
};

template <class T>
bool send_value(gossip::MessageSink& sink, const gossip::MemberId& to, gossip::MessageType type,
                const T& value) {
    Payload payload;
    encode(payload.writer(), value);
    return payload.writer().ok() && sink.send(to, type, payload.bytes());
}

}  // namespace weir::definitions

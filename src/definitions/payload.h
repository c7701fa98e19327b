#pragma once
// One message to a peer while it is being written, with the room that a datagram has. Private to
// the exchange of definitions. Not thread-safe; a value on the stack of the sending function. It
// owns its bytes; what bytes() returns is valid until the next change.

#include <array>

#include "base/bytes.h"
#include "base/records.h"
#include "definitions/messages.h"
#include "gossip/wire.h"

namespace weir::definitions {

/// The bytes of one message. writer() may run out of room; fits() tells beforehand.
class Payload {
  public:
    Payload() : writer_(buffer_) {}
    Payload(const Payload&) = delete;
    Payload& operator=(const Payload&) = delete;
    ByteWriter& writer() { return writer_; }
    [[nodiscard]] ByteSpan bytes() const { return writer_.written(); }
    /// Writes the empty head of a message of entries, unless something was written already.
    void begin_entries() {
        if (writer_.size() == 0) {
            write_empty_head(writer_);
        }
    }
    /// Whether anything follows that head.
    [[nodiscard]] bool has_entries() const { return writer_.size() > 1; }
    [[nodiscard]] bool fits(std::size_t size) const { return writer_.remaining() >= size; }
    /// Empties it, for the next message.
    void restart() { writer_ = ByteWriter(buffer_); }

  private:
    std::array<std::byte, gossip::kMaximumPayload> buffer_{};
    ByteWriter writer_;
};

/// Encodes the value and sends it. False when it does not fit one message or is not sent.
template <class T>
bool send_value(gossip::MessageSink& sink, const gossip::MemberId& to, gossip::MessageType type,
                const T& value) {
    Payload payload;
    encode(payload.writer(), value);
    return payload.writer().ok() && sink.send(to, type, payload.bytes());
}

}  // namespace weir::definitions

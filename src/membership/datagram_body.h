#pragma once
// The body of one datagram while it is written: a sequence of framed messages. The caller must make
// sure that what it adds fits; room() says how many bytes are left. Owns its bytes, about one
// datagram of them; not copyable, not thread-safe.

#include <array>
#include <vector>

#include "base/assert.h"
#include "membership/messages.h"

namespace weir::membership {

class DatagramBody {
  public:
    DatagramBody() : writer_(buffer_) {}
    DatagramBody(const DatagramBody&) = delete;
    DatagramBody& operator=(const DatagramBody&) = delete;

    template <class T>
    void add(gossip::MessageType type, const T& value) {
        std::array<std::byte, gossip::kMaximumPayload> payload{};
        ByteWriter writer(payload);
        encode(writer, value);
        WEIR_ASSERT(writer.ok());
        add_bytes(type, writer.written());
    }
    void add_bytes(gossip::MessageType type, ByteSpan payload) {
        gossip::write_message(writer_, type, payload);
        WEIR_ASSERT(writer_.ok());
    }
    /// Appends messages that have been framed before.
    void append(const DatagramBody& messages) {
        writer_.bytes(messages.writer_.written());
        WEIR_ASSERT(writer_.ok());
    }
    /// For callers that frame their messages themselves.
    [[nodiscard]] ByteWriter& writer() { return writer_; }
    [[nodiscard]] std::size_t room() const { return writer_.remaining(); }
    [[nodiscard]] std::size_t size() const { return writer_.size(); }
    [[nodiscard]] std::vector<std::byte> bytes() const {
        WEIR_ASSERT(writer_.ok());
        const ByteSpan written = writer_.written();
        return {written.begin(), written.end()};
    }

  private:
    std::array<std::byte, gossip::kMaximumBody> buffer_{};
    ByteWriter writer_;
};

}  // namespace weir::membership

#pragma once
// Private to membership's sources: the body of one datagram under construction.

#include <array>
#include <vector>

#include "membership/membership.h"

namespace weir::membership {

/// Every ping carries at least so many spare bytes: an answer with the longest address, sequence
/// and counter still fits into the size of the shortest ping.
inline constexpr std::uint16_t kPingPadding = 40;

class Membership::Body {
  public:
    Body() : writer_(buffer_) {}

    template <class T>
    void add(gossip::MessageType type, const T& value) {
        std::array<std::byte, gossip::kMaximumPayload> payload{};
        ByteWriter writer(payload);
        encode(writer, value);
        gossip::write_message(writer_, type, writer.written());
    }
    void add_bytes(gossip::MessageType type, ByteSpan payload) {
        gossip::write_message(writer_, type, payload);
    }
    [[nodiscard]] ByteWriter& writer() { return writer_; }
    [[nodiscard]] std::size_t room() const { return writer_.remaining(); }
    [[nodiscard]] std::size_t size() const { return writer_.size(); }
    [[nodiscard]] std::vector<std::byte> bytes() const {
        const ByteSpan written = writer_.written();
        return {written.begin(), written.end()};
    }

  private:
    std::array<std::byte, gossip::kMaximumBody> buffer_{};
    ByteWriter writer_;
};

}  // namespace weir::membership

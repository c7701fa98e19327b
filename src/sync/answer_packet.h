#pragma once
// The answer to one delta message while it is put together (the owner's side). Belongs to the
// control thread; borrows the sink.

#include <cstdint>
#include <optional>
#include <vector>

#include "gossip/wire.h"
#include "sync/messages.h"

namespace weir::sync {

/// The answer to one delta message while it is put together.
class AnswerPacket {
  public:
    AnswerPacket(gossip::MessageSink& sink, const gossip::MemberId& to, std::uint16_t tag,
                 std::uint64_t& dropped);

    /// Adds the answer to the next entry of the message, which said this; nothing: it has none.
    void add(const SaidCounts& said, const std::optional<TotalEntry>& total);
    void send();

  private:
    void begin();

    gossip::MessageSink& sink_;
    gossip::MemberId to_;
    std::uint16_t tag_;
    std::uint64_t& dropped_;
    std::uint64_t index_ = 0;  // of the next entry in the delta message
    std::size_t begin_size_ = 0;
    std::vector<std::byte> payload_;
};

}  // namespace weir::sync

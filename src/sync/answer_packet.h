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

    /// To be called before the owner receives this entry.
    void expect(const SaidCounts& said) { said_ = said; }
    /// Adds the total if it answers the expected entry. False if it does not.
    [[nodiscard]] bool add(const gossip::MemberId& to, const TotalEntry& entry);
    /// To be called after the owner has received the entry, whether it answered or not.
    void next();
    void send();

  private:
    void append(const std::optional<TotalEntry>& entry);
    void begin();

    gossip::MessageSink& sink_;
    gossip::MemberId to_;
    std::uint16_t tag_;
    std::uint64_t& dropped_;
    SaidCounts said_;
    bool answered_ = false;
    std::uint64_t index_ = 0;  // of the expected entry in the delta message
    std::size_t begin_size_ = 0;
    std::vector<std::byte> payload_;
};

}  // namespace weir::sync

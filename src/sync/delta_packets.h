#pragma once
// Packs the deltas of one tick: all entries for one owner go into as few messages as hold them.
// Each message has a tag, which the owner's answer repeats, so that the answer need not repeat
// limits and counts. Belongs to the control thread; borrows the sink.
//
// Invariants: for each owner at most the kRemembered newest messages are remembered. The answer to
// a forgotten message cannot be used, and its deltas are sent again.

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "gossip/wire.h"
#include "sync/messages.h"

namespace weir::sync {

class DeltaPackets {
  public:
    static constexpr std::size_t kRemembered = 24;

    /// `dropped` counts entries that could not be sent.
    DeltaPackets(gossip::MessageSink& sink, std::uint64_t& dropped)
        : sink_(sink), dropped_(dropped) {}

    void add(const gossip::MemberId& owner, const DeltaEntry& entry);
    /// Sends what was added since the last call.
    void send_all();
    /// The counts in the message with this tag, which the owner answers; nullptr if it was
    /// forgotten or never sent.
    [[nodiscard]] const std::vector<SaidCounts>* find(const gossip::MemberId& owner,
                                                      std::uint16_t tag) const;
    void forget(const gossip::MemberId& owner) { lines_.erase(owner); }
    void clear() { lines_.clear(); }

  private:
    struct Message {
        std::uint16_t tag = 0;
        std::vector<SaidCounts> said;
    };
    struct Line {
        std::uint16_t next_tag = 0;
        std::vector<std::byte> open;  // payload of the message that is being filled
        std::vector<SaidCounts> said;
        std::deque<Message> sent;  // oldest first
    };
    void send(const gossip::MemberId& owner, Line& line);

    gossip::MessageSink& sink_;
    std::uint64_t& dropped_;
    std::map<gossip::MemberId, Line> lines_;
};

/// The answer to one delta message while it is put together.
class AnswerPacket {
  public:
    AnswerPacket(gossip::MessageSink& sink, const gossip::MemberId& to, std::uint16_t tag,
                 std::uint64_t& dropped);

    /// To be called before the owner receives this entry.
    void expect(const DeltaEntry& entry) { said_ = said_in(entry); }
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

#pragma once
// Packs the entries of quiet limits: all for one owner go into as few messages as hold them. The
// owner confirms a message as a whole, by its tag. Belongs to the control thread; borrows the sink.
//
// Invariant: for each owner at most the kRemembered newest messages are remembered. The answer to a
// forgotten message is of no use, and its entries are sent again.

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "gossip/wire.h"
#include "sync/messages.h"

namespace weir::sync {

class QuietPackets {
  public:
    static constexpr std::size_t kRemembered = 64;

    /// What an entry told, to be confirmed.
    struct Told {
        LimitKey key;
        std::uint32_t run = 0;
        double admitted = 0;
    };

    /// `dropped` counts entries that could not be sent.
    QuietPackets(gossip::MessageSink& sink, std::uint64_t& dropped)
        : sink_(sink), dropped_(dropped) {}

    void add(const gossip::MemberId& owner, const QuietEntry& entry);
    /// Sends what was added since the last call.
    void send_all();
    /// The entries of the message with this tag, which the owner confirms; empty if it was
    /// forgotten, confirmed before or never sent.
    [[nodiscard]] std::vector<Told> take(const gossip::MemberId& owner, std::uint16_t tag);
    void forget(const gossip::MemberId& owner) { lines_.erase(owner); }
    void clear() { lines_.clear(); }

  private:
    struct Message {
        std::uint16_t tag = 0;
        std::vector<Told> told;
    };
    struct Line {
        std::uint16_t next_tag = 0;
        std::vector<std::byte> open;  // payload of the message that is being filled
        std::vector<Told> told;
        std::deque<Message> sent;  // oldest first
    };
    void send(const gossip::MemberId& owner, Line& line);

    gossip::MessageSink& sink_;
    std::uint64_t& dropped_;
    std::map<gossip::MemberId, Line> lines_;
};

}  // namespace weir::sync

#pragma once
// Confirmations of quiet messages, each of which waits for a moment to share a datagram with what
// is sent to the same member anyway. A member that sends many messages does not wait: its answers
// fill a datagram by themselves. Belongs to the control thread; borrows the sink.
//
// Invariant: at most kMost answers wait; what comes beyond is sent at once.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "base/instant.h"
#include "gossip/wire.h"
#include "sync/messages.h"

namespace weir::sync {

class WaitingAnswers {
  public:
    /// For so long an answer waits. Origins wait for as much longer before they tell again what has
    /// not grown.
    static constexpr Duration kWait = std::chrono::milliseconds(80);
    /// So many to one member go at once.
    static constexpr std::ptrdiff_t kTogether = 4;
    static constexpr std::size_t kMost = 256;

    /// `dropped` counts the answers that the sink refused.
    WaitingAnswers(gossip::MessageSink& sink, std::uint64_t& dropped)
        : sink_(sink), dropped_(dropped) {}

    /// Sends the answer, now or later.
    void add(const gossip::MemberId& to, QuietAnswer answer, Instant now) {
        // What was not taken in is told again, and by then all of it may be known.
        if (waiting_.size() >= kMost || !answer.left.empty()) {
            send(to, answer);
            return;
        }
        waiting_.push_back({to, std::move(answer), now});
        WEIR_ASSERT(waiting_.size() <= kMost);
        const auto same = [&](const WaitingAnswer& each) { return each.to == to; };
        if (std::count_if(waiting_.begin(), waiting_.end(), same) >= kTogether) {
            send_due(now, [&](const gossip::MemberId& each) { return each == to; });
        }
    }
    /// Sends the answers that have waited for long enough, and those to members for which `goes_to`
    /// says that something else is about to be sent to them.
    template <class GoesTo>
    void send_due(Instant now, GoesTo goes_to) {
        std::erase_if(waiting_, [&](const WaitingAnswer& each) {
            const bool due = now - each.since >= kWait || goes_to(each.to);
            if (due) {
                send(each.to, each.answer);
            }
            return due;
        });
    }
    /// The members are gone, or know this one under another incarnation: nothing is answered.
    void forget(const gossip::MemberId& member) {
        std::erase_if(waiting_, [&](const WaitingAnswer& each) { return each.to == member; });
    }
    void clear() { waiting_.clear(); }
    [[nodiscard]] std::size_t size() const { return waiting_.size(); }

  private:
    struct WaitingAnswer {
        gossip::MemberId to;
        QuietAnswer answer;
        Instant since{};
    };
    void send(const gossip::MemberId& to, const QuietAnswer& answer);

    gossip::MessageSink& sink_;
    std::uint64_t& dropped_;
    std::vector<WaitingAnswer> waiting_;
};

}  // namespace weir::sync

#pragma once
// Answers each of which waits for a moment to share a datagram with what is sent to the same member
// anyway. Belongs to the control thread; borrows what its `send` uses.
//
// Invariant: at most kMost answers wait; what comes beyond is sent at once.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/instant.h"
#include "gossip/member_id.h"

namespace weir::sync {

template <class Answer>
class WaitingAnswers {
  public:
    using Send = std::function<void(const gossip::MemberId& to, const Answer& answer)>;
    static constexpr std::size_t kMost = 256;

    /// An answer waits for at most `longest`, and only while fewer than `together` to the same
    /// member do: so many fill a datagram by themselves.
    WaitingAnswers(Duration longest, std::ptrdiff_t together, Send send)
        : longest_(longest), together_(together), send_(std::move(send)) {}

    /// Sends the answer, now or later.
    void add(const gossip::MemberId& to, Answer answer, Instant now) {
        if (waiting_.size() >= kMost) {
            send_(to, answer);
            return;
        }
        waiting_.push_back({to, std::move(answer), now});
        WEIR_ASSERT(waiting_.size() <= kMost);
        const auto same = [&](const WaitingAnswer& each) { return each.to == to; };
        if (std::count_if(waiting_.begin(), waiting_.end(), same) >= together_) {
            send_due(now, [&](const gossip::MemberId& each) { return each == to; });
        }
    }
    /// Sends the answers that have waited for long enough, and those to members for which `goes_to`
    /// says that something else is about to be sent to them.
    template <class GoesTo>
    void send_due(Instant now, GoesTo goes_to) {
        std::erase_if(waiting_, [&](const WaitingAnswer& each) {
            const bool due = now - each.since >= longest_ || goes_to(each.to);
            if (due) {
                send_(each.to, each.answer);
            }
            return due;
        });
    }
    /// Whether an answer to this member has waited for long enough.
    [[nodiscard]] bool is_due(const gossip::MemberId& to, Instant now) const {
        return std::any_of(waiting_.begin(), waiting_.end(), [&](const WaitingAnswer& each) {
            return each.to == to && now - each.since >= longest_;
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
        Answer answer;
        Instant since{};
    };

    Duration longest_;
    std::ptrdiff_t together_;
    Send send_;
    std::vector<WaitingAnswer> waiting_;
};

}  // namespace weir::sync

#pragma once
// SWIM's failure detector, which probes one member in each round. A member that does not answer in
// time is also asked through a few others (indirect probes), because only the path between the two
// may be broken. A member that has not answered by the end of the round has failed; transitions.h
// decides what follows.
//
// The members that others suspect are probed first, then all members in a random order that is
// drawn anew after each pass (SWIM, section 4.3), so that no member waits longer than two passes.
// About sixteen of the members that hear of a suspicion probe the suspect next. That confirms or
// refutes the suspicion sooner; if all members of a large fleet did it, the suspect could not
// answer them all.
//
// Local health (Lifeguard, section IV-A): failures that are probably this process's own fault make
// rounds and timeouts longer, step by step; each answer takes one step back.
//
// Not thread-safe. Invariants: the member that is probed and all members in the random order are
// live. The caller must report by removed() each one that is no longer. It borrows the context and
// the other parts of membership that it is given; Membership owns them all.

#include <deque>
#include <optional>
#include <vector>

#include "gossip/rejection.h"
#include "membership/pings.h"

namespace weir::membership {

class Prober {
  public:
    Prober(Context& context, MemberTable& members, Pings& pings)
        : context_(context), members_(members), pings_(pings) {}

    void start(Instant now);

    // The steps of a round, in this order.

    /// Asks others to ping the probed member, once its direct answer is overdue.
    void ask_others_if_late(Instant now);
    [[nodiscard]] bool round_is_over(Instant now) const { return now >= next_round_; }
    /// Ends the round. Returns the member that failed, if the probe of this round was not answered.
    [[nodiscard]] std::optional<gossip::MemberId> end_round();
    void begin_round(Instant now);

    /// Notes that the member has answered a ping of this process, of any kind.
    void answered(const gossip::MemberId& member, Instant now);
    /// Takes another member's answer to a PingRequest of this process.
    std::optional<gossip::DatagramRejection> on_indirect(std::uint64_t nonce, bool answered,
                                                         Instant now);

    /// Pings a live member at once and makes it the next one to be probed.
    void question(const gossip::MemberId& member, Instant now);
    /// Notes that another member suspects this one, which is then perhaps probed next.
    void suspected_by_other(const gossip::MemberId& member);
    /// Gives the new member a random place in the order.
    void joined(const gossip::MemberId& member);
    void removed(const gossip::MemberId& member);

    /// Notes a sign that this process itself is slow.
    void doubt_ourselves();
    /// Forgets the probe under way, because its result says nothing any more.
    void forget_probe() { probe_.reset(); }
    /// Begins the next round a period from now, because this process was stopped and missing
    /// answers say nothing.
    void resume(Instant now);

  private:
    struct Probe {
        gossip::MemberId target;
        std::uint64_t nonce = 0;
        Instant began{};
        Instant indirect_at{};
        bool indirect = false;  // others have been asked
        std::uint32_t helpers = 0;
        std::uint32_t failures = 0;  // helpers that said they got no answer
    };

    [[nodiscard]] std::optional<gossip::MemberId> next_target();
    void succeeded(Instant now);

    Context& context_;
    MemberTable& members_;
    Pings& pings_;
    std::optional<Probe> probe_;
    std::vector<Endpoint> order_;  // the next one is at the end
    /// To be probed before all others; they may be gone meanwhile.
    std::deque<gossip::MemberId> soon_;
    std::uint32_t health_ = 0;  // local health: 0 is healthy
    Instant next_round_{};
};

}  // namespace weir::membership

#pragma once
// Lets processes prove that they live. The claim of a process to be a member is not enough: a new
// one is pinged and must repeat the random number of that ping, or a member tells of it
// (updates.h). So captured traffic cannot bring a member back. Not thread-safe. It borrows the
// context and the other parts of membership that it is given; Membership owns them all.

#include <optional>

#include "membership/renewal.h"
#include "membership/transitions.h"

namespace weir::membership {

class Proofs {
  public:
    Proofs(Context& context, MemberTable& members, const DeadTable& dead, MemberLists& lists,
           Pings& pings, Prober& prober, Transitions& transitions, Renewal& renewal)
        : context_(context),
          members_(members),
          dead_(dead),
          lists_(lists),
          pings_(pings),
          prober_(prober),
          transitions_(transitions),
          renewal_(renewal) {}

    /// Challenges a sender that is not a member.
    void met(const gossip::MemberId& sender, Instant now);
    std::optional<gossip::DatagramRejection> on_answer(const gossip::MemberId& sender,
                                                       const PingAnswer& answer, Instant now);

  private:
    void prove(const gossip::MemberId& id, const PingAnswer& answer, Instant asked, Instant now);
    void welcome(const gossip::MemberId& id, const PingAnswer& answer, Instant now);
    void tell_requester(const PendingPing& favour);

    Context& context_;
    MemberTable& members_;
    const DeadTable& dead_;
    MemberLists& lists_;
    Pings& pings_;
    Prober& prober_;
    Transitions& transitions_;
    Renewal& renewal_;
};

}  // namespace weir::membership

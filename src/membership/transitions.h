#pragma once
// The states of a member and every step between them: it joins, is suspected, refutes that, dies,
// leaves or is replaced by another incarnation at its address. For each step there is one function,
// which changes the tables, informs prober and search if they have to know, reports an event and
// spreads the news (clear() leaves that to its caller). The callers (updates.h, proofs.h and
// membership.h) decide when a step is due. A member is live until it is removed, also while it is
// suspected.
//
// Suspicions (SWIM, section 4.2) are those of Lifeguard: the more members confirm one
// independently, the shorter it lasts. A suspicion whose time is over ends in death only if no
// datagram of the suspect itself has come since it began. Otherwise it begins again, and the
// suspect is pinged, so that it learns of the suspicion and can refute it. So a process with a
// broken network cannot make others give up a live member.
//
// Not thread-safe. Ownership: it refers to the other parts, which must outlive it. Invariants: an
// incarnation that is gone is in the table of the dead and never joins again while it is there; an
// address has at most one live member; this process is no member of its own table, and neither is
// another incarnation at its address.

#include "membership/member_search.h"
#include "membership/prober.h"

namespace weir::membership {

class Transitions {
  public:
    Transitions(Context& context, MemberTable& members, DeadTable& dead,
                Dissemination& dissemination, Pings& pings, Prober& prober, MemberSearch& search)
        : context_(context),
          members_(members),
          dead_(dead),
          dissemination_(dissemination),
          pings_(pings),
          prober_(prober),
          search_(search) {}

    /// Adds a live member. False when the table is full, which is counted. The incarnation must not
    /// be in the table of the dead. Its address must be neither a live member's nor this process's.
    bool join(const gossip::MemberId& id, MemberFlags flags, std::uint64_t counter, Instant now);
    /// Removes a live member for good; `cause` is dead, left or replaced.
    void remove(const gossip::MemberId& id, MemberState cause, Instant now);

    /// Begins the suspicion of a live member that is not suspected yet. `by` is the member that
    /// suspects it, and `counter` is the suspect's counter as that member knows it. The suspect
    /// refutes the suspicion by a higher counter.
    void suspect(const gossip::MemberId& id, std::uint64_t counter, gossip::Incarnation by,
                 Instant now);
    /// This process's own probe of a live member has failed: begins a suspicion, or confirms the
    /// one that has begun.
    void probe_failed(const gossip::MemberId& id, Instant now);
    /// Ends a suspicion, because the member has refuted it. The caller notes and spreads its higher
    /// counter.
    void clear(const gossip::MemberId& id);
    /// Ends the suspicions whose time is over, each by death or by beginning it again.
    void tick(Instant now);

  private:
    Context& context_;
    MemberTable& members_;
    DeadTable& dead_;
    Dissemination& dissemination_;
    Pings& pings_;
    Prober& prober_;
    MemberSearch& search_;
};

}  // namespace weir::membership

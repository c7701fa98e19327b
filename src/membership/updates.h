#pragma once
// Applies what members tell of each other, in rumours and in pages of their lists of members. Each
// statement is compared with what is known here. An old one changes nothing; a new one changes the
// member's state here (transitions.h) and is passed on. Not thread-safe.
//
// - Each member has a counter, which only the member itself raises. Of two statements about a
//   member the one with the higher counter is the newer one, as in SWIM. A counter that is higher
//   than refutations can have made it is false, and so is the statement.
// - Goodbyes and replacements are final. A death that others tell of is not: the member becomes a
//   suspect here, and nobody else has to confirm that. It has the least time of a suspicion
//   (suspicion.h) to refute it.
// - A process that is unknown here becomes a member when a member tells that it lives. If another
//   incarnation lives at the same address here, a challenge finds out which of the two is there.
// - A process that hears that it is suspected, dead or gone refutes that by a higher counter.
//
// Like all parts of membership it borrows the context and the other parts; Membership owns them
// all.

#include "membership/transitions.h"

namespace weir::membership {

class Updates {
  public:
    Updates(Context& context, MemberTable& members, DeadTable& dead, const Census& census,
            Dissemination& dissemination, Pings& pings, Prober& prober, Transitions& transitions)
        : context_(context),
          members_(members),
          dead_(dead),
          census_(census),
          dissemination_(dissemination),
          pings_(pings),
          prober_(prober),
          transitions_(transitions) {}

    void apply(const MemberUpdate& update, const gossip::MemberId& sender, Instant now);

  private:
    void apply_to_self(const MemberUpdate& update, Instant now);
    void apply_live(const MemberUpdate& update, Instant now);
    void apply_to_unknown(const MemberUpdate& update, Instant now);
    void apply_alive(const Member& known, const MemberUpdate& update);
    void apply_suspicion(const Peer& known, const MemberUpdate& update, Instant now);
    void apply_death(const MemberUpdate& update, const gossip::MemberId& sender, Instant now);
    void doubt_life(const Peer& known, const MemberUpdate& update, const gossip::MemberId& sender,
                    Instant now);

    Context& context_;
    MemberTable& members_;
    DeadTable& dead_;
    const Census& census_;
    Dissemination& dissemination_;
    Pings& pings_;
    Prober& prober_;
    Transitions& transitions_;
};

}  // namespace weir::membership

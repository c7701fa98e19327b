#pragma once
// Applies what members tell of each other: news in rumours, and pages of lists of members. Each
// piece of news is compared with what is known here. Old news changes nothing; new news changes a
// state (transitions.h) and is passed on. Not thread-safe.
//
// - Of two statements about a member the one with the higher counter wins, as in SWIM, because only
//   the member itself raises it. A counter that is much higher than refutations can make it is a
//   lie.
// - A goodbye and a replacement are final. A death that others tell of counts as much as all
//   confirmations of a suspicion together, but only ends a suspicion that has lasted its least time
//   here.
// - A process that is unknown here becomes a member when a member tells that it lives. If another
//   incarnation lives at the same address here, a challenge finds out which of the two is there.
// - A process that hears that it is suspected, dead or gone refutes that by a higher counter.

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

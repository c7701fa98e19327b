#pragma once
// Takes a new incarnation for this process. In SWIM a member that was declared dead may return with
// a higher counter; here an incarnation that is dead, left or replaced never returns, because
// otherwise captured traffic or one process with a broken network could change the membership of
// the whole fleet (docs/decisions/0008-renewal-instead-of-return.md).
//
// So when a split heals, the smaller side (of equal sides the one without the lowest address) takes
// new incarnations and forgets which members it had given up, as if its processes had just started.
// A process that was stopped until the others gave it up does the same; they tell it so by an
// obituary.
//
// Not thread-safe. It borrows the context and the other parts of membership that it is given;
// Membership owns them all.

#include <optional>

#include "membership/member_search.h"
#include "membership/prober.h"

namespace weir::membership {

class Renewal {
  public:
    Renewal(Context& context, const MemberTable& members, DeadTable& dead, const Census& census,
            Dissemination& dissemination, Pings& pings, Prober& prober, MemberSearch& search)
        : context_(context),
          members_(members),
          dead_(dead),
          census_(census),
          dissemination_(dissemination),
          pings_(pings),
          prober_(prober),
          search_(search) {}

    /// Takes the news that an incarnation is dead. It has an effect only if that is the one of this
    /// process.
    void on_obituary(const Obituary& obituary, Instant now);
    /// Decides what follows when an incarnation in the table of the dead has proved that it lives:
    /// one of the two sides must take a new incarnation.
    void resolve(const DeadMember& dead, Instant now);

  private:
    void renew(bool forget_silent, Instant now);
    void send_obituary(const gossip::MemberId& dead);

    Context& context_;
    const MemberTable& members_;
    DeadTable& dead_;
    const Census& census_;
    Dissemination& dissemination_;
    Pings& pings_;
    Prober& prober_;
    MemberSearch& search_;
    std::optional<Instant> last_;
};

}  // namespace weir::membership

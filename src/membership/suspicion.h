#pragma once
// Computes how long a suspicion lasts (Lifeguard, section IV-B). It begins with the longest time,
// which shrinks with the logarithm of the number of members that confirm it, but never below the
// least time:
//
//   longest − (longest − least) · log(confirmations + 1) / log(wanted + 1)
//
// Plain value, not thread-safe.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/instant.h"
#include "membership/member.h"
#include "membership/settings.h"

namespace weir::membership {

/// The least time that a suspicion lasts in a fleet with this many members.
[[nodiscard]] Duration least_suspicion(const MembershipSettings& settings, std::size_t members);

class Suspicion {
  public:
    Suspicion(const MembershipSettings& settings, std::size_t members, gossip::Incarnation by,
              Instant now);

    /// Another member suspects the same member. False when that changes nothing, because the other
    /// one was counted before or enough others have confirmed the suspicion.
    bool confirm(gossip::Incarnation by);
    /// Another member says that the suspect is dead, which counts as much as all confirmations.
    void confirm_death() { told_dead_ = true; }
    [[nodiscard]] Instant deadline() const;
    /// Lets the suspicion last its whole time from `now` on, as after a pause of this process.
    void restart(Instant now) { began_ = now; }
    [[nodiscard]] Instant began() const { return began_; }

  private:
    Duration least_;
    Duration longest_;
    std::size_t wanted_;  // confirmations after which it lasts its least time
    /// The member that suspected first, then those that confirmed it.
    std::vector<gossip::Incarnation> by_;
    Instant began_;
    bool told_dead_ = false;
};

}  // namespace weir::membership

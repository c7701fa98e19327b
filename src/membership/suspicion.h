#pragma once
// How long a suspicion lasts (Lifeguard, section IV-B): it begins with the longest time and shrinks
// with the logarithm of the independent confirmations. Plain value, not thread-safe.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/instant.h"
#include "membership/member.h"
#include "membership/settings.h"

namespace weir::membership {

/// The least time of a suspicion among so many members.
[[nodiscard]] Duration least_suspicion(const MembershipSettings& settings, std::size_t members);

class Suspicion {
  public:
    Suspicion(const MembershipSettings& settings, std::size_t members, gossip::Incarnation by,
              Instant now);

    /// Another member suspects it too. False when it was counted before, or enough have.
    bool confirm(gossip::Incarnation by);
    /// Another member holds it for dead: as good as all confirmations.
    void confirm_death() { told_dead_ = true; }
    [[nodiscard]] Instant deadline() const;
    /// Gives it its whole time again, as after a pause of our own.
    void restart(Instant now) { began_ = now; }
    [[nodiscard]] Instant began() const { return began_; }

  private:
    Duration least_;
    Duration longest_;
    std::size_t wanted_;
    std::vector<gossip::Incarnation> by_;
    Instant began_;
    bool told_dead_ = false;
};

}  // namespace weir::membership

#pragma once
// Answers questions about the tables of live and of dead members together. It has no state of its
// own and is not thread-safe.
//
// Invariant: no incarnation is live and dead at once.

#include <cstdint>
#include <vector>

#include "membership/dead_table.h"
#include "membership/member_table.h"
#include "membership/self.h"

namespace weir::membership {

/// What this process knows about the sender of a datagram.
enum class Standing : std::uint8_t {
    member,   // a live member
    unknown,  // never met, or forgotten
    dead,     // dead, left or replaced
};

class Census {
  public:
    Census(const Self& self, const MemberTable& members, const DeadTable& dead)
        : self_(self), members_(members), dead_(dead) {}

    [[nodiscard]] Standing standing(const gossip::MemberId& id) const;
    /// The addresses at which a member was given up and no member lives now; the one that was given
    /// up last comes first. An address at which several members died is listed several times.
    [[nodiscard]] std::vector<Endpoint> lost() const;
    /// Whether the live members outnumber those that were given up or, if both are equally many,
    /// whether the lowest address of all is among the live ones. When a split heals, the smaller
    /// side takes new incarnations (renewal.h), and this function gives opposite answers on the two
    /// sides. A member that died several times counts once.
    [[nodiscard]] bool larger_side() const;

  private:
    const Self& self_;
    const MemberTable& members_;
    const DeadTable& dead_;
};

}  // namespace weir::membership

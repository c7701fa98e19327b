#include "membership/events.h"

#include <utility>

#include "base/assert.h"

namespace weir::membership {

void Events::report(MembershipEvent::Kind kind, const gossip::MemberId& member) {
    WEIR_ASSERT(member.incarnation != 0);
    events_.push_back({kind, member});
}

void Events::conflict(const gossip::MemberId& member, Instant now) {
    ++counters_.conflicts;
    if (now >= next_conflict_) {
        next_conflict_ = now + std::chrono::seconds(1);
        report(MembershipEvent::Kind::conflict, member);
    }
}

std::vector<MembershipEvent> Events::take() { return std::exchange(events_, {}); }

}  // namespace weir::membership

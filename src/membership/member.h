#pragma once
// A member of the fleet as membership knows it: who it is, in which state, and what it tells of
// itself. Plain values.

#include <cstdint>
#include <string_view>

#include "base/instant.h"
#include "gossip/member_id.h"

namespace weir::membership {

enum class MemberState : std::uint8_t {
    alive,
    suspect,  // a probe failed; still counts as live until the suspicion runs out
    dead,     // silent for too long; never comes back under this incarnation
    left,     // said goodbye
    replaced  // another incarnation answers at its address
};
inline constexpr std::size_t kMemberStates = 5;

/// "alive", "suspect", "dead", "left", "replaced": the values of weir_peers{state}.
[[nodiscard]] std::string_view to_string(MemberState state);

/// Properties that a member tells of itself.
struct MemberFlags {
    bool anchor = false;   // preferred as owner
    bool leaving = false;  // draining: still reports, but owns nothing
    friend bool operator==(const MemberFlags&, const MemberFlags&) = default;
};

struct Member {
    gossip::MemberId id;
    MemberState state = MemberState::alive;
    MemberFlags flags;
    std::uint64_t counter = 0;  // SWIM's incarnation number, raised to refute a suspicion
    Instant since{};            // when the present state began here
    Instant last_heard{};       // last datagram that was opened from it, or when it joined
    Duration round_trip{};      // of its last answered probe; 0 when none yet
};

}  // namespace weir::membership

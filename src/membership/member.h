#pragma once
// A member of the fleet as membership knows it: its identity, its state, and what it tells about
// itself. Plain values.

#include <cstdint>
#include <string_view>

#include "base/instant.h"
#include "gossip/member_id.h"

namespace weir::membership {

enum class MemberState : std::uint8_t {
    alive,
    suspect,  // a probe of it failed; it still counts as live until the suspicion runs out
    dead,     // it was silent for too long and never comes back under this incarnation
    left,     // it said goodbye
    replaced  // another incarnation answers at its address
};
inline constexpr std::size_t kMemberStates = 5;

/// Whether the state is final: dead, left or replaced.
[[nodiscard]] constexpr bool is_gone(MemberState state) {
    return state != MemberState::alive && state != MemberState::suspect;
}

/// "alive", "suspect", "dead", "left", "replaced": the values of weir_peers{state}.
[[nodiscard]] std::string_view to_string(MemberState state);

/// Properties that a member tells the others about itself.
struct MemberFlags {
    bool anchor = false;   // it is preferred as an owner, and serves no requests
    bool leaving = false;  // it is draining: it still reports, but owns nothing
    friend bool operator==(const MemberFlags&, const MemberFlags&) = default;
};

struct Member {
    gossip::MemberId id;
    MemberState state = MemberState::alive;
    MemberFlags flags;
    std::uint64_t counter = 0;  // SWIM's incarnation number, raised to refute a suspicion
    Instant since{};            // when it joined, was last suspected, or was given up
    Instant last_heard{};       // when its last datagram was opened, or when it joined
    Duration round_trip{};      // of the last ping that it answered; 0 before the first
};

}  // namespace weir::membership

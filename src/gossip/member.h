#pragma once
// Who takes part: a member is an address together with the incarnation of the process there. Two
// processes that ever used one address are two members. Plain values.

#include <compare>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/endpoint.h"
#include "base/instant.h"

namespace weir::gossip {

/// The random number that one process start (or one renewal, see membership.h) is known by.
/// 0 means: not known.
using Incarnation = std::uint64_t;

struct MemberId {
    Endpoint address;
    Incarnation incarnation = 0;
    friend auto operator<=>(const MemberId&, const MemberId&) = default;
};

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
    MemberId id;
    MemberState state = MemberState::alive;
    MemberFlags flags;
    std::uint64_t counter = 0;  // SWIM's incarnation number, raised to refute a suspicion
    Instant since{};            // when the present state began here
    Instant last_heard{};       // last datagram that was opened from it, or when it joined
    Duration round_trip{};      // of its last answered probe; 0 when none yet
};

}  // namespace weir::gossip

#pragma once
// Who is here: SWIM (Das, Gupta and Motivala 2002) with Lifeguard's refinements (Dadgar, Phillips
// and Currey 2018): random round-robin probes, indirect probes through three others, suspicion that
// shortens with independent confirmations and scales with log N, a local health multiplier,
// refutation by a counter, goodbyes. A state machine without clock, socket or thread: messages and
// `now` in; datagram bodies and events out.
//
// Differences from SWIM, and their reasons (docs/protocol.md):
// - A member is (address, incarnation). Nobody becomes one by saying so: whoever is met anew is
//   pinged and has to repeat the ping's random number, or is told of by a member. So captured
//   traffic cannot bring anybody back.
// - An incarnation that is dead, left or replaced never returns (remembered for an hour). A process
//   that finds itself declared dead (a stop, a split) takes a new incarnation: event `renewed`.
// - Any fresh datagram of a member is proof of its life.
// - Whoever hears a suspicion probes the suspect next, which confirms or refutes it sooner.
// - A state machine that finds itself paused forgets the probes under way and gives every suspicion
//   its whole time again.
//
// Invariants: at most kMaximumMembers members, one live incarnation per address, bounded tables of
// the dead, rumours and pings; each bound has a counter. Not thread-safe.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/instant.h"
#include "base/random.h"
#include "gossip/dead_table.h"
#include "gossip/member.h"
#include "gossip/membership_messages.h"
#include "gossip/membership_settings.h"
#include "gossip/rejection.h"
#include "gossip/rumours.h"
#include "gossip/suspicion.h"
#include "gossip/wire.h"

namespace weir::gossip {

struct MembershipEvent {
    enum class Kind : std::uint8_t {
        joined,     // a new live member
        suspected,  // still live
        cleared,    // no longer suspected
        changed,    // its flags changed (leaving)
        dead,       // silent for too long
        left,       // said goodbye
        replaced,   // another incarnation answers at its address
        renewed,    // we were declared dead: `member` is what we are from now on
        conflict,   // a second process uses the address of `member`
    };
    Kind kind{};
    MemberId member;
};

/// A body (framed messages) for one datagram. Bodies with receiver 0 hold one ping.
struct MembershipDatagram {
    Endpoint to;
    Incarnation receiver = 0;
    std::vector<std::byte> body;
};

struct MembershipCounters {
    std::uint64_t probes = 0;
    std::uint64_t failed_probes = 0;
    std::uint64_t suspicions = 0;
    std::uint64_t refutations = 0;  // of suspicions against ourselves
    std::uint64_t deaths = 0;
    std::uint64_t renewals = 0;
    std::uint64_t pauses = 0;
    std::uint64_t conflicts = 0;
    std::uint64_t dropped_rumours = 0;
    std::uint64_t dropped_challenges = 0;
};

/// What stands in the way of accepting a datagram of this sender.
enum class Standing : std::uint8_t { member, unknown, dead };

/// Where a message of membership came from.
struct Origin {
    MemberId sender;
    Endpoint from;             // where the datagram really came from
    bool addressed = false;    // it named our incarnation
    std::size_t datagram = 0;  // its size on the wire, which no answer may exceed
};

class Membership {
  public:
    Membership(const MembershipSettings& settings, const Endpoint& self, MemberFlags flags,
               Random random);

    void start(Instant now);
    /// Addresses that are pinged again for ever unless a live member is there; own one allowed.
    void set_seeds(std::vector<Endpoint> seeds);
    /// A small opaque payload that travels with pings; empty: none.
    void set_hints(ByteSpan payload);

    /// Messages of known members (and lone pings and answers of anybody).
    std::optional<Rejection> receive(const Origin& origin, const Message& message, Instant now);
    /// Any datagram that was opened, addressed to us and fresh: proof of life.
    void heard(const MemberId& sender, Instant now);
    /// An addressed datagram whose sender is not a member: it is asked to prove itself, or told
    /// that it is dead.
    void met(const Origin& origin, Instant now);
    [[nodiscard]] Standing standing(const MemberId& id) const;

    void tick(Instant now);
    [[nodiscard]] Instant next_tick() const { return next_tick_; }

    /// Draining: reports go on, ownership ends.
    void begin_leaving(Instant now);
    /// The last word; nothing is sent after it.
    void goodbye(Instant now);

    [[nodiscard]] std::vector<MembershipDatagram> take_datagrams();
    [[nodiscard]] std::vector<MembershipEvent> take_events();

    [[nodiscard]] const MemberId& self() const { return self_; }
    [[nodiscard]] MemberFlags flags() const { return flags_; }
    /// Other members that are live (alive or suspect), ordered by address.
    [[nodiscard]] std::vector<Member> live() const;
    [[nodiscard]] std::size_t live_count() const { return members_.size(); }
    [[nodiscard]] const Member* find(const MemberId& id) const;
    /// The dead, left and replaced of the last minute, for display.
    [[nodiscard]] std::vector<Member> recently_gone(Instant now) const;
    [[nodiscard]] const MembershipCounters& counters() const { return counters_; }
    [[nodiscard]] std::uint32_t local_health() const { return health_; }
    /// For tests of bounds.
    [[nodiscard]] std::size_t dead_table_size() const { return dead_.size(); }

  private:
    // filled in with the implementation
};

}  // namespace weir::gossip

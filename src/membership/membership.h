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
// - An incarnation that is dead, left or replaced never returns (remembered for an hour). When a
//   split heals, the smaller side (of equal ones the one without the lowest address) takes new
//   incarnations and forgets whom it had given up, as if its processes had just started; so does a
//   process that finds itself declared dead after a stop. Event `renewed`.
// - A death that others tell of only ends a suspicion that has lasted its least time here, and only
//   while nothing is heard of the suspect: one sidecar with a broken network kills nobody.
// - Any fresh datagram of a member is proof of its life.
// - The answer to a ping of somebody unknown pings back: three datagrams, and both know each other.
// - Of those who hear a suspicion about sixteen probe the suspect next, which confirms or refutes
//   it sooner.
// - A state machine that finds itself paused forgets the probes under way and gives every suspicion
//   its whole time again.
//
// Invariants: at most kMaximumMembers members, one live incarnation per address, bounded tables of
// the dead, rumours and pings; each bound has a counter. Not thread-safe.

#include <boost/container/flat_map.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/bytes.h"
#include "base/instant.h"
#include "base/random.h"
#include "gossip/budget.h"
#include "gossip/rejection.h"
#include "gossip/wire.h"
#include "membership/dead_table.h"
#include "membership/member.h"
#include "membership/messages.h"
#include "membership/rumours.h"
#include "membership/settings.h"
#include "membership/suspicion.h"

namespace weir::membership {

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
    gossip::MemberId member;
};

/// When there is not enough room for all: what keeps members alive goes first, then answers to
/// those who want to become members, then news, then the lists, which everybody asks for again.
enum class Urgency : std::uint8_t { now, greeting, news, list };
inline constexpr std::size_t kUrgencies = 4;

/// A body (framed messages) for one datagram. Bodies with receiver 0 hold one ping.
struct MembershipDatagram {
    Endpoint to;
    gossip::Incarnation receiver = 0;
    std::vector<std::byte> body;
    Urgency urgency = Urgency::now;
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
    std::uint64_t dropped_pings = 0;
    std::uint64_t refused_members = 0;  // the table of members was full
};

/// What stands in the way of accepting a datagram of this sender.
enum class Standing : std::uint8_t { member, unknown, dead };

/// Where a message of membership came from.
struct Origin {
    gossip::MemberId sender;
    Endpoint from;                // where the datagram really came from
    bool addressed = false;       // it named our incarnation
    std::size_t answer_room = 0;  // bytes of messages that an answer may have to stay no larger
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
    std::optional<gossip::Rejection> receive(const Origin& origin, const gossip::Message& message,
                                             Instant now);
    /// Any datagram that was opened, addressed to us and fresh: proof of life.
    void heard(const gossip::MemberId& sender, Instant now);
    /// An addressed datagram whose sender is not a member: it is asked to prove itself, or told
    /// that it is dead.
    void met(const Origin& origin, Instant now);
    [[nodiscard]] Standing standing(const gossip::MemberId& id) const;

    void tick(Instant now);
    [[nodiscard]] Instant next_tick() const { return next_tick_; }

    /// Draining: reports go on, ownership ends.
    void begin_leaving(Instant now);
    /// The last word; nothing is sent after it.
    void goodbye(Instant now);

    /// What is for the same member shares datagrams, answers in front: they may be what makes us a
    /// member to whom the rest is told.
    [[nodiscard]] std::vector<MembershipDatagram> take_datagrams();
    [[nodiscard]] std::vector<MembershipEvent> take_events();

    [[nodiscard]] const gossip::MemberId& self() const { return self_; }
    [[nodiscard]] MemberFlags flags() const { return flags_; }
    /// Other members that are live (alive or suspect), ordered by address.
    [[nodiscard]] std::vector<Member> live() const;
    [[nodiscard]] std::size_t live_count() const { return members_.size(); }
    [[nodiscard]] const Member* find(const gossip::MemberId& id) const;
    /// The live member at an address.
    [[nodiscard]] const Member* find(const Endpoint& address) const;
    /// A ping to a live member at once, besides the regular probes, of which it is the next target.
    void question(const gossip::MemberId& member, Instant now);
    /// The dead, left and replaced of the last minute, for display.
    [[nodiscard]] std::vector<Member> recently_gone(Instant now) const;
    [[nodiscard]] const MembershipCounters& counters() const { return counters_; }
    [[nodiscard]] std::uint32_t local_health() const { return health_; }
    /// For tests of bounds.
    [[nodiscard]] std::size_t dead_table_size() const { return dead_.size(); }

  private:
    struct Peer {
        Member member;
        Instant met{};  // when this incarnation became known
        std::optional<Suspicion> suspicion;
    };
    enum class PingKind : std::uint8_t { probe, favour, seed, challenge };
    struct PendingPing {
        PingKind kind{};
        Endpoint to;
        gossip::MemberId target;     // whom we expect; incarnation 0: anybody
        gossip::MemberId requester;  // of a favour
        std::uint64_t requester_nonce = 0;
        Instant sent{};
        Instant expires{};
    };
    struct Probe {
        gossip::MemberId target;
        std::uint64_t nonce = 0;
        Instant began{};
        Instant indirect_at{};
        Instant ends{};
        bool indirect = false;
        std::uint32_t failures_wanted = 0;
        std::uint32_t failures = 0;
    };
    class Body;

    // membership.cpp: time, members, leaving
    void notice_pause(Instant now);
    void join(const gossip::MemberId& id, MemberFlags flags, std::uint64_t counter, Instant now);
    void remove(gossip::MemberId id, MemberState cause, Instant now);
    void prove(const gossip::MemberId& id, const Answer& answer, Instant asked, Instant now);
    void resolve_dead(const DeadMember& dead, Instant now);
    void renew(Instant now, bool forget_dead);
    [[nodiscard]] bool larger_side() const;
    void report(MembershipEvent::Kind kind, const gossip::MemberId& member);
    void conflict(const gossip::MemberId& member, Instant now);
    [[nodiscard]] std::uint64_t digest() const;
    [[nodiscard]] static std::uint64_t member_hash(const gossip::MemberId& id, MemberFlags flags);
    [[nodiscard]] Peer* peer(const gossip::MemberId& id);
    [[nodiscard]] std::vector<gossip::MemberId> pick(std::size_t count, const Endpoint& except);
    [[nodiscard]] std::uint32_t rumour_limit() const;
    void follow_size();
    [[nodiscard]] MemberUpdate own_update(MemberState state) const;

    // membership_probes.cpp: pings, probes, seeds
    std::uint64_t register_ping(PendingPing ping, Instant now);
    std::uint64_t send_ping(PendingPing ping, Instant now);
    void send_addressed_ping(const gossip::MemberId& to, std::uint64_t nonce);
    void send_open_ping(const Endpoint& to, std::uint64_t nonce);
    [[nodiscard]] bool may_challenge(const gossip::MemberId& claimed, std::size_t most,
                                     Instant now);
    [[nodiscard]] std::size_t challenges_limit() const;
    void challenge(const gossip::MemberId& claimed, Instant now);
    void challenge_back(const Origin& origin, Body& answer, Instant now);
    void tick_pings(Instant now);
    void tick_probe(Instant now);
    void start_probe(Instant now);
    void ask_others(Instant now);
    void probe_failed(Instant now);
    void probe_succeeded(Instant now);
    [[nodiscard]] std::optional<gossip::MemberId> next_target();
    void tick_seeds(Instant now);
    void tick_lost(Instant now);
    [[nodiscard]] std::vector<Endpoint> lost() const;
    void ask_lost(std::vector<Endpoint> lost, Instant now);
    void ping_seed(const Endpoint& address, Instant now);
    std::optional<gossip::Rejection> on_ping(const Origin& origin, const Ping& ping, Instant now);
    std::optional<gossip::Rejection> on_answer(const Origin& origin, const Answer& answer,
                                               Instant now);
    void on_ping_request(const gossip::MemberId& sender, const PingRequest& request, Instant now);
    std::optional<gossip::Rejection> on_indirect(std::uint64_t nonce, bool answered, Instant now);

    // membership_updates.cpp: what is told, suspicions, lists
    void apply(const MemberUpdate& update, const gossip::MemberId& sender, Instant now);
    void apply_to_self(const MemberUpdate& update, Instant now);
    void apply_live(const MemberUpdate& update, Instant now);
    void apply_alive(Peer& known, const MemberUpdate& update);
    void apply_suspicion(Peer& known, const MemberUpdate& update, Instant now);
    void apply_death(const MemberUpdate& update, const gossip::MemberId& sender, Instant now);
    void suspect(Peer& known, std::uint64_t counter, gossip::Incarnation by, Instant now);
    [[nodiscard]] bool drawn_to_probe();
    void refute(std::uint64_t counter, Instant now);
    void tick_suspicions(Instant now);
    void tick_rumours(Instant now);
    void spread(const MemberUpdate& update);
    void compare_digest(const gossip::MemberId& sender, std::uint64_t digest, Instant now);
    void ask_list(const gossip::MemberId& sender, const Endpoint& after);
    void send_list(const gossip::MemberId& to, const Endpoint& after);
    void on_list(const gossip::MemberId& sender, const MemberList& list, Instant now);

    MembershipSettings settings_;
    gossip::MemberId self_;
    MemberFlags flags_;
    std::uint64_t counter_ = 0;
    Random random_;
    // In one piece: it is looked into for each message and gone through far more often than it
    // changes.
    boost::container::flat_map<Endpoint, Peer> members_;
    DeadTable dead_;
    Rumours rumours_;
    std::vector<Endpoint> seeds_;
    std::vector<std::byte> hints_;
    std::map<std::uint64_t, PendingPing> pings_;
    std::optional<Probe> probe_;
    std::vector<Endpoint> probe_order_;
    std::deque<gossip::MemberId> probe_soon_;
    std::uint32_t health_ = 0;
    std::set<Endpoint> suspects_;
    std::uint64_t members_digest_ = 0;  // of all in members_
    bool gone_ = false;
    gossip::Budget answers_;
    gossip::Budget open_answers_;
    gossip::Budget answered_news_;
    Instant last_tick_{};
    Instant next_tick_{};
    Instant next_probe_{};
    Instant next_seeds_{};
    Duration seed_wait_{};  // until the round after that
    Instant next_lost_{};
    Instant next_ask_lost_{};
    Instant next_rumours_{};
    Instant next_list_{};
    Instant next_conflict_{};
    std::optional<Instant> last_renewal_;
    std::vector<MembershipDatagram> datagrams_;
    std::vector<MembershipEvent> events_;
    MembershipCounters counters_;
};

}  // namespace weir::membership

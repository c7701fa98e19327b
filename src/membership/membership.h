#pragma once
// Knows which members the fleet has, by SWIM (Das, Gupta and Motivala 2002) with Lifeguard's
// refinements (Dadgar, Phillips and Currey 2018): random round-robin probes, indirect probes
// through three others, suspicion that shortens with independent confirmations and scales with log
// N, a local health multiplier, refutation by a counter, goodbyes. A state machine without clock,
// socket or thread: messages and `now` go in; bodies of datagrams and events come out.
//
// Differences from SWIM; the named parts (and docs/protocol.md) give the reasons:
// - A member is (address, incarnation). To become one, a process has to repeat a ping's random
//   number, or a member has to tell of it (proofs.h); its own claim is not enough.
// - An incarnation that is dead, left or replaced never returns, which is remembered for an hour
//   (dead_table.h). When a split heals, the smaller side takes new incarnations; so does a process
//   that finds itself declared dead after it was stopped (renewal.h, census.h).
// - A death that others tell of only ends a suspicion that has lasted its least time here, and only
//   while nothing is heard of the suspect (transitions.h, updates.h).
// - Any fresh datagram of a member is proof of its life: Membership::heard().
// - The answer to a ping from an unknown sender includes a ping back (responder.h).
// - About sixteen of the members that hear of a suspicion probe the suspect next (prober.h).
// - A process that finds that it was stopped forgets the probes under way and lets every suspicion
//   last its whole time again, because then missing answers say nothing about the others.
//
// This class puts the parts together; each knows only those before it
// (docs/decisions/0115-membership-in-parts.md):
//
//   tables     member_table, dead_table, rumours; census answers what follows from the first two
//   messages   dissemination (rumours), member_lists, pings, responder (answers to pings)
//   detection  prober (rounds, direct and indirect probes),
//              member_search (seeds and lost addresses)
//   states     transitions (join, suspicion, removal), updates (what others tell), renewal, proofs
//
// Thread-safety: none. Ownership: it owns its parts; they refer to each other, so it never moves.
// Invariants: at most kMaximumMembers members, one live incarnation per address, bounded tables of
// the dead, rumours and pings; each bound has a counter.

#include <optional>
#include <vector>

#include "gossip/rejection.h"
#include "membership/census.h"
#include "membership/context.h"
#include "membership/dissemination.h"
#include "membership/member_lists.h"
#include "membership/member_search.h"
#include "membership/pings.h"
#include "membership/prober.h"
#include "membership/proofs.h"
#include "membership/renewal.h"
#include "membership/responder.h"
#include "membership/transitions.h"
#include "membership/updates.h"

namespace weir::membership {

class Membership {
  public:
    Membership(const MembershipSettings& settings, const Endpoint& self, MemberFlags flags,
               Random random);
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;

    void start(Instant now);
    /// Sets the addresses that are pinged without end unless a live member is there. The address of
    /// this process may be among them.
    void set_seeds(std::vector<Endpoint> seeds) { search_.set_seeds(std::move(seeds)); }
    /// Sets a small opaque payload that travels with pings; empty: none.
    void set_hints(ByteSpan payload) { pings_.set_hints(payload); }

    /// Takes a message: any message of a known member, a lone ping or an answer of anybody else.
    /// Returns why it was refused, if it was: unknown_message and bad_message when it is not one of
    /// membership's or does not decode, ping_limit and amplification when a ping is not answered,
    /// unknown_answer when an answer is for no ping of this process.
    std::optional<gossip::DatagramRejection> receive(const MessageOrigin& origin,
                                                     const gossip::Message& message, Instant now);
    /// Notes that the sender lives: a datagram of it was opened, was addressed to this process and
    /// is fresh.
    void heard(const gossip::MemberId& sender, Instant now);
    /// Notes an addressed datagram whose sender is not a member. The sender is asked to prove
    /// itself.
    void met(const MessageOrigin& origin, Instant now);
    [[nodiscard]] Standing standing(const gossip::MemberId& id) const {
        return census_.standing(id);
    }

    void tick(Instant now);
    [[nodiscard]] Instant next_tick() const { return next_tick_; }
    /// Whether a deadline may be near: a ping is not answered yet, a member is suspected, or there
    /// is news to spread.
    [[nodiscard]] bool is_at_work() const;

    /// Says that this process is draining: it still reports, but owns nothing any more.
    void begin_leaving();
    /// Says goodbye; nothing is sent after it.
    void goodbye();

    /// The datagrams that wait to be sent, see Outbox::take().
    [[nodiscard]] std::vector<MembershipDatagram> take_datagrams() {
        return context_.outbox.take();
    }
    [[nodiscard]] std::vector<MembershipEvent> take_events() { return context_.events.take(); }

    [[nodiscard]] const gossip::MemberId& self() const { return context_.self.id(); }
    [[nodiscard]] MemberFlags flags() const { return context_.self.flags(); }
    /// The other members that are live (alive or suspect), ordered by address.
    [[nodiscard]] std::vector<Member> live() const { return members_.all(); }
    [[nodiscard]] std::size_t live_count() const { return members_.size(); }
    /// How many of them are anchors.
    [[nodiscard]] std::size_t live_anchors() const { return members_.anchors(); }
    /// When a live member was last heard, whoever it was; nothing if none ever was.
    [[nodiscard]] std::optional<Instant> last_heard() const { return last_heard_; }
    /// A live member; null when this incarnation is not live. Valid until the next call of a
    /// function that is not const; the same holds for the next function.
    [[nodiscard]] const Member* find(const gossip::MemberId& id) const;
    /// The live member at an address, or null.
    [[nodiscard]] const Member* find(const Endpoint& address) const;
    /// Pings a live member at once, and makes it the next target of the regular probes.
    void question(const gossip::MemberId& member, Instant now);
    /// The members that died, left or were replaced within the last minute, for display.
    [[nodiscard]] std::vector<Member> recently_gone(Instant now) const;
    [[nodiscard]] const MembershipCounters& counters() const { return context_.events.counters(); }
    /// For tests of bounds.
    [[nodiscard]] std::size_t dead_table_size() const { return dead_.size(); }

  private:
    void notice_pause(Instant now);
    void tick_probe(Instant now);
    std::optional<gossip::DatagramRejection> dispatch(const MessageOrigin& origin,
                                                      gossip::MessageType type, ByteReader& reader,
                                                      Instant now);
    void on_updates(const gossip::MemberId& sender, ByteReader& reader, Instant now);
    void on_list(const gossip::MemberId& sender, const MemberList& list, Instant now);

    Context context_;
    MemberTable members_;
    DeadTable dead_;
    Census census_;
    Dissemination dissemination_;
    MemberLists lists_;
    Pings pings_;
    Responder responder_;
    Prober prober_;
    MemberSearch search_;
    Transitions transitions_;
    Updates updates_;
    Renewal renewal_;
    Proofs proofs_;
    bool gone_ = false;  // this process has said goodbye
    std::optional<Instant> last_heard_;
    Instant last_tick_{};
    Instant next_tick_{};
};

}  // namespace weir::membership

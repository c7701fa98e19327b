#pragma once
// The table of live members, suspected ones included, ordered by address. Only this table changes a
// live member, so that it can keep its sums up to date: the hash of all members, the number of
// anchors and the list of suspects. Not thread-safe.
//
// Invariants: there are at most kMaximumMembers members and one incarnation per address. A member
// has a suspicion exactly while its state is `suspect`. The counter of a member never falls. It
// owns the members; a pointer to one is valid until the table changes.

#include <boost/container/flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/random.h"
#include "membership/member.h"
#include "membership/settings.h"
#include "membership/suspicion.h"

namespace weir::membership {

/// A live member, with what only this process knows about it.
struct Peer {
    Member member;
    Instant met{};  // when this incarnation became known here
    std::optional<Suspicion> suspicion;
};

/// The part of one member in the hash of a list of members.
[[nodiscard]] std::uint64_t member_hash(const gossip::MemberId& id, MemberFlags flags);

class MemberTable {
  public:
    [[nodiscard]] std::size_t size() const { return members_.size(); }
    [[nodiscard]] bool empty() const { return members_.empty(); }
    [[nodiscard]] bool full() const { return members_.size() >= kMaximumMembers; }
    [[nodiscard]] bool contains(const Endpoint& address) const {
        return members_.contains(address);
    }
    /// Null when this incarnation is not live. Valid until a member is added or removed.
    [[nodiscard]] const Peer* find(const gossip::MemberId& id) const;
    /// The live member at an address, or null. Valid until a member is added or removed.
    [[nodiscard]] const Peer* find(const Endpoint& address) const;
    /// The member with the lowest address, or null.
    [[nodiscard]] const Peer* first() const;
    /// The first member after an address in the order of addresses, or null.
    [[nodiscard]] const Peer* next(const Endpoint& address) const;
    [[nodiscard]] std::vector<Member> all() const;
    /// How many of the members are anchors.
    [[nodiscard]] std::size_t anchors() const { return anchors_; }
    /// The combined hash of all members; 0 when there are none.
    [[nodiscard]] std::uint64_t hash() const { return hash_; }
    /// The addresses of the suspects, in ascending order.
    [[nodiscard]] const std::set<Endpoint>& suspects() const { return suspects_; }
    /// Different random members: `count` of them, or all if there are fewer, without a member at
    /// the address `except`.
    [[nodiscard]] std::vector<gossip::MemberId> pick(std::size_t count, const Endpoint& except,
                                                     Random& random) const;

    /// Adds a member. The table must not be full, and no member may live at the address.
    void add(const gossip::MemberId& id, MemberFlags flags, std::uint64_t counter, Instant now);

    // The functions below need a live member.

    /// Removes the member and returns it.
    Member remove(const gossip::MemberId& id);
    void heard(const gossip::MemberId& id, Instant now);
    void set_round_trip(const gossip::MemberId& id, Duration round_trip);
    /// The new counter must not be below the present one.
    void set_counter(const gossip::MemberId& id, std::uint64_t counter);
    void set_flags(const gossip::MemberId& id, MemberFlags flags);

    /// Begins a suspicion; the member must not be suspected yet. `by` is the member that suspects
    /// it.
    void suspect(const gossip::MemberId& id, std::uint64_t counter, gossip::Incarnation by,
                 const MembershipSettings& settings, Instant now);

    // The functions below need a suspected member.

    /// False when the confirmation changes nothing, see Suspicion::confirm().
    bool confirm(const gossip::MemberId& id, gossip::Incarnation by);
    void confirm_death(const gossip::MemberId& id);
    void restart_suspicion(const gossip::MemberId& id, Instant now);
    /// Ends the suspicion, because the member has refuted it.
    void end_suspicion(const gossip::MemberId& id);

    /// Lets every suspicion last its whole time again from now on.
    void restart_suspicions(Instant now);

  private:
    [[nodiscard]] Peer& peer(const gossip::MemberId& id);
    [[nodiscard]] Suspicion& suspicion(const gossip::MemberId& id);

    // A flat map in one piece of memory, because it is searched for each message and traversed far
    // more often than it changes.
    boost::container::flat_map<Endpoint, Peer> members_;
    std::set<Endpoint> suspects_;
    std::uint64_t hash_ = 0;
    std::size_t anchors_ = 0;
};

}  // namespace weir::membership

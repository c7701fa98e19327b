#pragma once
// What membership reports to its caller: events about members, in the order in which they happened,
// and counters. Not thread-safe. It owns the events until its caller takes them.

#include <cstdint>
#include <vector>

#include "membership/member.h"

namespace weir::membership {

struct MembershipEvent {
    enum class Kind : std::uint8_t {
        joined,     // a new live member
        suspected,  // a live member is suspected; it stays live
        cleared,    // a suspected member has refuted the suspicion
        changed,    // the flags of a live member have changed (it is leaving)
        dead,       // a member was silent for too long
        left,       // a member said goodbye
        replaced,   // another incarnation answers at the address of a member
        renewed,    // this process was declared dead and took the new incarnation in `member`
        conflict,   // a second process uses the address of `member`
    };
    Kind kind{};
    gossip::MemberId member;
};

struct MembershipCounters {
    std::uint64_t probes = 0;
    std::uint64_t failed_probes = 0;
    std::uint64_t suspicions = 0;
    std::uint64_t refutations = 0;  // of suspicions against this process
    std::uint64_t deaths = 0;
    std::uint64_t renewals = 0;
    std::uint64_t pauses = 0;  // times at which this process had been stopped
    std::uint64_t conflicts = 0;
    std::uint64_t dropped_rumours = 0;     // the table of rumours was full
    std::uint64_t dropped_challenges = 0;  // too many challenges were under way
    std::uint64_t dropped_pings = 0;       // too many pings were under way
    std::uint64_t refused_members = 0;     // the table of members was full
};

class Events {
  public:
    void report(MembershipEvent::Kind kind, const gossip::MemberId& member);
    /// Counts each conflict, but reports one a second at most: a second process with an address of
    /// the fleet causes one with almost every datagram.
    void conflict(const gossip::MemberId& member, Instant now);
    [[nodiscard]] std::vector<MembershipEvent> take();

    [[nodiscard]] const MembershipCounters& counters() const { return counters_; }
    [[nodiscard]] MembershipCounters& counters() { return counters_; }

  private:
    std::vector<MembershipEvent> events_;
    MembershipCounters counters_;
    Instant next_conflict_{};
};

}  // namespace weir::membership

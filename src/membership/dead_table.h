#pragma once
// The table of incarnations that must never return, because they are dead, left or replaced. It
// remembers each for an hour. It is bounded: when it is full, the oldest of all makes room, and
// each address keeps only its newest few, so that a process that restarts every three seconds costs
// no memory. Forgetting an incarnation is safe, because nobody becomes a member without answering a
// ping. Not thread-safe. Plain state, which owns all that it remembers.

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "membership/member.h"

namespace weir::membership {

struct DeadMember {
    gossip::MemberId id;
    MemberState cause = MemberState::dead;  // dead, left or replaced
    Instant since{};
};

class DeadTable {
  public:
    static constexpr Duration kMemory = std::chrono::hours(1);
    static constexpr std::size_t kCapacity = 8192;
    static constexpr std::size_t kPerAddress = 8;

    /// False when the incarnation was in the table already; then the first cause is kept.
    bool add(const DeadMember& member);
    [[nodiscard]] const DeadMember* find(const gossip::MemberId& id) const;
    /// Forgets incarnations that have been in the table for longer than kMemory.
    void forget_old(Instant now);
    /// Forgets incarnations that were only silent, whose cause is `dead`.
    void forget_silent();
    [[nodiscard]] std::size_t size() const { return by_id_.size(); }
    /// The incarnations that were given up at `from` or later, the newest first.
    [[nodiscard]] std::vector<DeadMember> since(Instant from) const;

  private:
    void make_room(const Endpoint& address);

    std::map<gossip::MemberId, DeadMember> by_id_;  // ordered by address first
    std::deque<gossip::MemberId> by_age_;           // oldest first
};

}  // namespace weir::membership

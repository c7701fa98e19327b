#pragma once
// Incarnations that must never return: dead, left or replaced, remembered for an hour. Bounded: the
// oldest of all make room, and each address keeps only its newest few, so that a process restarting
// every three seconds costs no memory. Forgetting is safe, because nobody becomes a member without
// answering a ping. Not thread-safe.

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

    /// False when it was there already (the first cause is kept).
    bool add(const DeadMember& member);
    [[nodiscard]] const DeadMember* find(const gossip::MemberId& id) const;
    void forget_old(Instant now);
    /// Forgets those that were only silent: the ones of cause `dead`.
    void forget_silent();
    [[nodiscard]] std::size_t size() const { return by_id_.size(); }
    /// Newest first.
    [[nodiscard]] std::vector<DeadMember> since(Instant from) const;

  private:
    void make_room(const Endpoint& address);

    std::map<gossip::MemberId, DeadMember> by_id_;  // ordered by address first
    std::deque<gossip::MemberId> by_age_;           // oldest first
};

}  // namespace weir::membership

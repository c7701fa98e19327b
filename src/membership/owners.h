#pragma once
// Says which members own which quotas. The hash of a quota's name decides in which of 16 shards it
// is, and three live members own each shard. Rendezvous hashing of the shard and the members'
// addresses picks them (Thaler and Ravishankar 1998), so that a change of membership moves only the
// shards of the member that changed. Anchors are preferred. Members that are leaving own nothing,
// unless all members are leaving. The incarnation is not hashed, so a restarted sidecar keeps its
// shards. Not thread-safe.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "membership/member.h"

namespace weir::membership {

inline constexpr std::size_t kShards = 16;
inline constexpr std::size_t kOwnersPerShard = 3;
using Shard = std::uint8_t;

/// The shard of a quota, from quota_hash() of its name. The same for all members that speak this
/// version of the protocol.
[[nodiscard]] Shard shard_of(std::uint64_t quota_hash);
/// The shard's bit in a set of shards.
[[nodiscard]] constexpr std::uint16_t bit_of(Shard shard) {
    return static_cast<std::uint16_t>(1U << shard);
}

/// A live member that may become an owner.
struct OwnerCandidate {
    gossip::MemberId id;
    MemberFlags flags;
};

/// The owners of one shard, best first; fewer than three when there are fewer members.
using OwnerList = std::vector<gossip::MemberId>;

struct OwnerChange {
    Shard shard = 0;
    OwnerList before;
    OwnerList after;
};

class Owners {
  public:
    /// Picks the owners anew. Returns, in ascending order, the shards whose list of owners changed,
    /// even if only the order of the list did.
    std::vector<OwnerChange> recompute(std::span<const OwnerCandidate> live);

    [[nodiscard]] const OwnerList& of(Shard shard) const;
    [[nodiscard]] bool owns(const gossip::MemberId& member, Shard shard) const;

  private:
    std::array<OwnerList, kShards> lists_;
};

}  // namespace weir::membership

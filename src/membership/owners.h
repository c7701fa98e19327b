#pragma once
// Which members own which quotas: 16 shards by the hash of the quota's name, each owned by three
// live members that rendezvous hashing of shard and address picks (Thaler and Ravishankar 1998), so
// that a change moves only the shards of the changed member. Anchors come first; members that are
// leaving own nothing unless everybody is. Hashing the address and not the incarnation lets a
// restarted sidecar keep its shards. Recomputed once per membership change. Not thread-safe.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "membership/member.h"

namespace weir::membership {

inline constexpr std::size_t kShards = 16;
inline constexpr std::size_t kOwnersPerShard = 3;
using Shard = std::uint8_t;

/// The shard of a quota, from quota_hash() of its name: a constant of the protocol version.
[[nodiscard]] Shard shard_of(std::uint64_t quota_hash);

struct Candidate {
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
    /// Returns the shards whose list of owners changed (members or order), in ascending order.
    std::vector<OwnerChange> recompute(std::span<const Candidate> live);

    [[nodiscard]] const OwnerList& of(Shard shard) const { return lists_[shard]; }
    [[nodiscard]] bool owns(const gossip::MemberId& member, Shard shard) const;

  private:
    std::array<OwnerList, kShards> lists_;
};

}  // namespace weir::membership

#pragma once
// Notices when all owners of a shard were lost at once, so that nobody may know any more what
// members that are gone had admitted in windows of that shard's limits. Owners that say goodbye
// hand over before, and owners that are lost one after another leave others who know.
//
// A new owner is told by the others what was admitted before, which takes less than kStood, and so
// does noticing that a member is lost. So the last owners that stood unchanged for kStood knew
// everything. If none of them lives any more, and none has said goodbye, the shard is lost. When
// one of the lost ones is heard again, as after a split, or somebody at its address shows that it
// knows what was admitted before, nothing is lost.
//
// Thread-safety: none, belongs to the control thread. Ownership: owns its state, one for each
// shard.

#include <array>
#include <cstdint>
#include <functional>

#include "base/instant.h"
#include "membership/owners.h"

namespace weir::sync {

class LostOwners {
  public:
    static constexpr Duration kStood = std::chrono::seconds(5);
    static constexpr Duration kLookEvery = std::chrono::milliseconds(500);

    using IsLive = std::function<bool(const gossip::MemberId& member)>;
    /// To be called with each tick; most calls do nothing. `is_live` must know this member, too;
    /// `second` is that of the fleet's wall clock. Returns how many shards this call found lost.
    std::size_t tick(Instant now, std::int64_t second, const membership::Owners& owners,
                     const IsLive& is_live);
    /// The member at this address has told what others had admitted, or is a process that was here
    /// before, perhaps with another incarnation.
    void knows(const Endpoint& address);
    /// Whether any shard is lost.
    [[nodiscard]] bool any() const;
    /// A member has said goodbye, so it has handed over. Shards whose last lasting owners it was
    /// among do not become lost.
    void left(const gossip::MemberId& member);
    /// The second in which the owners of this shard were lost; 0 if they were not.
    [[nodiscard]] std::int64_t lost_at(membership::Shard shard) const {
        return shards_[shard].lost_at;
    }

  private:
    struct ShardHistory {
        membership::OwnerList now;    // as of the last look
        Instant since{};              // that these are the owners
        membership::OwnerList stood;  // the last ones that were so for long enough
        bool handed_over = false;     // one of those has said goodbye
        membership::OwnerList lost;   // owners that were lost together last, unless one came back
        std::int64_t lost_at = 0;     // the second of it; 0 = there are none
    };

    std::array<ShardHistory, membership::kShards> shards_;
    Instant next_look_{};
};

}  // namespace weir::sync

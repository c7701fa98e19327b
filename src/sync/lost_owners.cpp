#include "sync/lost_owners.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace weir::sync {
namespace {

bool any_knows(const membership::OwnerList& owners, const LostOwners::KnowsCounts& knows_counts) {
    return std::any_of(owners.begin(), owners.end(), knows_counts);
}

}  // namespace

void LostOwners::left(const gossip::MemberId& member) {
    for (ShardHistory& shard : shards_) {
        const bool owned =
            std::find(shard.stood.begin(), shard.stood.end(), member) != shard.stood.end();
        shard.handed_over = shard.handed_over || owned;
    }
}

std::size_t LostOwners::tick(Instant now, std::int64_t second, const membership::Owners& owners,
                             const KnowsCounts& knows_counts) {
    if (now < next_look_) {
        return 0;
    }
    next_look_ = now + kLookEvery;
    std::size_t lost = 0;
    for (membership::Shard number = 0; number < membership::kShards; ++number) {
        ShardHistory& shard = shards_[number];
        if (shard.now != owners.of(number)) {
            shard.now = owners.of(number);
            shard.since = now;
        }
        if (any_knows(shard.lost, knows_counts)) {
            shard.lost.clear();
            shard.lost_at = 0;
        }
        if (!shard.stood.empty() && !any_knows(shard.stood, knows_counts) && !shard.handed_over) {
            shard.lost = std::exchange(shard.stood, {});
            shard.lost_at = std::max<std::int64_t>(1, second);
            ++lost;
        }
        if (now - shard.since >= kStood) {
            shard.stood = shard.now;
            shard.handed_over = false;
        }
    }
    WEIR_ASSERT(lost <= shards_.size());
    return lost;
}

}  // namespace weir::sync

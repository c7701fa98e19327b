#include "sync/lost_owners.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace weir::sync {
namespace {

bool any_lives(const membership::OwnerList& owners, const LostOwners::IsLive& is_live) {
    return std::any_of(owners.begin(), owners.end(), is_live);
}

}  // namespace

void LostOwners::left(const gossip::MemberId& member) {
    for (ShardHistory& shard : shards_) {
        const bool owned =
            std::find(shard.stood.begin(), shard.stood.end(), member) != shard.stood.end();
        shard.handed_over = shard.handed_over || owned;
    }
}

void LostOwners::knows(const Endpoint& address) {
    for (ShardHistory& shard : shards_) {
        const bool one_of_them =
            std::any_of(shard.lost.begin(), shard.lost.end(),
                        [&](const gossip::MemberId& id) { return id.address == address; });
        if (one_of_them) {
            shard.lost.clear();
            shard.lost_at = 0;
        }
    }
}

bool LostOwners::any() const {
    return std::any_of(shards_.begin(), shards_.end(),
                       [](const ShardHistory& shard) { return shard.lost_at != 0; });
}

std::size_t LostOwners::tick(Instant now, std::int64_t second, const membership::Owners& owners,
                             const IsLive& is_live) {
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
        if (any_lives(shard.lost, is_live)) {
            shard.lost.clear();
            shard.lost_at = 0;
        }
        if (!shard.stood.empty() && !any_lives(shard.stood, is_live) && !shard.handed_over) {
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

#include "membership/owners.h"

#include <algorithm>

#include "base/assert.h"
#include "base/hash.h"

namespace weir::membership {
namespace {

/// Constants of the protocol version: "weir shard owner".
constexpr HashKey kOwnerKey{{std::byte{'w'}, std::byte{'e'}, std::byte{'i'}, std::byte{'r'},
                             std::byte{' '}, std::byte{'s'}, std::byte{'h'}, std::byte{'a'},
                             std::byte{'r'}, std::byte{'d'}, std::byte{' '}, std::byte{'o'},
                             std::byte{'w'}, std::byte{'n'}, std::byte{'e'}, std::byte{'r'}}};

struct Scored {
    bool anchor = false;
    std::uint64_t score = 0;
    gossip::MemberId id;

    [[nodiscard]] bool before(const Scored& other) const {
        if (anchor != other.anchor) {
            return anchor;
        }
        return score != other.score ? score > other.score : id < other.id;
    }
};

std::uint64_t address_hash(const Endpoint& endpoint) {
    std::array<char, 18> text{};
    std::transform(endpoint.address.begin(), endpoint.address.end(), text.begin(),
                   [](std::uint8_t byte) { return static_cast<char>(byte); });
    text[16] = static_cast<char>(endpoint.port >> 8);
    text[17] = static_cast<char>(endpoint.port & 0xff);
    return keyed_hash({text.data(), text.size()}, kOwnerKey);
}

std::vector<Scored> eligible(std::span<const OwnerCandidate> live) {
    const bool all_leave = std::all_of(live.begin(), live.end(),
                                       [](const OwnerCandidate& c) { return c.flags.leaving; });
    std::vector<Scored> result;
    result.reserve(live.size());
    for (const OwnerCandidate& candidate : live) {
        if (all_leave || !candidate.flags.leaving) {
            result.push_back(
                {candidate.flags.anchor, address_hash(candidate.id.address), candidate.id});
        }
    }
    return result;
}

OwnerList pick(std::vector<Scored> candidates, std::size_t shard) {
    WEIR_ASSERT(shard < kShards);
    for (Scored& candidate : candidates) {
        candidate.score = mix(candidate.score ^ mix(shard + 1));
    }
    const std::size_t count = std::min(kOwnersPerShard, candidates.size());
    std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count),
                      candidates.end(),
                      [](const Scored& a, const Scored& b) { return a.before(b); });
    OwnerList owners;
    for (std::size_t i = 0; i < count; ++i) {
        owners.push_back(candidates[i].id);
    }
    return owners;
}

}  // namespace

Shard shard_of(std::uint64_t quota_hash) { return static_cast<Shard>(quota_hash % kShards); }

std::vector<OwnerChange> Owners::recompute(std::span<const OwnerCandidate> live) {
    const std::vector<Scored> candidates = eligible(live);
    WEIR_ASSERT(candidates.empty() == live.empty());  // if all leave, all own
    std::vector<OwnerChange> changes;
    for (std::size_t shard = 0; shard < kShards; ++shard) {
        OwnerList now = pick(candidates, shard);
        if (now != lists_[shard]) {
            changes.push_back({static_cast<Shard>(shard), lists_[shard], now});
            lists_[shard] = std::move(now);
        }
    }
    return changes;
}

const OwnerList& Owners::of(Shard shard) const {
    WEIR_ASSERT(shard < kShards);
    WEIR_ASSERT(lists_[shard].size() <= kOwnersPerShard);
    return lists_[shard];
}

bool Owners::owns(const gossip::MemberId& member, Shard shard) const {
    const OwnerList& list = of(shard);
    return std::find(list.begin(), list.end(), member) != list.end();
}

}  // namespace weir::membership

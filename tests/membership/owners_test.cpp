#include "membership/owners.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "membership/virtual_network.h"
#include "sync/messages.h"

namespace weir::membership {
namespace {

using test::address_of;

std::vector<OwnerCandidate> members(std::size_t count) {
    std::vector<OwnerCandidate> result;
    for (std::size_t i = 0; i < count; ++i) {
        result.push_back({{address_of(i), 100 + i}, {}});
    }
    return result;
}

TEST_CASE("with up to three members everybody owns everything") {
    for (std::size_t count = 1; count <= 3; ++count) {
        Owners owners;
        CHECK(owners.recompute(members(count)).size() == kShards);
        for (Shard shard = 0; shard < kShards; ++shard) {
            CHECK(owners.of(shard).size() == count);
        }
    }
}

TEST_CASE("everybody computes the same owners, whatever the order of members") {
    std::vector<OwnerCandidate> list = members(20);
    Owners one;
    one.recompute(list);
    std::reverse(list.begin(), list.end());
    Owners two;
    two.recompute(list);
    for (Shard shard = 0; shard < kShards; ++shard) {
        CHECK(one.of(shard) == two.of(shard));
        CHECK(std::set(one.of(shard).begin(), one.of(shard).end()).size() == kOwnersPerShard);
    }
}

TEST_CASE("only shards of the changed member move, and move to one new owner") {
    for (std::size_t gone = 0; gone < 12; ++gone) {
        Owners owners;
        std::vector<OwnerCandidate> list = members(12);
        owners.recompute(list);
        const gossip::MemberId leaver = list[gone].id;
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(gone));
        for (const OwnerChange& change : owners.recompute(list)) {
            const std::set<gossip::MemberId> before(change.before.begin(), change.before.end());
            CHECK(before.contains(leaver));
            std::size_t fresh = 0;
            for (const gossip::MemberId& id : change.after) {
                fresh += before.contains(id) ? 0U : 1U;
            }
            CHECK(fresh == 1);
        }
        CHECK(owners.recompute(list).empty());
    }
}

TEST_CASE("shares are about even") {
    Owners owners;
    std::map<gossip::MemberId, std::size_t> shares;
    std::size_t owned = 0;
    for (std::size_t round = 0; round < 50; ++round) {
        std::vector<OwnerCandidate> list;
        for (std::size_t i = 0; i < 10; ++i) {
            list.push_back({{address_of(round * 100 + i), 1}, {}});
        }
        owners.recompute(list);
        for (Shard shard = 0; shard < kShards; ++shard) {
            for (const gossip::MemberId& id : owners.of(shard)) {
                owned += id.address == list[0].id.address ? 1U : 0U;
            }
        }
    }
    const double mean = static_cast<double>(owned) / 50;  // of 4.8 expected
    CHECK(mean > 4.2);
    CHECK(mean < 5.4);
}

TEST_CASE("anchors come first, leavers last") {
    std::vector<OwnerCandidate> list = members(10);
    list[2].flags.anchor = true;
    list[7].flags.anchor = true;
    Owners owners;
    owners.recompute(list);
    for (Shard shard = 0; shard < kShards; ++shard) {
        CHECK(owners.owns(list[2].id, shard));
        CHECK(owners.owns(list[7].id, shard));
        CHECK(owners.of(shard).size() == 3);
    }
    list[2].flags.leaving = true;
    owners.recompute(list);
    for (Shard shard = 0; shard < kShards; ++shard) {
        CHECK_FALSE(owners.owns(list[2].id, shard));
    }
    for (OwnerCandidate& candidate : list) {
        candidate.flags.leaving = true;
    }
    owners.recompute(list);
    CHECK(owners.of(0).size() == 3);  // when all leave, somebody still counts
}

TEST_CASE("names fall into all shards, about evenly") {
    std::array<int, kShards> counts{};
    for (int i = 0; i < 16'000; ++i) {
        ++counts[shard_of(sync::quota_hash("s3/bucket-" + std::to_string(i)))];
    }
    for (int count : counts) {
        CHECK(count > 800);
        CHECK(count < 1200);
    }
}

}  // namespace
}  // namespace weir::membership

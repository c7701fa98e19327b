#include "sync/lost_owners.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace weir::sync {
namespace {

using namespace std::chrono_literals;

gossip::MemberId member_of_fleet(std::uint64_t number) {
    return {Endpoint::v4(0x0a000000 + static_cast<std::uint32_t>(number), 7946), number};
}

/// Ten members as one of them, number 1, sees them.
struct LosingFleet {
    LosingFleet() {
        for (std::uint64_t number = 1; number <= 10; ++number) {
            live.push_back(member_of_fleet(number));
        }
    }
    /// Goes on for so long; returns how many shards were lost.
    std::size_t run(Duration duration) {
        std::size_t count = 0;
        for (const Instant end = now + duration; now < end; now += 10ms) {
            std::vector<membership::OwnerCandidate> candidates;
            for (const auto& id : live) {
                candidates.push_back({id, {}});
            }
            (void)owners.recompute(candidates);
            count += lost.tick(now, 5000, owners, [&](const gossip::MemberId& id) {
                return std::find(live.begin(), live.end(), id) != live.end();
            });
        }
        return count;
    }
    void kill(std::vector<gossip::MemberId> gone) {
        std::erase_if(live, [&](const gossip::MemberId& id) {
            return std::find(gone.begin(), gone.end(), id) != gone.end();
        });
    }
    [[nodiscard]] std::vector<gossip::MemberId> owners_of(membership::Shard shard) const {
        return {owners.of(shard).begin(), owners.of(shard).end()};
    }

    Instant now{1h};
    std::vector<gossip::MemberId> live;
    membership::Owners owners;
    LostOwners lost;
};

}  // namespace

TEST_CASE("owners that are all lost within seconds are noticed, and no others") {
    LosingFleet fleet;
    CHECK(fleet.run(8s) == 0);
    const auto three = fleet.owners_of(4);
    REQUIRE(three.size() == 3);
    std::size_t found = 0;
    for (const auto& id : three) {
        found += fleet.run(1s);
        fleet.kill({id});
    }
    found += fleet.run(2s);
    CHECK(found >= 1);
    CHECK(fleet.lost.lost_at(4) == 5000);
    for (membership::Shard shard = 0; shard < membership::kShards; ++shard) {
        LosingFleet same;
        (void)same.run(10ms);
        const auto before = same.owners_of(shard);
        const bool all = std::is_permutation(before.begin(), before.end(), three.begin());
        CAPTURE(static_cast<int>(shard));
        CHECK((fleet.lost.lost_at(shard) != 0) == all);
    }
}

TEST_CASE("owners that are lost one after another tell each next one") {
    LosingFleet fleet;
    (void)fleet.run(8s);
    for (int i = 0; i < 6; ++i) {
        fleet.kill({fleet.owners_of(4).front()});
        CHECK(fleet.run(6s) == 0);
    }
    CHECK(fleet.lost.lost_at(4) == 0);
}

TEST_CASE("owners that say goodbye have handed over") {
    LosingFleet fleet;
    (void)fleet.run(8s);
    const auto three = fleet.owners_of(4);
    fleet.lost.left(three.back());
    fleet.kill(three);
    (void)fleet.run(8s);
    CHECK(fleet.lost.lost_at(4) == 0);
}

TEST_CASE("nothing is lost when one of the lost owners is heard again") {
    LosingFleet fleet;
    (void)fleet.run(8s);
    const auto three = fleet.owners_of(4);
    fleet.kill(three);
    CHECK(fleet.run(8s) >= 1);
    CHECK(fleet.lost.lost_at(4) == 5000);
    fleet.live.push_back(three[1]);
    CHECK(fleet.run(8s) == 0);
    CHECK(fleet.lost.lost_at(4) == 0);
    fleet.kill(fleet.owners_of(4));  // and again
    CHECK(fleet.run(8s) >= 1);
    CHECK(fleet.lost.lost_at(4) == 5000);
}

TEST_CASE("nothing is lost when another incarnation of a lost owner shows what it knows") {
    LosingFleet fleet;
    (void)fleet.run(8s);
    const auto three = fleet.owners_of(4);
    fleet.kill(three);
    CHECK(fleet.run(8s) >= 1);
    CHECK(fleet.lost.any());
    fleet.lost.knows(fleet.live.front().address);
    CHECK(fleet.lost.lost_at(4) == 5000);
    fleet.lost.knows(three[1].address);
    CHECK(fleet.lost.lost_at(4) == 0);
    CHECK(!fleet.lost.any());
}

}  // namespace weir::sync

// When an owner asks the others for what they know.
#include <doctest/doctest.h>

#include <vector>

#include "owned_fixture.h"
#include "sync/owner.h"

namespace weir::sync {
namespace {

using test::member;

/// One of three owners of a shard, which notes when it asks member 1.
struct Fixture : test::ThreeOwnersFixture {
    std::vector<Instant> asked;

    Fixture() : ThreeOwnersFixture(100) {
        asked.clear();
        const auto shard = membership::shard_of(key.quota);
        REQUIRE(owners.of(shard).size() == 3);
    }
    void ask_owner(const gossip::MemberId& other, std::uint16_t) override {
        if (other == member(1)) {
            asked.push_back(now);
        }
    }
};

TEST_CASE_FIXTURE(Fixture,
                  "an owner that was stopped first tells what it has admitted, then asks") {
    now += 5s;
    const Instant stopped = now;
    owner.stopped(now, owners);
    pass(90ms);
    CHECK(asked.empty());
    pass(2s);
    REQUIRE(asked.size() == 3);
    CHECK(asked[0] == stopped + 100ms);
    CHECK(asked[1] == stopped + 400ms);
    CHECK(asked[2] == stopped + 700ms);
}

TEST_CASE_FIXTURE(Fixture, "an owner that is stopped time and again asks as soon as it can") {
    for (int i = 0; i < 3; ++i) {
        now += 520ms;
        owner.stopped(now, owners);
        pass(80ms);
    }
    CHECK(asked.size() == 2);
}

}  // namespace
}  // namespace weir::sync

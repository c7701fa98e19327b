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

TEST_CASE_FIXTURE(Fixture, "an owner that is stopped before it asks does so next time") {
    for (int i = 0; i < 4; ++i) {
        now += 520ms;
        owner.stopped(now, owners);
        pass(80ms);
    }
    CHECK(asked.size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "an owner that is stopped after it has asked tells first again") {
    owner.stopped(now, owners);
    pass(450ms);
    CHECK(asked.size() == 2);
    now += 1s;
    owner.stopped(now, owners);
    pass(90ms);
    CHECK(asked.size() == 2);
    pass(10ms);
    CHECK(asked.size() == 3);
}

TEST_CASE_FIXTURE(Fixture, "who becomes an owner just after a stop does not ask sooner for that") {
    const membership::Shard shard = membership::shard_of(key.quota);
    const membership::OwnerList without{member(1), member(2), member(3)};
    owner.shard_changed({.shard = shard, .before = owners.of(shard), .after = without}, now, *this);
    owner.stopped(now, owners);
    owner.shard_changed({.shard = shard, .before = without, .after = owners.of(shard)}, now, *this);
    pass(90ms);
    CHECK(asked.empty());
    pass(10ms);
    CHECK(asked.size() == 1);
}

}  // namespace
}  // namespace weir::sync

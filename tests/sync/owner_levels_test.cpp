// What an owner takes over from a snapshot, and what of it that it knows already.
#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "owned_fixture.h"
#include "sync/owner.h"
#include "tolerance.h"

namespace weir::sync {
namespace {

using test::member;
using testing::plus_minus;

constexpr double kRate = 0.01;

/// The first of three owners, or the second one.
struct Keeper : test::ThreeOwnersFixture {
    explicit Keeper(std::size_t place = 0) : ThreeOwnersFixture(kRate, place) {}
    [[nodiscard]] KeptLevel kept(double level, double told = 0) const {
        return {.key = key,
                .name = "q",
                .parameters = parameters,
                .level = level,
                .sum = told,
                .full = told};
    }
    void ask_name(const gossip::MemberId& whom, const LimitKey&) override { asked.push_back(whom); }
    std::vector<gossip::MemberId> asked;
    [[nodiscard]] double level() {
        const OwnedLimit* limit = owner.find(key);
        return limit == nullptr ? 0 : limit->bucket.level;
    }
    /// All that would be written, of both kinds.
    [[nodiscard]] double whole() {
        double sum = 0;
        for (std::uint32_t slot = 0; slot < owner.level_slots(); ++slot) {
            sum += owner.kept_level(slot, now).whole();
        }
        for (std::uint32_t slot = 0; slot < owner.quiet_slots(); ++slot) {
            sum += owner.kept_quiet_level(slot, now).whole();
        }
        return sum;
    }
};

TEST_CASE_FIXTURE(Keeper, "a level is raised to what was kept, and drains from then on") {
    const std::uint64_t news = owner.level_news();
    owner.raise(kept(60), now);
    owner.raise(kept(60), now);
    owner.raise(kept(40), now);
    CHECK(level() == plus_minus(60, 0.01));
    CHECK(owner.level_news() == news + 1);
    owner.restore(kept(60), HandedBy::own_snapshot, now, *this);
    CHECK(level() == plus_minus(60, 0.01));
    CHECK(orders.empty());
    pass(1000s, 1s);
    CHECK(whole() == plus_minus(50, 0.2));
}

TEST_CASE_FIXTURE(Keeper, "no level is raised above the ceiling") {
    owner.raise(kept(1e6), now);
    CHECK(level() <= limiter::ceiling(parameters, 1, 0));
    CHECK(level() >= parameters.high);
}

TEST_CASE_FIXTURE(Keeper, "what was told of a quiet limit counts when new weight wakes it") {
    owner.restore(kept(0, 40), HandedBy::own_snapshot, now, *this);
    CHECK(owner.find(key) == nullptr);
    CHECK(whole() == plus_minus(40, 0.01));
    owner.restore(kept(0, 40), HandedBy::own_snapshot, now, *this);
    CHECK(whole() == plus_minus(40, 0.01));
    pass(2s);
    CHECK(tell(5, entry(15, 15)));
    CHECK(level() == plus_minus(55, 1));
    CHECK(whole() == plus_minus(55, 1));
}

TEST_CASE_FIXTURE(Keeper,
                  "a limit whose name is not known yet is kept with what origins told of it") {
    names_known = false;
    CHECK(tell(5, entry(60, 60)));
    REQUIRE(owner.find(key) != nullptr);
    CHECK_FALSE(owner.find(key)->parameters.has_value());
    CHECK(whole() == plus_minus(60, 0.01));
    pass(50s, 1s);
    CHECK(whole() == plus_minus(59.5, 0.1));
}

TEST_CASE_FIXTURE(Keeper, "of a limit without a name both kinds of level are kept") {
    names_known = false;
    owner.take_level({.key = key, .kind = OrderKind::level, .level = 20}, now);
    pass(10s, 1s);
    CHECK(tell(5, entry(10, 10)));
    CHECK(whole() == plus_minus(29.9, 0.05));
}

TEST_CASE_FIXTURE(Keeper,
                  "who is gone is asked for no name, and its late words bring back no rate") {
    names_known = false;
    CHECK(tell(5, entry(20, 20)));
    silence.gone(member(5), now);
    CHECK(tell(6, entry(60, 60)));  // this wakes it
    REQUIRE(asked.size() == 1);
    CHECK(asked[0] == member(6));
    names_known = true;
    DeltaEntry delta;
    delta.key = key;
    delta.run = 9;
    delta.admitted = delta.offered = 5;
    delta.rate = 100;
    delta.keep_alive = 1s;
    CHECK(owner.receive(member(5), number(5), delta, now, *this));
    REQUIRE(owner.find(key) != nullptr);
    CHECK(level() == plus_minus(85, 0.1));
    CHECK(owner.find(key)->bucket.offered_rate == 0);
    CHECK(asked.size() == 1);
}

TEST_CASE_FIXTURE(Keeper, "who hands over late is asked for no name, and the next one is") {
    names_known = false;
    const MemberNumber leaver = number(1);
    silence.gone(member(1), now);
    owner.take_kept(order_of(kept(20)), leaver, now, *this);
    REQUIRE(owner.find(key) != nullptr);
    CHECK(owner.find(key)->asks_left == 0);
    CHECK(asked.empty());
    owner.take_kept(order_of(kept(20)), number(2), now, *this);
    REQUIRE(asked.size() == 1);
    CHECK(asked[0] == member(2));
}

TEST_CASE_FIXTURE(Keeper, "what was counted since the file was written is not told a second time") {
    owner.raise(kept(70), now);
    owner.restore(kept(20, 40), HandedBy::own_snapshot, now, *this);
    CHECK(level() == plus_minus(70, 0.01));
    CHECK(whole() == plus_minus(70, 0.01));
    CHECK(orders.empty());
}

TEST_CASE_FIXTURE(Keeper, "what another owner has counted was told here, and is counted once") {
    owner.restore(kept(0, 40), HandedBy::own_snapshot, now, *this);
    owner.take_kept(order_of(kept(60)), silence.number(member(1), now), now, *this);
    CHECK(level() == plus_minus(60, 0.01));
    CHECK(whole() == plus_minus(60, 0.01));
}

TEST_CASE_FIXTURE(Keeper, "a quiet limit that would wake has its level at all owners, once") {
    owner.restore(kept(30, 40), HandedBy::own_snapshot, now, *this);
    CHECK(level() == plus_minus(70, 0.01));
    CHECK(whole() == plus_minus(70, 0.01));
    REQUIRE(orders.size() == 2);
    for (const auto& [to, order] : orders) {
        CHECK(to != member(0));
        CHECK(order.kind == OrderKind::kept);
        CHECK(order.level == plus_minus(70, 0.01));
        CHECK(order.sum == 0);
    }
}

TEST_CASE("an owner that is not the first one takes only what was counted") {
    Keeper second(1);
    second.owner.restore(second.kept(30, 40), HandedBy::own_snapshot, second.now, second);
    CHECK(second.level() == plus_minus(30, 0.01));
    CHECK(second.whole() == plus_minus(30, 0.01));
}

TEST_CASE_FIXTURE(Keeper,
                  "levels that no limit of that size can have are refused, as are others'") {
    owner.raise(kept(10), now);
    owner.take_kept(order_of(kept(1e6)), silence.number(member(1), now), now, *this);
    CHECK(level() == plus_minus(10, 0.01));
    CHECK(statistics.refused_leaps == 1);
    membership::OwnerChange lost;
    lost.shard = membership::shard_of(key.quota);
    lost.before = owners.of(lost.shard);
    lost.after = {member(1), member(2), member(3)};
    owner.shard_changed(lost, now, *this);
    owner.take_kept(order_of(kept(20)), silence.number(member(1), now), now, *this);
    CHECK(statistics.refused_not_owner == 1);
}

}  // namespace
}  // namespace weir::sync

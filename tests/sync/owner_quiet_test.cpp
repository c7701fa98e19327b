// What an owner does with entries about quiet limits: what it counts, whom it wakes, and what it
// tells the other owners.
#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "owned_fixture.h"
#include "sync/owner.h"
#include "tolerance.h"

namespace weir::sync {
namespace {

using test::member;
using testing::plus_minus;

constexpr std::uint32_t kOrigin = 5;
constexpr std::uint32_t kOther = 6;

/// The first one of three owners.
struct Fixture : test::ThreeOwnersFixture {
    Fixture() : ThreeOwnersFixture(1e-6) {}
    void report(std::uint32_t from, double admitted, double rate) {
        DeltaEntry delta;
        delta.key = key;
        delta.run = 9;
        delta.run_age = 100ms;
        delta.admitted = delta.offered = admitted;
        delta.rate = rate;
        delta.keep_alive = 1s;
        CHECK(owner.receive(member(from), number(from), delta, now, *this));
    }
    [[nodiscard]] double level() const { return owner.find(key)->bucket.level; }
    [[nodiscard]] std::vector<QuietOrder> ordered(std::uint32_t whom, OrderKind kind) const {
        std::vector<QuietOrder> result;
        for (const auto& [to, order] : orders) {
            if (to == member(whom) && order.kind == kind) {
                result.push_back(order);
            }
        }
        return result;
    }
};

TEST_CASE_FIXTURE(Fixture, "a limit wakes above half of low: origins and owners are told so") {
    CHECK(tell(kOrigin, entry(40, 40)));
    CHECK(orders.empty());
    CHECK(owner.find(key) == nullptr);
    CHECK(tell(kOther, entry(20, 20)));
    REQUIRE(owner.find(key) != nullptr);
    CHECK(level() == plus_minus(60, 0.01));
    for (const std::uint32_t origin : {kOrigin, kOther}) {
        REQUIRE(ordered(origin, OrderKind::wake).size() == 1);
        CHECK(ordered(origin, OrderKind::wake)[0].run == 7);
    }
    CHECK(ordered(kOrigin, OrderKind::wake)[0].admitted == 40);
    for (const std::uint32_t other : {1U, 2U}) {
        REQUIRE(ordered(other, OrderKind::level).size() == 1);
        CHECK(ordered(other, OrderKind::level)[0].level == plus_minus(60, 0.01));
    }
}

TEST_CASE_FIXTURE(Fixture, "only the first owner confirms, and it hands over what it confirmed") {
    CHECK(tell(kOrigin, entry(20, 20)));
    const membership::Shard shard = membership::shard_of(key.quota);
    const membership::OwnerList before{member(0), member(1), member(2)};
    const membership::OwnerList after{member(1), member(0), member(2)};
    owner.shard_changed({.shard = shard, .before = before, .after = after}, now, *this);
    REQUIRE(ordered(1, OrderKind::hand_over).size() == 1);
    CHECK(ordered(1, OrderKind::hand_over)[0].level == plus_minus(20, 0.01));
    CHECK_FALSE(tell(kOrigin, entry(80, 60)));
    CHECK(owner.find(key) == nullptr);  // nor is it taken in
    owner.shard_changed({.shard = shard, .before = after, .after = before}, now, *this);
    QuietEntry again = entry(80, 80);
    again.fresh = 0;
    CHECK(tell(kOrigin, again));
    REQUIRE(owner.find(key) != nullptr);
    CHECK(level() == plus_minus(80, 0.01));
}

TEST_CASE_FIXTURE(Fixture, "what was handed to the wrong owner is not counted a second time") {
    const membership::OwnerList before{member(0), member(1), member(2)};
    const membership::OwnerList after{member(1), member(0), member(2)};
    owner.shard_changed(
        {.shard = membership::shard_of(key.quota), .before = before, .after = after}, now, *this);
    // By one that has not heard of member 1 yet, and tells that one again when it has.
    QuietOrder handed{.key = key, .kind = OrderKind::hand_over};
    handed.level = handed.sum = 20;
    owner.take_over(handed, now, *this);
    // The first owner wakes the limit.
    owner.take_level({.key = key, .kind = OrderKind::level, .level = 60}, now);
    report(kOrigin, 0, 10);
    CHECK(level() == plus_minus(60, 0.01));
    CHECK(ordered(1, OrderKind::level).empty());
    CHECK(ordered(2, OrderKind::level).empty());
    REQUIRE(ordered(1, OrderKind::hand_over).size() == 1);
    CHECK(ordered(1, OrderKind::hand_over)[0].level == plus_minus(20, 0.01));
    report(kOrigin, 1, 10);
    CHECK(level() == plus_minus(61, 0.01));
    CHECK(ordered(1, OrderKind::hand_over).size() == 1);
    // It was lost.
    owner.owner_asked(member(1), membership::bit_of(membership::shard_of(key.quota)), now, *this);
    REQUIRE(ordered(1, OrderKind::hand_over).size() == 2);
    CHECK(ordered(1, OrderKind::hand_over)[1].level == plus_minus(20, 0.01));
}

TEST_CASE_FIXTURE(Fixture, "who is not the first owner wakes no limit for what it is handed") {
    CHECK(tell(kOrigin, entry(1, 1)));  // it knows the limit
    const membership::OwnerList before{member(0), member(1), member(2)};
    const membership::OwnerList after{member(1), member(0), member(2)};
    owner.shard_changed(
        {.shard = membership::shard_of(key.quota), .before = before, .after = after}, now, *this);
    orders.clear();
    QuietOrder handed{.key = key, .kind = OrderKind::hand_over};
    handed.level = handed.sum = 80;
    owner.take_over(handed, now, *this);
    CHECK(owner.find(key) == nullptr);
    CHECK(orders.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "what was handed to the wrong owner has drained when that one gives it") {
    parameters.rate = 1;
    owner.refresh_parameters(now);
    const membership::OwnerList before{member(0), member(1), member(2)};
    const membership::OwnerList after{member(1), member(0), member(2)};
    owner.shard_changed(
        {.shard = membership::shard_of(key.quota), .before = before, .after = after}, now, *this);
    QuietOrder handed{.key = key, .kind = OrderKind::hand_over};
    handed.level = handed.sum = 30;
    owner.take_over(handed, now, *this);
    pass(20s);
    report(kOrigin, 0, 10);
    REQUIRE(ordered(1, OrderKind::hand_over).size() == 1);
    CHECK(ordered(1, OrderKind::hand_over)[0].level == plus_minus(10, 0.01));
}

TEST_CASE_FIXTURE(Fixture, "the first owner counts what it lacks of what another one was handed") {
    CHECK(tell(kOrigin, entry(60, 60)));
    QuietOrder handed{.key = key, .kind = OrderKind::hand_over};
    handed.level = handed.sum = 20;
    owner.take_over(handed, now, *this);
    CHECK(level() == plus_minus(60, 0.01));
    handed.level = handed.sum = 70;
    owner.take_over(handed, now, *this);
    CHECK(level() == plus_minus(70, 0.01));
}

TEST_CASE_FIXTURE(Fixture, "last words that come after a goodbye are counted, and expect nothing") {
    parameters.rate = 1;
    owner.refresh_parameters(now);
    QuietEntry last = entry(10, 10);
    last.limit_rate = 1;
    last.rate = 10;
    silence.gone(member(kOrigin), now);
    CHECK(tell(kOrigin, last));
    pass(30s);
    CHECK(tell(kOther, entry(41, 41)));
    CHECK(owner.find(key) == nullptr);  // 10 have drained at half the rate
    CHECK(tell(kOther, entry(60, 60)));
    REQUIRE(owner.find(key) != nullptr);
    CHECK(level() == plus_minus(60, 0.01));
}

TEST_CASE_FIXTURE(Fixture,
                  "of two definitions of a limit the smaller one counts, whoever tells last") {
    QuietEntry small = entry(0, 0);
    QuietEntry large = entry(0, 0);
    large.low = 10 * kLow;
    CHECK(tell(kOrigin, small));
    CHECK(tell(kOther, large));
    large.admitted = large.untold = large.untold_full = large.fresh = 60;
    CHECK(tell(kOther, large));
    CHECK(owner.find(key) != nullptr);
}

TEST_CASE_FIXTURE(Fixture, "the definition of who is silent for long does not count any more") {
    CHECK(tell(kOrigin, entry(0, 0)));
    QuietEntry large = entry(0, 0);
    large.low = 10 * kLow;
    CHECK(tell(kOther, large));
    now += 80s;
    large.admitted = large.untold = large.untold_full = large.fresh = 60;
    CHECK(tell(kOther, large));
    CHECK(owner.find(key) == nullptr);
}

TEST_CASE_FIXTURE(Fixture, "what is told quietly of an awake limit is not taken in") {
    CHECK(tell(kOrigin, entry(60, 60)));
    orders.clear();
    CHECK_FALSE(tell(kOrigin, entry(70, 10)));
    CHECK(level() == plus_minus(60, 0.01));
    REQUIRE(ordered(kOrigin, OrderKind::wake).size() == 1);
    CHECK(ordered(kOrigin, OrderKind::wake)[0].admitted == 60);
}

TEST_CASE_FIXTURE(Fixture,
                  "what an origin tells that has no room to wake is counted by all owners") {
    CHECK(tell(kOrigin, entry(60, 60)));
    orders.clear();
    QuietEntry stuck = entry(75, 15);
    stuck.untold_full = 12;  // the rest has drained
    stuck.no_room = true;
    CHECK(tell(kOrigin, stuck));
    CHECK(level() == plus_minus(72, 0.01));
    CHECK(tell(kOrigin, stuck));  // the answer was lost
    CHECK(level() == plus_minus(72, 0.01));
    for (const std::uint32_t other : {1U, 2U}) {
        REQUIRE(ordered(other, OrderKind::level).size() == 1);
        CHECK(ordered(other, OrderKind::level)[0].level == plus_minus(12, 0.01));
    }
    // It is to wake as soon as it can, with what is not counted yet.
    REQUIRE(!ordered(kOrigin, OrderKind::wake).empty());
    CHECK(ordered(kOrigin, OrderKind::wake)[0].run == 7);
    CHECK(ordered(kOrigin, OrderKind::wake)[0].admitted == 75);
}

TEST_CASE_FIXTURE(Fixture, "who has no room to wake is not asked again and again") {
    CHECK(tell(kOrigin, entry(60, 60)));
    report(kOther, 1, 200);  // the limit is in use
    QuietEntry stuck = entry(75, 15);
    stuck.no_room = true;
    CHECK(tell(kOrigin, stuck));
    orders.clear();
    pass(2s);
    CHECK(ordered(kOrigin, OrderKind::wake).empty());
    CHECK(tell(kOrigin, stuck));
    CHECK(ordered(kOrigin, OrderKind::wake).size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "an order is repeated to those that do not answer, six times in all") {
    CHECK(tell(kOther, entry(30, 30)));
    CHECK(tell(kOrigin, entry(30, 30)));
    report(kOther, 1, 10);
    pass(2s);
    CHECK(ordered(kOrigin, OrderKind::wake).size() == 6);
    CHECK(ordered(kOther, OrderKind::wake).size() == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "origins of a quiet limit are left alone when it is known to be in no use") {
    CHECK(tell(kOrigin, entry(20, 20)));
    HandoverEntry handed;
    handed.key = key;
    handed.level = 1;
    CHECK(owner.receive(number(1), handed, now, *this));
    pass(2s);
    CHECK(ordered(kOrigin, OrderKind::wake).empty());
    CHECK(owner.awake() == 0);
    report(kOther, 1, 10);  // somebody has load
    CHECK_FALSE(ordered(kOrigin, OrderKind::wake).empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "of an origin without room that is new here, what others know is left out") {
    CHECK(tell(kOther, entry(60, 60)));
    QuietEntry stuck = entry(75, 30);
    stuck.fresh = 10;  // the rest is known to a former first owner
    stuck.no_room = true;
    CHECK(tell(kOrigin, stuck));
    CHECK(level() == plus_minus(70, 0.01));
}

TEST_CASE_FIXTURE(Fixture, "an entry of a former run that comes late is not taken in") {
    CHECK(tell(kOrigin, entry(20, 20)));
    QuietEntry next = entry(10, 10);
    next.run = 8;
    CHECK(tell(kOrigin, next));
    QuietEntry late = entry(25, 25);
    CHECK(tell(kOrigin, late));
    CHECK(owner.find(key) == nullptr);  // 55 would have woken it
    late.no_room = true;
    CHECK(tell(kOrigin, late));
    CHECK(owner.find(key) == nullptr);
    next.admitted = 31;
    next.untold = next.untold_full = next.fresh = 21;
    CHECK(tell(kOrigin, next));
    REQUIRE(owner.find(key) != nullptr);
    CHECK(level() == plus_minus(51, 0.01));
}

TEST_CASE_FIXTURE(Fixture,
                  "of an awake limit, an entry of a former run orders and counts nothing") {
    CHECK(tell(kOther, entry(60, 60)));
    QuietEntry present = entry(30, 30);
    present.run = 8;
    CHECK_FALSE(tell(kOrigin, present));
    orders.clear();
    QuietEntry former = entry(500, 10);
    CHECK_FALSE(tell(kOrigin, former));
    CHECK(ordered(kOrigin, OrderKind::wake).empty());
    present.no_room = true;
    CHECK(tell(kOrigin, present));
    CHECK(level() == plus_minus(90, 0.01));
    former.no_room = true;
    CHECK(tell(kOrigin, former));
    CHECK(level() == plus_minus(90, 0.01));
}

TEST_CASE_FIXTURE(Fixture, "an origin without room tells of the limit's rate only once") {
    CHECK(tell(kOther, entry(60, 60)));
    QuietEntry stuck = entry(10, 10);
    stuck.no_room = true;
    QuietSums sums(settings, statistics, Random(3));
    CHECK(sums.receive_beside(3, stuck, now) == 10);
    stuck.limit_rate = stuck.low = 0;  // confirmed, so it is left out
    stuck.admitted = 12;
    stuck.untold = stuck.untold_full = stuck.fresh = 2;
    const QuietTold* told = sums.receive(3, stuck, now);
    REQUIRE(told != nullptr);
    CHECK(told->low == kLow);
    CHECK(told->rate == static_cast<float>(parameters.rate));
}

TEST_CASE_FIXTURE(Fixture,
                  "a sum that is made anew keeps no room for the origins of another limit") {
    QuietSums sums(settings, statistics, Random(3));
    for (const MemberNumber origin : {3u, 4u, 5u}) {
        REQUIRE(sums.receive(origin, entry(10, 10), now) != nullptr);
    }
    CHECK(sums.find(key)->cells.size() == 3);
    CHECK(sums.find(key)->cells.capacity() >= 3);
    sums.remove(key);
    QuietEntry other = entry(20, 20);
    ++other.key.period_ms;
    const QuietTold* told = sums.receive(4, other, now);
    REQUIRE(told != nullptr);
    CHECK(sums.slots() == 1);
    CHECK(told->cells.size() == 1);
    CHECK(told->cells.capacity() == 1);
    CHECK(told->bound() == 20);
}

TEST_CASE_FIXTURE(Fixture, "what was heard of an awake limit is not added when it is quiet again") {
    QuietSums sums(settings, statistics, Random(3));
    QuietEntry asleep = entry(500, 10);
    REQUIRE(sums.note_asleep(3, asleep, now) != nullptr);
    asleep.admitted = 540;
    asleep.untold = asleep.untold_full = asleep.fresh = 50;
    const QuietTold* told = sums.receive(3, asleep, now);
    REQUIRE(told != nullptr);
    CHECK(told->level() == plus_minus(50, 0.01));
    CHECK(told->bound() == plus_minus(50, 0.01));
}

TEST_CASE_FIXTURE(Fixture, "members that do not exist any more are expected to admit nothing") {
    parameters.rate = 50;
    owner.refresh_parameters(now);
    for (std::uint32_t gone = 10; gone < 27; ++gone) {
        QuietEntry last = entry(1, 1);
        last.limit_rate = 50;
        last.rate = 6.2;
        CHECK(tell(gone, last));
    }
    pass(40s);
    QuietEntry told = entry(60, 52);
    told.limit_rate = 50;
    told.untold_full = 30;
    CHECK(tell(kOrigin, told));
    REQUIRE(owner.find(key) != nullptr);
    CHECK(level() <= 52 + kLow / 2);
}

}  // namespace
}  // namespace weir::sync

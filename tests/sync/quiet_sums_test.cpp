// What the first owner of a quiet limit counts when the limit has had another first owner before,
// and when origins go.
#include "sync/quiet_sums.h"

#include <doctest/doctest.h>

#include "tolerance.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;
using testing::plus_minus;

constexpr MemberNumber kOrigin = 3;
constexpr MemberNumber kOther = 4;

/// The sums of one member, with a limit that hardly drains.
struct Sums {
    Instant now{1h};
    SyncSettings settings;
    SyncStatistics statistics;
    QuietSums sums{settings, statistics, Random(3)};
    LimitKey key{7, 0, 0, 1000};
    double rate = 1e-6;

    Sums() { sums.set_shares(4); }
    /// An entry of an origin that has admitted so much, none of which has drained.
    void tell(MemberNumber from, double admitted, double fresh) {
        QuietEntry entry;
        entry.key = key;
        entry.run = 9;
        entry.admitted = entry.untold = entry.untold_full = admitted;
        entry.fresh = fresh;
        entry.limit_rate = rate;
        entry.low = 1000;
        REQUIRE(sums.receive(from, entry, now) != nullptr);
    }
    void hand_over(double level, HandedBy who = HandedBy::former_owner) {
        const QuietOrder order{
            .key = key, .kind = OrderKind::hand_over, .level = level, .sum = level};
        REQUIRE(sums.take_over(order, who, now) != nullptr);
    }
    [[nodiscard]] double level() {
        QuietTold* told = sums.find(key);
        REQUIRE(told != nullptr);
        told->advance(sums.shares(), now);
        CHECK(told->bound() >= told->level() - 1e-6);
        return told->level();
    }
};

TEST_CASE_FIXTURE(Sums, "what is handed over and what is fresh are added, in either order") {
    SUBCASE("the origin tells after it") {
        hand_over(60);
        tell(kOrigin, 40, 5);
    }
    SUBCASE("the origin tells before it") {
        tell(kOrigin, 40, 5);
        now += 10ms;
        hand_over(60);
    }
    SUBCASE("the origin tells long after it") {
        hand_over(60);
        now += 10s;
        tell(kOrigin, 40, 5);
    }
    CHECK(level() == plus_minus(65, 0.01));
    hand_over(60);  // a second time
    CHECK(level() == plus_minus(65, 0.01));
    now += 400ms;
    tell(kOrigin, 47, 7);
    CHECK(level() == plus_minus(72, 0.01));
}

TEST_CASE_FIXTURE(Sums, "what origins tell of that others have taken in counts without it, too") {
    tell(kOrigin, 40, 5);
    tell(kOther, 20, 0);
    CHECK(level() == plus_minus(60, 0.01));
}

TEST_CASE_FIXTURE(Sums, "of what was told for long, a hand-over may hold any part") {
    tell(kOrigin, 40, 40);
    now += 2s;
    tell(kOther, 10, 10);
    hand_over(30);
    CHECK(level() == plus_minus(50, 0.01));
    hand_over(70);
    CHECK(level() == plus_minus(70, 0.01));
}

TEST_CASE_FIXTURE(Sums,
                  "what this member had on its disk and what was told since are added, once") {
    tell(kOrigin, 40, 40);
    now += 2s;
    hand_over(30, HandedBy::other_snapshot);
    CHECK(level() == plus_minus(40, 0.01));
    hand_over(30, HandedBy::own_snapshot);
    CHECK(level() == plus_minus(70, 0.01));
    hand_over(30, HandedBy::own_snapshot);
    hand_over(60);  // with all that was on the disk
    CHECK(level() == plus_minus(70, 0.01));
}

TEST_CASE_FIXTURE(Sums, "a first owner that is it again does not count what another has counted") {
    tell(kOrigin, 40, 40);
    sums.find(key)->give();
    sums.find(key)->cells.clear();
    CHECK(sums.find(key)->given.full == plus_minus(40, 0.01));
    now += 5s;
    hand_over(70);  // with 30 that the origin told the other one
    tell(kOrigin, 75, 5);
    CHECK(level() == plus_minus(75, 0.01));
}

TEST_CASE_FIXTURE(Sums, "of what another owner was told of a returned limit only the rest counts") {
    rate = 10;
    tell(kOrigin, 40, 40);
    now += 60s;
    // The origin has forgotten the limit, and then told another first owner of six a second.
    QuietEntry again;
    again.key = key;
    again.run = 10;
    again.admitted = again.untold = 245;
    again.untold_full = again.fresh = 6;
    again.limit_rate = rate;
    again.low = 1000;
    REQUIRE(sums.receive(kOrigin, again, now) != nullptr);
    CHECK(level() == plus_minus(6, 0.01));
}

TEST_CASE_FIXTURE(Sums, "a place names the limit for those that told of it there, in that run") {
    tell(kOrigin, 40, 5);
    const std::uint32_t place = sums.find(key)->place;
    QuietEntry entry;
    entry.run = 9;
    entry.place = place;
    REQUIRE(sums.find_place(kOrigin, entry));
    CHECK(entry.key == key);
    CHECK_FALSE(sums.find_place(kOther, entry));
    entry.run = 10;
    CHECK_FALSE(sums.find_place(kOrigin, entry));
    entry.run = 9;
    entry.place = place + 1;
    CHECK_FALSE(sums.find_place(kOrigin, entry));
    // The place is another limit's now.
    sums.remove(key);
    entry.place = place;
    CHECK_FALSE(sums.find_place(kOrigin, entry));
    key.quota = 8;
    tell(kOther, 1, 1);
    CHECK(sums.find(key)->place == place);
    CHECK_FALSE(sums.find_place(kOrigin, entry));
}

TEST_CASE_FIXTURE(Sums, "an origin that is gone is not expected to go on") {
    rate = 1;
    tell(kOrigin, 10, 10);
    for (int second = 1; second <= 20; ++second) {
        now += 1s;
        tell(kOrigin, 10 + 10 * second, 10);
    }
    const double before = level();
    CHECK(sums.find(key)->cells.front().steady > 9);
    SUBCASE("one that is not gone is") {
        now += 10s;
        (void)level();
        CHECK(sums.find(key)->cells.front().expected > 90);
    }
    SUBCASE("one that is gone is not") {
        sums.expect_no_more({kOther}, now);
        CHECK(sums.find(key)->cells.front().steady > 9);
        sums.expect_no_more({kOrigin}, now);
        now += 10s;
        CHECK(level() == plus_minus(before - 10 * rate, 0.01));
        CHECK(sums.find(key)->cells.front().expected == 0);
    }
}

}  // namespace
}  // namespace weir::sync

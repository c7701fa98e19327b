// The laws of quiet limits against one central bucket: nothing is forgotten that could matter.
#include "sync/quiet_share.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace weir::sync {
namespace {

using namespace std::chrono_literals;

struct Bucket {
    double level = 0;
    Instant at{};
    void advance(double rate, Instant now) {
        level = std::max(0.0, level - rate * to_seconds(now - at));
        at = now;
    }
};

constexpr double kRounding = 1e-9;

TEST_CASE("the number of shares is the next power of two") {
    CHECK(shares_among(0) == 1);
    CHECK(shares_among(1) == 1);
    CHECK(shares_among(2) == 2);
    CHECK(shares_among(3) == 4);
    CHECK(shares_among(4) == 4);
    CHECK(shares_among(1000) == 1024);
    CHECK(silent_share(10, 4) == doctest::Approx(1.25));
}

/// A fleet that uses one limit, told or not told at random: what shares and sum hold together is
/// never less than what one bucket holds that gets all of it.
void check_bound(bool owner_is_lost) {
    const auto sidecars = *rc::gen::inRange(1, 9);
    const double shares = shares_among(static_cast<std::size_t>(sidecars));
    const double rate = *rc::gen::inRange(1, 100);
    Instant now{1h};
    Bucket central{0, now};
    QuietSum sum;
    Instant advanced = now;
    const auto advance_sum = [&] {
        sum.advance(rate, 0, to_seconds(now - advanced));
        advanced = now;
    };
    std::vector<QuietShare> origins(static_cast<std::size_t>(sidecars));
    std::vector<double> known(origins.size());  // by the owner
    for (QuietShare& origin : origins) {
        origin.at = now;
    }
    const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
        200, rc::gen::pair(rc::gen::inRange(0, 400), rc::gen::inRange(0, 64)));
    for (const auto& [pause_ms, what] : steps) {
        now += std::chrono::milliseconds(pause_ms);
        const auto index = static_cast<std::size_t>(what) % origins.size();
        QuietShare& origin = origins[index];
        origin.advance(rate, shares, now);
        central.advance(rate, now);
        const double weight = what % 5 == 0 ? 7 : what % 7 == 0 ? -std::min(3.0, origin.own) : 1;
        origin.add(weight);
        central.level = std::max(0.0, central.level + weight);
        if (what % 3 == 0) {  // told, and perhaps not confirmed
            advance_sum();
            const double increase = std::max(0.0, origin.admitted - known[index]);
            sum.sum += std::min(increase, origin.untold);
            known[index] = origin.admitted;
            if (what % 2 == 0) {
                origin.acknowledge(origin.admitted);
            }
        }
        if (owner_is_lost && what == 1) {  // another owner begins with nothing, and all tell it
            sum.clear();
            for (std::size_t i = 0; i < origins.size(); ++i) {
                origins[i].advance(rate, shares, now);
                origins[i].begin_anew();
                known[i] = 0;
            }
        }
        advance_sum();
        double bound = sum.sum;
        for (QuietShare& each : origins) {
            each.advance(rate, shares, now);
            bound += each.untold;
        }
        RC_ASSERT(central.level <= bound + kRounding);
    }
}

TEST_CASE("shares and sum together hold at least what one central bucket holds") {
    CHECK(rc::check([] { check_bound(false); }));
}

TEST_CASE("they do so with a new owner that is told what has not drained") {
    CHECK(rc::check([] { check_bound(true); }));
}

TEST_CASE("what is confirmed is taken off, and what came after it stays") {
    QuietShare share;
    share.at = Instant{1h};
    share.add(5);
    const double told = share.admitted;
    share.add(2);
    share.acknowledge(told);
    CHECK(share.untold == 2);
    CHECK(share.untold_full == 2);
    CHECK(share.own == 7);
    share.acknowledge(told);  // a second answer to the same
    CHECK(share.untold == 2);
    share.acknowledge(1000);  // a lie confirms no more than there is
    CHECK(share.untold == 0);
    CHECK(share.acknowledged == 7);
}

TEST_CASE("what a former owner confirms is not fresh for the next one, which is told all") {
    QuietShare share;
    share.at = Instant{1h};
    share.add(5);
    share.begin_anew();
    share.add(2);
    share.acknowledge_former(5);
    CHECK(share.fresh == 2);
    CHECK(share.untold == 7);
    CHECK(share.acknowledged == 0);
    share.acknowledge_former(1000);  // a lie
    CHECK(share.fresh == 0);
    CHECK(share.untold == 7);
}

TEST_CASE("each part of a share drains at its own rate, and none below nothing") {
    QuietShare share;
    share.at = Instant{1h};
    share.add(100);
    share.advance(8, 4, Instant{1h} + 2s);
    CHECK(share.untold == doctest::Approx(100 - 8 / 8.0 * 2));
    CHECK(share.untold_full == doctest::Approx(100 - 8 * 2));
    CHECK(share.own == doctest::Approx(100 - 8 / 4.0 * 2));
    share.advance(8, 4, Instant{1h} + 1s);  // time does not run backwards
    CHECK(share.untold_full == doctest::Approx(84));
    share.advance(8, 4, Instant{3h});
    CHECK(share.untold == 0);
    CHECK(share.own == 0);
    CHECK(share.admitted == 100);
}

TEST_CASE("what is given back of confirmed weight is set off against what comes later") {
    QuietShare share;
    share.at = Instant{1h};
    share.add(5);
    share.acknowledge(5);
    share.add(-3);
    CHECK(share.untold == 0);
    CHECK(share.admitted == 5);
    share.add(2);  // the owner has 3 too much
    CHECK(share.admitted == 5);
    share.add(2);
    CHECK(share.admitted == 6);
    share.add(-100);
    CHECK(share.untold == 0);
    CHECK(share.admitted == 6);
}

TEST_CASE("what is given back before it was confirmed is told as if it had never been admitted") {
    QuietShare share;
    share.at = Instant{1h};
    share.add(5);
    share.add(-3);
    CHECK(share.untold == 2);
    share.acknowledge(share.admitted);  // the owner has taken 2 in
    share.add(3);
    CHECK(share.untold == 3);
    CHECK(share.admitted - share.acknowledged == 3);
}

TEST_CASE("what was given back long ago hides nothing, and a new owner does not have it") {
    QuietShare share;
    share.at = Instant{1h};
    share.add(50);
    share.acknowledge(50);
    share.add(-40);
    share.advance(8, 4, Instant{1h} + 3s);
    CHECK(share.excess == doctest::Approx(16));
    share.begin_anew();
    CHECK(share.excess == 0);
    share.add(10);
    CHECK(share.admitted == 60);
}

TEST_CASE("an owner wakes a limit above half of low, or when the rates told lead there at once") {
    CHECK_FALSE(has_to_wake(10, 5, 0));
    CHECK(has_to_wake(10, 5.01, 0));
    CHECK_FALSE(has_to_wake(10, 4, 5));
    CHECK(has_to_wake(10, 4, 5.1));
}

}  // namespace
}  // namespace weir::sync

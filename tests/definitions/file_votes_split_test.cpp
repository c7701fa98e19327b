// The fleet decides about sets without a generation while parts of it do not hear each other.
#include <doctest/doctest.h>

#include <vector>

#include "definitions/voting_fleet.h"
#include "sanitized.h"

namespace weir::definitions {
namespace {

using namespace std::chrono_literals;
using test::quota;
using test::settle;
using Fleet = test::VotingFleet;

}  // namespace

TEST_CASE("a split with a change on each side: the larger side's is in force after it") {
    Fleet fleet(5);
    settle(fleet, 1);
    fleet.passes = [](std::size_t one, std::size_t other) { return (one < 2) == (other < 2); };
    for (std::size_t i = 0; i < 5; ++i) {
        fleet.write(i, i < 2 ? 2 : 3);
    }
    fleet.run(50s);
    CHECK(fleet.with(1) == 2);  // the small side counts those that fell silent for a minute
    CHECK(fleet.with(3) == 3);
    fleet.run(60s);
    CHECK(fleet.with(2) == 2);
    fleet.passes = [](auto, auto) { return true; };
    fleet.run(30s);
    CHECK(fleet.all(3));
    fleet.run(60s);
    CHECK(fleet.all(3));
}

TEST_CASE("a part that is cut off asks those whose votes it never heard, too") {
    // The votes are told to those that count, and the part has none of these. It is cut off as soon
    // as it has heard of the first decision.
    bool other_set = false;
    SUBCASE("of one set") {}
    SUBCASE("although it has heard their votes about another set") { other_set = true; }
    for (const std::size_t size : {5U, 100U}) {
        for (std::uint64_t seed = 1; seed <= eighth_if_sanitized(10U); ++seed) {
            CAPTURE(size);
            CAPTURE(seed);
            Fleet fleet(size, seed);
            for (auto& [number, member] : fleet.members) {
                member->exchange.set_agree_after(1s);
                if (other_set) {
                    fleet.write(number, {quota("other", 1)}, std::nullopt, "other");
                }
            }
            fleet.run(other_set ? Duration(1min) : Duration::zero());
            fleet.loss = 0.5;
            fleet.write_all(1);
            const std::vector<std::size_t> part = fleet.without_count();
            REQUIRE(fleet.run_until(
                30s, [&] { return fleet.epoch(part[0]) == 1 && fleet.epoch(part[1]) == 1; }));
            const auto in_part = [&](std::size_t i) { return i == part[0] || i == part[1]; };
            fleet.passes = [&](std::size_t one, std::size_t other) {
                return in_part(one) == in_part(other);
            };
            fleet.loss = 0;
            fleet.write(part[0], 2);
            fleet.write(part[1], 2);
            fleet.run(50s);
            CHECK(fleet.rate(part[0]) == 1);
            CHECK(fleet.rate(part[1]) == 1);
            fleet.run(30s);
            CHECK(fleet.rate(part[0]) == 2);
            CHECK(fleet.rate(part[1]) == 2);
        }
    }
}

TEST_CASE("halves of a split with a change on each side end with one content") {
    Fleet fleet(4);
    settle(fleet, 1);
    fleet.passes = [](std::size_t one, std::size_t other) { return (one < 2) == (other < 2); };
    for (std::size_t i = 0; i < 4; ++i) {
        fleet.write(i, i < 2 ? 2 : 3);
    }
    fleet.run(2min);
    CHECK(fleet.with(2) == 2);
    CHECK(fleet.with(3) == 2);
    fleet.passes = [](auto, auto) { return true; };
    fleet.run(5s);
    CHECK((fleet.all(2) || fleet.all(3)));
    const double decided = fleet.rate(0);
    fleet.run(2min);
    CHECK(fleet.all(decided));  // a tie, which is told
    CHECK(fleet.differ(0));
}

TEST_CASE("a member that was alone since its start does not push its file on the fleet") {
    Fleet fleet(4);
    fleet.passes = [](std::size_t one, std::size_t other) { return (one == 3) == (other == 3); };
    fleet.write(3, 9);
    fleet.run(5min);  // the seeds cannot be found
    for (std::size_t i = 0; i < 3; ++i) {
        fleet.write(i, 1);
    }
    fleet.run(25s);
    fleet.passes = [](auto, auto) { return true; };
    bool moved = false;
    for (int i = 0; i < 30; ++i) {
        fleet.run(1s);
        moved = moved || fleet.rate(0) != 1 || fleet.rate(1) != 1 || fleet.rate(2) != 1;
    }
    CHECK_FALSE(moved);
    CHECK(fleet.all(1));
}

TEST_CASE("those that fall silent count for a minute, those that say goodbye do not") {
    Fleet fleet(4);
    settle(fleet, 1);
    SUBCASE("killed") {
        fleet.kill(2);
        fleet.kill(3);
        fleet.write_all(2);
        fleet.run(40s);
        CHECK(fleet.all(1));
        CHECK(fleet.run_until(50s, [&] { return fleet.all(2); }));
    }
    SUBCASE("left") {
        fleet.leave(2);
        fleet.leave(3);
        fleet.write_all(2);
        CHECK(fleet.run_until(20s, [&] { return fleet.all(2); }));
    }
}

TEST_CASE("a death beside a majority that stands does not delay the decision") {
    SUBCASE("of one that voted for the content in force") {
        Fleet fleet(3);
        settle(fleet, 1);
        fleet.write(0, 2);
        fleet.write(1, 2);
        fleet.run(9s);
        fleet.kill(2);
        CHECK(fleet.run_until(4s, [&] { return fleet.all(2); }));
    }
    SUBCASE("of one without a file, where the votes of all are heard") {
        Fleet fleet(31);
        fleet.write(0, 1);
        REQUIRE(fleet.run_until(1min, [&] { return fleet.all(1) && fleet.epoch(30) == 1; }));
        fleet.run(1min);  // of some nobody who counts has heard lately
        fleet.write(0, 2);
        for (std::size_t dead = 20; dead < 28; ++dead) {
            fleet.run(1s);
            fleet.kill(dead);
        }
        CHECK(fleet.run_until(5s, [&] { return fleet.all(2); }));
    }
}

TEST_CASE("a goodbye does not keep those that count from answering") {
    Fleet fleet(100);
    settle(fleet, 1);
    for (std::size_t i = 0; i < 50; ++i) {
        fleet.write(i, 2);
    }
    fleet.run(3s);
    REQUIRE(fleet.differ(0));
    const std::vector<std::size_t> others = fleet.without_count();
    std::uint64_t answers = 0;
    for (std::size_t i = 60; i < 70; ++i) {
        fleet.leave(others[i]);
        const std::uint64_t before = fleet.counts_sent();
        fleet.run(100ms);
        answers += fleet.counts_sent() - before;
    }
    CHECK(answers > 10);
}

TEST_CASE("who died while there was no file here is not lost when a file comes") {
    Fleet fleet(3);
    fleet.write(0, 1);
    REQUIRE(fleet.run_until(1min, [&] { return fleet.all(1) && fleet.epoch(2) == 1; }));
    fleet.members.at(0)->store.files().erase(test::kVotedSet);
    fleet.kill(1);
    fleet.kill(2);
    fleet.run(2min);
    fleet.write(0, 2);
    CHECK(fleet.run_until(12s, [&] { return fleet.all(2); }));
}

TEST_CASE("a member that voted for nothing long ago may vote now") {
    Fleet fleet(5);
    fleet.write(0, 1);
    REQUIRE(fleet.run_until(1min, [&] { return fleet.all(1) && fleet.epoch(4) == 1; }));
    fleet.run(20s);  // all have heard that the others do not vote, and nothing afterwards
    fleet.loss = 1;
    fleet.write_all(1);
    const std::vector<std::size_t> part = fleet.without_count();
    double decided = 2;
    SUBCASE("long ago") {
        fleet.run(40s);
        decided = 1;
    }
    SUBCASE("just now") { fleet.run(5s); }
    fleet.loss = 0;
    const auto in_part = [&](std::size_t i) { return i == part[0] || i == part[1]; };
    fleet.passes = [&](std::size_t one, std::size_t other) {
        return in_part(one) == in_part(other);
    };
    fleet.write(part[0], 2);
    fleet.write(part[1], 2);
    fleet.run(50s);
    CHECK(fleet.rate(part[0]) == decided);
    CHECK(fleet.rate(part[1]) == decided);
}

}  // namespace weir::definitions

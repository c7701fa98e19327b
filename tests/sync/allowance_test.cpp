// Limits of requests in flight in a fleet: the parts of the members follow the load, and together
// they admit no more than the limit says.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "allowance_fleet.h"
#include "base/random.h"
#include "sanitized.h"

namespace weir::sync {
namespace {

using test::AllowanceFleet;

/// While counts travel the fleet may exceed the limit by one request for each member.
void check_bounds(const AllowanceFleet::Seen& seen, double most, std::size_t members) {
    CHECK(seen.most <= most + static_cast<double>(members));
}

/// Ten times what the limit admits, divided like this.
void offer(AllowanceFleet& fleet, double most, const std::vector<double>& shares) {
    for (std::size_t i = 0; i < shares.size(); ++i) {
        fleet.load[i] = {10 * most * shares[i], 1};
    }
}

/// After the load has ended: nothing is in flight, and nobody knows anything of the limit.
void check_rest(AllowanceFleet& fleet, std::size_t members) {
    fleet.load.assign(fleet.load.size(), {});
    fleet.run(30);
    CHECK(fleet.in_flight() == 0);
    for (std::size_t i = 0; i < members; ++i) {
        CHECK(fleet.counted(i) == 0);
        CHECK(fleet.told(i) == 0);
    }
    CHECK(fleet.granted() == 0);
    const auto before = fleet.messages();
    fleet.run(10);
    CHECK(fleet.messages() == before);
}

TEST_CASE("wherever the load is, the limit is used and not exceeded") {
    const std::vector<std::vector<double>> shares = {
        {0.34, 0.33, 0.33}, {1, 0, 0}, {0.8, 0.1, 0.1}, {0.5, 0.5, 0}, {0, 0.05, 0.95}};
    for (const std::vector<double>& share : shares) {
        for (const double loss : {0.0, 0.1}) {
            CAPTURE(share[0]);
            CAPTURE(loss);
            AllowanceFleet fleet(3, 64, 11);
            fleet.loss = loss;
            fleet.run(2);
            offer(fleet, 64, share);
            check_bounds(fleet.run(3), 64, 3);
            const auto before = fleet.messages();
            const auto seen = fleet.run(10);
            check_bounds(seen, 64, 3);
            CHECK(seen.mean >= 61);
            CHECK(fleet.messages() - before < 600);  // 20 a second of each member
            check_rest(fleet, 3);
        }
    }
}

TEST_CASE("a load that moves takes its part with it within a second") {
    AllowanceFleet fleet(4, 40, 5);
    fleet.run(2);
    for (std::size_t hot = 0; hot < 4; ++hot) {
        std::vector<double> share(4, 0);
        share[hot] = 1;
        offer(fleet, 40, share);
        check_bounds(fleet.run(6), 40, 4);  // what the former one admitted ends meanwhile
        CHECK(fleet.run(2).mean > 38);
        CHECK(fleet.allowance(hot) >= 39);
    }
    check_rest(fleet, 4);
}

TEST_CASE("a member that starts under full load takes little before others have given its part") {
    int owns = 0;
    for (std::uint64_t seed = 31; seed < 39; ++seed) {
        const std::size_t members = 3 + seed % 4;
        AllowanceFleet fleet(members, 64, seed);
        fleet.delay = seed % 2 == 0 ? 0 : 0.01;
        offer(fleet, 64, std::vector(members, 0.25));
        fleet.run(5);
        const auto started = fleet.add();
        offer(fleet, 64, std::vector(members + 1, 0.25));
        const auto seen = fleet.run(6);
        CAPTURE(seed);
        check_bounds(seen, 64 + 4, members + 1);  // with 3 members it was 81
        CHECK(seen.mean >= 62);
        CHECK(fleet.in_flight(started) >= 64.0 / static_cast<double>(members + 1) - 4);
        owns += fleet.owner() == started ? 1 : 0;
    }
    CHECK(owns > 0);
    CHECK(owns < 8);
}

TEST_CASE("a load within the limit is not refused when it grows") {
    AllowanceFleet fleet(3, 60, 7);
    fleet.run(2);
    std::uint64_t refused = 0;
    for (double rate = 5; rate <= 35; rate += 5) {
        fleet.load[0] = {rate, 1};
        const auto seen = fleet.run(2);
        refused += seen.offered - seen.admitted;
    }
    CHECK(refused == 0);
    check_rest(fleet, 3);
}

TEST_CASE("with fewer places than members each member gets a place in turn") {
    AllowanceFleet fleet(8, 3, 9);
    fleet.run(2);
    for (std::size_t i = 0; i < 8; ++i) {
        fleet.load[i] = {20, 0.2};
    }
    check_bounds(fleet.run(5), 3, 8);
    std::vector<double> peak(8, 0);
    double mean = 0;
    for (int second = 0; second < 20; ++second) {
        const auto seen = fleet.run(1);
        CHECK(seen.most <= 3);
        mean += seen.mean / 20;
        for (std::size_t i = 0; i < 8; ++i) {
            peak[i] = std::max(peak[i], fleet.allowance(i));
        }
    }
    CHECK(mean > 2);
    CHECK(*std::min_element(peak.begin(), peak.end()) >= 1);
    check_rest(fleet, 8);
}

TEST_CASE("a member that uses its part and says nothing is asked for what it does not need") {
    AllowanceFleet fleet(3, 7, 23);
    fleet.run(2);
    for (int round = 0; round < 3; ++round) {
        CAPTURE(round);
        for (std::size_t i = 1; i < 3; ++i) {
            fleet.begin(i, 2);
        }
        fleet.run(0.5);
        fleet.load[0] = {10, 1000};
        fleet.run(3);
        CHECK(fleet.in_flight() == 7);
        CHECK(fleet.in_flight(0) == 3);
        fleet.end_all();
        fleet.load[0] = {};
        fleet.run(12);  // all are let go
    }
    check_rest(fleet, 3);
}

TEST_CASE("what an owner tells a member at rest holds for its next burst") {
    AllowanceFleet fleet(3, 64, 29);
    fleet.run(2);
    for (std::size_t i = 0; i < 3; ++i) {
        fleet.begin(i, 1);
    }
    fleet.end_all();
    fleet.run(4);
    fleet.load[0] = {640, 100};
    fleet.run(3);
    CHECK(fleet.in_flight(0) >= 62);
    fleet.begin(1, 30);  // between two ticks
    fleet.begin(2, 30);
    CHECK(fleet.in_flight() <= 67);
}

TEST_CASE("limits at rest follow the number of members, and edits") {
    AllowanceFleet fleet(1, 64, 31);
    fleet.run(2);
    fleet.begin(0, 1);
    fleet.end_all();
    fleet.run(2);
    fleet.add();
    fleet.add();
    fleet.run(3);
    fleet.begin(0, 100);
    CHECK(fleet.in_flight(0) == 22);
    fleet.end_all();
    fleet.run(20);
    fleet.edit(30);
    fleet.begin(0, 100);
    CHECK(fleet.in_flight(0) == 11);
}

TEST_CASE("a new owner learns what a member at rest may use") {
    AllowanceFleet fleet(4, 64, 37);
    fleet.run(2);
    const std::size_t first = fleet.owner();
    const std::size_t hot = (first + 1) % 4;
    const std::size_t next = (first + 2) % 4;
    fleet.load[hot] = {640, 1};
    fleet.run(4);
    fleet.load[hot] = {};
    fleet.run(3);  // at rest, with a large allowance
    fleet.kill(first);
    fleet.load[next] = {640, 100};
    fleet.run(4);
    fleet.begin(hot, 64);
    CHECK(fleet.in_flight() <= 68);
}

TEST_CASE("a long round trip delays the parts and does not stop them") {
    AllowanceFleet fleet(3, 64, 41);
    fleet.delay = 0.18;
    fleet.run(3);
    offer(fleet, 64, {1, 0, 0});
    check_bounds(fleet.run(12), 64, 3);
    CHECK(fleet.run(3).mean > 61);
}

TEST_CASE("an edit is followed up and down") {
    AllowanceFleet fleet(3, 60, 13);
    fleet.run(2);
    offer(fleet, 60, {0.7, 0.2, 0.1});
    fleet.run(4);
    fleet.edit(30);
    fleet.run(8);
    const auto fewer = fleet.run(3);
    CHECK(fewer.most <= 33);
    CHECK(fewer.mean > 28);
    fleet.edit(90);
    fleet.run(2);
    CHECK(fleet.run(3).mean > 87);
    check_rest(fleet, 3);
}

TEST_CASE("the places of a member that dies go to the others, whoever it was") {
    for (std::size_t victim = 0; victim < 4; ++victim) {
        CAPTURE(victim);
        AllowanceFleet fleet(4, 64, 17);
        fleet.run(2);
        offer(fleet, 64, {0.4, 0.2, 0.2, 0.2});
        fleet.run(5);
        fleet.kill(victim);
        check_bounds(fleet.run(6), 64, 4);
        const auto seen = fleet.run(3);
        check_bounds(seen, 64, 4);
        CHECK(seen.mean > 62);
    }
}

TEST_CASE("in a split both sides keep what they had, and the larger one takes the rest") {
    AllowanceFleet fleet(5, 60, 19);
    fleet.run(2);
    offer(fleet, 60, {0.2, 0.2, 0.2, 0.2, 0.2});
    fleet.run(5);
    fleet.side = {0, 0, 0, 1, 1};
    fleet.run(2);
    check_bounds(fleet.run(0.5), 60, 5);
    fleet.run(5);
    const double smaller = fleet.in_flight(3) + fleet.in_flight(4);
    CHECK(smaller <= 26);
    CHECK(fleet.in_flight() - smaller > 55);
    fleet.side.assign(5, 0);
    fleet.run(6);
    check_bounds(fleet.run(3), 60, 5);
    check_rest(fleet, 5);
}

TEST_CASE("after a hundred thousand requests, deaths, births and losses nothing is left") {
    for (std::uint64_t seed = 1; seed <= (kSanitized ? 1 : 4); ++seed) {
        CAPTURE(seed);
        Random random(seed);
        AllowanceFleet fleet(4, 48, seed);
        fleet.loss = 0.05;
        fleet.run(2);
        std::vector<std::size_t> living = {0, 1, 2, 3};
        std::uint64_t offered = 0;
        while (offered < 100'000) {
            for (const std::size_t i : living) {
                fleet.load[i] = {random.unit() < 0.3 ? 0 : random.unit() * 400,
                                 0.05 + random.unit()};
            }
            const auto seen = fleet.run(0.2 + random.unit() * 4);
            offered += seen.offered;
            check_bounds(seen, 48 + fleet.started_lately(), living.size() + 1);
            if (random.unit() < 0.2) {
                const std::size_t at = random.below(living.size());
                fleet.kill(living[at]);
                living[at] = fleet.add();
            }
        }
        for (const std::size_t i : living) {
            CHECK(fleet.counted(i) == fleet.in_flight(i));
        }
        fleet.load.assign(fleet.load.size(), {});
        fleet.run(30);
        CHECK(fleet.in_flight() == 0);
        for (const std::size_t i : living) {
            CHECK(fleet.counted(i) == 0);
        }
    }
}

}  // namespace
}  // namespace weir::sync

// Limits of windows in a fleet: each window is used up and not exceeded, wherever the load is, and
// what was admitted survives the members that admitted it.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sanitized.h"
#include "window_fleet.h"

namespace weir::sync {
namespace {

using test::WindowFleet;
using namespace std::chrono_literals;

limiter::RateLimit each_minute(double most) {
    limiter::RateLimit limit = limiter::RateLimit::in_window(most, 1min);
    limit.from = limiter::WindowStart::calendar;
    return limit;
}

/// Of the windows that began and ended while the load was on, none was exceeded by more than 1 % or
/// two requests, and none was used less than to 99 %, or all but one.
void check_windows(const WindowFleet& fleet, double most, std::int64_t from, std::int64_t to) {
    std::size_t whole = 0;
    for (const auto& window : fleet.windows) {
        const std::int64_t end = window.first;
        const double admitted = window.second;
        CAPTURE(end % 3600);
        CHECK(admitted <= most + std::max(2.0, most / 100));
        if (end - 60 >= from && end <= to) {
            ++whole;
            CHECK(admitted >= most - std::max(1.0, most / 100));
        }
    }
    CHECK(whole > 0);
}

TEST_CASE("windows are used up and not exceeded, wherever the load is") {
    const std::vector<std::vector<double>> shares = {
        {0.34, 0.33, 0.33}, {1, 0, 0}, {0.8, 0.1, 0.1}, {0, 0.05, 0.95}};
    for (const std::vector<double>& share : shares) {
        for (const double most :
             kSanitized ? std::vector{100.0} : std::vector{5.0, 100.0, 1000.0}) {
            for (const double times : {2.0, 20.0}) {
                CAPTURE(share[0]);
                CAPTURE(most);
                CAPTURE(times);
                WindowFleet fleet(3, each_minute(most), 7);
                fleet.loss = 0.05;
                for (std::size_t i = 0; i < 3; ++i) {
                    fleet.load[i] = times * most / 60 * share[i];
                }
                const std::int64_t from = fleet.second();
                fleet.run(190);
                check_windows(fleet, most, from, fleet.second());
            }
        }
    }
}

TEST_CASE("the last requests of a window are admitted, however few come and whoever serves them") {
    struct Case {
        const char* name;
        std::vector<double> shares;  // of five members
        bool in_turn;                // a balancer serves one after the other
    };
    for (const Case& one : {Case{"in turn", {0.2, 0.2, 0.2, 0.2, 0.2}, true},
                            Case{"random", {0.2, 0.2, 0.2, 0.2, 0.2}, false},
                            Case{"nearly all at one", {0.92, 0.02, 0.02, 0.02, 0.02}, false}}) {
        CAPTURE(one.name);
        double admitted = 0;
        constexpr int kTimes = kSanitized ? 2 : 20;
        for (std::uint64_t seed = 1; seed <= kTimes; ++seed) {
            WindowFleet fleet(5, each_minute(12), seed);
            Random random(seed);
            fleet.run_to(1);
            for (int i = 0; i < 40; ++i) {
                std::size_t member = static_cast<std::size_t>(i) % 5;
                for (double at = one.in_turn ? -1 : random.unit(); at >= 0;
                     at -= one.shares[member]) {
                    member = (member + 1) % 5;
                }
                (void)fleet.offer(member, 1);
                fleet.run(1.4);
            }
            CHECK(fleet.sum() <= 12);
            CHECK(fleet.sum() >= 11);
            admitted += fleet.sum();
        }
        CHECK(admitted >= (kSanitized ? 0.9 : 0.99) * 12 * kTimes);
    }
}

TEST_CASE("a member that never used a spent window admits nothing of it, also in its first burst") {
    WindowFleet fleet(3, each_minute(300), 3);
    fleet.run_to(2);
    fleet.load[0] = 100;
    fleet.run(20);
    CHECK(fleet.admitted[0] >= 298);
    CHECK(fleet.offer(1, 500) + fleet.offer(2, 500) <= 2);
    CHECK(fleet.sum() <= 302);
}

TEST_CASE("a burst that is less than an equal part is admitted at once") {
    WindowFleet fleet(3, each_minute(300), 4);
    fleet.run_to(1);
    CHECK(fleet.offer(0, 90) == 90);
    CHECK(fleet.offer(1, 90) == 90);
    CHECK(fleet.offer(2, 90) == 90);
}

TEST_CASE("nothing is refused while the window has room") {
    WindowFleet fleet(3, each_minute(600), 5);
    fleet.run_to(1);
    fleet.load = {9.5, 0, 0};
    fleet.run(55);
    CHECK(fleet.offered > 450);
    CHECK(fleet.sum() == fleet.offered);
}

TEST_CASE("what a killed member had told counts until the window ends, whoever the owners are") {
    for (std::size_t victim = 0; victim < 4; ++victim) {
        CAPTURE(victim);
        WindowFleet fleet(4, each_minute(1000), 20 + victim);
        fleet.run_to(1);
        fleet.load = {10, 10, 10, 10};
        fleet.run(10);
        fleet.load.assign(4, 0);
        fleet.run(0.2);
        fleet.kill(victim);
        fleet.run(5);
        for (const std::size_t owner : fleet.owners()) {
            CHECK(fleet.known(owner) == fleet.sum());
        }
        const std::size_t other = (victim + 1) % 4;
        fleet.load[other] = 400;
        fleet.run(20);
        CHECK(fleet.sum() >= 990);
        CHECK(fleet.sum() <= 1002);
    }
}

TEST_CASE("a rolling restart of all loses nothing and counts nothing twice") {
    for (const bool killed : {false, true}) {
        CAPTURE(killed);
        WindowFleet fleet(4, each_minute(1000), 9);
        fleet.loss = 0.02;
        fleet.run_to(1);
        for (std::size_t i = 0; i < 4; ++i) {
            const auto first = static_cast<std::ptrdiff_t>(i);
            std::fill(fleet.load.begin() + first, fleet.load.begin() + first + 4, 12.0);
            fleet.run(4);
            fleet.load.assign(fleet.load.size(), 0);
            fleet.run(killed ? 0.3 : 0.0);
            if (killed) {
                fleet.kill(i);
            } else {
                fleet.leave(i);
            }
            fleet.add();
            fleet.run(killed ? 6 : 4);  // until all know who is gone
        }
        for (const std::size_t owner : fleet.owners()) {
            CHECK(fleet.known(owner) == fleet.sum());
        }
        std::fill(fleet.load.begin() + 4, fleet.load.end(), 150.0);
        fleet.run(15);
        CHECK(fleet.sum() >= 990);
        CHECK(fleet.sum() <= 1010);
    }
}

TEST_CASE("after a split has healed all know what both sides have admitted") {
    WindowFleet fleet(5, each_minute(1000), 31);
    fleet.run_to(1);
    fleet.load = {20, 20, 20, 20, 20};
    fleet.run(4);
    fleet.side = {0, 0, 0, 1, 1};
    fleet.run(10);
    // The smaller side keeps the parts of its two members, and the larger one takes the rest.
    const double both = fleet.sum();
    CHECK(both > 1000);
    CHECK(both <= 1000 + 2 * 200);
    fleet.side.assign(5, 0);
    fleet.load.assign(5, 0);
    fleet.run(5);
    for (const std::size_t owner : fleet.owners()) {
        CHECK(fleet.known(owner) == fleet.sum());
    }
    fleet.load = {100, 100, 100, 100, 100};
    fleet.run(10);
    CHECK(fleet.sum() <= both + 2);
}

TEST_CASE("while owners come and go nothing is refused that the window has room for") {
    WindowFleet fleet(4, each_minute(2000), 81);
    fleet.run_to(1);
    fleet.load = {5, 5, 5, 5};
    for (std::size_t i = 0; i < 4; ++i) {
        fleet.run(3);
        fleet.load[i] = 0;
        fleet.leave(i);
        fleet.load[fleet.add()] = 5;
        fleet.run(3);
    }
    CHECK(fleet.offered > 400);
    // One that starts may use little until it has heard the others.
    CHECK(fleet.sum() >= fleet.offered - 4);
}

TEST_CASE("who is left alone may admit what is left of the window") {
    WindowFleet fleet(2, each_minute(100), 91);
    fleet.run_to(1);
    CHECK(fleet.offer(0, 20) == 20);
    CHECK(fleet.offer(1, 10) == 10);
    fleet.run(1);
    fleet.kill(1);
    fleet.run(20);  // for the hold time it may have been cut off
    CHECK(fleet.offer(0, 10) == 10);
    fleet.load[0] = 50;
    fleet.run(10);
    CHECK(fleet.sum() >= 99);
    CHECK(fleet.sum() <= 100);
}

TEST_CASE("an owner that has lost what a member said hears it again") {
    WindowFleet fleet(3, each_minute(300), 95);
    fleet.run_to(1);
    fleet.load = {10, 10, 10};
    fleet.run(5);
    fleet.load.assign(3, 0);
    fleet.side = {0, 0, 1};
    fleet.run(16);  // the third one is given up, and nothing is held for it any more
    fleet.side.assign(3, 0);
    fleet.run(2);
    fleet.load[0] = 100;
    fleet.run(10);
    CHECK(fleet.sum() >= 297);
    CHECK(fleet.sum() <= 303);
}

TEST_CASE("a member that joins in a window that is spent admits little of it") {
    WindowFleet fleet(3, each_minute(1000), 41);
    fleet.run_to(1);
    fleet.load = {200, 200, 200};
    fleet.run(10);
    CHECK(fleet.sum() >= 999);
    const std::size_t fresh = fleet.add();
    fleet.load[fresh] = 1000;
    fleet.run(10);
    CHECK(fleet.sum() <= 1010);
}

TEST_CASE("windows from the first request are the same for all members") {
    limiter::RateLimit limit = each_minute(200);
    limit.from = limiter::WindowStart::first;
    WindowFleet fleet(3, limit, 51);
    fleet.run_to(10);
    fleet.load = {5, 0, 0};
    fleet.run(20);
    fleet.load = {5, 5, 30};
    fleet.run(3);
    CHECK(fleet.status(1).window_end == fleet.status(0).window_end);
    CHECK(fleet.status(2).window_end == fleet.status(0).window_end);
    const std::int64_t end = fleet.status(0).window_end;
    while (fleet.second() < end) {
        fleet.run(0.5);
    }
    CHECK(fleet.sum() >= 199);
    CHECK(fleet.sum() <= 202);
}

TEST_CASE("an edit of the amount keeps what was admitted") {
    WindowFleet fleet(3, each_minute(300), 61);
    fleet.run_to(1);
    fleet.load = {20, 20, 20};
    fleet.run(3);
    fleet.edit(each_minute(900));
    fleet.load = {100, 100, 100};
    fleet.run(8);
    CHECK(fleet.sum() >= 891);
    CHECK(fleet.sum() <= 909);
    fleet.edit(each_minute(600));
    const double before = fleet.sum();
    fleet.run(5);
    CHECK(fleet.sum() == before);
}

TEST_CASE("a limit at rest costs nothing, and a spent one little") {
    WindowFleet fleet(3, each_minute(1000), 71);
    fleet.run_to(1);
    fleet.load = {50, 50, 50};
    fleet.run(2);
    fleet.load.assign(3, 0);
    fleet.run(3);
    const auto resting = fleet.messages();
    fleet.run(30);
    CHECK(fleet.messages() == resting);
    fleet.load = {1000, 1000, 1000};
    fleet.run(5);
    const auto spent = fleet.messages();
    fleet.run(10);
    CHECK(fleet.messages() - spent < 300);
}

}  // namespace
}  // namespace weir::sync

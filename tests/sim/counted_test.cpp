// Limits of windows and of requests in flight in the simulator's own machinery: wall clocks, times
// of requests, and what becomes of requests whose process ends.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "sim/fleet.h"
#include "sim/watch.h"
#include "sync/counter_exchange.h"

namespace weir::sim {
namespace {

using namespace test;
using limiter::RateLimit;

WorldPlan counted_plan(const RateLimit& limit, double offered, double seconds) {
    WorldPlan plan = plan_of({.sidecars = 3, .offered = offered, .seconds = seconds, .seed = 1});
    plan.definitions[0].limits = {limit};
    return plan;
}

double counted_in_flight(World& world, std::uint32_t sidecar) {
    const auto status = world.sidecar(sidecar).limiter().inspect(
        "q", world.sidecar(sidecar).local(world.instant()));
    return status.empty() ? 0 : status[0].counted.count;
}

TEST_CASE("a sidecar that says goodbye ends when its requests have ended, and gets no new ones") {
    WorldPlan plan = counted_plan(RateLimit::in_flight(30), 60, 20);
    plan.load.takes = 2;
    World world(plan);
    double at_goodbye = 0;
    double a_second_later = 0;
    bool gone_then = true;
    std::set<std::uint32_t> served;
    world.observe([&](double at, std::uint32_t sidecar, std::uint32_t, bool) {
        if (at > 10) {
            served.insert(sidecar);
        }
    });
    world.at(10, [&](World& w) {
        at_goodbye = counted_in_flight(w, 1);
        w.say_goodbye(1);
    });
    world.at(11, [&](World& w) {
        gone_then = !w.sidecar(1).running();
        a_second_later = counted_in_flight(w, 1);
    });
    REQUIRE(world.run(kMeeting));
    CHECK(at_goodbye > 5);
    CHECK(!gone_then);
    CHECK(a_second_later > 0);
    CHECK(a_second_later < at_goodbye);
    CHECK(served == std::set<std::uint32_t>{0, 2});
    CHECK(!world.sidecar(1).running());
}

TEST_CASE("requests end with a process that is killed, and with nobody else") {
    WorldPlan plan = counted_plan(RateLimit::in_flight(30), 60, 20);
    plan.load.takes = 1000;
    World world(plan);
    Watch watch(plan);
    world.watch(&watch);
    world.at(10, [](World& w) { w.restart(1); });
    REQUIRE(world.run(kMeeting));
    CHECK(counted_in_flight(world, 0) + counted_in_flight(world, 1) + counted_in_flight(world, 2) >=
          29);
}

TEST_CASE("windows of the calendar begin with the story, however soon the sidecars have met") {
    RateLimit limit = RateLimit::in_window(100, std::chrono::minutes(1));
    limit.from = limiter::WindowStart::calendar;
    World world(counted_plan(limit, 30, 125));
    std::set<double> begun;
    double admitted = 0;
    double last = -100;
    world.observe([&](double at, std::uint32_t, std::uint32_t, bool pass) {
        if (pass && at - last > 20) {
            begun.insert(at);
        }
        last = pass ? at : last;
        admitted += pass ? 1 : 0;
    });
    REQUIRE(world.run(kMeeting));
    CHECK(admitted == 300);
    REQUIRE(begun.size() == 3);
    CHECK(*begun.rbegin() >= 120);
    CHECK(*begun.rbegin() < 120.5);
}

TEST_CASE("a wall clock that is wrong is seen by its sidecar, and the fleet goes by the others") {
    RateLimit limit = RateLimit::in_window(100, std::chrono::minutes(1));
    limit.from = limiter::WindowStart::calendar;
    World world(counted_plan(limit, 30, 30));
    Duration difference{};
    std::set<std::int64_t> ends;
    world.at(5, [](World& w) { w.set_wall_error(2, std::chrono::hours(1)); });
    world.at(20, [&](World& w) {
        difference = w.sidecar(2).engine().counters().clock().difference();
        for (std::uint32_t i = 0; i < 3; ++i) {
            const auto status =
                w.sidecar(i).limiter().inspect("q", w.sidecar(i).local(w.instant()));
            ends.insert(status.at(0).window_end);
        }
    });
    REQUIRE(world.run(kMeeting));
    CHECK(std::chrono::abs(difference - std::chrono::hours(1)) < std::chrono::milliseconds(100));
    CHECK(ends.size() == 1);
}

TEST_CASE("figures: what windows admitted and what was in flight while the load was steady") {
    RateLimit limit = RateLimit::in_window(100, std::chrono::minutes(1));
    limit.from = limiter::WindowStart::calendar;
    WorldPlan plan = counted_plan(limit, 30, 130);
    plan.definitions[0].limits.push_back(RateLimit::in_flight(20));
    plan.load.takes = 1;
    World world(plan);
    Watch watch(plan);
    watch.figures().measure(1, 125);
    world.watch(&watch);
    REQUIRE(world.run(kMeeting));
    const std::vector<CountedFigure> figures = watch.figures().figures();
    REQUIRE(figures.size() == 2);
    CHECK(figures[0].windows);
    CHECK(figures[0].count == 1);  // from 60 s to 120 s
    CHECK(figures[0].least == 100);
    CHECK(figures[0].most == 100);
    CHECK(!figures[1].windows);
    CHECK(figures[1].limit == 20);
    CHECK(figures[1].most <= 20);
    CHECK(figures[1].mean > 0.5);
    CHECK(figures[1].mean < 5);
}

}  // namespace
}  // namespace weir::sim

#include <doctest/doctest.h>

#include <cmath>

#include "fixture.h"
#include "tolerance.h"

// Closed loops in virtual time: what is admitted over seconds.

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;
using weir::testing::plus_minus;

TEST_CASE("ten times the limit is held to the limit") {
    for (const double overload : {2.0, 10.0, 50.0}) {
        Fixture fixture({quota("q", {per_second(200)})});
        Random random(8);
        (void)fixture.load("q", 200 * overload, 4, random);
        const double admitted = fixture.load("q", 200 * overload, 30, random);
        CAPTURE(overload);
        CHECK(admitted / (200 * 30) == plus_minus(1, 0.01));
    }
}

TEST_CASE("below the limit nothing is refused, and shedding ends when the load leaves") {
    Fixture fixture({quota("q", {per_second(500)})});
    Random random(9);
    (void)fixture.load("q", 5000, 5, random);
    fixture.wait(1);
    const auto figures = [&] {
        double refused = 0;
        fixture.limiter.for_each_statistics(
            fixture.now, [&](const DefinitionStatistics& all) { refused += all.refused; });
        return refused;
    };
    const double before = figures();
    (void)fixture.load("q", 450, 20, random);
    CHECK(figures() == before);
}

TEST_CASE("a hard edge alone admits exactly its limit") {
    Fixture fixture({quota("q", {per_second(10)})});
    Random random(10);
    const double admitted = fixture.load("q", 200, 60, random);
    CHECK(admitted == plus_minus(610, 3));
}

TEST_CASE("the product keeps a parent steady over a child that refuses a flood by itself") {
    // chain_model's story: parent 500/s over a child of 450/s offered 20,000 and a quiet one.
    Fixture fixture({quota("p", {per_second(500)}), quota("p/loud", {per_second(450)}, "p"),
                     quota("p/quiet", {per_second(1000)}, "p")});
    Random random(11);
    const auto second = [&](double seconds, double& loud, double& quiet) {
        const Instant end = fixture.now + from_seconds(seconds);
        while (fixture.now < end) {
            fixture.now += from_seconds(random.exponential(20'200));
            if (random.unit() < 200.0 / 20'200) {
                quiet += fixture.admits("p/quiet") ? 1 : 0;
            } else {
                loud += fixture.admits("p/loud") ? 1 : 0;
            }
        }
    };
    double loud = 0;
    double quiet = 0;
    second(4, loud, quiet);
    double sum = 0;
    for (int i = 0; i < 10; ++i) {
        loud = quiet = 0;
        second(1, loud, quiet);
        CHECK((loud + quiet) / 500 == plus_minus(1, 0.07));
        sum += loud + quiet;
    }
    CHECK(sum / 5000 == plus_minus(1, 0.015));
}

TEST_CASE("an installed view is dead-reckoned: the fleet's share is held") {
    // Nine others like us, reckoned only: together 10x of 1000/s, a tenth of it ours.
    Fixture fixture({quota("q", {per_second(1000)})});
    Random random(12);
    CHECK(fixture.admits("q"));
    const LimitRef limit = fixture.reference("q");
    double admitted = 0;
    for (int tick = 0; tick < 1200; ++tick) {
        const auto counts = fixture.limiter.read(limit, fixture.now);
        FleetView view;
        view.level = counts->view_level < 0 ? 1500 : counts->level;
        view.admitted_at = counts->admitted;
        view.offered_rate = 10'000;
        view.others_rate = 9'000;
        if (tick % 20 == 0) {
            CHECK(fixture.limiter.install(limit, view, fixture.now));
        }
        const double passed = fixture.load("q", 1000, 0.01, random);
        admitted += tick >= 200 ? passed : 0;
    }
    CHECK(admitted / 1000 == plus_minus(1, 0.05));  // a tenth of 1000/s for 10 s
    const auto counts = fixture.limiter.read(limit, fixture.now);
    CHECK(counts->level == plus_minus(1500, 75));
    // G grew by the open share of the time.
    CHECK(counts->open_time == plus_minus(12 * 0.1, 0.12));
}

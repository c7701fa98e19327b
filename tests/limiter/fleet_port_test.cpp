#include "limiter/fleet_values.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "fixture.h"
#include "tolerance.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;
using weir::testing::plus_minus;

namespace {
std::vector<LimitRef> drained(Limiter& limiter) {
    std::vector<LimitRef> all;
    limiter.drain_active([&](LimitRef limit) { all.push_back(limit); });
    return all;
}
}  // namespace

TEST_CASE("a drain visits the fleet-scoped limits touched since the last one, once") {
    RateLimit local = per_minute(100);
    local.scope = Scope::sidecar;
    Fixture fixture({quota("p", {per_second(100), local}), quota("p/{x}", {per_second(10)}, "p")});
    CHECK(drained(fixture.limiter).empty());
    CHECK(fixture.admits("p/a"));
    CHECK(fixture.admits("p/a"));
    CHECK(fixture.admits("p/b"));
    const auto touched = drained(fixture.limiter);
    CHECK(touched.size() == 3);
    for (const LimitRef limit : touched) {
        CHECK(fixture.limiter.identity(limit)->period == std::chrono::seconds(1));
    }
    CHECK(drained(fixture.limiter).empty());
    CHECK(fixture.admits("p/b"));
    CHECK(drained(fixture.limiter).size() == 2);
}

TEST_CASE("local counts tell what was admitted, offered and refunded") {
    Fixture fixture({quota("q", {borders(10, 10, 10)})});
    (void)drained(fixture.limiter);
    std::vector<Charge> charges;
    for (int i = 0; i < 15; ++i) {
        const Decision decision = fixture.check("q");
        if (decision.admitted) {
            charges.push_back(decision.charge);
        }
        fixture.wait(0.001);
    }
    const LimitRef limit = drained(fixture.limiter).at(0);
    fixture.wait(0.06);
    auto counts = fixture.limiter.read(limit, fixture.now);
    REQUIRE(counts);
    CHECK(counts->admitted == doctest::Approx(10));
    CHECK(counts->offered == doctest::Approx(15));
    CHECK(counts->refunded == 0);
    CHECK(counts->offered_rate == plus_minus(15 / 0.3 * std::exp(-0.067 / 0.3), 0.8));
    CHECK(counts->local_level == plus_minus(10 - 0.074 * 10, 0.2));
    CHECK(counts->view_level == -1);
    fixture.limiter.refund(fixture.thread, charges[0], fixture.now);
    CHECK(fixture.admits("q"));
    counts = fixture.limiter.read(limit, fixture.now);
    CHECK(counts->refunded == doctest::Approx(1));
    CHECK(counts->admitted == doctest::Approx(11));
    // The newest arrival is younger than 50 ms: not in the rate.
    const double with_newest = counts->offered_rate;
    fixture.wait(0.001);
    CHECK(fixture.limiter.read(limit, fixture.now)->offered_rate ==
          plus_minus(with_newest, 0.01 * with_newest));
}

TEST_CASE("what a shadow quota lets through beyond its limit is offered to it, not admitted") {
    auto shadow = quota("q", {borders(10, 10, 10)});
    shadow.mode = Mode::shadow;
    Fixture fixture({shadow});
    (void)drained(fixture.limiter);
    for (int i = 0; i < 15; ++i) {
        CHECK(fixture.admits("q"));
    }
    const LimitRef limit = drained(fixture.limiter).at(0);
    const auto counts = fixture.limiter.read(limit, fixture.now);
    REQUIRE(counts);
    CHECK(counts->offered == doctest::Approx(15));
    CHECK(counts->admitted == doctest::Approx(10));
}

TEST_CASE("the larger of view and local level counts; alone again the local one") {
    Fixture fixture({quota("q", {borders(10, 100, 100)})});
    for (int i = 0; i < 20; ++i) {
        CHECK(fixture.admits("q"));
    }
    const LimitRef limit = fixture.reference("q");
    auto counts = fixture.limiter.read(limit, fixture.now);
    FleetView view;
    view.level = 60;
    view.admitted_at = counts->admitted;
    view.offered_rate = 50;
    REQUIRE(fixture.limiter.install(limit, view, fixture.now));
    CHECK(fixture.level("q") == doctest::Approx(60));
    CHECK(fixture.admits("q"));
    CHECK(fixture.level("q") == doctest::Approx(61));
    fixture.wait(1);
    counts = fixture.limiter.read(limit, fixture.now);
    CHECK(counts->level == doctest::Approx(51));
    CHECK(counts->local_level == doctest::Approx(11));
    // What the level did not include yet is added.
    view.level = 5;
    view.admitted_at = counts->admitted - 2;
    REQUIRE(fixture.limiter.install(limit, view, fixture.now));
    CHECK(fixture.level("q") == doctest::Approx(11));
    view.level = 30;
    REQUIRE(fixture.limiter.install(limit, view, fixture.now));
    CHECK(fixture.level("q") == doctest::Approx(32));
    fixture.limiter.uninstall(limit, fixture.now);
    CHECK(fixture.level("q") == doctest::Approx(11));
}

TEST_CASE("a view's others fill the bucket between installs") {
    Fixture fixture({quota("q", {borders(100, 1000, 1000)})});
    CHECK(fixture.admits("q"));
    const LimitRef limit = fixture.reference("q");
    FleetView view;
    view.level = 500;
    view.offered_rate = 150;
    view.others_rate = 150;
    view.admitted_at = 1;
    REQUIRE(fixture.limiter.install(limit, view, fixture.now));
    fixture.wait(2);
    CHECK(fixture.limiter.read(limit, fixture.now)->level == plus_minus(600, 0.6));
    fixture.wait(2);
    CHECK(fixture.admits("q"));
    CHECK(fixture.level("q") == plus_minus(701, 0.7));
}

TEST_CASE("a hard edge sheds when an owner says so, and stops two requests below low") {
    Fixture fixture({quota("q", {borders(10, 10, 10)})});
    CHECK(fixture.admits("q"));
    const LimitRef limit = fixture.reference("q");
    FleetView view;
    view.level = 9.5;
    view.offered_rate = 1000;
    view.others_rate = 1000;
    view.admitted_at = 1;
    view.shedding = true;
    REQUIRE(fixture.limiter.install(limit, view, fixture.now));
    CHECK(fixture.limiter.read(limit, fixture.now)->shedding);
    CHECK_FALSE(fixture.admits("q"));
    view.level = 8.5;
    REQUIRE(fixture.limiter.install(limit, view, fixture.now));
    const Decision decision = fixture.check("q");
    CHECK(decision.discard_probability == plus_minus(1 - 11.0 / 1000, 0.001));
    view.level = 5;
    view.shedding = false;
    view.offered_rate = 10;
    REQUIRE(fixture.limiter.install(limit, view, fixture.now));
    CHECK_FALSE(fixture.limiter.read(limit, fixture.now)->shedding);
    CHECK(fixture.admits("q"));
}

TEST_CASE("views from a liar are refused and counted") {
    Fixture fixture({quota("q", {per_second(10)})});
    CHECK(fixture.admits("q"));
    const LimitRef limit = fixture.reference("q");
    for (const double bad : {std::nan(""), 1e300, -1.0}) {
        FleetView view;
        view.offered_rate = bad;
        CHECK_FALSE(fixture.limiter.install(limit, view, fixture.now));
    }
    FleetView view;
    view.level = std::nan("");
    CHECK_FALSE(fixture.limiter.install(limit, view, fixture.now));
    CHECK(fixture.limiter.counters().bad_views == 4);
    // An absurd level is cut at the ceiling: 10 + max(2, 3).
    view.level = 1e15;
    CHECK(fixture.limiter.install(limit, view, fixture.now));
    CHECK(fixture.level("q") == doctest::Approx(13));
}

TEST_CASE("released limits begin a new run; stale references do nothing") {
    Fixture fixture({quota("q/{x}", {per_second(10)})});
    CHECK(fixture.admits("q/a"));
    const LimitRef limit = fixture.reference("q/a");
    CHECK(fixture.limiter.read(limit, fixture.now)->admitted == 1);
    fixture.limiter.release(limit, fixture.now);
    CHECK(fixture.limiter.memory().views == 0);
    CHECK(fixture.limiter.read(limit, fixture.now)->admitted == 0);
    fixture.wait(100);
    fixture.limiter.quiescent(fixture.thread);
    fixture.limiter.maintain(fixture.now);
    CHECK(fixture.limiter.memory().instances == 0);
    CHECK_FALSE(fixture.limiter.read(limit, fixture.now));
    CHECK_FALSE(fixture.limiter.install(limit, {}, fixture.now));
    CHECK_FALSE(fixture.limiter.identity(limit));
    fixture.limiter.uninstall(limit, fixture.now);
    fixture.limiter.release(limit, fixture.now);
    CHECK_FALSE(fixture.limiter.lookup("q/a", Unit::requests, std::chrono::seconds(1)));
}

TEST_CASE("parameters are known for names that were never used") {
    RateLimit local = per_minute(1);
    local.scope = Scope::sidecar;
    Fixture fixture({quota("q/{x}", {per_second(50), local})});
    const auto found =
        fixture.limiter.resolve_parameters("q/z", Unit::requests, std::chrono::seconds(1));
    REQUIRE(found);
    CHECK(found->rate == 50);
    CHECK_FALSE(fixture.limiter.resolve_parameters("q/z", Unit::requests, std::chrono::minutes(1)));
    CHECK_FALSE(fixture.limiter.resolve_parameters("z", Unit::requests, std::chrono::seconds(1)));
    const auto definition = fixture.limiter.definition_for("q/z");
    REQUIRE(definition);
    CHECK(std::count_if(
              definition->limits.begin(), definition->limits.end(), [&](const RateLimit& limit) {
                  return fixture.limiter.resolve_parameters("q/z", limit.unit, limit.period)
                      .has_value();
              }) == 1);
    CHECK(fixture.limiter.definition_for("q/z")->name == "q/{x}");
    CHECK(fixture.limiter.memory().instances == 0);
}

TEST_CASE("offered weight of a level is what the other levels would let through") {
    Fixture fixture({quota("p", {per_second(1000)}), quota("p/c", {borders(5, 5, 5)}, "p")});
    (void)drained(fixture.limiter);
    for (int i = 0; i < 20; ++i) {
        (void)fixture.check("p/c");
    }
    CHECK(fixture.limiter.read(fixture.reference("p"), fixture.now)->offered == doctest::Approx(5));
    CHECK(fixture.limiter.read(fixture.reference("p/c"), fixture.now)->offered ==
          doctest::Approx(20));
}

TEST_CASE("counts for the engine lose nothing beside much larger sums") {
    Fixture fixture({quota("q", {borders(1000, 1e12, 1e12)})});
    Weights heavy;
    heavy.requests = 16777216 * 8;  // a float next to it does not see a 1
    CHECK(fixture.check("q").admitted);
    const LimitRef limit = fixture.reference("q");
    (void)fixture.limiter.read(limit, fixture.now);
    CHECK(fixture.check("q", heavy).admitted);
    for (int i = 0; i < 1000; ++i) {
        CHECK(fixture.check("q").admitted);
    }
    const auto counts = fixture.limiter.read(limit, fixture.now);
    REQUIRE(counts);
    CHECK(counts->admitted == heavy.requests + 1001);
    CHECK(counts->offered == heavy.requests + 1001);
}

TEST_CASE("a limit far below its rate refuses nobody while its view comes and goes") {
    Fixture fixture({quota("q", {borders(2000, 2000, 4000)})});
    std::atomic<std::int64_t> clock{fixture.now.time_since_epoch().count()};
    CHECK(fixture.admits("q", 1));
    const LimitRef limit = fixture.reference("q");
    ThreadContext& thread = fixture.limiter.register_thread(0);
    std::atomic<bool> ends{false};
    std::atomic<int> views{0};
    int refused = 0;
    std::jthread worker([&] {
        Weights weights;
        weights.requests = 1;
        // A request each second of the clock: at an old anchor the level is soon above `high`.
        for (int i = 0; i < 100'000 || (views < 100 && i < 20'000'000); ++i) {
            const Instant now{Duration(clock += 1'000'000'000)};
            const LeafId leaf = fixture.limiter.find(thread, "q", now);
            refused += fixture.limiter.check(thread, leaf, weights, now, CheckMode::charge).admitted
                           ? 0
                           : 1;
            fixture.limiter.quiescent(thread);
        }
        ends = true;
    });
    while (!ends) {
        std::this_thread::yield();  // the anchor gets old in between
        const Instant now{Duration(clock.load())};
        views += fixture.limiter.read(limit, now) ? 1 : 0;
        fixture.limiter.release(limit, now);
    }
    worker.join();
    CHECK(views >= 100);
    CHECK(refused == 0);
}

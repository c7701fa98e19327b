// What a limit does while the engine says that its owners cannot be heard, by the quota's mode.

#include <doctest/doctest.h>

#include "limiter/fixture.h"
#include "tolerance.h"

namespace weir::limiter {
namespace {

using namespace testing;
using weir::testing::plus_minus;

QuotaDefinition isolated_quota(std::string name, IsolationMode mode, std::optional<double> safe,
                               std::optional<std::string> parent = std::nullopt) {
    QuotaDefinition definition = quota(std::move(name), {per_second(1000)}, std::move(parent));
    definition.when_isolated = mode;
    definition.limits[0].safe = safe;
    return definition;
}

TEST_CASE("pessimistic: refuses all with its own reason, and others go on") {
    Fixture fixture({isolated_quota("q", IsolationMode::pessimistic, {}),
                     isolated_quota("q/a", IsolationMode::safe, {}, "q"),
                     isolated_quota("other", IsolationMode::pessimistic, {})});
    CHECK(fixture.admits("q/a"));
    CHECK(fixture.admits("other"));
    const LimitRef limit = fixture.reference("q");
    CHECK(fixture.limiter.isolate(limit, true, fixture.now));
    for (int i = 0; i < 100; ++i) {
        fixture.wait(0.01);
        const Decision decision = fixture.check("q/a");
        CHECK_FALSE(decision.admitted);
        CHECK(decision.reason == Reason::isolated);
        CHECK(decision.quota == "q");
        CHECK(decision.retry_after >= std::chrono::seconds(1));
        CHECK(fixture.admits("other"));
    }
    const auto status = fixture.limiter.inspect("q", fixture.now);
    CHECK(status[0].isolated);
    CHECK(status[0].discard_probability == 1);
    CHECK(fixture.limiter.isolate(limit, false, fixture.now));
    CHECK(fixture.admits("q/a"));
}

TEST_CASE("safe capacity: a rate of its own, beginning and ending as full as before") {
    Fixture fixture({isolated_quota("q", IsolationMode::safe, 100)});
    Random random(3);
    fixture.load("q", 5000, 5, random);
    const LimitRef limit = fixture.reference("q");
    const double before = fixture.level("q");
    CHECK(before > 1000);
    REQUIRE(fixture.limiter.isolate(limit, true, fixture.now));
    CHECK(fixture.level("q") == plus_minus(before / 10, 0.02 * before / 10));
    CHECK(fixture.load("q", 5000, 8, random) / 8 == plus_minus(100, 5));
    REQUIRE(fixture.limiter.isolate(limit, false, fixture.now));
    CHECK(fixture.load("q", 5000, 5, random) / 5 == plus_minus(1000, 50));
}

TEST_CASE("the safe capacity is not the fleet's: a view that was installed has no say") {
    Fixture fixture({isolated_quota("q", IsolationMode::safe, 100)});
    CHECK(fixture.admits("q"));
    const LimitRef limit = fixture.reference("q");
    FleetView view;
    view.level = 2000;
    view.offered_rate = view.others_rate = 1e6;
    REQUIRE(fixture.limiter.install(limit, view, fixture.now));
    CHECK_FALSE(fixture.admits("q"));
    REQUIRE(fixture.limiter.isolate(limit, true, fixture.now));
    Random random(4);
    (void)fixture.load("q", 5000, 3, random);  // the burst
    CHECK(fixture.load("q", 5000, 10, random) / 10 == plus_minus(100, 5));
}

TEST_CASE("modes without a word for it, and limits of one sidecar, do not change") {
    for (const IsolationMode mode : {IsolationMode::safe, IsolationMode::optimistic}) {
        Fixture fixture({isolated_quota("q", mode, {})});
        CHECK(fixture.admits("q"));
        CHECK(fixture.limiter.isolate(fixture.reference("q"), true, fixture.now));
        Random random(5);
        CHECK(fixture.load("q", 900, 3, random) > 2500);
    }
    QuotaDefinition local = isolated_quota("q", IsolationMode::pessimistic, {});
    local.limits[0].scope = Scope::sidecar;
    Fixture fixture({local});
    CHECK(fixture.admits("q"));
    CHECK_FALSE(fixture.limiter.isolate(fixture.reference("q"), true, fixture.now));
    CHECK(fixture.admits("q"));
}

TEST_CASE("isolation ends with the engine's interest, and a stale reference changes nothing") {
    Fixture fixture({isolated_quota("q", IsolationMode::pessimistic, {})});
    CHECK(fixture.admits("q"));
    const LimitRef limit = fixture.reference("q");
    CHECK(fixture.limiter.isolate(limit, true, fixture.now));
    CHECK_FALSE(fixture.admits("q"));
    fixture.limiter.release(limit, fixture.now);
    CHECK(fixture.admits("q"));
    LimitRef stale = limit;
    ++stale.generation;
    CHECK_FALSE(fixture.limiter.isolate(stale, true, fixture.now));
    CHECK(fixture.admits("q"));
    CHECK(fixture.limiter.isolation_of("q").mode == IsolationMode::pessimistic);
    CHECK(fixture.limiter.isolation_of("nobody").mode == IsolationMode::safe);
}

}  // namespace
}  // namespace weir::limiter

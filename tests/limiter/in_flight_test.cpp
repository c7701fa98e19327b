// Limits of requests in flight: what is counted in when a request is admitted is counted out when
// it ends, whatever else happens to the request, its quota or its instance.
#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

#include "fixture.h"
#include "one_limit.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;

namespace {

RateLimit in_flight(double most) { return RateLimit::in_flight(most); }

Wish wish(double wanted) {
    Wish wish;
    wish.wanted = wanted;
    return wish;
}

double here(Fixture& fixture, const std::string& name) {
    return fixture.limiter.inspect(name, fixture.now).at(0).counted.count;
}

/// How many more requests are admitted now, which stay in flight.
int room(Fixture& fixture, const std::string& name) {
    int admitted = 0;
    while (admitted < 1000 && fixture.admits(name)) {
        ++admitted;
    }
    return admitted;
}

/// The engine's tick, in which limits in use get their parts.
void tick(Fixture& fixture) {
    fixture.limiter.drain_active([](LimitRef) { FAIL("only limits in flight are in use"); });
    fixture.limiter.drain_in_flight(
        [&](LimitRef limit) { CHECK(fixture.limiter.allow_in_flight(limit, std::nullopt)); });
}

void finish(Fixture& fixture, Decision& decision) {
    fixture.limiter.finish(fixture.thread, decision.charge);
}

/// Upkeep for so long, a second at a time.
void keep_up(Fixture& fixture, double seconds) {
    for (double passed = 0; passed < seconds; passed += 1) {
        fixture.wait(1);
        fixture.limiter.quiescent(fixture.thread);
        fixture.limiter.maintain(fixture.now);
    }
}

}  // namespace

TEST_CASE("as many requests are in flight as the limit says, and each end makes room for one") {
    Fixture fixture({quota("q", {in_flight(3)})});
    REQUIRE(fixture.errors.empty());
    std::vector<Decision> decisions;
    for (int i = 0; i < 3; ++i) {
        decisions.push_back(fixture.check("q"));
        CHECK(decisions.back().admitted);
        CHECK(decisions.back().remaining == 2 - i);
        CHECK(decisions.back().kind == LimitKind::concurrency);
    }
    fixture.wait(3600);  // time alone makes no room
    const Decision refused = fixture.check("q");
    CHECK(!refused.admitted);
    CHECK(refused.reason == Reason::limit);
    CHECK(refused.quota == "q");
    CHECK(refused.amount == 3);
    CHECK(refused.retry_after == std::chrono::seconds(1));
    CHECK(refused.reset == Duration::zero());
    CHECK(refused.wait < Duration::zero());
    CHECK(here(fixture, "q") == 3);
    finish(fixture, decisions[1]);
    finish(fixture, decisions[1]);  // counted out once
    CHECK(here(fixture, "q") == 2);
    CHECK(fixture.admits("q"));
    CHECK(!fixture.admits("q"));
}

TEST_CASE("neither a refund nor a correction ends a request") {
    Fixture fixture({quota("q", {in_flight(1), per_second(100)})});
    Decision first = fixture.check("q");
    REQUIRE(first.admitted);
    fixture.limiter.correct(fixture.thread, first.charge, Unit::requests, 0, fixture.now);
    CHECK(!fixture.admits("q"));
    fixture.limiter.refund(fixture.thread, first.charge, fixture.now);
    CHECK(!fixture.admits("q"));
    finish(fixture, first);
    CHECK(here(fixture, "q") == 0);
    CHECK(fixture.admits("q"));
}

TEST_CASE("a request that another limit refuses takes no place") {
    Fixture fixture({quota("all", {in_flight(10)}), quota("one", {in_flight(1)}, "all")});
    Decision first = fixture.check("one");
    CHECK(first.charge.places.size() == 2);
    for (int i = 0; i < 20; ++i) {
        CHECK(!fixture.admits("one"));
    }
    CHECK(here(fixture, "all") == 1);
    finish(fixture, first);
    CHECK(here(fixture, "all") == 0);
    CHECK(here(fixture, "one") == 0);
}

TEST_CASE("a request is in flight once, whatever it weighs") {
    Fixture fixture({quota("q", {in_flight(2), per_second(1000)})});
    Weights weights;
    weights.requests = 50;
    Decision heavy = fixture.check("q", weights);
    CHECK(here(fixture, "q") == 1);
    weights.requests = 0;
    Decision light = fixture.check("q", weights);
    CHECK(here(fixture, "q") == 2);
    CHECK(!fixture.check("q", weights).admitted);
    finish(fixture, heavy);
    finish(fixture, light);
    CHECK(here(fixture, "q") == 0);
}

TEST_CASE("fractions that were obtained leave nothing, and nobody knows when more will end") {
    Fixture fixture({quota("q", {in_flight(5)})});
    const auto obtain = [&](double wanted, double minimum) {
        Wish some = wish(wanted);
        some.minimum = minimum;
        return fixture.limiter.obtain(fixture.thread, fixture.find("q"), some, fixture.now,
                                      CheckMode::charge);
    };
    Grant first = obtain(0.1, 0);
    Grant second = obtain(0.2, 0);
    fixture.limiter.finish(fixture.thread, first.decision.charge);
    fixture.limiter.finish(fixture.thread, second.decision.charge);
    CHECK(here(fixture, "q") == 0);
    Grant third = obtain(3, 0);
    CHECK(third.granted == 3);
    const Grant refused = obtain(3, 3);
    CHECK(refused.granted == 0);
    CHECK(refused.decision.wait < Duration::zero());
}

TEST_CASE("a limit of 0 in flight refuses everything") {
    Fixture fixture({quota("q", {in_flight(0)})});
    const Decision decision = fixture.check("q");
    CHECK(!decision.admitted);
    CHECK(decision.reason == Reason::zero);
}

TEST_CASE(
    "peeking takes no place, and what a tier in front has judged takes one beyond the limit") {
    Fixture fixture({quota("q", {in_flight(1)})});
    CHECK(fixture.check("q", {}, CheckMode::peek).admitted);
    Decision first = fixture.check("q", {}, CheckMode::charge_without_judging);
    Decision second = fixture.check("q", {}, CheckMode::charge_without_judging);
    CHECK(second.admitted);
    CHECK(here(fixture, "q") == 2);
    CHECK(!fixture.check("q", {}, CheckMode::peek).admitted);
    finish(fixture, first);
    finish(fixture, second);
    CHECK(here(fixture, "q") == 0);
}

TEST_CASE("a quota that only shadows counts what it would have admitted") {
    QuotaDefinition shadow = quota("q", {in_flight(2)});
    shadow.mode = Mode::shadow;
    Fixture fixture({shadow});
    std::vector<Decision> decisions;
    for (int i = 0; i < 5; ++i) {
        decisions.push_back(fixture.check("q"));
        CHECK(decisions.back().admitted);
        CHECK(decisions.back().shadow_refused == (i >= 2));
    }
    CHECK(here(fixture, "q") == 2);
    for (Decision& decision : decisions) {
        finish(fixture, decision);
    }
    CHECK(here(fixture, "q") == 0);
}

TEST_CASE("the end of a request that a former count of the limit counted changes nothing") {
    Fixture fixture({quota("q", {in_flight(3)})});
    Decision former = fixture.check("q");
    REQUIRE(former.admitted);
    // More edits than a quota remembers former limits, so that the record is given away.
    for (int i = 1; i <= 20; ++i) {
        RateLimit rate = per_second(100);
        rate.period = std::chrono::seconds(i);
        REQUIRE(fixture.put(quota("q", {rate})).empty());
        (void)fixture.check("q");
    }
    REQUIRE(fixture.put(quota("q", {in_flight(3)})).empty());
    CHECK(here(fixture, "q") == 0);
    Decision present = fixture.check("q");
    CHECK(here(fixture, "q") == 1);
    finish(fixture, former);
    CHECK(here(fixture, "q") == 1);
    finish(fixture, present);
    CHECK(here(fixture, "q") == 0);
}

TEST_CASE("an edit keeps what is in flight, and gives back only what was taken") {
    Fixture fixture({quota("q", {in_flight(2), per_second(1000)})});
    Decision first = fixture.check("q");
    REQUIRE(fixture.put(quota("q", {per_second(1000), in_flight(3)})).empty());
    CHECK(fixture.limiter.inspect("q", fixture.now).size() == 2);
    Decision second = fixture.check("q");
    Decision third = fixture.check("q");
    CHECK(third.admitted);
    CHECK(!fixture.admits("q"));
    SUBCASE("the limit is lowered below what is in flight") {
        REQUIRE(fixture.put(quota("q", {in_flight(1)})).empty());
        finish(fixture, first);
        CHECK(!fixture.admits("q"));
        finish(fixture, second);
        CHECK(!fixture.admits("q"));
        finish(fixture, third);
        CHECK(fixture.admits("q"));
    }
    SUBCASE("the limit is taken away and brought back") {
        REQUIRE(fixture.put(quota("q", {per_second(1000)})).empty());
        Decision uncounted = fixture.check("q");
        finish(fixture, first);
        REQUIRE(fixture.put(quota("q", {in_flight(3)})).empty());
        CHECK(here(fixture, "q") == 2);
        finish(fixture, uncounted);
        CHECK(here(fixture, "q") == 2);
        finish(fixture, second);
        finish(fixture, third);
        CHECK(here(fixture, "q") == 0);
    }
    SUBCASE("the quota is taken away") {
        REQUIRE(fixture.take_away("q").empty());
        REQUIRE(fixture.put(quota("q", {in_flight(3)})).empty());
        Decision fourth = fixture.check("q");
        finish(fixture, first);
        finish(fixture, second);
        finish(fixture, third);
        CHECK(here(fixture, "q") == 1);
        finish(fixture, fourth);
        CHECK(here(fixture, "q") == 0);
    }
}

TEST_CASE("an instance with requests in flight is not dropped, however long they take") {
    Fixture fixture({quota("d/{k}", {in_flight(2)})});
    Decision decision = fixture.check("d/one");
    keep_up(fixture, 200);
    CHECK(here(fixture, "d/one") == 1);
    finish(fixture, decision);
    keep_up(fixture, 200);
    CHECK(fixture.limiter.inspect("d/one", fixture.now).empty());
}

TEST_CASE("members have equal parts of a limit of the fleet and one request more") {
    RateLimit own = in_flight(10);
    own.scope = Scope::sidecar;
    Fixture fixture(
        {quota("d/{k}", {in_flight(10)}), quota("few", {in_flight(2)}), quota("own", {own})});
    fixture.limiter.set_members(3);
    CHECK(room(fixture, "d/one") == 4);
    CHECK(room(fixture, "few") == 1);
    CHECK(room(fixture, "own") == 10);
    CHECK(fixture.level("d/one") == 10);
    CHECK(fixture.check("d/two").remaining == 3);
}

TEST_CASE("the engine learns what found no room, and sets how much there is") {
    Fixture fixture({quota("all", {in_flight(100)}), quota("q", {in_flight(10)}, "all")});
    fixture.limiter.set_members(2);
    CHECK(room(fixture, "q") == 6);  // and one is refused
    CHECK(!fixture.admits("q"));
    std::vector<LimitRef> used;
    fixture.limiter.drain_active([](LimitRef) { FAIL("only limits in flight are in use"); });
    fixture.limiter.drain_in_flight([&](LimitRef limit) { used.push_back(limit); });
    REQUIRE(used.size() == 2);
    const bool first = fixture.limiter.identity(used[0])->quota == "q";
    const LimitRef one = used[first ? 0 : 1];
    const auto counts = fixture.limiter.take_in_flight(one);
    REQUIRE(counts);
    CHECK(counts->most == 10);
    CHECK(counts->allowance == 6);
    CHECK(counts->in_flight == 6);
    CHECK(counts->no_room == 2);
    CHECK(fixture.limiter.take_in_flight(one)->no_room == 0);
    // What q refused, its parent was not asked for.
    CHECK(fixture.limiter.take_in_flight(used[first ? 1 : 0])->no_room == 0);
    CHECK(fixture.limiter.allow_in_flight(one, 8));
    CHECK(room(fixture, "q") == 2);
    CHECK(fixture.limiter.inspect("q", fixture.now).at(0).counted.allowance == 8);
    CHECK(fixture.limiter.allow_in_flight(one, 3));
    CHECK(room(fixture, "q") == 0);
    CHECK(here(fixture, "q") == 8);
    REQUIRE(fixture.put(quota("q", {in_flight(9)}, "all")).empty());
    CHECK(fixture.limiter.inspect("q", fixture.now).at(0).counted.allowance ==
          3);  // an edit keeps it
    LimitRef stale = one;
    ++stale.generation;
    CHECK(!fixture.limiter.allow_in_flight(stale, 3));
    CHECK(!fixture.limiter.take_in_flight(stale));
}

TEST_CASE("a charge takes no place that was given to another member since the request was judged") {
    OneLimit one({.low = 10, .high = 10, .in_flight = true});
    set_allowance(one.record, 4);
    for (int i = 0; i < 4; ++i) {
        CHECK(charge_units(one.alone(), 1, 1, 9, one.now));
    }
    CHECK_FALSE(charge_units(one.alone(), 1, 1, 9, one.now));
    set_allowance(one.record, 6);
    CHECK(charge_units(one.alone(), 1, 1, 9, one.now));
    set_allowance(one.record, 5);
    CHECK_FALSE(charge_units(one.alone(), 1, 1, 9, one.now));
    CHECK(in_flight_here(one.record) == 5);
}

TEST_CASE("an allowance that is known before the first request holds for it") {
    const auto hash = [](std::string_view name) -> std::uint64_t { return name.size(); };
    Fixture fixture({quota("d/{k}", {in_flight(10)})});
    fixture.limiter.set_members(2);
    fixture.limiter.foretell_in_flight(5, 2, hash);
    CHECK(room(fixture, "d/one") == 2);
    CHECK(room(fixture, "d/other") == 6);
    fixture.limiter.foretell_in_flight(5, std::nullopt, hash);
    CHECK(room(fixture, "d/two") == 6);
}

TEST_CASE("an edit that makes a limit a sidecar's own gives it the whole number") {
    Fixture fixture({quota("q", {in_flight(10)})});
    fixture.limiter.set_members(5);
    CHECK(room(fixture, "q") == 3);
    fixture.limiter.drain_active([](LimitRef) {});
    fixture.limiter.drain_in_flight(
        [&](LimitRef limit) { CHECK(fixture.limiter.allow_in_flight(limit, 1)); });
    RateLimit own = in_flight(10);
    own.scope = Scope::sidecar;
    REQUIRE(fixture.put(quota("q", {own})).empty());
    CHECK(room(fixture, "q") == 7);
    REQUIRE(fixture.put(quota("q", {in_flight(100)})).empty());
    CHECK(room(fixture, "q") == 11);  // an equal part of 20, and one more
}

TEST_CASE("units that were to be obtained and found no room are counted") {
    Fixture fixture({quota("q", {in_flight(10)})});
    fixture.limiter.set_members(2);
    const Grant grant = fixture.limiter.obtain(fixture.thread, fixture.find("q"), wish(8),
                                               fixture.now, CheckMode::charge);
    CHECK(grant.granted == 6);
    fixture.limiter.drain_active([](LimitRef) {});
    std::vector<LimitRef> used;
    fixture.limiter.drain_in_flight([&](LimitRef limit) { used.push_back(limit); });
    REQUIRE(used.size() == 1);
    CHECK(fixture.limiter.take_in_flight(used[0])->no_room == 2);
}

TEST_CASE("a quota is as full as the part that this member may use, and unused ones are empty") {
    Fixture fixture({quota("d/{k}", {in_flight(10)})});
    fixture.limiter.set_members(3);
    Decision first = fixture.check("d/one");
    (void)fixture.check("d/two");
    CHECK(fixture.limiter.statistics_of("d/{k}", fixture.now)->level_ratio_max ==
          doctest::Approx(1.0 / 4));
    CHECK(fixture.limiter.statistics_of("d/{k}", fixture.now)->live_instances == 2);
    CHECK(fixture.limiter.statistics_of("d/{k}", fixture.now)->counted[0].allowance == 8);
    CHECK(fixture.limiter.statistics_of("d/{k}", fixture.now)->counted[0].count == 2);
    finish(fixture, first);
    CHECK(fixture.limiter.statistics_of("d/{k}", fixture.now)->counted[0].count == 1);
}

TEST_CASE("when members come and go, limits in use follow, and what is in flight stays") {
    Fixture fixture({quota("q", {in_flight(12)})});
    CHECK(room(fixture, "q") == 12);
    fixture.limiter.set_members(3);
    tick(fixture);
    CHECK(here(fixture, "q") == 12);
    CHECK(room(fixture, "q") == 0);
    fixture.limiter.set_members(1);
    CHECK(room(fixture, "q") == 0);
    tick(fixture);
    REQUIRE(fixture.put(quota("q", {in_flight(15)})).empty());
    CHECK(room(fixture, "q") == 3);
    fixture.limiter.set_members(2);
    REQUIRE(fixture.put(quota("q", {in_flight(40)})).empty());
    CHECK(room(fixture, "q") == 6);
}

TEST_CASE("what was obtained is in flight until it is returned or has ended") {
    Fixture fixture({quota("q", {in_flight(10)})});
    Grant grant = fixture.limiter.obtain(fixture.thread, fixture.find("q"), wish(7), fixture.now,
                                         CheckMode::charge);
    CHECK(grant.granted == 7);
    CHECK(here(fixture, "q") == 7);
    CHECK(fixture.limiter
              .obtain(fixture.thread, fixture.find("q"), wish(7), fixture.now, CheckMode::charge)
              .granted == 3);
    fixture.limiter.give_back(fixture.thread, grant.decision.charge, 2, fixture.now);
    CHECK(here(fixture, "q") == 8);
    fixture.limiter.finish(fixture.thread, grant.decision.charge);
    CHECK(here(fixture, "q") == 3);
}

TEST_CASE(
    "an obtained part under a quota that only shadows takes places as a whole or not at all") {
    QuotaDefinition shadow = quota("q", {in_flight(4)});
    shadow.mode = Mode::shadow;
    Fixture fixture({shadow});
    Grant all = fixture.limiter.obtain(fixture.thread, fixture.find("q"), wish(3), fixture.now,
                                       CheckMode::charge);
    Grant part = fixture.limiter.obtain(fixture.thread, fixture.find("q"), wish(3), fixture.now,
                                        CheckMode::charge);
    CHECK(part.granted == 3);
    CHECK(part.decision.shadow_refused);
    fixture.limiter.finish(fixture.thread, part.decision.charge);
    CHECK(here(fixture, "q") == 3);
    fixture.limiter.finish(fixture.thread, all.decision.charge);
    CHECK(here(fixture, "q") == 0);
}

TEST_CASE("many threads that begin and end requests never exceed the limit and leave nothing") {
    constexpr int kThreads = 4;
    constexpr int kRequests = 20'000;
    constexpr double kMost = 3;
    Fixture fixture({quota("q", {in_flight(kMost)})});
    std::atomic<int> running{0};
    std::atomic<int> most{0};
    std::atomic<int> admitted{0};
    std::vector<ThreadContext*> contexts;
    for (std::uint64_t t = 0; t < kThreads; ++t) {
        contexts.push_back(&fixture.limiter.register_thread(100 + t));
    }
    std::vector<std::thread> threads;
    for (ThreadContext* const context : contexts) {
        threads.emplace_back([&, context] {
            ThreadContext& thread = *context;
            for (int i = 0; i < kRequests; ++i) {
                const LeafId leaf = fixture.limiter.find(thread, "q", fixture.now);
                Decision decision =
                    fixture.limiter.check(thread, leaf, {}, fixture.now, CheckMode::charge);
                if (decision.admitted) {
                    const int now_running = running.fetch_add(1) + 1;
                    int seen = most.load();
                    while (seen < now_running && !most.compare_exchange_weak(seen, now_running)) {
                    }
                    admitted.fetch_add(1);
                    if (i % 16 == 0) {
                        std::this_thread::yield();
                    }
                    running.fetch_sub(1);
                    fixture.limiter.finish(thread, decision.charge);
                }
                fixture.limiter.quiescent(thread);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    CHECK(most.load() <= kMost);
    CHECK(admitted.load() > 0);
    CHECK(here(fixture, "q") == 0);
}

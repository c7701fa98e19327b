#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "fixture.h"
#include "sanitized.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;

namespace {

QuotaDefinition queued(std::string name, RateLimit limit, std::uint32_t queue = 0,
                       std::optional<std::string> parent = std::nullopt) {
    QuotaDefinition definition = quota(std::move(name), {limit}, std::move(parent));
    QuotaOptions options;
    options.wait = {std::chrono::seconds(2), queue};
    definition.options = options;
    return definition;
}

RateLimit edge(double amount, double low) { return borders(amount, low, low); }

Decision ask(Fixture& fixture, std::string_view name) {
    return fixture.check(name, {}, CheckMode::charge_or_wait);
}
Decision ask_in_turn(Fixture& fixture, std::string_view name) {
    return fixture.check(name, {}, CheckMode::charge_in_turn);
}

DefinitionStatistics figures(Fixture& fixture, std::string_view name) {
    return *fixture.limiter.statistics_of(name, fixture.now);
}

}  // namespace

TEST_CASE("a refusal by a quota with a queue says so, and when there will be room") {
    Fixture fixture({queued("a", edge(10, 2)), quota("b", {edge(10, 2)})});
    for (const char* name : {"a", "b"}) {
        for (int i = 0; i < 2; ++i) {
            CHECK(ask(fixture, name).admitted);
        }
    }
    const Decision refused = ask(fixture, "a");
    CHECK_FALSE(refused.admitted);
    CHECK(refused.can_wait);
    CHECK(to_seconds(refused.wait) == doctest::Approx(0.1));
    CHECK_FALSE(ask(fixture, "b").can_wait);
    CHECK_FALSE(fixture.check("a").can_wait);  // a caller that cannot have it wait
    CHECK(figures(fixture, "a").refused == 1);
    CHECK(figures(fixture, "b").refused == 1);
    CHECK(figures(fixture, "a").offered == 4);
    fixture.limiter.give_up(fixture.thread, refused);
    CHECK(figures(fixture, "a").refused == 2);
}

TEST_CASE("while somebody waits nobody overtakes, and whose turn it is is judged by the level") {
    Fixture fixture({queued("a/{k}", edge(10, 2))});
    CHECK(ask(fixture, "a/x").admitted);
    CHECK(ask(fixture, "a/x").admitted);
    const Decision refused = ask(fixture, "a/x");
    const WaitPlace place = fixture.limiter.begin_waiting(refused);
    REQUIRE(place);
    CHECK(fixture.limiter.waiting("a/x") == 1);
    CHECK(fixture.limiter.waiting("a/y") == 0);
    CHECK_FALSE(ask_in_turn(fixture, "a/x").admitted);
    fixture.wait(0.15);
    const Decision behind = ask(fixture, "a/x");
    CHECK_FALSE(behind.admitted);  // although there is room
    CHECK(behind.can_wait);
    CHECK(ask(fixture, "a/y").admitted);
    CHECK(ask_in_turn(fixture, "a/x").admitted);
    fixture.limiter.end_waiting(place);
    CHECK(fixture.limiter.waiting("a/x") == 0);
    fixture.wait(0.1);
    CHECK(ask(fixture, "a/x").admitted);
    CHECK(figures(fixture, "a/{k}").waited == 1);
    // Five asked and one more of another key; what was asked again in turn is not offered again.
    CHECK(figures(fixture, "a/{k}").offered == 6);
    CHECK(figures(fixture, "a/{k}").admitted == 5);
    CHECK(figures(fixture, "a/{k}").refused == 0);
}

TEST_CASE("limits of 0, isolation, shadow quotas and quotas above decide at once") {
    auto shadow = queued("shadow", edge(10, 1));
    shadow.mode = Mode::shadow;
    auto isolated = queued("isolated", edge(10, 10));
    isolated.when_isolated = IsolationMode::pessimistic;
    Fixture fixture({queued("zero", per_second(0)), shadow, isolated, quota("p", {edge(10, 1)}),
                     queued("a", edge(100, 100), 0, "p"), queued("q", edge(10, 1)),
                     quota("b", {edge(100, 2)}, "q")});
    CHECK_FALSE(ask(fixture, "zero").can_wait);
    CHECK(ask(fixture, "zero").wait < Duration::zero());
    CHECK(ask(fixture, "shadow").admitted);
    CHECK(ask(fixture, "shadow").admitted);
    CHECK(ask(fixture, "isolated").admitted);
    REQUIRE(fixture.limiter.isolate(fixture.reference("isolated"), true, fixture.now));
    CHECK_FALSE(ask(fixture, "isolated").can_wait);
    // The parent has no queue: what it refuses does not wait.
    CHECK(ask(fixture, "a").admitted);
    CHECK_FALSE(ask(fixture, "a").can_wait);
    // The parent has one, the leaf has none.
    CHECK(ask(fixture, "b").admitted);
    const Decision above = ask(fixture, "b");
    CHECK(above.can_wait);
    CHECK(above.quota == "q");
    const WaitPlace place = fixture.limiter.begin_waiting(above);
    fixture.wait(0.1);
    CHECK(ask(fixture, "b").quota == "q");
    CHECK(fixture.check("b").admitted);  // who cannot wait is judged by the levels
    fixture.limiter.end_waiting(place);
}

TEST_CASE("a queue is bounded, and its instance stays while somebody waits") {
    Fixture fixture({queued("a/{k}", edge(10, 1), 3)});
    CHECK(ask(fixture, "a/x").admitted);
    std::vector<WaitPlace> places;
    for (int i = 0; i < 3; ++i) {
        places.push_back(fixture.limiter.begin_waiting(ask(fixture, "a/x")));
        CHECK(places.back());
    }
    CHECK_FALSE(fixture.limiter.begin_waiting(ask(fixture, "a/x")));
    for (int i = 0; i < 1300; ++i) {
        fixture.wait(0.1);
        fixture.limiter.quiescent(fixture.thread);
        fixture.limiter.maintain(fixture.now);
    }
    CHECK(fixture.level("a/x") >= 0);
    REQUIRE(fixture.replace({}).empty());
    for (const WaitPlace& place : places) {
        fixture.limiter.end_waiting(place);
    }
    CHECK(fixture.limiter.waiting("a/x") == 0);
    for (int i = 0; i < 20; ++i) {
        fixture.wait(0.1);
        fixture.limiter.quiescent(fixture.thread);
        fixture.limiter.maintain(fixture.now);
    }
    CHECK(fixture.limiter.memory().instances == 0);
}

TEST_CASE("one that begins to wait while another thread ends is not overtaken") {
    Fixture fixture({queued("a", edge(1, 1), 2)});
    CHECK(ask(fixture, "a").admitted);
    const Decision refused = ask(fixture, "a");
    REQUIRE(refused.can_wait);
    constexpr int kRounds = eighth_if_sanitized(100'000);
    std::atomic<int> round = 0;
    std::atomic<int> ended = 0;
    WaitPlace other;
    // The other core may be busy: who waits for long gives this one away.
    const auto wait_for = [](const std::atomic<int>& number, int least) {
        for (int spins = 0; number.load() < least; ++spins) {
            if (spins > 2000) {
                std::this_thread::yield();
            }
        }
    };
    std::jthread ending([&] {
        for (int n = 1; n <= kRounds; ++n) {
            wait_for(round, n);
            fixture.limiter.end_waiting(other);
            ended = n;
        }
    });
    int overtaken = 0;
    for (int n = 1; n <= kRounds; ++n) {
        other = fixture.limiter.begin_waiting(refused);
        round = n;
        for (int pause = n % 64; pause > 0; --pause) {
            static_cast<void>(ended.load());
        }
        const WaitPlace mine = fixture.limiter.begin_waiting(refused);
        wait_for(ended, n);
        fixture.wait(2);
        overtaken += ask(fixture, "a").admitted ? 1 : 0;
        fixture.limiter.end_waiting(mine);
    }
    CHECK(overtaken == 0);
}

TEST_CASE("who goes behind others, or has waited for too long, is offered to no law") {
    Fixture fixture({queued("a", borders(100, 10, 20))});
    while (ask(fixture, "a").admitted) {
    }
    const WaitPlace place = fixture.limiter.begin_waiting(ask(fixture, "a"));
    REQUIRE(place);
    const auto offered = [&] { return fixture.limiter.inspect("a", fixture.now)[0].offered_rate; };
    const double before = offered();
    const double counted = figures(fixture, "a").offered;
    for (int i = 0; i < 50; ++i) {
        CHECK_FALSE(ask(fixture, "a").admitted);
    }
    CHECK(offered() == doctest::Approx(before));
    CHECK(figures(fixture, "a").offered == counted + 50);
    const Decision over = fixture.check("a", {}, CheckMode::refuse_in_turn);
    CHECK_FALSE(over.admitted);
    CHECK(over.quota == "a");
    CHECK(over.reset > Duration::zero());
    CHECK(offered() == doctest::Approx(before));
    CHECK(figures(fixture, "a").offered == counted + 50);
    static_cast<void>(ask_in_turn(fixture, "a"));
    CHECK(offered() > before);
    fixture.limiter.end_waiting(place);
    // Nobody waits any more: it is decided like any other.
    fixture.wait(1);
    CHECK(fixture.check("a", {}, CheckMode::refuse_in_turn).admitted);
}

TEST_CASE("a refusal that is counted later weighs what it would have weighed at once") {
    auto definition = queued("a", edge(10, 2));
    definition.limits[0].unit = Unit::response_bytes;
    Fixture fixture({definition});
    Decision first = ask(fixture, "a");
    REQUIRE(first.admitted);
    fixture.limiter.correct(fixture.thread, first.charge, Unit::response_bytes, 500, fixture.now);
    const Decision refused = ask(fixture, "a");
    REQUIRE(refused.can_wait);
    fixture.limiter.give_up(fixture.thread, refused);
    CHECK(figures(fixture, "a").refused == doctest::Approx(500));
}

TEST_CASE(
    "threads that begin and end to wait never pass the bound by more than once, and leave none") {
    Fixture fixture({queued("a", edge(1, 1), 2)});
    CHECK(ask(fixture, "a").admitted);
    const Decision refused = ask(fixture, "a");
    REQUIRE(refused.can_wait);
    std::atomic<int> now = 0;
    std::atomic<int> most = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                for (int n = 0; n < 20'000; ++n) {
                    std::array<WaitPlace, 4> places;
                    for (WaitPlace& place : places) {
                        place = fixture.limiter.begin_waiting(refused);
                        const int reached = now += place ? 1 : 0;
                        int seen = most.load();
                        while (reached > seen && !most.compare_exchange_weak(seen, reached)) {
                        }
                    }
                    for (const WaitPlace& place : places) {
                        if (place) {
                            now -= 1;
                            fixture.limiter.end_waiting(place);
                        }
                    }
                }
            });
        }
    }
    CHECK(most.load() >= 2);
    CHECK(most.load() <= 4);
    CHECK(fixture.limiter.waiting("a") == 0);
    fixture.wait(2);
    CHECK(ask(fixture, "a").admitted);
}

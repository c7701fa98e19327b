#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "fixture.h"
#include "limiter/record.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;

namespace {

constexpr std::array kLeaves = {"p/a", "p/b"};
constexpr int kRequestsPerThread = 5000;
constexpr std::int64_t kTick = 1'000'000;

/// What some threads do to two leaves and their parent; amounts are per second.
struct Plan {
    double leaf_rate = 0;
    double leaf_edge = 0;
    double parent_rate = 0;
    double parent_edge = 0;
    std::vector<double> weights;  // of each thread's requests
    int refund_every = 0;         // so many admitted ones; 0: none
    int ticks = 0;                // of the clock, meanwhile
};

Plan arbitrary_plan() {
    const auto edge = rc::gen::element(5.0, 1000.0, 50e3, 1e9);
    Plan plan;
    plan.leaf_rate = *rc::gen::inRange(1, 2000);
    plan.parent_rate = *rc::gen::inRange(1, 2000);
    plan.leaf_edge = *edge;
    plan.parent_edge = *edge;
    const auto threads = *rc::gen::inRange<std::size_t>(1, 5);
    plan.weights = *rc::gen::container<std::vector<double>>(
        threads, rc::gen::map(rc::gen::inRange(1, 400), [](int eighths) { return eighths / 8.0; }));
    plan.refund_every = *rc::gen::element(0, 0, 2, 7);
    plan.ticks = *rc::gen::element(0, 0, 5, 100);
    return plan;
}

/// What a thread saw of each leaf, in weight.
struct Tally {
    std::array<double, kLeaves.size()> admitted{};
    std::array<double, kLeaves.size()> refunded{};
    double refused = 0;
};

Tally run_thread(Limiter& limiter, ThreadContext& thread, const Plan& plan, double weight,
                 const std::atomic<std::int64_t>& clock) {
    Tally tally;
    Weights weights;
    weights.requests = weight;
    int admitted = 0;
    for (int i = 0; i < kRequestsPerThread; ++i) {
        const Instant now{Duration(clock.load())};
        const std::size_t place = static_cast<std::size_t>(i) % kLeaves.size();
        const LeafId leaf = limiter.find(thread, kLeaves[place], now);
        const Decision decision = limiter.check(thread, leaf, weights, now, CheckMode::charge);
        if (!decision.admitted) {
            tally.refused += weight;
        } else {
            tally.admitted[place] += weight;
            if (plan.refund_every > 0 && ++admitted % plan.refund_every == 0) {
                limiter.refund(thread, decision.charge, now);
                tally.refunded[place] += weight;
            }
        }
        limiter.quiescent(thread);
    }
    return tally;
}

/// All threads at once, while the clock ticks.
Tally run_plan(Fixture& fixture, const Plan& plan) {
    std::atomic<std::int64_t> clock{fixture.now.time_since_epoch().count()};
    std::vector<Tally> tallies(plan.weights.size());
    {
        std::latch begin(static_cast<std::ptrdiff_t>(tallies.size()));
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < tallies.size(); ++i) {
            ThreadContext& thread = fixture.limiter.register_thread(i);
            threads.emplace_back([&, i] {
                begin.arrive_and_wait();  // so that short work overlaps
                tallies[i] = run_thread(fixture.limiter, thread, plan, plan.weights[i], clock);
            });
        }
        for (int tick = 0; tick < plan.ticks; ++tick) {
            clock += kTick;
            std::this_thread::yield();
        }
    }
    fixture.now = Instant(Duration(clock.load()));
    Tally sum;
    for (const Tally& tally : tallies) {
        for (std::size_t leaf = 0; leaf < kLeaves.size(); ++leaf) {
            sum.admitted[leaf] += tally.admitted[leaf];
            sum.refunded[leaf] += tally.refunded[leaf];
        }
        sum.refused += tally.refused;
    }
    return sum;
}

/// The level is what was admitted and not given back, less what has drained at most; one request
/// may reach beyond the edge.
void assert_conserved(double level, double net, double rate, double edge, const Plan& plan) {
    const double noise = 1e-6 * (1 + net);
    const double drained = rate * to_seconds(Duration(kTick)) * plan.ticks;
    const double heaviest = *std::max_element(plan.weights.begin(), plan.weights.end());
    RC_ASSERT(level <= net + noise);
    RC_ASSERT(level >= net - drained - noise);
    RC_ASSERT(level < edge + heaviest + noise);
}

}  // namespace

TEST_CASE("law: nothing is lost or counted twice, whatever threads, weights, limits and refunds") {
    CHECK(rc::check("conservation", [] {
        const Plan plan = arbitrary_plan();
        Fixture fixture(
            {quota("p", {borders(plan.parent_rate, plan.parent_edge, plan.parent_edge)}),
             quota("p/{x}", {borders(plan.leaf_rate, plan.leaf_edge, plan.leaf_edge)}, "p")});
        for (const char* leaf : kLeaves) {  // makes them, with views that count
            RC_ASSERT(fixture.admits(leaf, 1));
            (void)fixture.limiter.read(fixture.reference(leaf), fixture.now);
        }
        const Tally tally = run_plan(fixture, plan);
        double all = 0;
        for (std::size_t i = 0; i < kLeaves.size(); ++i) {
            const double net = 1 + tally.admitted[i] - tally.refunded[i];
            all += net;
            assert_conserved(fixture.level(kLeaves[i]), net, plan.leaf_rate, plan.leaf_edge, plan);
            const auto counts =
                fixture.limiter.read(fixture.reference(kLeaves[i]), fixture.now).value();
            RC_ASSERT(counts.admitted == doctest::Approx(1 + tally.admitted[i]));
            RC_ASSERT(counts.refunded == doctest::Approx(tally.refunded[i]));
        }
        assert_conserved(fixture.level("p"), all, plan.parent_rate, plan.parent_edge, plan);
        RC_CLASSIFY(tally.refused > 0);
        // All of it fits: then nothing was refused.
        if (std::min(plan.leaf_edge, plan.parent_edge) > 1e8) {
            RC_ASSERT(tally.refused == 0.0);
        }
    }));
}

TEST_CASE("threads on one quota: the level is what was admitted, a hard edge is exact") {
    Fixture fixture(
        {quota("p", {borders(1, 1e9, 1e9)}), quota("p/{x}", {borders(1, 5000, 5000)}, "p")});
    // Made before: who meets one that another thread is making uses the overflow instance.
    REQUIRE(fixture.find("p/a"));
    REQUIRE(fixture.find("p/b"));
    std::atomic<int> admitted{0};
    {
        std::vector<std::jthread> threads;
        for (std::uint64_t seed = 0; seed < 4; ++seed) {
            ThreadContext& thread = fixture.limiter.register_thread(seed);
            threads.emplace_back([&] {
                int mine = 0;
                for (int i = 0; i < 20'000; ++i) {
                    const LeafId leaf =
                        fixture.limiter.find(thread, i % 2 == 0 ? "p/a" : "p/b", fixture.now);
                    mine += fixture.limiter.check(thread, leaf, {}, fixture.now, CheckMode::charge)
                                    .admitted
                                ? 1
                                : 0;
                    fixture.limiter.quiescent(thread);
                }
                admitted += mine;
            });
        }
    }
    CHECK(admitted == 10'000);
    CHECK(fixture.level("p/a") == doctest::Approx(5000));
    CHECK(fixture.level("p/b") == doctest::Approx(5000));
    CHECK(fixture.level("p") == doctest::Approx(10'000));
}

TEST_CASE("conservation while the clock runs, views come and the engine reads") {
    Fixture fixture({quota("q", {borders(1000, 1e9, 1e9)})});
    CHECK(fixture.admits("q"));
    const LimitRef limit = fixture.reference("q");
    (void)fixture.limiter.read(limit, fixture.now);
    fixture.limiter.drain_active([](LimitRef) {});
    std::atomic<std::int64_t> clock{fixture.now.time_since_epoch().count()};
    std::atomic<double> admitted{1};
    {
        std::vector<std::jthread> threads;
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
            ThreadContext& thread = fixture.limiter.register_thread(seed);
            threads.emplace_back([&] {
                double mine = 0;
                for (int i = 0; i < 30'000; ++i) {
                    const Instant now{Duration(clock.load())};
                    Weights weights;
                    weights.requests = 3;
                    const LeafId leaf = fixture.limiter.find(thread, "q", now);
                    const Decision decision =
                        fixture.limiter.check(thread, leaf, weights, now, CheckMode::charge);
                    mine += decision.admitted ? 3 : 0;
                    fixture.limiter.quiescent(thread);
                }
                limiter::add(admitted, mine);
            });
        }
        for (int tick = 0; tick < 200; ++tick) {
            clock += 1'000'000;
            (void)fixture.limiter.read(limit, Instant(Duration(clock.load())));
            fixture.limiter.drain_active([](LimitRef) {});
            fixture.limiter.maintain(Instant(Duration(clock.load())));
            std::this_thread::yield();
        }
    }
    const Instant end{Duration(clock.load())};
    const auto counts = fixture.limiter.read(limit, end);
    CHECK(counts->admitted == doctest::Approx(admitted.load()));
    CHECK(counts->offered == doctest::Approx(admitted.load()));
    // 200 ms drained 200; it may have been empty for a part of that.
    CHECK(counts->local_level <= admitted.load());
    CHECK(counts->local_level >= admitted.load() - 201);
}

/// Finds and charges random names, and gives some of it back.
void use_random_names(Fixture& fixture, ThreadContext& thread, std::uint64_t seed,
                      const std::atomic<std::int64_t>& clock) {
    Random random(seed);
    std::vector<Charge> charges;
    for (int i = 0; i < 10'000; ++i) {
        const Instant now{Duration(clock.load())};
        const std::string name = "k/" + std::to_string(random.below(200));
        const LeafId leaf = fixture.limiter.find(thread, name, now);
        const Decision decision = fixture.limiter.check(thread, leaf, {}, now, CheckMode::charge);
        if (decision.admitted && i % 7 == 0) {
            charges.push_back(decision.charge);
        }
        fixture.limiter.quiescent(thread);
        if (charges.size() > 20) {
            fixture.limiter.refund(thread, charges.front(), now);
            charges.erase(charges.begin());
        }
    }
    fixture.limiter.quiescent(thread);  // refund() looks at instances too
}

/// The upkeep and an edit: the template's amount, and an exact name that comes and goes.
void edit_in_turn(Fixture& fixture, QuotaDefinition& definition, int turn, Instant now) {
    fixture.limiter.maintain(now);
    definition.limits[0].amount = turn % 2 == 0 ? 5 : 50;
    CHECK(fixture.put(definition, now).empty());
    if (turn % 4 == 0) {
        CHECK(fixture.put(quota("k/7", {per_second(1)}, "k"), now).empty());
    } else if (turn % 4 == 2) {
        CHECK(fixture.take_away("k/7", now).empty());
    }
    // As a scrape does: for the thread sanitizer to watch.
    CHECK(fixture.limiter.memory().bytes > 0);
    static_cast<void>(fixture.limiter.counters());
}

TEST_CASE("threads that make, replace and drop instances while definitions change") {
    QuotaDefinition definition = quota("k/{key}", {per_minute(5)}, "k");
    definition.max_instances = 50;
    LimiterOptions options = Fixture::small();
    options.busy_for = Duration(0);
    options.idle_after = std::chrono::milliseconds(1);
    Fixture fixture({quota("k", {per_second(1e6)}), definition}, options);
    std::atomic<std::int64_t> clock{fixture.now.time_since_epoch().count()};
    std::atomic<int> running{3};
    {
        std::vector<std::jthread> threads;
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
            ThreadContext& thread = fixture.limiter.register_thread(seed);
            threads.emplace_back([&, seed] {
                use_random_names(fixture, thread, seed, clock);
                --running;
            });
        }
        for (int turn = 0; running > 0; ++turn) {
            clock += 10'000'000;
            edit_in_turn(fixture, definition, turn, Instant(Duration(clock.load())));
            std::this_thread::yield();
        }
    }
    fixture.now = Instant(Duration(clock.load()));
    // The template's 50, the root, the exact one and its moving back.
    CHECK(fixture.limiter.memory().instances <= 53);
    std::uint64_t dropped = 0;
    do {  // until nothing is dropped any more, so that nothing waits to be reclaimed
        dropped = fixture.limiter.counters().dropped_idle;
        for (int sweep = 0; sweep < 12; ++sweep) {  // all of the table
            fixture.limiter.maintain(fixture.now);
        }
    } while (fixture.limiter.counters().dropped_idle != dropped);
    // One record each and one of the template's overflow instance; "k/7", if it lives, may have
    // one more from when it fell under the other definition, whose limit is per second.
    const Memory memory = fixture.limiter.memory();
    const std::size_t moved = fixture.limiter.inspect("k/7", fixture.now).empty() ? 0 : 1;
    CHECK(memory.records >= memory.instances + 1);
    CHECK(memory.records <= memory.instances + 1 + moved);
}

/// Checks every name twice in a row; how often the first and the second request were admitted.
std::pair<int, int> check_twice(Fixture& fixture, const std::string& prefix,
                                const std::string& suffix = "") {
    std::pair<int, int> admitted{0, 0};
    for (int i = 0; i < 100; ++i) {
        const std::string name = prefix + std::to_string(i) + suffix;
        admitted.first += fixture.admits(name) ? 1 : 0;
        admitted.second += fixture.admits(name) ? 1 : 0;
    }
    return admitted;
}

/// A limiter whose lock another thread always holds, as it seems.
struct Contended : Fixture {
    Contended()
        : Fixture({quota("k", {per_second(1000)}), quota("k/{key}", {per_minute(5)}, "k"),
                   quota("k/{key}/read", {per_minute(2)}, "k/{key}"),
                   quota("k/{key}/write", {per_minute(2)}, "k/{key}"),
                   quota("alone/{key}", {per_minute(5)}), quota("e", {}),
                   quota("team/{key}", {per_minute(5)}),
                   quota("team/{key}/{user}", {per_minute(2)}, "team/{key}"),
                   quota("shut/{key}", {per_second(0)}),
                   quota("shut/{key}/read", {per_minute(2)}, "shut/{key}")},
                  options()) {}
    static LimiterOptions options() {
        LimiterOptions options = small();
        options.creation_tries = 0;
        return options;
    }
};

TEST_CASE("contention refuses no name's first request; later ones use the overflow instance") {
    Contended fixture;
    SUBCASE("without parents: the template's limits times ten, over all names together") {
        CHECK(check_twice(fixture, "alone/") == std::pair(100, 50));
        CHECK(fixture.limiter.counters().contended == 200);
        CHECK(fixture.limiter.counters().overflowed == 100);  // the second requests
    }
    SUBCASE("with parents: those that exist judge and are charged, and the exact root is made") {
        const LeafId leaf = fixture.find("k/1/read");
        CHECK(leaf.overflow_depth == 2);
        CHECK(leaf.unjudged_depth == 2);
        CHECK(fixture.find("k/1/read").unjudged_depth == 0);
        // Another name below the same parent, which has let its first request pass.
        CHECK(fixture.find("k/1/write").unjudged_depth == 1);
        CHECK(check_twice(fixture, "k/x", "/read") == std::pair(100, 20));
        CHECK(fixture.level("k") == doctest::Approx(120));
    }
    SUBCASE("a parent that is full refuses") {
        for (int i = 0; i < 1000; ++i) {
            CHECK(fixture.admits("k"));
        }
        CHECK(fixture.check("k").discard_probability > 0);
        int refused = 0;
        for (int i = 0; i < 2000; ++i) {
            refused += fixture.admits("k/new" + std::to_string(i)) ? 0 : 1;
        }
        CHECK(refused > 900);
    }
    SUBCASE("names without number below one new parent do not pass it without number") {
        int admitted = 0;
        for (int i = 0; i < 100; ++i) {
            admitted += fixture.admits("team/1/" + std::to_string(i)) ? 1 : 0;
        }
        CHECK(admitted == 1 + 50);  // the first one, and ten times the limit of the parent
    }
    SUBCASE("a limit of 0 refuses, also as a parent") {
        CHECK_FALSE(fixture.admits("shut/1"));
        CHECK_FALSE(fixture.admits("shut/1/read"));
    }
}

TEST_CASE("what contention leaves as it is") {
    Contended fixture;
    SUBCASE("what was counted and given back leaves no trace in a level") {
        const LeafId leaf = fixture.find("k/1/read");
        REQUIRE(leaf.unjudged_depth == 2);
        const Decision decision =
            fixture.limiter.check(fixture.thread, leaf, {}, fixture.now, CheckMode::charge);
        CHECK(decision.admitted);
        CHECK(fixture.level("k") == doctest::Approx(1));
        fixture.limiter.refund(fixture.thread, decision.charge, fixture.now);
        CHECK(fixture.level("k") == doctest::Approx(0));
        const auto statistics = fixture.limiter.statistics_of("k/{key}/read", fixture.now);
        REQUIRE(statistics);
        CHECK(statistics->offered == doctest::Approx(1));
        CHECK(statistics->admitted == doctest::Approx(1));
        CHECK(statistics->refunded == doctest::Approx(1));
        CHECK(statistics->overflowed == 0);
    }
    SUBCASE("an exact name waits and gets its own") {
        CHECK(fixture.find("e").overflow_depth == 0);
        CHECK(fixture.find("k"));
        CHECK(fixture.limiter.counters().contended == 2);
        CHECK(fixture.limiter.counters().overflowed == 0);
        CHECK(fixture.find("k/1").overflow_depth == 1);
        CHECK(fixture.admits("k/1"));
        CHECK(fixture.level("k") == doctest::Approx(1));
        CHECK(!fixture.find("unknown"));
    }
    SUBCASE("edits keep the overflow instance") {
        CHECK(fixture.put(quota("alone/{key}", {per_minute(6)})).empty());
        CHECK(check_twice(fixture, "alone/") == std::pair(100, 60));
    }
    SUBCASE("a template that is added later has one, one that is gone has none") {
        CHECK(fixture.put(quota("later/{key}", {per_minute(1)})).empty());
        CHECK(check_twice(fixture, "later/") == std::pair(100, 10));
        CHECK(fixture.take_away("later/{key}").empty());
        CHECK(!fixture.find("later/1"));
    }
}

TEST_CASE("a name without room is judged by the overflow instance from the first request") {
    LimiterOptions options = Fixture::small();
    options.max_instances_per_template = 10;
    Fixture fixture({quota("alone/{key}", {per_minute(5)})}, options);
    for (int i = 0; i < 10; ++i) {
        for (int times = 0; times < 5; ++times) {
            CHECK(fixture.admits("alone/" + std::to_string(i)));  // full, so it makes no room
        }
    }
    int admitted = 0;
    for (int i = 0; i < 100; ++i) {
        admitted += fixture.admits("alone/new" + std::to_string(i)) ? 1 : 0;
    }
    CHECK(admitted == 50);
}

TEST_CASE("of new names that threads make while the control thread works, none is refused") {
    constexpr int kThreads = 3;
    constexpr int kNames = 40'000;  // of each thread
    LimiterOptions options;
    options.max_instances = 2 * kThreads * kNames;
    Fixture fixture({quota("all", {per_second(1e9)}), quota("u/{key}", {per_minute(2)}, "all")},
                    options);
    std::atomic<int> refused{0};
    std::atomic<int> running{kThreads};
    {
        std::vector<std::jthread> threads;
        for (int number = 0; number < kThreads; ++number) {
            ThreadContext& thread =
                fixture.limiter.register_thread(static_cast<std::uint64_t>(number));
            threads.emplace_back([&, number] {
                for (int i = 0; i < kNames; ++i) {
                    const std::string name =
                        "u/" + std::to_string(number) + "-" + std::to_string(i);
                    const LeafId leaf = fixture.limiter.find(thread, name, fixture.now);
                    refused +=
                        fixture.limiter.check(thread, leaf, {}, fixture.now, CheckMode::charge)
                                .admitted
                            ? 0
                            : 1;
                    fixture.limiter.quiescent(thread);
                }
                --running;
            });
        }
        while (running > 0) {
            fixture.limiter.maintain(fixture.now);
            CHECK(fixture.limiter.memory().instances <= kThreads * kNames + 1U);
            std::this_thread::yield();
        }
    }
    CHECK(refused == 0);
    CHECK(fixture.limiter.counters().contended > 0);
    CHECK(fixture.level("all") == doctest::Approx(kThreads * kNames));
    MESSAGE(fixture.limiter.counters().contended << " of " << kThreads * kNames << " contended");
}

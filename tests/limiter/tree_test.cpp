#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "fixture.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;

namespace {
std::vector<QuotaDefinition> storage() {
    return {quota("s3", {per_second(10'000)}), quota("s3/{bucket}", {per_second(1000)}, "s3"),
            quota("s3/{bucket}/write", {per_minute(5)}, "s3/{bucket}")};
}
}  // namespace

TEST_CASE("an admitted request is charged to every level, a refused one to none") {
    Fixture fixture(storage());
    for (int i = 0; i < 5; ++i) {
        CHECK(fixture.admits("s3/b1/write"));
    }
    const Decision refused = fixture.check("s3/b1/write");
    CHECK_FALSE(refused.admitted);
    CHECK(refused.quota == "s3/b1/write");
    CHECK(fixture.level("s3") == doctest::Approx(5));
    CHECK(fixture.level("s3/b1") == doctest::Approx(5));
    CHECK(fixture.level("s3/b1/write") == doctest::Approx(5));
    CHECK(fixture.admits("s3/b2/write"));
    CHECK(fixture.level("s3/b1") == doctest::Approx(5));
    CHECK(fixture.level("s3") == doctest::Approx(6));
}

TEST_CASE("a name without a quota passes uncharged") {
    Fixture fixture(storage());
    CHECK_FALSE(fixture.find("api/x"));
    CHECK_FALSE(fixture.find("api/x"));  // now from the cache of misses
    const Decision decision = fixture.check("api/x");
    CHECK(decision.admitted);
    CHECK(decision.reason == Reason::no_quota);
    CHECK_FALSE(decision.charge);
    REQUIRE(fixture.put(quota("api/{t}", {per_second(0)})).empty());
    CHECK_FALSE(fixture.admits("api/x"));
}

TEST_CASE("exact beats template; parents are found by name") {
    auto definitions = storage();
    definitions.push_back(quota("s3/hot", {borders(3, 3, 3)}, "s3"));
    Fixture fixture(definitions);
    for (int i = 0; i < 3; ++i) {
        CHECK(fixture.admits("s3/hot/write"));
    }
    const Decision refused = fixture.check("s3/hot/write");
    CHECK_FALSE(refused.admitted);
    CHECK(refused.quota == "s3/hot");
}

TEST_CASE("the tightest level describes an admitted request") {
    Fixture fixture(storage());
    const Decision decision = fixture.check("s3/b1/write");
    CHECK(decision.quota.empty());
    CHECK(fixture.limiter.quota_name(decision) == "s3/b1/write");
    CHECK(decision.remaining == 4);
    CHECK(decision.reset == Duration::zero());
}

TEST_CASE("peek charges nothing; charging without judging passes a full bucket") {
    Fixture fixture({quota("q", {per_minute(5)})});
    CHECK(fixture.check("q", {}, CheckMode::peek).admitted);
    CHECK(fixture.level("q") == 0);
    for (int i = 0; i < 7; ++i) {
        CHECK(fixture.check("q", {}, CheckMode::charge_without_judging).admitted);
    }
    CHECK(fixture.level("q") == doctest::Approx(7));
    const auto before = fixture.limiter.inspect("q", fixture.now)[0].offered_rate;
    CHECK_FALSE(fixture.check("q", {}, CheckMode::peek).admitted);
    CHECK(fixture.limiter.inspect("q", fixture.now)[0].offered_rate > before);
}

TEST_CASE("a shadow quota refuses nothing, charges its own bucket as if it did") {
    QuotaDefinition shadow = quota("p/q", {per_minute(5)}, "p");
    shadow.mode = Mode::shadow;
    Fixture fixture({quota("p", {per_second(1000)}), shadow});
    int shadow_refused = 0;
    for (int i = 0; i < 20; ++i) {
        const Decision decision = fixture.check("p/q");
        CHECK(decision.admitted);
        shadow_refused += decision.shadow_refused ? 1 : 0;
    }
    CHECK(shadow_refused == 15);
    CHECK(fixture.level("p/q") == doctest::Approx(5));
    CHECK(fixture.level("p") == doctest::Approx(20));
    fixture.limiter.for_each_statistics(fixture.now, [](const DefinitionStatistics& figures) {
        CHECK(figures.refused == 0);
        CHECK(figures.offered == 20);
        CHECK(figures.admitted == 20);
        CHECK(figures.shadow_refused == (figures.quota == "p" ? 0 : 15));
    });
}

TEST_CASE("off skips a quota, its parents still count") {
    QuotaDefinition off = quota("p/q", {per_second(0)}, "p");
    off.mode = Mode::off;
    Fixture fixture({quota("p", {borders(3, 3, 3)}), off});
    for (int i = 0; i < 3; ++i) {
        CHECK(fixture.admits("p/q"));
    }
    CHECK_FALSE(fixture.admits("p/q"));
}

TEST_CASE("past its cap a template replaces its emptiest, longest idle instance") {
    QuotaDefinition definition = quota("k/{key}", {borders(1, 10, 10)});
    definition.max_instances = 3;
    Fixture fixture({definition});
    CHECK(fixture.admits("k/a", 3));
    CHECK(fixture.admits("k/b", 2));
    CHECK(fixture.admits("k/c", 4));
    fixture.wait(1.5);  // idle, b emptiest
    CHECK(fixture.admits("k/d"));
    CHECK(fixture.level("k/b") == -1);
    CHECK(fixture.level("k/a") == doctest::Approx(1.5));
    CHECK(fixture.level("k/c") == doctest::Approx(2.5));
    CHECK(fixture.limiter.counters().replaced == 1);
    CHECK(fixture.limiter.memory().instances == 3);
}

TEST_CASE("when all are busy new keys share the overflow instance, parents still charged") {
    QuotaDefinition definition = quota("k/{key}", {borders(1, 2, 2)}, "k");
    definition.max_instances = 2;
    Fixture fixture({quota("k", {per_second(1000)}), definition});
    CHECK(fixture.admits("k/a"));
    CHECK(fixture.admits("k/b"));
    int admitted = 0;
    for (int i = 0; i < 100; ++i) {
        admitted += fixture.admits("k/new" + std::to_string(i)) ? 1 : 0;
    }
    CHECK(admitted == 20);  // ten times low
    CHECK(fixture.level("k") == doctest::Approx(22));
    CHECK(fixture.limiter.counters().overflowed == 100);
    const Decision refused = fixture.check("k/other");
    CHECK(refused.quota == "k/{key}#overflow");
    // Those who were there keep their own limits.
    CHECK(fixture.admits("k/a"));
    CHECK_FALSE(fixture.admits("k/a"));
    CHECK(fixture.limiter
              .resolve_parameters("k/{key}#overflow", Unit::requests, std::chrono::seconds(1))
              ->rate == 10);
}

TEST_CASE("a name too long for an instance is limited by the overflow instance and its parents") {
    Fixture fixture({quota("k", {per_second(1000)}), quota("k/{key}", {borders(1, 2, 2)}, "k")});
    const std::string key(kMaxNameBytes, 'x');
    int admitted = 0;
    for (int i = 0; i < 100; ++i) {
        admitted += fixture.admits("k/" + key + std::to_string(i)) ? 1 : 0;
    }
    CHECK(admitted == 20);  // ten times low, all of them together
    CHECK(fixture.level("k") == doctest::Approx(20));
    CHECK(fixture.limiter.counters().overflowed == 100);
    CHECK(fixture.limiter.memory().instances == 1);  // only "k"
    CHECK(fixture.check("other/" + key).reason == Reason::no_quota);
}

TEST_CASE("a full bucket is never replaced: inventing names must not empty it") {
    QuotaDefinition definition = quota("k/{key}", {per_minute(5)});
    definition.max_instances = 4;
    Fixture fixture({definition});
    for (int i = 0; i < 5; ++i) {
        CHECK(fixture.admits("k/victim"));
    }
    fixture.wait(2);
    for (int i = 0; i < 50; ++i) {
        (void)fixture.admits("k/" + std::to_string(i));
        fixture.wait(0.1);
    }
    CHECK_FALSE(fixture.admits("k/victim"));
}

TEST_CASE("a parent caps its children, and overflow keeps the key's own parents") {
    QuotaDefinition tenant = quota("t/{tenant}", {per_second(1000)});
    tenant.max_children = 2;
    Fixture fixture({tenant, quota("t/{tenant}/{key}", {per_second(10)}, "t/{tenant}")});
    for (const char* key : {"t/x/1", "t/x/2", "t/x/3", "t/x/4", "t/y/1"}) {
        CHECK(fixture.admits(key));
    }
    CHECK(fixture.level("t/x/2") == doctest::Approx(1));
    CHECK(fixture.level("t/x/3") == -1);
    CHECK(fixture.level("t/y/1") == doctest::Approx(1));
    CHECK(fixture.level("t/x") == doctest::Approx(4));
    CHECK(fixture.level("t/y") == doctest::Approx(1));
    CHECK(fixture.limiter.counters().overflowed == 2);
}

TEST_CASE("overflow of several levels still charges the first real ancestor") {
    QuotaDefinition tenant = quota("t/{tenant}", {per_second(1000)}, "t");
    tenant.max_instances = 1;
    Fixture fixture({quota("t", {per_second(5000)}), tenant,
                     quota("t/{tenant}/{key}", {per_second(10)}, "t/{tenant}")});
    CHECK(fixture.admits("t/x/1"));
    CHECK(fixture.admits("t/y/1"));
    CHECK(fixture.admits("t/y/1"));
    CHECK(fixture.level("t") == doctest::Approx(3));
    CHECK(fixture.level("t/x") == doctest::Approx(1));
    CHECK(fixture.limiter.counters().overflowed == 4);  // two quotas each
}

TEST_CASE("idle empty instances are dropped, their records used again") {
    Fixture fixture({quota("k/{key}", {per_second(10)})});
    for (int i = 0; i < 100; ++i) {
        CHECK(fixture.admits("k/" + std::to_string(i)));
    }
    fixture.limiter.maintain(fixture.now);
    CHECK(fixture.limiter.memory().instances == 100);
    fixture.wait(61);
    CHECK(fixture.admits("k/5"));
    const std::size_t bytes = fixture.limiter.memory().bytes;
    fixture.limiter.quiescent(fixture.thread);
    fixture.limiter.maintain(fixture.now);
    CHECK(fixture.limiter.memory().instances == 1);
    fixture.limiter.maintain(fixture.now);
    for (int i = 100; i < 199; ++i) {
        CHECK(fixture.admits("k/" + std::to_string(i)));
    }
    CHECK(fixture.limiter.memory().bytes <= bytes + 4096);
    CHECK(fixture.limiter.counters().dropped_idle == 99);
}

TEST_CASE("an idle instance is empty at a millionth of low, and is kept above it") {
    Fixture fixture({quota("k/{key}", {borders(1e-9, 1e6, 1e6)})});
    CHECK(fixture.admits("k/empty", 1));
    CHECK(fixture.admits("k/kept", 1.01));
    fixture.wait(61);
    fixture.limiter.maintain(fixture.now);
    CHECK(fixture.level("k/empty") == -1);
    CHECK(fixture.level("k/kept") == doctest::Approx(1.01).epsilon(1e-4));
    CHECK(fixture.limiter.counters().dropped_idle == 1);
}

TEST_CASE("upkeep costs the same however many instances live, and sees all of them") {
    constexpr int kInstances = 20'000;
    constexpr std::uint64_t kMostPerCall = 1024;
    LimiterOptions options;
    options.max_instances = kInstances + 1;
    Fixture fixture({quota("k/{key}", {per_second(10)})}, options);
    for (int i = 0; i < kInstances; ++i) {
        CHECK(fixture.admits("k/" + std::to_string(i)));
        if (i % 256 == 0) {
            fixture.limiter.maintain(fixture.now);
        }
    }
    fixture.limiter.quiescent(fixture.thread);
    fixture.limiter.drain_active([](LimitRef) {});
    std::uint64_t before = fixture.limiter.counters().swept;
    for (int call = 0; call < 100; ++call) {
        fixture.limiter.maintain(fixture.now);
        const std::uint64_t swept = fixture.limiter.counters().swept;
        REQUIRE(swept - before <= kMostPerCall);
        before = swept;
        // Nor does what nobody asks for concern the engine.
        fixture.limiter.drain_active([](LimitRef) { FAIL("an idle limit is not active"); });
    }
    CHECK(fixture.limiter.memory().instances == kInstances);
    fixture.wait(61);
    for (std::uint64_t seen = 0; seen <= kInstances; seen += kMostPerCall) {
        fixture.limiter.maintain(fixture.now);
    }
    CHECK(fixture.limiter.memory().instances == 0);
}

TEST_CASE("a definition that takes another's figures over begins with its own") {
    Fixture fixture({quota("a", {borders(10, 10, 20)}), quota("b", {per_second(5)})});
    for (int i = 0; i < 5; ++i) {
        CHECK(fixture.admits("a"));
    }
    CHECK(fixture.take_away("a").empty());
    CHECK(fixture.put(quota("c", {per_second(7)})).empty());
    std::vector<std::string> names;
    fixture.limiter.for_each_statistics(fixture.now, [&](const DefinitionStatistics& one) {
        names.emplace_back(one.quota);
        CHECK(one.offered == 0);
        CHECK(one.level_ratio_max == 0);
    });
    std::sort(names.begin(), names.end());
    CHECK(names == std::vector<std::string>{"b", "c"});
    CHECK(fixture.limiter.memory().definitions == 2);
}

TEST_CASE("a thread that still looks keeps what it looks at") {
    Fixture fixture({quota("k/{key}", {per_minute(5)})});
    const Decision first = fixture.check("k/a");
    const LeafId leaf = fixture.find("k/a");
    fixture.wait(3600);
    fixture.limiter.maintain(fixture.now);
    fixture.limiter.maintain(fixture.now);
    CHECK(fixture.limiter.memory().instances == 0);
    CHECK(fixture.limiter.quota_name(first).empty());
    // Dropped, not reused: checking it is harmless.
    CHECK(fixture.limiter.check(fixture.thread, leaf, {}, fixture.now, CheckMode::charge).admitted);
    fixture.limiter.quiescent(fixture.thread);
    fixture.limiter.maintain(fixture.now);
    CHECK(fixture.admits("k/b"));
    // A charge outlives its instance and then means nothing.
    fixture.limiter.refund(fixture.thread, first.charge, fixture.now);
    CHECK(fixture.level("k/b") == doctest::Approx(1));
}

TEST_CASE("edits move live instances to the definition that their name falls under") {
    Fixture fixture(storage());
    for (int i = 0; i < 50; ++i) {
        CHECK(fixture.admits("s3/b1"));
    }
    REQUIRE(fixture.put(quota("s3/b1", {borders(100, 60, 60)}, "s3")).empty());
    CHECK(fixture.level("s3/b1") == doctest::Approx(50));  // kept: same unit and period
    CHECK(fixture.admits("s3/b1", 10));
    CHECK_FALSE(fixture.admits("s3/b1", 10));
    REQUIRE(fixture.take_away("s3/b1").empty());
    CHECK(fixture.level("s3/b1") == doctest::Approx(60));
    CHECK(fixture.admits("s3/b1", 100));
}

TEST_CASE("limits added to a live instance begin empty, taken away they cease") {
    Fixture fixture({quota("q", {per_second(100)})});
    CHECK(fixture.admits("q"));
    REQUIRE(fixture.put(quota("q", {per_second(100), per_minute(2)})).empty());
    CHECK(fixture.admits("q"));
    CHECK(fixture.admits("q"));
    CHECK_FALSE(fixture.admits("q"));
    CHECK(fixture.level("q", 0) == doctest::Approx(3));
    REQUIRE(fixture.put(quota("q", {per_second(100)})).empty());
    CHECK(fixture.admits("q"));
    CHECK(fixture.level("q", 0) == doctest::Approx(4));
}

TEST_CASE("a changed parent takes effect at once; erased quotas vanish") {
    Fixture fixture({quota("a", {per_second(0)}), quota("b", {per_second(100)}),
                     quota("q/{x}", {per_second(100)}, "b")});
    CHECK(fixture.admits("q/1"));
    REQUIRE(fixture.put(quota("q/{x}", {per_second(100)}, "a")).empty());
    CHECK_FALSE(fixture.admits("q/1"));
    CHECK(fixture.take_away("a").size() == 1);  // q needs it
    CHECK(fixture.take_away("nobody").size() == 1);
    REQUIRE(fixture.take_away("q/{x}").empty());
    CHECK(fixture.check("q/1").reason == Reason::no_quota);
    REQUIRE(fixture.take_away("a").empty());
    CHECK(fixture.limiter.definitions().size() == 1);
}

TEST_CASE("a bad set is refused whole and what was in force stays") {
    Fixture fixture(storage());
    CHECK(fixture.errors.empty());
    auto errors = fixture.replace(
        std::vector{quota("x", {per_second(1)}, "nowhere"), quota("y", {per_second(-1)})});
    CHECK(errors.size() == 2);
    CHECK(fixture.limiter.definitions().size() == 3);
    CHECK(fixture.find("s3/b/write"));
    CHECK_FALSE(fixture.find("y"));
    CHECK_FALSE(fixture.put(quota("z", {}, "nowhere")).empty());
}

TEST_CASE("figures are bounded; what is beyond shares a line") {
    LimiterOptions options = Fixture::small();
    options.max_statistics = 2;
    std::vector<QuotaDefinition> definitions;
    for (int i = 0; i < 5; ++i) {
        definitions.push_back(quota("q" + std::to_string(i), {per_second(100)}));
    }
    Fixture fixture(definitions, options);
    for (int i = 0; i < 5; ++i) {
        CHECK(fixture.admits("q" + std::to_string(i)));
    }
    std::map<std::string, double> offered;
    fixture.limiter.for_each_statistics(fixture.now, [&](const DefinitionStatistics& figures) {
        offered[std::string(figures.quota)] = figures.offered;
    });
    CHECK(offered.size() == 3);
    CHECK(offered["__other__"] == 3);
}

TEST_CASE("random names against a map") {
    Fixture fixture({quota("k/{key}", {borders(1, 1e6, 1e6)})});
    std::map<std::string, double> model;
    Random random(99);
    for (int i = 0; i < 20'000; ++i) {
        const std::string name = "k/" + std::to_string(random.below(3000));
        const double weight = double(random.below(5));
        CHECK(fixture.admits(name, weight));
        model[name] += weight;
    }
    bool same = fixture.limiter.memory().instances == model.size();
    for (const auto& [name, weight] : model) {
        same = same && std::abs(fixture.level(name) - weight) < 1e-6;
    }
    CHECK(same);
}

TEST_CASE("an instance in use is not idle, however empty its bucket is in between") {
    Fixture fixture({quota("k/{key}", {per_second(1000)})});
    for (int second = 0; second < 200; ++second) {
        CHECK(fixture.admits("k/1"));
        fixture.wait(1);
        fixture.limiter.maintain(fixture.now);
    }
    CHECK(fixture.limiter.counters().created == 1);
    CHECK(fixture.limiter.counters().dropped_idle == 0);
    fixture.wait(61);
    fixture.limiter.maintain(fixture.now);
    CHECK(fixture.limiter.counters().dropped_idle == 1);
}

TEST_CASE("a template over its cap after an edit comes back to it") {
    QuotaDefinition definition = quota("k/{key}", {per_second(1000)});
    definition.max_instances = 3;
    Fixture fixture({definition});
    int next = 0;
    const auto fill = [&] {
        for (int i = 0; i < 5; ++i) {
            fixture.wait(2);
            CHECK(fixture.admits("k/" + std::to_string(next++)));
        }
    };
    for (int round = 0; round < 5; ++round) {
        // Erased, the exact instance moves under the template, which is full already.
        CHECK(fixture.put(quota("k/exact", {per_second(1)})).empty());
        CHECK(fixture.admits("k/exact"));
        fill();
        CHECK(fixture.take_away("k/exact").empty());
    }
    fill();
    CHECK(fixture.limiter.memory().instances == 3);
}

TEST_CASE("a name that was asked for is found as any other, though the table has grown since") {
    Fixture fixture({quota("d/{k}", {per_second(1)})});
    auto& other = fixture.limiter.register_thread(2);
    const AskedName early = fixture.limiter.ask(fixture.thread, "d/1999");
    const AskedName unknown = fixture.limiter.ask(fixture.thread, "x");
    for (int i = 0; i < 2000; ++i) {
        REQUIRE(fixture.limiter.find(other, "d/" + std::to_string(i), fixture.now));
        if (i % 100 == 0) {
            fixture.limiter.quiescent(other);
            fixture.limiter.maintain(fixture.now);
        }
    }
    const LeafId leaf = fixture.limiter.find(fixture.thread, early, fixture.now);
    CHECK(leaf);
    CHECK(leaf == fixture.find("d/1999"));
    CHECK_FALSE(fixture.limiter.find(fixture.thread, unknown, fixture.now));
    // A name that nobody has used yet is made, as without asking.
    const AskedName fresh = fixture.limiter.ask(fixture.thread, "d/fresh");
    CHECK(fixture.limiter.find(fixture.thread, fresh, fixture.now) == fixture.find("d/fresh"));
    fixture.limiter.quiescent(fixture.thread);
}

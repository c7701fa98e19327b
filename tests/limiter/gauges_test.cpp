// Gauges of the instances of a definition: levels and chances of refusing.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "fixture.h"

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;

/// Calls of maintain() in which the gauges of all instances are read, if they are not too many.
constexpr int kCallsEachRound = 10;

/// So many instances of one template, of which one request each was admitted.
struct ManyInstances : Fixture {
    static LimiterOptions options_for(int instances) {
        LimiterOptions options;
        options.max_instances = static_cast<std::uint32_t>(instances) + 2;
        return options;
    }
    explicit ManyInstances(int instances)
        : Fixture({quota("k/{key}", {borders(10, 10, 20)})}, options_for(instances)) {
        for (int i = 0; i < instances; ++i) {
            CHECK(admits("k/" + std::to_string(i)));
        }
    }
};

TEST_CASE("gauges of many instances are read in rounds, a bounded part at a time") {
    constexpr int kInstances = 40'000;
    LimiterOptions options;
    options.max_instances = kInstances + 1;
    Fixture fixture({quota("k/{key}", {borders(10, 10, 20)})}, options);
    const auto figures = [&] {
        DefinitionStatistics found;
        fixture.limiter.for_each_statistics(fixture.now,
                                            [&](const DefinitionStatistics& one) { found = one; });
        return found;
    };
    const auto gauged = [&] { return fixture.limiter.counters().gauged; };
    CHECK(fixture.admits("k/0"));
    CHECK(figures().live_instances == 1);  // few: of this moment
    for (int i = 1; i < kInstances; ++i) {
        CHECK(fixture.admits("k/" + std::to_string(i)));
    }
    for (int i = 0; i < 4; ++i) {
        CHECK(fixture.admits("k/7"));
    }
    std::uint64_t before = gauged();
    for (int call = 0; call < kCallsEachRound; ++call) {
        fixture.limiter.maintain(fixture.now);
        CHECK(gauged() - before <= kInstances / kCallsEachRound + 1);
        before = gauged();
    }
    const DefinitionStatistics seen = figures();
    CHECK(gauged() == before);  // asking costs nothing
    CHECK(seen.live_instances == kInstances);
    CHECK(seen.level_ratio_max == doctest::Approx(0.5));
    CHECK(seen.offered == kInstances + 4);
    // The next round tells what has changed; until it is whole the last one is shown.
    for (int i = 0; i < 4; ++i) {
        CHECK(fixture.admits("k/7"));
    }
    fixture.limiter.maintain(fixture.now);
    CHECK(figures().level_ratio_max == doctest::Approx(0.5));
    CHECK(figures().offered == kInstances + 8);
    for (int call = 1; call < kCallsEachRound; ++call) {
        fixture.limiter.maintain(fixture.now);
    }
    CHECK(figures().level_ratio_max == doctest::Approx(0.9));
}

TEST_CASE("a call of upkeep reads the gauges of at most 16,384 records") {
    ManyInstances fixture(200'000);
    const std::uint64_t before = fixture.limiter.counters().gauged;
    fixture.limiter.maintain(fixture.now);
    CHECK(fixture.limiter.counters().gauged - before == 16'384);
}

TEST_CASE("a definition that comes in the middle of a round is in it") {
    constexpr int kInstances = 20'000;
    ManyInstances fixture(kInstances);
    fixture.limiter.maintain(fixture.now);
    const std::vector<DefinitionChange> changes{{"new", quota("new", {borders(10, 10, 20)})}};
    REQUIRE(fixture.limiter.change(changes, fixture.now) == 0);
    CHECK(fixture.admits("new"));
    for (int call = 1; call < kCallsEachRound; ++call) {
        fixture.limiter.maintain(fixture.now);
    }
    std::map<std::string, DefinitionStatistics> found;
    fixture.limiter.for_each_statistics(
        fixture.now, [&](const DefinitionStatistics& one) { found[std::string(one.quota)] = one; });
    CHECK(found["k/{key}"].live_instances == kInstances);
    CHECK(found["new"].live_instances == 1);
}

TEST_CASE("the gauges of instances at rest are those of their levels") {
    // The second quota has two limits, and is read as busy ones are.
    Fixture fixture({quota("a/{key}", {borders(0.01, 10, 20)}),
                     quota("b/{key}", {borders(0.01, 10, 20), per_minute(60'000)}),
                     quota("c/{key}", {borders(10, 10, 20)}),
                     quota("d/{key}", {borders(0.01, 10, 20)})});
    REQUIRE(fixture.errors.empty());
    for (const char* const name : {"a/0", "b/0", "c/0"}) {
        for (int i = 0; i < 5; ++i) {
            CHECK(fixture.admits(name));
        }
    }
    for (int i = 0; i < 20; ++i) {
        fixture.admits("a/1");  // until some are refused
    }
    for (const int requests : {5, 9, 10}) {  // of the last one the next request may be refused
        CHECK(fixture.admits("d/" + std::to_string(requests), requests));
    }
    fixture.wait(60);
    CHECK(fixture.admits("a/2"));  // by no means at rest
    std::map<std::string, DefinitionStatistics> found;
    fixture.limiter.for_each_statistics(
        fixture.now, [&](const DefinitionStatistics& one) { found[std::string(one.quota)] = one; });
    const auto level = [&](std::string_view name) { return fixture.level(name); };
    CHECK(level("a/0") == doctest::Approx(5 - 60 * 0.01));
    CHECK(found["a/{key}"].live_instances == 3);
    CHECK(found["a/{key}"].level_ratio_max == doctest::Approx(level("a/1") / 10));
    CHECK(found["a/{key}"].level_ratio_mean == doctest::Approx(level("a/2") / 10));
    CHECK(found["a/{key}"].discard_probability_max > 0);
    CHECK(found["b/{key}"].level_ratio_max == doctest::Approx(level("b/0") / 10));
    CHECK(found["b/{key}"].level_ratio_max == doctest::Approx(level("a/0") / 10));
    CHECK(found["d/{key}"].level_ratio_max == doctest::Approx(level("d/10") / 10));
    CHECK(found["d/{key}"].level_ratio_mean ==
          doctest::Approx((level("d/5") + level("d/9") + level("d/10")) / 30));
    CHECK(found["c/{key}"].level_ratio_max == 0);
    CHECK(found["c/{key}"].live_instances == 1);
}

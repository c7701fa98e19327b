// Definitions changed many at once, by a caller that has validated them; figures of one of them.

#include <doctest/doctest.h>

#include <map>

#include "limiter/fixture.h"

namespace weir::limiter {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1h};

QuotaDefinition quota(std::string name, double amount,
                      std::optional<std::string> parent = std::nullopt) {
    QuotaDefinition definition;
    definition.name = std::move(name);
    definition.parent = std::move(parent);
    RateLimit limit;
    limit.amount = amount;
    limit.low = BurstSpec{BurstSpec::Kind::amount, amount};
    limit.high = limit.low;
    definition.limits.push_back(limit);
    return definition;
}

DefinitionChange put(const QuotaDefinition& definition) { return {definition.name, definition}; }
DefinitionChange gone(std::string name) { return {std::move(name), std::nullopt}; }

struct World {
    bool passes(std::string_view name) {
        const LeafId leaf = limiter.find(thread, name, kStart);
        const bool admitted = limiter.check(thread, leaf, {}, kStart, CheckMode::charge).admitted;
        limiter.quiescent(thread);
        return admitted;
    }
    std::size_t change(const std::vector<DefinitionChange>& changes) {
        return limiter.change(changes, kStart);
    }
    Limiter limiter{{.seed = 3}};
    ThreadContext& thread = limiter.register_thread(4);
};

TEST_CASE("a batch of changes holds as the same changes one by one would") {
    World world;
    CHECK(world.change({put(quota("s3", 3)), put(quota("s3/{b}", 2, "s3")),
                        put(quota("s3/x", 1, "s3"))}) == 0);
    CHECK(world.passes("s3/x"));
    CHECK_FALSE(world.passes("s3/x"));
    CHECK(world.passes("s3/y"));
    CHECK(world.passes("s3/y"));
    CHECK_FALSE(world.passes("s3/z"));  // the parent's three are used up

    // The exact name goes, its instance falls under the template and keeps its level.
    CHECK(world.change({put(quota("s3", 100)), gone("s3/x"), gone("nobody")}) == 0);
    CHECK(world.limiter.definition_for("s3/x")->name == "s3/{b}");
    CHECK(world.passes("s3/x"));
    CHECK_FALSE(world.passes("s3/x"));

    // Another template in place of this one, and a parent that moves.
    CHECK(world.change({put(quota("top", 1)), put(quota("s3", 100, "top")),
                        put(quota("s3/{bucket}", 50, "s3")), gone("s3/{b}")}) == 0);
    CHECK(world.limiter.definitions().size() == 3);
    CHECK(world.passes("s3/q"));
    CHECK_FALSE(world.passes("s3/r"));  // by the one of top
    CHECK(world.change({gone("s3/{bucket}"), gone("s3"), gone("top")}) == 0);
    CHECK(world.limiter.definitions().empty());
    CHECK(world.passes("s3/q"));  // no quota of that name any more
}

TEST_CASE("what would be its own ancestor is left out, whatever the caller says") {
    World world;
    CHECK(world.change({put(quota("a", 5)), put(quota("b", 5, "a"))}) == 0);
    CHECK(world.change({put(quota("a", 5, "b")), put(quota("c", 5, "c"))}) == 1);
    CHECK_FALSE(world.limiter.definition_for("a")->parent.has_value());
    CHECK(world.passes("b"));
}

TEST_CASE("one definition's figures are those of the scan over all") {
    World world;
    CHECK(world.change({put(quota("s3", 100)), put(quota("s3/{b}", 4, "s3"))}) == 0);
    for (int i = 0; i < 60; ++i) {
        for (int times = 0; times < 1 + i % 6; ++times) {
            static_cast<void>(world.passes("s3/" + std::to_string(i)));
        }
    }
    std::size_t seen = 0;
    world.limiter.for_each_statistics(kStart, [&](const DefinitionStatistics& all) {
        const auto one = world.limiter.statistics_of(all.quota, kStart);
        REQUIRE(one.has_value());
        CHECK(one->offered == all.offered);
        CHECK(one->admitted == all.admitted);
        CHECK(one->refused == all.refused);
        CHECK(one->live_instances == all.live_instances);
        CHECK(one->level_ratio_mean == doctest::Approx(all.level_ratio_mean));
        CHECK(one->level_ratio_max == doctest::Approx(all.level_ratio_max));
        CHECK(one->discard_probability_max == doctest::Approx(all.discard_probability_max));
        ++seen;
    });
    CHECK(seen == 2);
    CHECK_FALSE(world.limiter.statistics_of("nobody", kStart).has_value());
}

}  // namespace
}  // namespace weir::limiter

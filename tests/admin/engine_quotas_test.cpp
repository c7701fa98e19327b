// The quota API over a real engine and limiter in virtual time.

#include "admin/engine_quotas.h"

#include <doctest/doctest.h>

#include "admin/figures.h"
#include "engine/engine.h"
#include "limiter/limiter.h"

using namespace weir;
using namespace weir::admin;
using namespace std::chrono_literals;

namespace {

limiter::QuotaDefinition quota(std::string name, double amount,
                               std::optional<std::string> parent = std::nullopt) {
    limiter::QuotaDefinition definition;
    definition.name = std::move(name);
    definition.parent = std::move(parent);
    limiter::RateLimit limit;
    limit.amount = amount;
    definition.limits = {limit};
    return definition;
}

engine::EngineOptions alone() {
    engine::EngineOptions options;
    options.clustered = false;
    return options;
}

struct World {
    World() { engine.start(now); }

    /// What the driver does every 10 ms.
    void tick() {
        now += 10ms;
        engine.tick(now);
        static_cast<void>(engine.take_outgoing());
    }
    void check(const std::string& name, int times) {
        for (int i = 0; i < times; ++i) {
            const auto leaf = limiter.find(thread, name, now);
            static_cast<void>(limiter.check(thread, leaf, {}, now, limiter::CheckMode::charge));
        }
        limiter.quiescent(thread);
    }

    Instant now{1h};
    limiter::Limiter limiter{{.seed = 5}};
    limiter::ThreadContext& thread = limiter.register_thread(6);
    engine::Engine engine{alone(), limiter, 7};
    EngineQuotas quotas{engine, limiter, [this] { return now; }};
    definitions::Edit edit{.who = "ada", .why = "test", .lifetime = std::nullopt};
};

}  // namespace

TEST_CASE_FIXTURE(World, "without a cluster no edit waits for being told to anybody") {
    for (int i = 0; i < 100; ++i) {
        REQUIRE(engine.definitions().set(quota("q", 10 + i), edit, now).has_value());
    }
    tick();
    CHECK(engine.definitions().take_edited().empty());
    CHECK(engine.definitions().take_overtaken().empty());
}

TEST_CASE("what is put is found, listed and in force at once") {
    World world;
    REQUIRE(world.quotas.put(quota("s3", 100), world.edit).version.has_value());
    REQUIRE(world.quotas.put(quota("s3/{bucket}", 10, "s3"), world.edit).version.has_value());
    CHECK(world.limiter.definition_for("s3/b").has_value());
    const auto found = world.quotas.find("s3/{bucket}");
    REQUIRE(found.has_value());
    CHECK(found->who == "ada");
    CHECK(found->in_force);
    CHECK_FALSE(world.quotas.find("s3/b").has_value());
    CHECK(world.quotas.page("", "", 10).size() == 2);
    CHECK(world.quotas.page("s3/", "", 10).size() == 1);
    CHECK(world.quotas.page("", "s3", 10).front().name == "s3/{bucket}");
    CHECK(world.quotas.page("", "", 1).front().name == "s3");
}

TEST_CASE("an instance is reported with its template and its live limits") {
    World world;
    REQUIRE(world.quotas.put(quota("s3", 100), world.edit).version.has_value());
    REQUIRE(world.quotas.put(quota("s3/{bucket}", 10, "s3"), world.edit).version.has_value());
    world.tick();
    world.check("s3/b", 15);
    world.tick();
    const auto report = world.quotas.report("s3/b");
    REQUIRE(report.row.has_value());
    CHECK(report.row->name == "s3/{bucket}");
    REQUIRE(report.instance.has_value());
    REQUIRE(report.instance->limits.size() == 1);
    CHECK(report.instance->limits.front().level > 5);
    REQUIRE(report.figures.has_value());
    CHECK(report.figures->offered == 15);
    CHECK(report.figures->admitted + report.figures->refused == 15);
    CHECK(report.figures->instances == 1);
    CHECK_FALSE(world.quotas.report("s3/other").instance.has_value());
    CHECK(world.quotas.report("s3/other").row.has_value());
    CHECK_FALSE(world.quotas.report("elsewhere").row.has_value());
}

TEST_CASE("a definition that does not fit its place is refused with its errors") {
    World world;
    const auto orphan = world.quotas.put(quota("a/b", 1, "a"), world.edit);
    CHECK_FALSE(orphan.version.has_value());
    REQUIRE(orphan.errors.size() == 1);
    CHECK(orphan.errors.front().quota == "a/b");
    CHECK(orphan.errors.front().field == "parent");
    CHECK_FALSE(orphan.message.empty());
    CHECK_FALSE(world.quotas.find("a/b").has_value());
}

TEST_CASE("an override is removed once, a parent of others not at all") {
    World world;
    REQUIRE(world.quotas.put(quota("p", 100), world.edit).version.has_value());
    REQUIRE(world.quotas.put(quota("p/c", 10, "p"), world.edit).version.has_value());
    CHECK_FALSE(world.quotas.remove("p", world.edit).version.has_value());
    CHECK(world.quotas.remove("p/c", world.edit).version.has_value());
    const auto again = world.quotas.remove("p/c", world.edit);
    CHECK_FALSE(again.version.has_value());
    CHECK(again.code == ErrorCode::not_found);
}

TEST_CASE("a file's quota is hidden and comes back") {
    World world;
    REQUIRE(world.engine.definitions()
                .apply_document({.set = "storage", .generation = 3, .quotas = {quota("f", 5)}},
                                world.now)
                .outcome == definitions::DocumentOutcome::applied);
    world.tick();
    REQUIRE(world.limiter.definition_for("f").has_value());
    REQUIRE(world.quotas.hide("f", world.edit).version.has_value());
    world.tick();
    CHECK_FALSE(world.limiter.definition_for("f").has_value());
    REQUIRE(world.quotas.find("f").has_value());
    CHECK_FALSE(world.quotas.find("f")->definition.has_value());
    REQUIRE(world.quotas.remove("f", world.edit).version.has_value());
    world.tick();
    CHECK(world.limiter.definition_for("f").has_value());
}

TEST_CASE("figures of limiter, engine and sets reach their names") {
    World world;
    REQUIRE(world.quotas.put(quota("q", 2), world.edit).version.has_value());
    world.tick();
    world.check("q", 5);
    const auto limiter = to_figures(world.limiter, world.now);
    REQUIRE(limiter.quotas.size() == 1);
    CHECK(limiter.quotas.front().name == "q");
    CHECK(limiter.quotas.front().offered == 5);
    CHECK(limiter.quotas.front().limits.front().unit == "requests");
    CHECK(limiter.quotas.front().limits.front().period == "1s");
    CHECK(limiter.live_instances == 1);
    CHECK(limiter.created_instances == 1);
    CHECK(to_figures(world.engine).definition_events.at("edits") == 1);
    CHECK(hash_text(0) == "0000000000000000");
    CHECK(hash_text(0xfedcba9876543210) == "fedcba9876543210");
}

// The two layers of definitions in one sidecar.
#include "engine/definition_store.h"

#include <doctest/doctest.h>

#include <tuple>

namespace weir::engine {
namespace {

using namespace std::chrono_literals;
using limiter::QuotaDefinition;

constexpr Instant kStart{1h};

QuotaDefinition quota(std::string name, std::optional<std::string> parent, double amount) {
    QuotaDefinition definition;
    definition.name = std::move(name);
    definition.parent = std::move(parent);
    limiter::RateLimit limit;
    limit.amount = amount;
    definition.limits.push_back(limit);
    return definition;
}

FileDocument document(std::optional<std::uint64_t> generation, double amount) {
    return {"storage", generation, {quota("s3", {}, 1000), quota("s3/{bucket}", "s3", amount)}};
}

Edit by(std::string who) { return {std::move(who), "test", std::nullopt}; }

double amount_of(DefinitionStore& store, std::string_view name, Instant now = kStart) {
    const auto found = store.find(name, now);
    return found && found->definition ? found->definition->limits[0].amount : -1;
}

TEST_CASE("of documents the newest generation holds") {
    DefinitionStore store(1);
    CHECK(store.apply_document(document(7, 100), kStart).outcome == DocumentOutcome::applied);
    CHECK(store.find("s3/{bucket}", kStart)->source == "file storage#7");
    CHECK(store.take_changes().size() == 2);

    CHECK(store.apply_document(document(7, 100), kStart).outcome == DocumentOutcome::unchanged);
    const DocumentReport older = store.apply_document(document(6, 50), kStart);
    CHECK(older.outcome == DocumentOutcome::older);
    CHECK(older.in_force == 7U);
    CHECK(store.take_changes().empty());
    CHECK(amount_of(store, "s3/{bucket}") == 100);

    CHECK(store.apply_document(document(8, 200), kStart).outcome == DocumentOutcome::applied);
    const auto changes = store.take_changes();
    REQUIRE(changes.size() == 1);
    CHECK(changes[0].name == "s3/{bucket}");
    CHECK(store.counters().documents_older == 1);
}

TEST_CASE("one generation with two contents is a conflict that is shown and changes nothing") {
    DefinitionStore store(1);
    store.apply_document(document(7, 100), kStart);
    std::ignore = store.take_changes();
    const DocumentReport report = store.apply_document(document(7, 300), kStart);
    CHECK(report.outcome == DocumentOutcome::conflict);
    CHECK_FALSE(report.message.empty());
    CHECK(store.take_changes().empty());
    CHECK(store.sets()[0].conflict);
    CHECK(store.counters().document_conflicts == 1);
    store.apply_document(document(8, 300), kStart);
    CHECK_FALSE(store.sets()[0].conflict);
}

TEST_CASE("a document without generation is local, wins, and goes with its file") {
    DefinitionStore store(1);
    store.apply_document(document(7, 100), kStart);
    FileDocument local = document(std::nullopt, 5);
    CHECK(store.apply_document(local, kStart).outcome == DocumentOutcome::applied);
    CHECK(amount_of(store, "s3/{bucket}") == 5);
    CHECK(store.find("s3", kStart)->source == "file storage");
    store.forget_local_document("storage", kStart);
    CHECK(amount_of(store, "s3/{bucket}") == 100);
    store.forget_local_document("storage", kStart);  // the fleet's document stays
    CHECK(amount_of(store, "s3/{bucket}") == 100);
}

TEST_CASE("a bad document is refused whole, with every error") {
    DefinitionStore store(1);
    store.apply_document(document(7, 100), kStart);
    FileDocument bad{"storage", 8, {quota("a", "nowhere", 1), quota("b", "nobody", 1)}};
    const DocumentReport report = store.apply_document(bad, kStart);
    CHECK(report.outcome == DocumentOutcome::invalid);
    CHECK(report.errors.size() == 2);
    CHECK(amount_of(store, "s3/{bucket}") == 100);
    CHECK(store.sets()[0].generation == 7U);
    CHECK(store.apply_document({std::string(129, 'x'), 1, {}}, kStart).outcome ==
          DocumentOutcome::invalid);
}

TEST_CASE("the number of sets is bounded") {
    DefinitionStore store(1);
    for (std::size_t i = 0; i < DefinitionStore::kMaximumSets; ++i) {
        CHECK(store.apply_document({"set" + std::to_string(i), 1, {}}, kStart).outcome ==
              DocumentOutcome::applied);
    }
    CHECK(store.apply_document({"one more", 1, {}}, kStart).outcome == DocumentOutcome::invalid);
}

TEST_CASE("the API layer wins name by name, and rm gives the file's back") {
    DefinitionStore store(1);
    store.apply_document(document(7, 100), kStart);
    std::ignore = store.take_changes();
    const auto version = store.set(quota("s3/{bucket}", "s3", 40), by("ann"), kStart);
    REQUIRE(version.has_value());
    const auto row = store.find("s3/{bucket}", kStart);
    CHECK(row->source == "api epoch 1 by 0000000000000001");
    CHECK(row->who == "ann");
    CHECK(amount_of(store, "s3/{bucket}") == 40);
    CHECK(store.take_changes().size() == 1);
    // A new document underneath changes nothing on top.
    store.apply_document(document(8, 200), kStart);
    CHECK(store.take_changes().empty());

    REQUIRE(store.remove("s3/{bucket}", by("ann"), kStart).has_value());
    CHECK(amount_of(store, "s3/{bucket}") == 200);
    CHECK(store.remove("s3/{bucket}", by("ann"), kStart).error().code == ErrorCode::not_found);
}

TEST_CASE("set --absent hides a file's quota; its children must go first") {
    DefinitionStore store(1);
    store.apply_document(document(7, 100), kStart);
    std::ignore = store.take_changes();
    CHECK_FALSE(store.set_absent("s3", by("ann"), kStart).has_value());
    REQUIRE(store.set_absent("s3/{bucket}", by("ann"), kStart).has_value());
    const auto row = store.find("s3/{bucket}", kStart);
    REQUIRE(row);
    CHECK_FALSE(row->definition);
    const auto changes = store.take_changes();
    REQUIRE(changes.size() == 1);
    CHECK_FALSE(changes[0].definition);
    CHECK(store.set_absent("s3", by("ann"), kStart).has_value());
    CHECK(store.in_force().empty());
}

TEST_CASE("bad edits are refused with their reasons, and nothing changes") {
    DefinitionStore store(1);
    const auto orphan = store.set(quota("a", "nowhere", 1), by("ann"), kStart);
    REQUIRE_FALSE(orphan.has_value());
    CHECK(orphan.error().message.find("nowhere") != std::string::npos);
    QuotaDefinition large = quota(std::string(500, 'a'), {}, 1);
    large.parent = std::string(500, 'b');
    for (int i = 1; i < 8; ++i) {
        limiter::RateLimit limit = large.limits[0];
        limit.period = std::chrono::seconds(i + 1);
        limit.low = limiter::BurstSpec{limiter::BurstSpec::Kind::amount, 1};
        limit.high = limiter::BurstSpec{limiter::BurstSpec::Kind::amount, 2};
        limit.debt = limiter::BurstSpec{limiter::BurstSpec::Kind::amount, 3};
        large.limits.push_back(limit);
    }
    REQUIRE(store.set(quota(std::string(500, 'b'), {}, 1), by("ann"), kStart).has_value());
    const auto too_large = store.set(large, by("ann"), kStart);
    REQUIRE_FALSE(too_large.has_value());
    CHECK(too_large.error().code == ErrorCode::too_large);
    CHECK(too_large.error().message.find("one datagram carries") != std::string::npos);
    CHECK_FALSE(store.set(quota("a", {}, 1), by(std::string(65, 'w')), kStart).has_value());
    CHECK_FALSE(store.set(quota("a", {}, 1), Edit{"", "", 0s}, kStart).has_value());
    CHECK_FALSE(store.set(quota("", {}, 1), by("ann"), kStart).has_value());
    CHECK(store.counters().edits_refused == 5);
    CHECK(store.list(kStart).size() == 1);
}

TEST_CASE("an override expires by itself") {
    DefinitionStore store(1);
    store.apply_document(document(7, 100), kStart);
    REQUIRE(
        store.set(quota("s3/{bucket}", "s3", 40), Edit{"ann", "sale", 60s}, kStart).has_value());
    std::ignore = store.take_changes();
    CHECK(store.find("s3/{bucket}", kStart + 20s)->expires_in == 40s);
    store.tick(kStart + 59s);
    CHECK(store.take_changes().empty());
    store.tick(kStart + 60s);
    CHECK(store.take_changes().size() == 1);
    CHECK(amount_of(store, "s3/{bucket}", kStart + 60s) == 100);
}

TEST_CASE("an orphan made by a merge waits until its parent is back") {
    DefinitionStore here(1);
    DefinitionStore there(2);
    REQUIRE(here.set(quota("p", {}, 10), by("ann"), kStart).has_value());
    REQUIRE(there.merge(*here.overrides().find("p"), kStart) == crdt::MergeOutcome::applied);
    std::ignore = here.take_changes();
    // On both sides of a split: a child there, the parent removed here.
    REQUIRE(there.set(quota("p/c", "p", 5), by("bob"), kStart).has_value());
    REQUIRE(here.remove("p", by("ann"), kStart).has_value());
    REQUIRE(here.merge(*there.overrides().find("p/c"), kStart) == crdt::MergeOutcome::applied);
    const auto orphan = here.find("p/c", kStart);
    REQUIRE(orphan);
    CHECK_FALSE(orphan->in_force);
    CHECK_FALSE(orphan->problem.empty());
    const auto changes = here.take_changes();
    REQUIRE(changes.size() == 1);
    CHECK(changes[0].name == "p");
    CHECK(here.in_force().empty());
    REQUIRE(here.set(quota("p", {}, 20), by("ann"), kStart).has_value());
    CHECK(here.find("p/c", kStart)->in_force);
    const auto back = here.take_changes();
    REQUIRE(back.size() == 2);
    CHECK(back[0].name == "p");
    CHECK(back[1].name == "p/c");
}

TEST_CASE("changes come parents first, and go children first") {
    DefinitionStore store(1);
    store.apply_document({"set", 1, {quota("z", {}, 3), quota("m", "z", 2), quota("a", "m", 1)}},
                         kStart);
    auto changes = store.take_changes();
    REQUIRE(changes.size() == 3);
    CHECK(changes[0].name == "z");
    CHECK(changes[1].name == "m");
    CHECK(changes[2].name == "a");
    store.apply_document({"set", 2, {quota("n", {}, 2)}}, kStart);
    changes = store.take_changes();
    REQUIRE(changes.size() == 4);
    CHECK(changes[0].name == "n");
    CHECK(changes[1].name == "a");
    CHECK(changes[2].name == "m");
    CHECK(changes[3].name == "z");
}

TEST_CASE("an entry that does not decode is refused and counted") {
    DefinitionStore store(1);
    crdt::DefinitionEntry entry;
    entry.name = "a";
    entry.kind = crdt::EntryKind::set;
    entry.value = "garbage";
    entry.version = {1, 9};
    entry.written = kStart;
    CHECK(store.merge(entry, kStart) == crdt::MergeOutcome::invalid);
    CHECK(store.counters().refused_entries == 1);
    CHECK(store.list(kStart).empty());
}

TEST_CASE("a liar's epoch is refused and counted") {
    DefinitionStore store(1);
    crdt::DefinitionEntry entry;
    entry.name = "a";
    entry.kind = crdt::EntryKind::absent;
    entry.version = {~std::uint64_t{0}, 9};
    entry.written = kStart;
    CHECK(store.merge(entry, kStart) == crdt::MergeOutcome::epoch);
    CHECK(store.counters().refused_epochs == 1);
}

TEST_CASE("equal content has an equal hash, whatever the way it came") {
    DefinitionStore one(1);
    DefinitionStore two(2);
    one.apply_document(document(7, 100), kStart);
    REQUIRE(one.set(quota("x", {}, 4), by("ann"), kStart).has_value());
    REQUIRE(two.set(quota("x", {}, 4), by("bob"), kStart).has_value());
    CHECK(one.content_hash() != two.content_hash());
    two.apply_document(document(3, 100), kStart);
    CHECK(one.content_hash() == two.content_hash());
}

}  // namespace
}  // namespace weir::engine

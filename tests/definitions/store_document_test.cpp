// Documents in the store: which one of several holds, and what is refused.
#include <doctest/doctest.h>

#include <memory>

#include "definitions/codec.h"
#include "definitions/store.h"
#include "definitions/store_fixture.h"

namespace weir::definitions {
namespace {

using namespace test;

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

TEST_CASE("a file that says what most of the fleet has is taken, whatever was in force") {
    DefinitionStore store(1);
    store.apply_document(document(7, 300), kStart);
    const std::uint64_t wrong = store.sets()[0].content_hash;
    DefinitionStore peer(2);
    peer.apply_document(document(7, 100), kStart);
    const std::uint64_t right = peer.sets()[0].content_hash;

    store.note_peer_contents("storage", {{right, 1}, {wrong, 1}});
    CHECK(store.apply_document(document(7, 100), kStart).outcome == DocumentOutcome::conflict);
    CHECK_FALSE(store.sets()[0].outvoted);  // two hold to the other content, we are one of them
    store.note_peer_contents("storage", {{right, 2}, {wrong, 1}});
    CHECK_FALSE(store.sets()[0].outvoted);  // a tie is enough for a file that is new only
    store.note_peer_contents("storage", {{right, 3}, {wrong, 1}});
    CHECK(store.sets()[0].outvoted);
    const std::uint64_t seen = store.conflict_changes();
    CHECK(store.apply_document(document(7, 100), kStart).outcome == DocumentOutcome::applied);
    CHECK(store.sets()[0].content_hash == right);
    CHECK(store.conflict_changes() != seen);
    CHECK_FALSE(store.sets()[0].outvoted);
    store.note_peer_contents("storage", {{right, 3}});
    CHECK_FALSE(store.sets()[0].conflict);
}

TEST_CASE(
    "a document without generation is local, wins, and stays without its file until its end") {
    DefinitionStore store(1);
    store.apply_document(document(7, 100), kStart);
    FileDocument local = document(std::nullopt, 5);
    CHECK(store.apply_document(local, kStart).outcome == DocumentOutcome::applied);
    CHECK(amount_of(store, "s3/{bucket}") == 5);
    CHECK(store.find("s3", kStart)->source == "file storage");
    store.forget_file("storage", kStart);
    CHECK(amount_of(store, "s3/{bucket}") == 5);
    store.end_local_document("storage", kStart);
    CHECK(amount_of(store, "s3/{bucket}") == 100);
    store.end_local_document("storage", kStart);  // the fleet's document stays
    CHECK(amount_of(store, "s3/{bucket}") == 100);
}

TEST_CASE("the quotas that two sets share are counted by their names") {
    DefinitionStore store(1);
    store.apply_document(
        {"a", std::nullopt, {quota("x", std::nullopt, 1), quota("y", std::nullopt, 1)}}, kStart);
    store.apply_document({"b", 3, {quota("y", std::nullopt, 2)}}, kStart);
    store.apply_document({"c", std::nullopt, {quota("z", std::nullopt, 2)}}, kStart);
    CHECK(store.shared_quotas("a", "b") == 1);
    CHECK(store.shared_quotas("b", "a") == 1);
    CHECK(store.shared_quotas("a", "c") == 0);
    CHECK(store.shared_quotas("a", "nowhere") == 0);
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

TEST_CASE("a document above its bound is refused unread, one at it is read") {
    DefinitionStore store(1);
    const auto offer = [&store](std::size_t size) {
        return store.offer_document(
            {"big", 1, std::make_shared<const std::vector<std::byte>>(size), 77}, kStart);
    };
    const DocumentReport refused = offer(kMaximumDocument + 1);
    CHECK(refused.outcome == DocumentOutcome::invalid);
    CHECK(refused.message == "the document is too long");
    // Zeros would be forty million definitions without a name: the first one ends it.
    const DocumentReport read = offer(kMaximumDocument);
    CHECK(read.outcome == DocumentOutcome::invalid);
    CHECK(read.message == "not a well-formed quota definition");
}

TEST_CASE("a long document is taken in by ticks, and what was in force holds meanwhile") {
    DefinitionStore store(1);
    FileDocument old{"big", 1, {}};
    for (int i = 0; i < 30'000; ++i) {
        old.quotas.push_back(quota("q" + std::to_string(i), {}, 1));
    }
    store.apply_document(old, kStart);
    std::ignore = store.take_changes();
    FileDocument fresh = old;
    for (QuotaDefinition& one : fresh.quotas) {
        one.limits[0].amount = 2;
    }
    fresh.quotas.push_back(quota("zzz", {}, 3));
    auto bytes =
        std::make_shared<const std::vector<std::byte>>(encode_document(fresh.quotas).value());
    const EncodedDocument offered{"big", 2, bytes, document_hash(*bytes)};
    CHECK(store.offer_document(offered, kStart).outcome == DocumentOutcome::loading);
    CHECK(store.loading_generation("big") == 2U);
    CHECK(store.offer_document(offered, kStart).outcome == DocumentOutcome::loading);
    std::size_t ticks = 0;
    std::size_t changes = 0;
    while (store.loading()) {
        CHECK(store.size() >= 30'000);
        store.tick(kStart);
        changes += store.take_changes(1000).size();
        REQUIRE(++ticks < 100);
    }
    CHECK(ticks >= 3);  // 60,000 looks at definitions, 16,384 in a tick
    const auto reports = store.take_reports();
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].second.outcome == DocumentOutcome::applied);
    changes += store.take_changes().size();
    CHECK(changes == 30'001);
    CHECK(amount_of(store, "q29999") == 2);
    CHECK(amount_of(store, "zzz") == 3);
}

TEST_CASE("a file equals a peer's document that waits in the middle: it gets its own report") {
    DefinitionStore store(1);
    std::vector<QuotaDefinition> many;
    for (int i = 0; i < 20'000; ++i) {
        many.push_back(quota("q" + std::to_string(i), {}, 1));
    }
    const auto offer = [&](const std::string& set, const std::vector<QuotaDefinition>& quotas) {
        auto bytes =
            std::make_shared<const std::vector<std::byte>>(encode_document(quotas).value());
        const std::uint64_t hash = document_hash(*bytes);
        return store.offer_document({set, 1, std::move(bytes), hash, true}, kStart).outcome;
    };
    const std::vector<QuotaDefinition> middle{quota("middle", {}, 1)};
    CHECK(offer("long", many) == DocumentOutcome::loading);
    CHECK(offer("middle", middle) == DocumentOutcome::loading);
    CHECK(offer("last", {quota("last", "nowhere", 1)}) == DocumentOutcome::loading);
    const DocumentReport report = store.apply_document({"middle", 1, middle}, kStart);
    CHECK(report.outcome == DocumentOutcome::applied);
    CHECK_FALSE(store.loading());
    const auto others = store.take_reports();
    REQUIRE(others.size() == 2);
    CHECK(others[0].first == "long");
    CHECK(others[1].first == "last");
}

TEST_CASE("a long document that is bad in itself is refused whole; one without a parent waits") {
    DefinitionStore store(1);
    store.apply_document(document(7, 100), kStart);
    FileDocument bad{"big", 1, {}};
    for (int i = 0; i < 20'000; ++i) {
        bad.quotas.push_back(quota("q" + std::to_string(i), {}, i == 15'000 ? -1 : 1));
    }
    const auto offer = [&](std::uint64_t generation) {
        auto bytes =
            std::make_shared<const std::vector<std::byte>>(encode_document(bad.quotas).value());
        const std::uint64_t hash = document_hash(*bytes);
        auto report = store.offer_document({"big", generation, std::move(bytes), hash}, kStart);
        while (store.loading()) {
            store.tick(kStart);
        }
        for (auto& [set, late] : store.take_reports()) {
            report = std::move(late);
        }
        return report;
    };
    // An amount below 0 does not even decode.
    CHECK(offer(1).outcome == DocumentOutcome::invalid);
    bad.quotas[15'000].limits[0].amount = 1e16;  // decodes, and is out of range
    const DocumentReport report = offer(1);
    CHECK(report.outcome == DocumentOutcome::invalid);
    REQUIRE(report.errors.size() == 1);
    CHECK(report.errors[0].quota == "q15000");
    CHECK(store.size() == 2);
    CHECK(store.sets().size() == 1);
    bad.quotas[15'000].limits[0].amount = 1;
    bad.quotas[15'000].parent = "elsewhere";
    CHECK(offer(2).outcome == DocumentOutcome::applied);
    CHECK(store.size() == 2 + 19'999);
    CHECK_FALSE(store.find("q15000", kStart)->in_force);
    REQUIRE(store.set(quota("elsewhere", {}, 1), by("ann"), kStart).has_value());
    CHECK(store.find("q15000", kStart)->in_force);
}

}  // namespace
}  // namespace weir::definitions

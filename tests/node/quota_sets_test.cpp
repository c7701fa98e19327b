#include "node/quota_sets.h"

#include <doctest/doctest.h>

#include "definitions/generation.h"
#include "definitions/store.h"
#include "definitions/whole_store.h"

namespace weir::node {
namespace {

constexpr Instant kNow{std::chrono::seconds(10)};

config::QuotaSet set_of(const std::string& name, std::optional<std::uint64_t> generation,
                        const std::string& quota) {
    limiter::QuotaDefinition definition;
    definition.name = quota;
    return {.file = name + ".yaml", .name = name, .generation = generation, .quotas = {definition}};
}

}  // namespace

TEST_CASE("sets of files come into force, and none goes with its file") {
    definitions::DefinitionStore store(1);
    QuotaSets sets(false);
    const auto local = set_of("local", std::nullopt, "a");
    const auto shared = set_of("shared", 3, "b");
    CHECK(sets.apply({local, shared}, store, kNow, true).errors.empty());
    CHECK(definitions::test::in_force(store, Instant{}).size() == 2);
    CHECK(sets.apply({}, store, kNow, true).errors.empty());
    CHECK(definitions::test::in_force(store, Instant{}).size() == 2);
}

TEST_CASE("only the documents that were kept and are used count as used") {
    definitions::DefinitionStore before(1);
    QuotaSets of_before(false);
    const auto first = set_of("first", 3, "a");
    const auto second = set_of("second", 4, "b");
    CHECK(of_before.apply({first, second}, before, kNow, true).errors.empty());
    auto documents = before.documents();
    REQUIRE(documents.size() == 2);
    documents.push_back({.set = "third",
                         .generation = 5,
                         .content_hash = 1,
                         .bytes = std::make_shared<const std::vector<std::byte>>(7)});
    definitions::DefinitionStore store(2);
    QuotaSets sets(false);
    CHECK(sets.apply({first}, store, kNow, true).errors.empty());
    const KeptOutcome kept =
        sets.apply_kept(std::move(documents), "kept", store, kNow, true, false);
    CHECK(kept.used == std::vector<std::string>{"second#4"});
    REQUIRE(kept.not_used.size() == 1);
    CHECK(kept.not_used[0].starts_with("third#5: "));
}

TEST_CASE("an older generation is told, a conflict is an error, both name the file") {
    definitions::DefinitionStore store(1);
    QuotaSets sets(false);
    CHECK(sets.apply({set_of("shared", 3, "b")}, store, kNow, true).errors.empty());
    const SetsOutcome older = sets.apply({set_of("shared", 2, "c")}, store, kNow, true);
    CHECK(older.errors.empty());
    REQUIRE(older.older.size() == 1);
    CHECK(older.older.front().starts_with("shared.yaml: "));
    const SetsOutcome conflict = sets.apply({set_of("shared", 3, "c")}, store, kNow, true);
    REQUIRE(conflict.errors.size() == 1);
    CHECK(conflict.errors.front().starts_with("shared.yaml: "));
    CHECK(definitions::test::in_force(store, Instant{}).front().name == "b");
}

TEST_CASE("a file that is older than what came from peers is told when it has had time to come") {
    definitions::DefinitionStore store(1);
    QuotaSets sets(false);
    CHECK(sets.apply({set_of("shared", 3, "b")}, store, kNow, true).errors.empty());
    static_cast<void>(store.apply_document({"shared", 4, {}}, kNow));
    CHECK(sets.poll(store, kNow).older.empty());
    const Instant almost = kNow + QuotaSets::kFileMayCome - std::chrono::seconds(1);
    CHECK(sets.poll(store, almost).older.empty());
    CHECK(sets.problems().empty());
    const Instant late = kNow + QuotaSets::kFileMayCome;
    const std::vector<std::string> told = sets.poll(store, late).older;
    REQUIRE(told.size() == 1);
    CHECK(told[0] == "shared.yaml: generation 4 of shared is in force, this is 3");
    CHECK(sets.problems().at("shared") == told[0]);
    CHECK(sets.poll(store, late).older.empty());  // once
    CHECK(sets.apply({set_of("shared", 5, "b")}, store, late, true).errors.empty());
    CHECK(sets.problems().empty());
}

TEST_CASE("a set without room is remembered until it fits or its file is gone") {
    definitions::DefinitionStore store(1);
    QuotaSets sets(false);
    std::uint64_t room = 0;
    store.bound_memory([&room] { return std::optional(room); });
    const auto large = set_of("large", 1, "a");
    CHECK(sets.apply({large}, store, kNow, true).errors.size() == 1);
    REQUIRE(sets.too_large().size() == 1);
    CHECK(sets.too_large().at("large").starts_with("large.yaml: "));
    SUBCASE("it fits") {
        room = std::uint64_t{1} << 30U;
        CHECK(sets.apply({large}, store, kNow, true, true).errors.empty());
    }
    SUBCASE("its file is gone") { CHECK(sets.apply({}, store, kNow, true).errors.empty()); }
    CHECK(sets.too_large().empty());
}

TEST_CASE("a conflict that ends is told, and one that begins again is told again") {
    definitions::DefinitionStore store(1);
    QuotaSets sets(false);
    CHECK(sets.apply({set_of("shared", 3, "b")}, store, kNow, true).errors.empty());
    for (int turn = 0; turn < 2; ++turn) {
        store.note_peer_contents("shared", {{77, 1}});
        CHECK(sets.poll(store, kNow).errors.size() == 1);
        CHECK(sets.poll(store, kNow).errors.empty());
        store.note_peer_contents("shared", {});
        CHECK(sets.poll(store, kNow).over == std::vector<std::string>{"shared"});
        CHECK(sets.poll(store, kNow).over.empty());
    }
}

TEST_CASE("a set that was refused is offered again by itself when most have it, at a tie by hand") {
    definitions::DefinitionStore store(1);
    definitions::DefinitionStore peer(2);
    QuotaSets sets(false);
    const auto right = set_of("shared", 3, "b");
    CHECK(QuotaSets(false).apply({right}, peer, kNow, true).errors.empty());
    const std::uint64_t content = peer.sets().front().content_hash;
    CHECK(sets.apply({set_of("shared", 3, "c")}, store, kNow, true).errors.empty());
    CHECK(sets.apply({right}, store, kNow, true).errors.size() == 1);
    CHECK_FALSE(sets.poll(store, kNow).again);
    store.note_peer_contents("shared", {{content, 1}});
    CHECK_FALSE(sets.poll(store, kNow).again);
    CHECK(sets.apply({right}, store, kNow, true).errors.size() == 1);
    SUBCASE("most") {
        store.note_peer_contents("shared", {{content, 2}});
        CHECK(sets.poll(store, kNow).again);
        CHECK(sets.apply({right}, store, kNow, true).errors.empty());
    }
    SUBCASE("by hand") { CHECK(sets.apply({right}, store, kNow, true, true).errors.empty()); }
    CHECK(definitions::test::in_force(store, Instant{}).front().name == "b");
}

TEST_CASE("a set of the fleet whose file is deleted stays, without conflict, and that is told") {
    definitions::DefinitionStore store(1);
    QuotaSets sets(false);
    CHECK(sets.apply({set_of("shared", 3, "b")}, store, kNow, true).gone.empty());
    CHECK(sets.apply({set_of("shared", 3, "c")}, store, kNow, true).errors.size() == 1);
    const SetsOutcome outcome = sets.apply({}, store, kNow, true);
    REQUIRE(outcome.gone.size() == 1);
    CHECK(outcome.gone.front().starts_with("shared.yaml: the set shared is in no file"));
    CHECK(outcome.gone.front().find("generation 3 stays in force") != std::string::npos);
    CHECK_FALSE(store.sets().front().conflict);
    CHECK(definitions::test::in_force(store, Instant{}).size() == 1);
    CHECK(sets.apply({}, store, kNow, true).gone.empty());
    REQUIRE(sets.without_file().contains("shared"));
    CHECK(sets.without_file().at("shared") == outcome.gone.front());
    // It is over when the file is back.
    CHECK(sets.apply({set_of("shared", 3, "b")}, store, kNow, true).gone.empty());
    CHECK(sets.without_file().empty());
}

TEST_CASE("without a fleet a set stays without its file until a file ends or renames it") {
    definitions::DefinitionStore store(1);
    QuotaSets sets(false);
    CHECK(sets.apply({set_of("local", std::nullopt, "a")}, store, kNow, true).gone.empty());
    const SetsOutcome outcome = sets.apply({}, store, kNow, true);
    REQUIRE(outcome.gone.size() == 1);
    CHECK(outcome.gone.front().find("it stays in force here") != std::string::npos);
    static_cast<void>(sets.poll(store, kNow));
    CHECK(sets.without_file().contains("local"));
    CHECK(definitions::test::in_force(store, kNow).size() == 1);
    SUBCASE("a file without quotas ends it") {
        config::QuotaSet none = set_of("local", std::nullopt, "a");
        none.quotas.clear();
        CHECK(sets.apply({none}, store, kNow, true).gone.empty());
        CHECK(definitions::test::in_force(store, kNow).empty());
        CHECK(sets.apply({}, store, kNow, true).gone.empty());
        CHECK(sets.without_file().empty());
    }
    SUBCASE("another set with all of its quotas ends it") {
        CHECK(sets.apply({set_of("other", std::nullopt, "a")}, store, kNow, true).gone.empty());
        CHECK(sets.poll(store, kNow).gone ==
              std::vector<std::string>{"the set local ends, because all of its quotas are in "
                                       "other.yaml now, in the set other"});
        CHECK(sets.without_file().empty());
        REQUIRE(store.sets().size() == 1);
        CHECK(store.sets()[0].set == "other");
    }
    SUBCASE("another set with half of its quotas stands beside it") {
        auto two = set_of("local", std::nullopt, "a");
        two.quotas.push_back(two.quotas[0]);
        two.quotas[1].name = "b";
        CHECK(sets.apply({two}, store, kNow, true).gone.empty());
        CHECK(sets.apply({set_of("other", std::nullopt, "a")}, store, kNow, true).gone.size() == 1);
        CHECK(sets.poll(store, kNow).gone.empty());
        CHECK(sets.without_file().contains("local"));
        CHECK(definitions::test::in_force(store, kNow).size() == 2);
    }
    SUBCASE("another set with other quotas stands beside it") {
        CHECK(sets.apply({set_of("other", std::nullopt, "b")}, store, kNow, true).gone.empty());
        static_cast<void>(sets.poll(store, kNow));
        CHECK(sets.without_file().contains("local"));
        CHECK(definitions::test::in_force(store, kNow).size() == 2);
    }
}

TEST_CASE("a set without a generation is the fleet's: first at once, then by the majority") {
    definitions::DefinitionStore store(1);
    QuotaSets sets(true);
    CHECK(sets.apply({set_of("auto", std::nullopt, "a")}, store, kNow, true).waiting.empty());
    REQUIRE(store.sets().size() == 1);
    CHECK(store.sets()[0].generation == definitions::kUndecided);
    CHECK(definitions::test::in_force(store, kNow).front().name == "a");
    SUBCASE("without a peer an edit is in force at once") {
        CHECK(sets.apply({set_of("auto", std::nullopt, "b")}, store, kNow, true).waiting.empty());
        CHECK(definitions::test::in_force(store, kNow).front().name == "b");
    }
    SUBCASE("with peers it waits") {
        store.note_alone(false);
        const SetsOutcome waits =
            sets.apply({set_of("auto", std::nullopt, "b")}, store, kNow, true);
        CHECK(waits.errors.empty());
        REQUIRE(waits.waiting.size() == 1);
        CHECK(waits.waiting[0].starts_with("auto.yaml: other content of auto is in force"));
        CHECK(sets.problems().empty());
        CHECK(definitions::test::in_force(store, kNow).front().name == "a");
        const std::uint64_t content = store.files().find("auto")->content;
        CHECK(store.files().vote("auto", definitions::kUndecided) == content);
        CHECK(store.take_known("auto", {definitions::decision_of(1), content}, kNow));
        CHECK(definitions::test::in_force(store, kNow).front().name == "b");
    }
    SUBCASE("it does not go with its file") {
        const SetsOutcome gone = sets.apply({}, store, kNow, true);
        REQUIRE(gone.gone.size() == 1);
        CHECK(gone.gone[0].find("it stays in force in the fleet") != std::string::npos);
        CHECK(store.files().find("auto") == nullptr);
        CHECK(definitions::test::in_force(store, kNow).size() == 1);
    }
}

TEST_CASE("a file that was refused does not come into force by itself, and is not voted for") {
    definitions::DefinitionStore store(1);
    QuotaSets sets(true);
    CHECK(sets.apply({set_of("auto", std::nullopt, "a")}, store, kNow, true).errors.empty());
    const std::uint64_t content = store.sets()[0].content_hash;
    auto fresh = set_of("auto", std::nullopt, "a/b");
    fresh.quotas[0].parent = "nobody";
    CHECK(sets.apply({fresh}, store, kNow, true).errors.size() == 1);
    REQUIRE(store.files().find("auto") != nullptr);
    CHECK(store.files().find("auto")->refused);
    CHECK(store.files().vote("auto", definitions::kUndecided) == definitions::kForInForce);
    store.offer_file("auto", kNow);
    CHECK(store.sets()[0].content_hash == content);
    CHECK(sets.problems().contains("auto"));
    // A correction is a file like any other.
    CHECK(sets.apply({set_of("auto", std::nullopt, "c")}, store, kNow, true).errors.empty());
    CHECK(definitions::test::in_force(store, kNow).front().name == "c");
    CHECK(sets.problems().empty());
}

TEST_CASE("a file that waits for the fleet is judged before it is voted for") {
    definitions::DefinitionStore store(1);
    QuotaSets sets(true);
    CHECK(sets.apply({set_of("auto", std::nullopt, "a")}, store, kNow, true).errors.empty());
    REQUIRE(store.set_absent("a", {"ann", "test", std::nullopt}, kNow).has_value());
    store.note_alone(false);
    auto fresh = set_of("auto", std::nullopt, "a");
    fresh.quotas.push_back(fresh.quotas[0]);
    fresh.quotas[1].name = "a/b";
    fresh.quotas[1].parent = "a";
    SUBCASE("its parent was taken away by the API") {
        const SetsOutcome outcome = sets.apply({fresh}, store, kNow, true);
        CHECK(outcome.waiting.empty());
        REQUIRE(outcome.errors.size() == 1);
        CHECK(sets.problems().at("auto") == outcome.errors[0]);
        CHECK(store.files().vote("auto", definitions::kUndecided) == definitions::kForInForce);
    }
    SUBCASE("its parent comes with it, or with another file") {
        fresh.quotas[0].name = "c";
        fresh.quotas[1].name = "c/d";
        fresh.quotas[1].parent = "c";
        fresh.quotas.push_back(fresh.quotas[1]);
        fresh.quotas[2].name = "e/f";
        fresh.quotas[2].parent = "e";
        CHECK(sets.apply({fresh}, store, kNow, true).waiting.size() == 1);
        CHECK(store.files().vote("auto", definitions::kUndecided) ==
              store.files().find("auto")->content);
    }
}

TEST_CASE("a set with a name that is refused is not voted for") {
    definitions::DefinitionStore store(1);
    QuotaSets sets(true);
    const std::string name(129, 'x');
    CHECK(sets.apply({set_of(name, std::nullopt, "a")}, store, kNow, true).errors.size() == 1);
    CHECK(store.files().vote(name, definitions::kUndecided) == definitions::kForInForce);
}

TEST_CASE("the end of a mixture leaves other problems of the set") {
    definitions::DefinitionStore store(1);
    QuotaSets sets(true);
    CHECK(sets.apply({set_of("both", 3, "a")}, store, kNow, true).errors.empty());
    store.note_alone(false);
    CHECK(sets.apply({set_of("both", std::nullopt, "b")}, store, kNow, true).waiting.size() == 1);
    static_cast<void>(sets.poll(store, kNow));
    CHECK(sets.apply({set_of("both", 2, "b")}, store, kNow, true).older.size() == 1);
    static_cast<void>(sets.poll(store, kNow));
    CHECK(sets.problems().contains("both"));
}

TEST_CASE("numbers and none in one set are a conflict") {
    definitions::DefinitionStore store(1);
    QuotaSets sets(true);
    CHECK(sets.apply({set_of("both", 3, "a")}, store, kNow, true).errors.empty());
    SUBCASE("the fleet has decided") {
        const auto content = store.sets()[0].content_hash;
        REQUIRE(store.take_known("both", {definitions::decision_of(1), content}, kNow));
        const SetsOutcome outcome = sets.apply({set_of("both", 4, "b")}, store, kNow, true);
        REQUIRE(outcome.errors.size() == 1);
        CHECK(outcome.errors[0].find("generation 4 means nothing") != std::string::npos);
        CHECK(sets.problems().at("both") == outcome.errors[0]);
    }
    SUBCASE("without a peer the file is in force at once") {
        CHECK(sets.apply({set_of("both", std::nullopt, "b")}, store, kNow, true).waiting.empty());
        CHECK(store.sets()[0].generation == definitions::kUndecided);
        CHECK(definitions::test::in_force(store, kNow).front().name == "b");
    }
    SUBCASE("the fleet has a number") {
        store.note_alone(false);
        const SetsOutcome waits =
            sets.apply({set_of("both", std::nullopt, "b")}, store, kNow, true);
        CHECK(waits.waiting.size() == 1);
        CHECK(sets.poll(store, kNow).errors.empty());
        CHECK(sets.problems().empty());
        static_cast<void>(sets.poll(store, kNow + QuotaSets::kFileMayCome));
        CHECK(
            sets.problems().at("both") ==
            "both.yaml: generation 3 of both is in force, this is auto: give all files of the set "
            "a generation, or none");
        // The majority of the files has it.
        const auto content = store.files().find("both")->content;
        REQUIRE(store.take_known("both", {definitions::decision_of(1), content}, kNow));
        static_cast<void>(sets.poll(store, kNow + QuotaSets::kFileMayCome));
        CHECK(sets.problems().empty());
    }
}

TEST_CASE("a long set that was kept and whose file is gone is told, and ends when it was renamed") {
    config::QuotaSet old = set_of("old", std::nullopt, "q/0");
    for (int i = 1; i < 20'000; ++i) {
        old.quotas.emplace_back(old.quotas[0]).name = "q/" + std::to_string(i);
    }
    definitions::DefinitionStore before(1);
    QuotaSets of_before(false);
    CHECK(of_before.apply({old}, before, kNow, true).errors.empty());
    definitions::DefinitionStore store(2);
    QuotaSets sets(false);
    bool renamed = false;
    SUBCASE("gone") { CHECK(sets.apply({}, store, kNow, true).errors.empty()); }
    SUBCASE("renamed") {
        old.name = "new";
        CHECK(sets.apply({old}, store, kNow, true).errors.empty());
        renamed = true;
    }
    CHECK(sets.apply_kept(before.documents(), "kept", store, kNow, false, true).used.size() == 1);
    REQUIRE(store.loading());
    while (store.loading()) {
        store.tick(kNow);
    }
    const SetsOutcome outcome = sets.poll(store, kNow);
    CHECK(outcome.gone.size() == (renamed ? 1 : 0));
    CHECK(sets.without_file().contains("old") != renamed);
}

TEST_CASE("what was kept on disk counts as undecided in a fleet") {
    definitions::DefinitionStore before(1);
    QuotaSets sets(true);
    CHECK(sets.apply({set_of("auto", std::nullopt, "a")}, before, kNow, true).errors.empty());
    const auto content = before.sets()[0].content_hash;
    REQUIRE(before.take_known("auto", {definitions::decision_of(5), content}, kNow));
    definitions::DefinitionStore store(2);
    QuotaSets again(true);
    CHECK(again.apply_kept(before.documents(), "kept", store, kNow, true, false).used ==
          std::vector<std::string>{"auto"});
    REQUIRE(store.sets().size() == 1);
    CHECK(store.sets()[0].generation == definitions::kUndecided);
    CHECK(store.sets()[0].content_hash == content);
}

}  // namespace weir::node

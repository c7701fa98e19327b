// The two layers of definitions in one sidecar: what is in force, what is listed, what is kept.
#include <doctest/doctest.h>

#include "definitions/store.h"
#include "definitions/store_fixture.h"
#include "definitions/whole_store.h"

namespace weir::definitions {
namespace {

using namespace test;

TEST_CASE("an orphan made by a merge waits until its parent is back") {
    DefinitionStore here(1);
    DefinitionStore there(2);
    REQUIRE(here.set(quota("p", {}, 10), by("ann"), kStart).has_value());
    REQUIRE(there.merge(*here.overrides().find("p"), kStart) == MergeOutcome::applied);
    std::ignore = here.take_changes();
    // On both sides of a split: a child there, the parent removed here.
    REQUIRE(there.set(quota("p/c", "p", 5), by("bob"), kStart).has_value());
    REQUIRE(here.remove("p", by("ann"), kStart).has_value());
    REQUIRE(here.merge(*there.overrides().find("p/c"), kStart) == MergeOutcome::applied);
    const auto orphan = here.find("p/c", kStart);
    REQUIRE(orphan);
    CHECK_FALSE(orphan->in_force);
    CHECK_FALSE(orphan->problem.empty());
    const auto changes = here.take_changes();
    REQUIRE(changes.size() == 1);
    CHECK(changes[0].name == "p");
    CHECK(in_force(here, kStart).empty());
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
    DefinitionEntry entry;
    entry.name = "a";
    entry.kind = EntryKind::set;
    entry.value = "garbage";
    entry.version = {1, 9};
    entry.written = kStart;
    CHECK(store.merge(entry, kStart) == MergeOutcome::invalid);
    CHECK(store.counters().refused_entries == 1);
    CHECK(listed(store, kStart).empty());
}

TEST_CASE("what the limiter refuses is listed with its reason until it changes") {
    DefinitionStore store(1);
    REQUIRE(store.set(quota("a", {}, 1), by("me"), kStart).has_value());
    REQUIRE(store.set(quota("b", {}, 1), by("me"), kStart).has_value());
    REQUIRE(store.take_changes().size() == 2);
    const limiter::RefusedChange refused{0, "a", limiter::ChangeObjection::too_many};
    store.note_refused({&refused, 1});
    CHECK_FALSE(store.find("a", kStart)->in_force);
    CHECK(store.find("a", kStart)->problem == "a: there are 4000000 quotas already");
    CHECK(store.find("b", kStart)->in_force);
    CHECK(store.take_refused() == std::vector<std::string>{"a: there are 4000000 quotas already"});
    CHECK(store.take_refused().empty());
    REQUIRE(store.set(quota("a", {}, 2), by("me"), kStart).has_value());
    CHECK(store.take_changes().size() == 1);
    CHECK(store.find("a", kStart)->in_force);
}

TEST_CASE("a liar's epoch is refused and counted") {
    DefinitionStore store(1);
    DefinitionEntry entry;
    entry.name = "a";
    entry.kind = EntryKind::absent;
    entry.version = {~std::uint64_t{0}, 9};
    entry.written = kStart;
    CHECK(store.merge(entry, kStart) == MergeOutcome::epoch);
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

TEST_CASE("the history keeps what was replaced and what lost, whatever the order of arrival") {
    for (const bool winner_first : {true, false}) {
        DefinitionStore ann(1);
        DefinitionStore bob(2);
        DefinitionStore third(3);
        REQUIRE(ann.set(quota("q", {}, 1), by("ann"), kStart).has_value());
        REQUIRE(bob.set(quota("q", {}, 2), by("bob"), kStart).has_value());
        const DefinitionEntry of_ann = *ann.overrides().find("q");
        const DefinitionEntry of_bob = *bob.overrides().find("q");
        CHECK(third.merge(winner_first ? of_bob : of_ann, kStart) == MergeOutcome::applied);
        third.merge(winner_first ? of_ann : of_bob, kStart);
        third.merge(of_ann, kStart);  // once more, as a late datagram
        ann.merge(of_bob, kStart);
        bob.merge(of_ann, kStart);
        for (DefinitionStore* store : {&ann, &bob, &third}) {
            CHECK(amount_of(*store, "q") == 2);
            const auto history = store->history("q");
            REQUIRE(history.size() == 2);
            CHECK(history[0].entry.who == "bob");
            CHECK(history[0].fate == HistoryFate::current);
            CHECK(history[1].entry.who == "ann");
            CHECK(history[1].fate != HistoryFate::current);
        }
        CHECK(bob.history("q")[1].fate == HistoryFate::overruled);
        CHECK(bob.counters().overruled == 1);
        CHECK(ann.history("q")[1].fate == HistoryFate::replaced);
    }
}

TEST_CASE("histories are bounded, per quota and in all") {
    DefinitionHistory history;
    const auto entry = [](std::string name, std::uint64_t epoch) {
        DefinitionEntry result;
        result.name = std::move(name);
        result.version = {epoch, 1};
        return result;
    };
    for (std::uint64_t i = 1; i <= 30; ++i) {
        CHECK(history.note(entry("q", i), HistoryFate::replaced));
    }
    CHECK_FALSE(history.note(entry("q", 30), HistoryFate::overruled));
    REQUIRE(history.of("q").size() == DefinitionHistory::kOfQuota);
    CHECK(history.of("q")[0].entry.version.epoch == 30);
    for (std::uint64_t i = 0; i < 3 * DefinitionHistory::kMaximum; ++i) {
        history.note(entry("n" + std::to_string(i % 15'000), 100 + i), HistoryFate::replaced);
    }
    CHECK(history.size() <= DefinitionHistory::kMaximum);
    CHECK(history.of("q").empty());
}

TEST_CASE("a page is a part of the list, hidden quotas in it") {
    DefinitionStore store(1);
    store.apply_document(document(7, 100), kStart);
    REQUIRE(store.set(quota("a", {}, 1), by("ann"), kStart).has_value());
    REQUIRE(store.set_absent("s3/{bucket}", by("ann"), kStart).has_value());
    REQUIRE(store.set(quota("t", {}, 1), by("ann"), kStart).has_value());
    const auto names = [](const std::vector<ListedDefinition>& rows) {
        std::string text;
        for (const ListedDefinition& row : rows) {
            text += row.name + " ";
        }
        return text;
    };
    CHECK(names(listed(store, kStart)) == "a s3 s3/{bucket} t ");
    CHECK(names(store.page("s3", "", 10, kStart)) == "s3 s3/{bucket} ");
    CHECK(names(store.page("s3", "s3", 10, kStart)) == "s3/{bucket} ");
    CHECK(names(store.page("", "a", 2, kStart)) == "s3 s3/{bucket} ");
    CHECK(names(store.page("", "s3/{bucket}", 2, kStart)) == "t ");
    CHECK(store.page("u", "", 10, kStart).empty());
}

}  // namespace
}  // namespace weir::definitions

// The two layers of definitions in one sidecar.
#include "definitions/store.h"

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <tuple>

#include "definitions/codec.h"

namespace weir::definitions {
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
    DefinitionEntry entry;
    entry.name = "a";
    entry.kind = EntryKind::set;
    entry.value = "garbage";
    entry.version = {1, 9};
    entry.written = kStart;
    CHECK(store.merge(entry, kStart) == MergeOutcome::invalid);
    CHECK(store.counters().refused_entries == 1);
    CHECK(store.list(kStart).empty());
}

/// What a document refuses for a quota by itself, and the field it names.
std::vector<std::pair<std::string, QuotaDefinition>> wrong_by_themselves() {
    std::vector<std::pair<std::string, QuotaDefinition>> wrong;
    const auto add = [&](std::string field, const std::function<void(QuotaDefinition&)>& spoil) {
        wrong.emplace_back(std::move(field), quota("bad", {}, 10));
        spoil(wrong.back().second);
    };
    const auto with = [](limiter::QuotaOptions options) {
        return [options = std::move(options)](QuotaDefinition& one) { one.options = options; };
    };
    limiter::QuotaOptions options;
    options.refusal.body = std::string(2000, 'x');
    add("refusal.body", with(options));
    options.refusal = {429, std::string(200, 't'), "x"};
    add("refusal.content_type", with(options));
    options.refusal = {200, "", "x"};
    add("refusal.status", with(options));
    options = {};
    options.enforced_by = std::string(200, 'f');
    add("enforce_by", with(options));
    options.enforced_by = "a b";
    add("enforce_by", with(options));
    add("enforce", [](QuotaDefinition& one) {
        one.mode = limiter::Mode::shadow;
        one.enforced_share = 0.25;
    });
    add("limits[0].safe", [](QuotaDefinition& one) {
        one.limits[0].safe = 10;
        one.when_isolated = limiter::IsolationMode::optimistic;
    });
    add("limits[0].low", [](QuotaDefinition& one) {
        one.limits[0].low = limiter::BurstSpec{{}, 0};
    });
    add("limits", [](QuotaDefinition& one) {
        for (int i = 1; i <= 8; ++i) {
            one.limits.push_back(one.limits[0]);
            one.limits.back().period = i * 1min;
        }
    });
    return wrong;
}

TEST_CASE("what documents refuse edits refuse too, whole, with its field") {
    for (const auto& each : wrong_by_themselves()) {
        const std::string& field = each.first;
        CAPTURE(field);
        DefinitionStore store(1);
        const auto edited = store.set(each.second, by("me"), kStart);
        REQUIRE_FALSE(edited.has_value());
        CHECK(edited.error().code == ErrorCode::invalid_argument);
        CHECK(edited.error().message.find("bad: " + field + ": ") != std::string::npos);
        CHECK_FALSE(store.check(each.second).empty());
        CHECK_FALSE(store.find("bad", kStart).has_value());
        CHECK(store.overrides().size() == 0);
        CHECK(store.take_edited().empty());
        CHECK(store.counters().edits_refused == 1);

        FileDocument whole{"storage", 1, {quota("good", {}, 1), each.second}};
        const DocumentReport report = store.apply_document(whole, kStart);
        CHECK(report.outcome == DocumentOutcome::invalid);
        CHECK(store.list(kStart).empty());
    }
}

TEST_CASE("a peer's entry that contradicts itself is listed with its problem, and not in force") {
    DefinitionStore store(1);
    for (const auto& each : wrong_by_themselves()) {
        const std::string& field = each.first;
        CAPTURE(field);
        DefinitionEntry entry;
        entry.name = "bad";
        entry.kind = EntryKind::set;
        entry.value = encode_definition(each.second);
        entry.version = {store.overrides().highest_epoch() + 1, 9};
        entry.written = kStart;
        const bool decodes = decode_definition("bad", entry.value).has_value();
        const auto outcome = store.merge(entry, kStart);
        CHECK(outcome == (decodes ? MergeOutcome::applied : MergeOutcome::invalid));
        if (decodes) {
            CHECK_FALSE(store.find("bad", kStart)->in_force);
            CHECK(store.find("bad", kStart)->problem.find(field) != std::string::npos);
        }
    }
    CHECK(store.size() == 0);
    CHECK(store.take_changes().empty());
    CHECK(store.counters().refused_entries == 4);  // those above a bound of their form
}

TEST_CASE("what the limiter refuses is listed with its reason until it changes") {
    DefinitionStore store(1);
    REQUIRE(store.set(quota("a", {}, 1), by("me"), kStart).has_value());
    REQUIRE(store.set(quota("b", {}, 1), by("me"), kStart).has_value());
    REQUIRE(store.take_changes().size() == 2);
    store.note_refused({{0, "a", "", "there are 4000000 quotas already", ""}});
    CHECK_FALSE(store.find("a", kStart)->in_force);
    CHECK(store.find("a", kStart)->problem == "a: there are 4000000 quotas already");
    CHECK(store.find("b", kStart)->in_force);
    CHECK(store.refused() == 1);
    CHECK(store.take_refused() == std::vector<std::string>{"a: there are 4000000 quotas already"});
    CHECK(store.take_refused().empty());
    REQUIRE(store.set(quota("a", {}, 2), by("me"), kStart).has_value());
    CHECK(store.take_changes().size() == 1);
    CHECK(store.find("a", kStart)->in_force);
    CHECK(store.refused() == 0);
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

TEST_CASE("a conditional edit is refused when the quota has changed since") {
    DefinitionStore store(1);
    store.apply_document(document(7, 100), kStart);
    const std::string tag = store.find("s3/{bucket}", kStart)->tag;
    Edit edit = by("ann");
    edit.expected = tag;
    REQUIRE(store.set(quota("s3/{bucket}", "s3", 40), edit, kStart).has_value());
    CHECK(store.find("s3/{bucket}", kStart)->tag != tag);
    const auto late = store.set(quota("s3/{bucket}", "s3", 50), edit, kStart);
    REQUIRE_FALSE(late.has_value());
    CHECK(late.error().code == ErrorCode::conflict);
    CHECK(amount_of(store, "s3/{bucket}") == 40);
    CHECK(store.counters().edits_outdated == 1);
    // An empty tag: only if there is none. The same for removals.
    edit.expected = "";
    CHECK_FALSE(store.set(quota("s3/{bucket}", "s3", 50), edit, kStart).has_value());
    CHECK(store.set(quota("fresh", {}, 50), edit, kStart).has_value());
    edit.expected = tag;
    CHECK_FALSE(store.remove("s3/{bucket}", edit, kStart).has_value());
    edit.expected = store.find("s3/{bucket}", kStart)->tag;
    CHECK(store.remove("s3/{bucket}", edit, kStart).has_value());
    // Back to the file's definition: the tag is the one that it had.
    CHECK(store.find("s3/{bucket}", kStart)->tag == tag);
    // A document that changes it changes the tag, one that does not leaves it.
    store.apply_document(document(8, 100), kStart);
    CHECK(store.find("s3/{bucket}", kStart)->tag == tag);
    store.apply_document(document(9, 200), kStart);
    CHECK(store.find("s3/{bucket}", kStart)->tag != tag);
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
    CHECK(names(store.list(kStart)) == "a s3 s3/{bucket} t ");
    CHECK(names(store.page("s3", "", 10, kStart)) == "s3 s3/{bucket} ");
    CHECK(names(store.page("s3", "s3", 10, kStart)) == "s3/{bucket} ");
    CHECK(names(store.page("", "a", 2, kStart)) == "s3 s3/{bucket} ");
    CHECK(names(store.page("", "s3/{bucket}", 2, kStart)) == "t ");
    CHECK(store.page("u", "", 10, kStart).empty());
}

}  // namespace
}  // namespace weir::definitions

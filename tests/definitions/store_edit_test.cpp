// Edits in the store: what they change, and what is refused, from the API and from a peer.
#include <doctest/doctest.h>

#include <functional>

#include "definitions/codec.h"
#include "definitions/store.h"
#include "definitions/store_fixture.h"
#include "definitions/whole_store.h"

namespace weir::definitions {
namespace {

using namespace test;

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
    CHECK(in_force(store, kStart).empty());
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
    CHECK(listed(store, kStart).size() == 1);
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
        CHECK(listed(store, kStart).empty());
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
        entry.version = store.overrides().next_version(9);
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

}  // namespace
}  // namespace weir::definitions

// Changes by the API: their lifetimes, trials without effect, several at once; conflicts that end.
#include <doctest/doctest.h>

#include <algorithm>

#include "definitions/messages.h"
#include "definitions/quota.h"
#include "definitions/store.h"
#include "definitions/whole_store.h"

namespace weir::definitions {
namespace {

using namespace std::chrono_literals;
using limiter::QuotaDefinition;
using test::listed;
using test::quota;

constexpr Instant kStart{1h};
const Edit kAnn{"ann", "test", std::nullopt};

QuotaDefinition child(std::string name, std::string parent, double amount = 1) {
    QuotaDefinition definition = quota(std::move(name), amount);
    definition.parent = std::move(parent);
    return definition;
}

Edit with(std::optional<Duration> lifetime, bool keep = false, bool dry_run = false) {
    Edit edit = kAnn;
    edit.lifetime = lifetime;
    edit.keep_lifetime = keep;
    edit.dry_run = dry_run;
    return edit;
}

std::optional<Duration> left(DefinitionStore& store, std::string_view name, Instant now) {
    const auto row = store.find(name, now);
    REQUIRE(row);
    return row->expires_in;
}

std::vector<WantedDefinition> all_of(std::vector<QuotaDefinition> definitions) {
    std::vector<WantedDefinition> wanted;
    for (QuotaDefinition& one : definitions) {
        wanted.push_back({std::move(one), std::nullopt});
    }
    return wanted;
}

/// Everything that a change could have touched.
struct Picture {
    std::uint64_t hash = 0;
    std::uint64_t overrides = 0;
    std::size_t rows = 0;
    std::uint64_t edits = 0;
    friend bool operator==(const Picture&, const Picture&) = default;
};
Picture picture(DefinitionStore& store) {
    return {store.content_hash(), store.overrides().root_hash(), listed(store, kStart).size(),
            store.counters().edits};
}

TEST_CASE("overrides that expire are told once, a bounded number of them with their makers") {
    DefinitionStore store(1);
    for (std::size_t i = 0; i < DefinitionStore::kMaximumExpired + 3; ++i) {
        REQUIRE(store.set(quota("q" + std::to_string(i), 1), with(60s), kStart).has_value());
    }
    REQUIRE(store.set(quota("stays", 1), with({}), kStart).has_value());
    store.tick(kStart + 59s);
    CHECK(store.take_expired().listed.empty());
    store.tick(kStart + 60s);
    const ExpiredOverrides expired = store.take_expired();
    REQUIRE(expired.listed.size() == DefinitionStore::kMaximumExpired);
    CHECK(expired.listed[0].who == "ann");
    CHECK(expired.listed[0].why == "test");
    CHECK(expired.more == 3);
    CHECK(store.take_expired().listed.empty());

    // One that comes here when it is over is no news.
    DefinitionStore late(2);
    late.tick(kStart + 61s);
    const DefinitionEntry* const entry = store.overrides().find("q0");
    REQUIRE(entry != nullptr);
    CHECK(late.merge(*entry, kStart + 62s) == MergeOutcome::applied);
    late.tick(kStart + 63s);
    CHECK(late.take_expired().listed.empty());
}

TEST_CASE("an edit keeps the expiry of what it edits, unless another one is named") {
    DefinitionStore store(1);
    REQUIRE(store.set(quota("q", 50), with(60s), kStart).has_value());
    REQUIRE(store.set(quota("q", 51), with({}, true), kStart + 20s).has_value());
    CHECK(left(store, "q", kStart + 20s) == 40s);
    REQUIRE(store.set(quota("q", 52), with({}, true), kStart + 50s).has_value());
    CHECK(left(store, "q", kStart + 50s) == 10s);
    store.tick(kStart + 60s);
    CHECK_FALSE(store.find("q", kStart + 60s).has_value());

    REQUIRE(store.set(quota("q", 50), with(60s), kStart + 70s).has_value());
    REQUIRE(store.set(quota("q", 51), with(90s, true), kStart + 80s).has_value());
    CHECK(left(store, "q", kStart + 80s) == 90s);
    REQUIRE(store.set(quota("q", 51), with({}), kStart + 90s).has_value());
    CHECK_FALSE(left(store, "q", kStart + 90s).has_value());  // for good
    REQUIRE(store.set(quota("q", 52), with({}, true), kStart + 95s).has_value());
    CHECK_FALSE(left(store, "q", kStart + 95s).has_value());
}

TEST_CASE("an expiry that is kept is the same at all who hear of the edit") {
    DefinitionStore here(1);
    DefinitionStore there(2);
    REQUIRE(here.set(quota("q", 50), with(60s), kStart).has_value());
    REQUIRE(here.set(quota("q", 51), with({}, true), kStart + 20s + 123'456ns).has_value());
    for (const DefinitionEntry& entry : here.take_edited()) {
        std::vector<std::byte> bytes(kMaximumEntry);
        ByteWriter writer(bytes);
        encode(writer, entry, kStart + 21s);
        ByteReader reader{ByteSpan(bytes).first(writer.size())};
        there.merge(decode_entry(reader, kStart + 21s), kStart + 21s);
    }
    CHECK(there.overrides().root_hash() == here.overrides().root_hash());
}

TEST_CASE("an expiry that is over is not kept, and hiding keeps one too") {
    DefinitionStore store(1);
    store.apply_document({"set", 1, {quota("q", 10)}}, kStart);
    REQUIRE(store.set(quota("q", 50), with(60s), kStart).has_value());
    REQUIRE(store.set_absent("q", with({}, true), kStart + 10s).has_value());
    CHECK(left(store, "q", kStart + 10s) == 50s);
    REQUIRE(store.set(quota("q", 51), with({}, true), kStart + 60s).has_value());
    CHECK_FALSE(left(store, "q", kStart + 60s).has_value());
}

TEST_CASE("a dry run refuses what the change would be refused for, and changes nothing") {
    DefinitionStore store(1);
    store.apply_document({"set", 1, {quota("root", 10), child("leaf", "root")}}, kStart);
    static_cast<void>(store.take_changes());
    const Picture before = picture(store);
    const Edit dry = with({}, false, true);
    QuotaDefinition long_name = quota(std::string(513, 'n'), 1);
    Edit outdated = dry;
    outdated.expected = "file-0000000000000000";
    const auto alike = [&](const QuotaDefinition& definition, Edit edit) {
        const auto tried = store.set(definition, edit, kStart);
        edit.dry_run = false;
        const auto done = store.set(definition, edit, kStart);
        REQUIRE_FALSE(tried.has_value());
        REQUIRE_FALSE(done.has_value());
        CHECK(tried.error().code == done.error().code);
        CHECK(tried.error().message == done.error().message);
    };
    alike(child("new", "nobody"), dry);
    alike(child("root", "leaf"), dry);
    alike(long_name, dry);
    alike(quota("root", 5), outdated);
    CHECK_FALSE(store.set_absent("root", dry, kStart).has_value());
    CHECK_FALSE(store.remove("root", dry, kStart).has_value());
    CHECK(store.set(quota("root", 5), dry, kStart).has_value());
    CHECK(store.set_absent("leaf", dry, kStart).has_value());
    CHECK(picture(store) == before);
    CHECK(store.take_edited().empty());
    CHECK(store.take_changes().empty());
}

TEST_CASE("several definitions are judged with each other, in any order") {
    DefinitionStore store(1);
    const auto report = store.set_together(
        all_of({child("a/b/c", "a/b"), child("a/b", "a"), quota("a", 5)}), with(60s), kStart);
    REQUIRE(report.versions.size() == 3);
    CHECK(report.versions[0] < report.versions[1]);
    CHECK(store.size() == 3);
    CHECK(store.take_edited().size() == 3);
    CHECK(left(store, "a/b/c", kStart) == 60s);
    CHECK(store.find("a/b", kStart)->version == report.versions[1]);

    // Turned round: one after another this would be a cycle on the way.
    const auto turned = store.set_together(
        all_of({child("a", "a/b/c"), quota("a/b", 5), child("a/b/c", "a/b")}), kAnn, kStart);
    CHECK(turned.versions.size() == 3);
    CHECK(store.size() == 3);
}

TEST_CASE("what stops to count elsewhere is told, however much was wrong on the way") {
    const auto with_limits = [](QuotaDefinition definition, int count) {
        const limiter::RateLimit first = definition.limits[0];
        definition.limits.clear();
        for (int i = 1; i <= count; ++i) {
            definition.limits.push_back(first);
            definition.limits.back().period = std::chrono::seconds(i);
        }
        return definition;
    };
    DefinitionStore store(1);
    // 32 limits in a chain are as many as there may be.
    store.apply_document({"set",
                          1,
                          {with_limits(quota("r1", 9), 8), with_limits(child("r2", "r1"), 8),
                           with_limits(child("r3", "r2"), 8), with_limits(child("leaf", "r3"), 8)}},
                         kStart);
    REQUIRE(store.find("leaf", kStart)->in_force);
    std::vector<QuotaDefinition> changes;
    for (int i = 0; i < 100; ++i) {
        changes.push_back(child("n" + std::to_string(i), "p"));
    }
    changes.push_back(quota("p", 1));
    changes.push_back(with_limits(child("r4", "r3"), 1));  // a sound one
    REQUIRE(store.set_together(all_of(changes), with({}, false, true), kStart).errors.empty());
    changes.push_back(child("r1", "p"));
    changes.back().limits = with_limits(quota("", 9), 8).limits;
    const auto report = store.set_together(all_of(changes), kAnn, kStart);
    CHECK(report.versions.empty());
    REQUIRE(report.errors.size() == 1);
    CHECK(report.errors[0].quota == "leaf");
}

TEST_CASE("of a thousand mistakes some are explained, and the rest counted") {
    DefinitionStore store(1);
    std::vector<QuotaDefinition> changes;
    for (int i = 0; i < 1000; ++i) {
        changes.push_back(child("n" + std::to_string(i), "tenent"));
    }
    const auto report = store.set_together(all_of(changes), kAnn, kStart);
    CHECK(report.errors.size() < 100);
    CHECK(report.errors.back().message.find("1000 in all") != std::string::npos);
}

TEST_CASE("one change sets so many quotas and no more, and the refusal says what to do") {
    DefinitionStore store(1);
    std::vector<QuotaDefinition> changes;
    for (std::size_t i = 0; i < kMaximumTogether; ++i) {
        changes.push_back(quota("n" + std::to_string(i), 1));
    }
    const Picture before = picture(store);
    changes.push_back(quota("more", 1));
    const auto refused = store.set_together(all_of(changes), kAnn, kStart);
    CHECK(refused.code == ErrorCode::too_large);
    CHECK(refused.versions.empty());
    CHECK(refused.message.find("at most 1000 quotas, and these are 1001") != std::string::npos);
    CHECK(refused.message.find("a file of a set") != std::string::npos);
    CHECK(picture(store) == before);
    changes.pop_back();
    CHECK(store.set_together(all_of(changes), kAnn, kStart).versions.size() == kMaximumTogether);
}

TEST_CASE("one mistake among several changes refuses all of them, and every mistake is told") {
    DefinitionStore store(1);
    store.apply_document({"set", 1, {quota("root", 10), child("leaf", "root")}}, kStart);
    static_cast<void>(store.take_changes());
    const Picture before = picture(store);
    QuotaDefinition bad = quota("bad", 1);
    bad.limits[0].amount = -1;
    const auto report = store.set_together(
        all_of({quota("n1", 5), child("n2", "nobody"), bad, child("root", "leaf")}), kAnn, kStart);
    CHECK(report.versions.empty());
    std::vector<std::string> wrong;
    for (const auto& one : report.errors) {
        wrong.push_back(one.quota);
    }
    std::sort(wrong.begin(), wrong.end());
    CHECK(wrong == std::vector<std::string>{"bad", "leaf", "n2", "root"});
    CHECK(picture(store) == before);
    CHECK(store.take_changes().empty());

    CHECK(store.set_together(all_of({quota("n", 1), quota("n", 2)}), kAnn, kStart)
              .message.find("twice") != std::string::npos);
    const auto outdated =
        store.set_together(std::vector<WantedDefinition>{{quota("n", 1), std::nullopt},
                                                         {quota("root", 1), std::string()}},
                           kAnn, kStart);
    CHECK(outdated.code == ErrorCode::conflict);
    CHECK(outdated.message.find("'root'") != std::string::npos);
    CHECK(picture(store) == before);
}

TEST_CASE("a dry run of several says what the real one would and changes nothing") {
    DefinitionStore store(1);
    const Picture before = picture(store);
    const Edit dry = with({}, false, true);
    CHECK(store.set_together(all_of({quota("a", 5), child("a/b", "a")}), dry, kStart)
              .versions.size() == 2);
    CHECK(
        store.set_together(all_of({quota("a", 5), child("a/b", "b")}), dry, kStart).errors.size() ==
        1);
    CHECK(picture(store) == before);
    CHECK(store.counters().edits_refused == 0);
    CHECK(store.take_edited().empty());
}

TEST_CASE("what the files say beneath an override is listed with it") {
    DefinitionStore store(1);
    store.apply_document({"set", 1, {quota("root", 10), child("leaf", "root", 3)}}, kStart);
    CHECK_FALSE(store.find("leaf", kStart)->file_definition.has_value());
    REQUIRE(store.set_absent("leaf", kAnn, kStart).has_value());
    const auto hidden = store.find("leaf", kStart);
    REQUIRE(hidden);
    CHECK_FALSE(hidden->definition.has_value());
    REQUIRE(hidden->file_definition.has_value());
    CHECK(hidden->file_definition->parent == "root");
    REQUIRE(store.set(quota("own", 1), kAnn, kStart).has_value());
    CHECK_FALSE(store.find("own", kStart)->file_definition.has_value());
}

TEST_CASE("a conflict of the file ends when the file is put right, or is gone") {
    DefinitionStore store(1);
    const FileDocument right{"set", 7, {quota("a", 1)}};
    const FileDocument wrong{"set", 7, {quota("a", 2)}};
    store.apply_document(right, kStart);
    CHECK(store.apply_document(wrong, kStart).outcome == DocumentOutcome::conflict);
    CHECK(store.sets()[0].conflict);
    CHECK(store.conflict_changes() == 1);
    CHECK(store.apply_document(right, kStart).outcome == DocumentOutcome::unchanged);
    CHECK_FALSE(store.sets()[0].conflict);
    CHECK(store.conflict_changes() == 2);

    store.apply_document(wrong, kStart);
    store.forget_file("set", kStart);
    CHECK_FALSE(store.sets()[0].conflict);
    CHECK(store.find("a", kStart)->definition->limits[0].amount == 1);  // the fleet's stays

    // What a peer has is not put right by the file here.
    store.note_peer_contents("set", {{77, 1}});
    store.apply_document(right, kStart);
    CHECK(store.sets()[0].conflict);
    store.note_peer_contents("set", {});
    CHECK_FALSE(store.sets()[0].conflict);
    store.apply_document(wrong, kStart);
    store.apply_document({"set", 8, {quota("a", 3)}}, kStart);
    CHECK_FALSE(store.sets()[0].conflict);
}

}  // namespace
}  // namespace weir::definitions

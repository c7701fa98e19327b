// How much memory definitions take: at rest, while a document replaces another, and as it is
// reckoned before they are installed. Counted by what the allocator has handed out, because the
// resident memory of a process depends on what it did before.

#include <doctest/doctest.h>

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "definitions/codec.h"
#include "definitions/store.h"
#include "limiter/limiter.h"
#include "sanitized.h"
#include "store_fixture.h"

#ifdef WEIR_SANITIZED
#include <sanitizer/allocator_interface.h>
#endif

namespace weir::definitions {
namespace {

using limiter::QuotaDefinition;
using test::kStart;
using test::quota;

double allocated_bytes() {
#ifdef WEIR_SANITIZED
    return static_cast<double>(__sanitizer_get_current_allocated_bytes());
#else
    const auto info = ::mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
#endif
}

/// So many that tables are large, and so few that the limiter's table of names is still in memory
/// of the allocator.
constexpr std::size_t kMany = eighth_if_sanitized(100'000U);
constexpr std::size_t kNameBytes = 22;

std::string name_of(std::size_t number) {
    std::string digits = std::to_string(number);
    digits.insert(0, 8 - digits.size(), '0');
    return "customer-" + digits + "/read";
}

using Make = std::function<QuotaDefinition(std::size_t number)>;

/// A document of kMany exact definitions and their parents.
EncodedDocument document_of(std::uint64_t generation, const Make& make) {
    std::vector<QuotaDefinition> quotas;
    quotas.push_back(quota("all", {}, 1e6));
    for (std::size_t i = 0; i < kMany; ++i) {
        quotas.push_back(make(i));
        if (const auto& parent = quotas.back().parent; parent && *parent != "all") {
            quotas.push_back(quota(*parent, {}, 1e6));
        }
    }
    auto bytes = encode_document(quotas);
    REQUIRE(bytes.has_value());
    const std::uint64_t hash = document_hash(*bytes);
    return {"big", generation, std::make_shared<const std::vector<std::byte>>(std::move(*bytes)),
            hash};
}

QuotaDefinition of_two_plans(std::size_t number) {
    return quota(name_of(number), "all", number % 2 == 0 ? 50 : 100);
}

/// The store and the limiter of one member, as the engine drives them.
struct Member {
    DefinitionStore store{1};
    limiter::Limiter limiter;
    Instant now = kStart;
    double most = 0;  // the most bytes that were allocated while offer() ran

    Member()
        : limiter([] {
              limiter::LimiterOptions options;
              options.max_instances = 1000;
              options.max_views = 1000;
              return options;
          }()) {}

    DocumentReport offer(EncodedDocument document) {
        most = 0;
        DocumentReport report = store.offer_document(std::move(document), now);
        while (store.loading() || store.waiting() > 0) {
            now += std::chrono::milliseconds(10);
            store.tick(now);
            constexpr std::size_t kSlice = eighth_if_sanitized(4096U);
            const auto changes = store.take_changes(kSlice);
            most = std::max(most, allocated_bytes());
            CHECK(limiter.change(changes, now) == 0);
            limiter.maintain(now);
            most = std::max(most, allocated_bytes());
        }
        limiter.maintain(now);
        for (auto& [set, late] : store.take_reports()) {
            report = std::move(late);
        }
        return report;
    }
};

/// What the definitions of a document take in a member, without the document's bytes, and what was
/// reckoned before.
struct Taken {
    double bytes = 0;
    double reckoned = 0;
};

Taken taken_by(const Make& make) {
    const EncodedDocument document = document_of(1, make);
    DefinitionDocument read(document.bytes);
    std::vector<DefinitionError> errors;
    REQUIRE(read.read(SIZE_MAX, &errors).has_value());
    Member member;
    const double before = allocated_bytes();
    REQUIRE(member.offer(document).outcome == DocumentOutcome::applied);
    return {allocated_bytes() - before, static_cast<double>(read.need())};
}

TEST_CASE("an exact definition takes at most 300 bytes beyond its name") {
    Member member;
    const double before = allocated_bytes();
    { REQUIRE(member.offer(document_of(1, of_two_plans)).outcome == DocumentOutcome::applied); }
    REQUIRE(member.limiter.memory().definitions == kMany + 1);
    const double each = (allocated_bytes() - before) / kMany - kNameBytes;
    MESSAGE("bytes of a definition beyond its name: " << each);
    CHECK(each > 100);  // it is measured at all
#ifndef WEIR_SANITIZED
    CHECK(each <= 300);
#endif
}

TEST_CASE("a document replaces another without a second copy of the definitions") {
    Member member;
    const double before = allocated_bytes();
    REQUIRE(member.offer(document_of(1, of_two_plans)).outcome == DocumentOutcome::applied);
    const double rest = allocated_bytes() - before;
    for (std::uint64_t generation = 2; generation < 5; ++generation) {
        const double factor = static_cast<double>(generation);
        REQUIRE(member
                    .offer(document_of(generation,
                                       [&](std::size_t number) {
                                           QuotaDefinition made = of_two_plans(number);
                                           made.limits[0].amount *= factor;
                                           return made;
                                       }))
                    .outcome == DocumentOutcome::applied);
        const double again = allocated_bytes() - before;
        const double most = member.most - before;
        MESSAGE("generation " << generation << ": " << again / rest << " of the first at rest, "
                              << most / rest << " at most");
        CHECK(again <= 1.02 * rest);
        CHECK(most <= 1.3 * rest);
    }
    CHECK(member.store.find(name_of(1), member.now)->definition->limits[0].amount == 400);
}

TEST_CASE("what a document needs is reckoned before its first definition is installed") {
    const auto own_limit = [](std::size_t number) {
        return quota(name_of(number), "all", 10 + static_cast<double>(number));
    };
    const auto own_parent = [](std::size_t number) {
        return quota(name_of(number), "parent-of-" + name_of(number), 100);
    };
    for (const Make& make : {Make(of_two_plans), Make(own_limit), Make(own_parent)}) {
        const Taken taken = taken_by(make);
        MESSAGE("taken: " << taken.bytes / kMany << " each, reckoned: " << taken.reckoned / kMany);
        CHECK(taken.reckoned >= 0.95 * taken.bytes);
#ifndef WEIR_SANITIZED
        CHECK(taken.reckoned <= 1.4 * taken.bytes);
#endif
    }
}

TEST_CASE("a document that needs more than is left is refused, and what was in force stays") {
    Member member;
    REQUIRE(member
                .offer(document_of(1,
                                   [](std::size_t number) {
                                       return quota("first-" + name_of(number % 10), "all", 10);
                                   }))
                .outcome == DocumentOutcome::invalid);  // each name is there many times
    std::optional<std::uint64_t> left = 1'000'000;
    member.store.bound_memory([&] { return left; });
    const FileDocument small{"small", 1, {quota("s3", {}, 1000)}};
    REQUIRE(member.store.apply_document(small, member.now).outcome == DocumentOutcome::applied);
    const auto hash = member.store.content_hash();

    const DocumentReport refused = member.offer(document_of(1, of_two_plans));
    CHECK(refused.outcome == DocumentOutcome::no_room);
    CHECK(refused.message.find(std::to_string(kMany + 1) + " quotas would take") !=
          std::string::npos);
    CHECK(refused.message.find("0 MiB are left") != std::string::npos);
    CHECK(member.store.content_hash() == hash);
    CHECK(member.store.size() == 1);
    CHECK(member.store.counters().documents_without_room == 1);

    left = kMany * 1000;
    CHECK(member.offer(document_of(1, of_two_plans)).outcome == DocumentOutcome::applied);
    // In place of what is there now it needs nothing.
    left = 0;
    CHECK(member.offer(document_of(2, of_two_plans)).outcome == DocumentOutcome::applied);
    CHECK(member.store.size() == kMany + 2);
}

TEST_CASE("without memory for more, new overrides are refused and others are not") {
    DefinitionStore store(1);
    std::optional<std::uint64_t> left = 1'000'000;
    store.bound_memory([&] { return left; });
    REQUIRE(store.set(quota("a", {}, 10), test::by("ann"), kStart).has_value());
    left = 0;
    const auto refused = store.set(quota("b", {}, 10), test::by("ann"), kStart);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::exhausted);
    CHECK(store.set(quota("a", {}, 20), test::by("ann"), kStart).has_value());
    CHECK(store.remove("a", test::by("ann"), kStart).has_value());

    DefinitionEntry entry;
    entry.name = "of-a-peer";
    entry.version = {7, 2};
    entry.kind = EntryKind::set;
    entry.value = encode_definition(quota("of-a-peer", {}, 10));
    entry.written = kStart;
    CHECK(store.merge(entry, kStart) == MergeOutcome::full);
    CHECK(store.counters().refused_full == 1);
    left.reset();
    store.bound_memory({});
    CHECK(store.merge(entry, kStart) == MergeOutcome::applied);
}

TEST_CASE("a document of a peer without room is not fetched again for a while") {
    Member member;
    member.store.bound_memory([] { return std::optional<std::uint64_t>(0); });
    EncodedDocument document = document_of(3, of_two_plans);
    document.of_peer = true;
    const std::uint64_t content = document.content_hash;
    REQUIRE(member.offer(std::move(document)).outcome == DocumentOutcome::no_room);
    CHECK(member.store.refused_of_peer("big", 3, content));
    CHECK_FALSE(member.store.refused_of_peer("big", 4, content));
    CHECK_FALSE(member.store.refused_of_peer("big", 3, content + 1));
    member.store.tick(member.now + DefinitionStore::kRoomAgain);
    CHECK_FALSE(member.store.refused_of_peer("big", 3, content));
}

}  // namespace
}  // namespace weir::definitions

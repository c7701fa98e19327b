// Overrides as a file's bytes: what is kept, and everything that must be refused.
#include "definitions/snapshot.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "definitions/codec.h"
#include "definitions/map_entries.h"
#include "definitions/messages.h"
#include "definitions/quota.h"
#include "definitions/store.h"

namespace weir::definitions {
namespace {

using namespace std::chrono_literals;
using test::entries_of;
using test::quota;

using Bytes = std::vector<std::byte>;
using Entries = std::map<std::string, DefinitionEntry>;

constexpr Instant kSaved{100h};
constexpr Duration kSavedUnix = std::chrono::hours(24 * 365 * 50);

SnapshotExpectation expectation(Duration away = 10s) {
    // Another process, perhaps of another machine: its monotonic clock began anew.
    return {"storage", Instant{5s}, kSavedUnix + away, 23h};
}

Bytes written(const DefinitionMap& map) {
    SnapshotWriter writer(map, "storage", kSaved, kSavedUnix);
    Bytes all;
    for (Bytes piece = writer.next(); !piece.empty(); piece = writer.next()) {
        all.insert(all.end(), piece.begin(), piece.end());
    }
    return all;
}

std::optional<SnapshotFault> read(ByteSpan bytes, const SnapshotExpectation& expected,
                                  Entries* entries = nullptr, std::size_t piece = SIZE_MAX) {
    SnapshotReader reader(expected, [&](DefinitionEntry entry) {
        if (entries != nullptr) {
            (*entries)[entry.name] = std::move(entry);
        }
    });
    while (!bytes.empty()) {
        const std::size_t size = std::min(piece, bytes.size());
        if (const auto fault = reader.receive(bytes.first(size))) {
            CHECK(reader.finish() == fault);
            return fault;
        }
        bytes = bytes.subspan(size);
    }
    return reader.finish();
}

/// What `weir quota set`, `set --absent`, `rm` and `--expires` leave.
struct Edited {
    Edited() {
        REQUIRE(store.set(quota("s3/a", 10), {"ann", "sale", {}}, kSaved - 3h).has_value());
        REQUIRE(store.set(quota("s3/b", 20), {"bob", "", 5h}, kSaved - 1h).has_value());
        REQUIRE(store.set(quota("s3/c", 30), {"cid", "", {}}, kSaved - 2h).has_value());
        REQUIRE(store.remove("s3/c", {"dee", "enough", {}}, kSaved - 1h).has_value());
        REQUIRE(store.set_absent("s3/d", {"eve", "", {}}, kSaved).has_value());
    }
    DefinitionStore store{77};
};

}  // namespace

TEST_CASE("a snapshot holds every entry with its version, author, age and expiry") {
    Edited before;
    const Bytes bytes = written(before.store.overrides());
    for (const std::size_t piece : {SIZE_MAX, std::size_t{1}, std::size_t{7}}) {
        CAPTURE(piece);
        Entries entries;
        REQUIRE(!read(bytes, expectation(), &entries, piece));
        CHECK(entries.size() == 4);
        for (const DefinitionEntry& entry : entries_of(before.store.overrides())) {
            CAPTURE(entry.name);
            REQUIRE(entries.contains(entry.name));
            CHECK(same_content(entries.at(entry.name), entry));
            // Ten seconds passed while nothing ran.
            const Duration age = Instant{5s} - entries.at(entry.name).written;
            CHECK(age == kSaved - entry.written + 10s);
        }
    }
}

TEST_CASE("what was expired or forgettable before the stop is so after it") {
    Edited before;
    const Bytes bytes = written(before.store.overrides());
    const Instant now = expectation(4h).now;
    Entries entries;
    REQUIRE(!read(bytes, expectation(4h), &entries));
    CHECK(entries.at("s3/b").expired(now));  // five hours, of which one had passed
    CHECK(!entries.at("s3/a").expired(now));
    REQUIRE(!read(bytes, expectation(3h), &entries));
    CHECK(!entries.at("s3/b").expired(now));

    DefinitionMap map(100);
    REQUIRE(!read(bytes, {"storage", now, kSavedUnix + 23h, 23h}, &entries));
    CHECK(map.merge(entries.at("s3/c"), now) == MergeOutcome::stale);
}

TEST_CASE("a wall clock that was set back counts as no time") {
    Edited before;
    Entries entries;
    REQUIRE(!read(written(before.store.overrides()), expectation(-2h), &entries));
    CHECK(Instant{5s} - entries.at("s3/a").written == 3h);
}

TEST_CASE("an old snapshot undoes no newer edit, whoever comes first") {
    Edited before;
    const Bytes old = written(before.store.overrides());
    REQUIRE(before.store.set(quota("s3/a", 99), {"ann", "later", {}}, kSaved).has_value());
    REQUIRE(before.store.remove("s3/b", {"ann", "later", {}}, kSaved).has_value());
    Entries entries;
    REQUIRE(!read(old, {"storage", kSaved, kSavedUnix, 23h}, &entries));

    DefinitionStore joined(5);
    for (const auto& [name, entry] : entries) {
        static_cast<void>(joined.merge(entry, kSaved));  // the snapshot
        // A peer that has the newer edits hears the old ones.
        CHECK(before.store.merge(entry, kSaved) != MergeOutcome::applied);
    }
    for (const DefinitionEntry& entry : entries_of(before.store.overrides())) {
        static_cast<void>(joined.merge(entry, kSaved));
    }
    CHECK(joined.overrides().root_hash() == before.store.overrides().root_hash());
    CHECK(joined.find("s3/a", kSaved)->definition->limits[0].amount == 99);
    CHECK(!joined.find("s3/b", kSaved));
    // An edit after the start goes above all that the snapshot knew.
    CHECK(joined.set(quota("s3/a", 1), {"ann", "", {}}, kSaved)->epoch == 8);
}

TEST_CASE("blocks of levels come back as they were given, also those without any") {
    const DefinitionStore empty(1);
    int left = 3;
    const auto levels = [&](ByteWriter& block) -> std::optional<std::size_t> {
        if (left == 0) {
            return std::nullopt;
        }
        block.u8(static_cast<std::uint8_t>(left));
        return --left == 1 ? 0 : 5;
    };
    SnapshotWriter writer(empty.overrides(), "storage", kSaved, kSavedUnix, {}, levels);
    Bytes file;
    for (Bytes piece = writer.next(); !piece.empty(); piece = writer.next()) {
        file.insert(file.end(), piece.begin(), piece.end());
    }
    CHECK(writer.levels() == 10);
    std::vector<Bytes> blocks;
    const auto take = [&](ByteSpan block) { blocks.emplace_back(block.begin(), block.end()); };
    SnapshotReader reader(expectation(), {}, {}, take);
    CHECK(!reader.receive(file));
    CHECK(!reader.finish());
    CHECK(blocks == std::vector<Bytes>{{std::byte{3}}, {std::byte{2}}, {std::byte{1}}});
    // Who does not ask for them passes over them.
    CHECK(!read(file, expectation()));
}

TEST_CASE("blocks of counts come back as they were given, between or without entries") {
    for (const bool with_entries : {false, true}) {
        CAPTURE(with_entries);
        Edited edited;
        const DefinitionStore empty(1);
        const DefinitionMap& map = (with_entries ? edited.store : empty).overrides();
        int left = 3;
        SnapshotWriter writer(map, "storage", kSaved, kSavedUnix, [&](ByteWriter& block) {
            CHECK(block.remaining() >= kMaximumSnapshotBlock - 1);
            for (int i = 0; i < left; ++i) {
                block.u32(static_cast<std::uint32_t>(left));
            }
            return static_cast<std::size_t>(std::max(left--, 0));
        });
        Bytes file;
        for (Bytes piece = writer.next(); !piece.empty(); piece = writer.next()) {
            file.insert(file.end(), piece.begin(), piece.end());
        }
        CHECK(writer.counts() == 6);
        for (const Duration later : {Duration(10s), Duration(30h)}) {
            std::vector<Bytes> blocks;
            Entries entries;
            SnapshotReader reader(
                expectation(later), [&](DefinitionEntry entry) { entries[entry.name] = entry; },
                [&](ByteSpan block) { blocks.emplace_back(block.begin(), block.end()); });
            const auto fault = reader.receive(file);
            CHECK(!fault);
            const bool old = later > 23h;
            CHECK(reader.finish() == (old ? std::optional(SnapshotFault::old) : std::nullopt));
            CHECK(entries.size() == (with_entries && !old ? 4U : 0U));
            REQUIRE(blocks.size() == 3);
            CHECK(blocks[0].size() == 12);
            CHECK(blocks[2] == Bytes{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}});
        }
    }
}

TEST_CASE("every cut is found") {
    Edited before;
    const Bytes bytes = written(before.store.overrides());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        CAPTURE(size);
        CHECK(read(ByteSpan(bytes).first(size), expectation()) == SnapshotFault::truncated);
    }
}

TEST_CASE("every flipped bit is found, before an entry of its block is given away") {
    Edited before;
    const Bytes good = written(before.store.overrides());
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
        CAPTURE(bit);
        Bytes bytes = good;
        bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        Entries entries;
        CHECK(read(bytes, expectation(), &entries));
        for (const auto& [name, entry] : entries) {
            const DefinitionEntry* const real = before.store.overrides().find(name);
            REQUIRE(real != nullptr);
            CHECK(same_content(entry, *real));
        }
    }
}

/// An entry of a peer whose texts have so many bytes together.
DefinitionEntry entry_of_size(std::size_t number, std::size_t texts) {
    limiter::QuotaDefinition definition = quota("q", 5);
    limiter::QuotaOptions options;
    options.refusal.body = std::string(900, 'x');
    definition.options = options;
    DefinitionEntry entry;
    entry.name = "q" + std::to_string(1000 + number);
    entry.kind = EntryKind::set;
    entry.value = encode_definition(definition);
    entry.version = {1 + number, 9};
    entry.written = kSaved - 23h;
    entry.why = std::string(texts - entry.name.size() - entry.value.size(), 'y');
    return entry;
}

TEST_CASE("the longest entries that are taken survive, and a longer one is not taken") {
    constexpr std::size_t kEntries = 60;  // more than one block holds
    // Shorter entries at the beginning, so that a block ends at any place within an entry.
    for (std::size_t shorter = 0; shorter < kMaximumEntry; shorter += 40) {
        CAPTURE(shorter);
        DefinitionStore store(1);
        for (std::size_t i = 0; i < kEntries; ++i) {
            const std::size_t less = i < 8 ? shorter / 8 : 0;
            REQUIRE(store.merge(entry_of_size(i, kMaximumEntry - less), kSaved) ==
                    MergeOutcome::applied);
        }
        CHECK(store.merge(entry_of_size(kEntries, kMaximumEntry + 1), kSaved) ==
              MergeOutcome::invalid);
        CHECK(store.counters().refused_entries == 1);
        const Bytes file = written(store.overrides());
        Entries entries;
        CHECK(read(file, expectation(), &entries) == std::nullopt);
        CHECK(entries.size() == kEntries);
    }
}

TEST_CASE("other files, versions and clusters are told apart") {
    Edited before;
    const Bytes good = written(before.store.overrides());
    CHECK(read(as_bytes("apiVersion: weir/v1"), expectation()) == SnapshotFault::foreign);
    for (const std::string_view brief : {"1", "4711\n", "wei?", "weirsnaq", "weir snap"}) {
        CHECK(read(as_bytes(brief), expectation()) == SnapshotFault::foreign);
    }
    Bytes later = good;
    later[9] = std::byte{3};
    CHECK(read(later, expectation()) == SnapshotFault::format);
    SnapshotExpectation other = expectation();
    other.cluster = "other";
    CHECK(read(good, other) == SnapshotFault::cluster);
    CHECK(read(good, expectation(23h)) == std::nullopt);
    CHECK(read(good, expectation(23h + 1s)) == SnapshotFault::old);
    Bytes more = good;
    more.push_back(std::byte{0});
    CHECK(read(more, expectation()) == SnapshotFault::damaged);
}

TEST_CASE("blocks that are lost, doubled or swapped are found") {
    DefinitionStore store(3);
    for (int i = 0; i < 2000; ++i) {
        REQUIRE(store.set(quota("s3/bucket-" + std::to_string(i), 5), {"ann", "", {}}, kSaved)
                    .has_value());
    }
    SnapshotWriter writer(store.overrides(), "storage", kSaved, kSavedUnix);
    std::vector<Bytes> pieces;
    for (Bytes piece = writer.next(); !piece.empty(); piece = writer.next()) {
        CHECK(piece.size() <= kMaximumSnapshotBlock + 12);
        pieces.push_back(std::move(piece));
    }
    REQUIRE(pieces.size() >= 4);  // header, two of entries, end
    CHECK(writer.entries() == 2000);
    const auto verdict = [&](const std::vector<std::size_t>& order) {
        Bytes all;
        for (const std::size_t i : order) {
            all.insert(all.end(), pieces[i].begin(), pieces[i].end());
        }
        return read(all, expectation());
    };
    const std::size_t end = pieces.size() - 1;
    std::vector<std::size_t> order(pieces.size());
    for (std::size_t i = 0; i <= end; ++i) {
        order[i] = i;
    }
    CHECK(verdict(order) == std::nullopt);
    CHECK(verdict({0, 1, end}) == SnapshotFault::damaged);
    CHECK(verdict({0, 1, 1, end}) == SnapshotFault::damaged);
    CHECK(verdict({0, 2, 1, end}) == SnapshotFault::damaged);
    CHECK(verdict({0, end}) == SnapshotFault::damaged);
    CHECK(verdict({0, 0, end}) == SnapshotFault::damaged);
}

TEST_CASE("a length that lies takes no memory") {
    Edited before;
    Bytes bytes = written(before.store.overrides());
    ByteWriter(std::span<std::byte>(bytes).subspan(10, 4)).u32(0xffffffff);
    CHECK(read(bytes, expectation()) == SnapshotFault::damaged);
    ByteWriter(std::span<std::byte>(bytes).subspan(10, 4)).u32(0);
    CHECK(read(bytes, expectation()) == SnapshotFault::damaged);
}

TEST_CASE("a map that changes while it is written gives whole entries, old or new") {
    DefinitionStore store(3);
    const auto name = [](std::uint64_t i) { return "s3/bucket-" + std::to_string(i); };
    for (std::uint64_t i = 0; i < 3000; ++i) {
        REQUIRE(store.set(quota(name(i), 5), {"ann", "", {}}, kSaved).has_value());
    }
    Random random(11);
    SnapshotWriter writer(store.overrides(), "storage", kSaved, kSavedUnix);
    Bytes all;
    for (Bytes piece = writer.next(); !piece.empty(); piece = writer.next()) {
        all.insert(all.end(), piece.begin(), piece.end());
        for (int i = 0; i < 200; ++i) {
            const std::uint64_t which = random.next() % 4000;  // some are new
            REQUIRE(store.set(quota(name(which), 7), {"bob", "", {}}, kSaved + 1s).has_value());
        }
    }
    Entries entries;
    REQUIRE(!read(all, expectation(), &entries));
    for (std::uint64_t i = 0; i < 3000; ++i) {
        const auto found = entries.find(name(i));
        REQUIRE(found != entries.end());
        CHECK((found->second.who == "ann" || found->second.who == "bob"));
    }
}

TEST_CASE("an empty map is a snapshot as well") {
    const DefinitionMap map(10);
    Entries entries;
    CHECK(!read(written(map), expectation(), &entries));
    CHECK(entries.empty());
}

}  // namespace weir::definitions

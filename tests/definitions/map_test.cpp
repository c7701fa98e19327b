#include "definitions/map.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "definitions/map_entries.h"

namespace weir::definitions {
namespace {

using namespace std::chrono_literals;
using test::entries_of;

constexpr Instant kNow{100h};

DefinitionEntry entry(std::string name, std::uint64_t epoch, std::uint64_t writer,
                      EntryKind kind = EntryKind::set) {
    DefinitionEntry result;
    result.name = std::move(name);
    result.version = {epoch, writer};
    result.kind = kind;
    result.value = kind == EntryKind::set ? "v" + std::to_string(epoch) : "";
    result.written = kNow;
    return result;
}

/// Few names, epochs and writers, so that equal versions and ties happen.
DefinitionEntry arbitrary_entry() {
    DefinitionEntry result;
    result.name = "n" + std::to_string(*rc::gen::inRange(0, 6));
    result.version = {*rc::gen::inRange<std::uint64_t>(1, 6),
                      *rc::gen::inRange<std::uint64_t>(1, 4)};
    result.kind = static_cast<EntryKind>(*rc::gen::inRange(0, 3));
    if (result.kind == EntryKind::set) {
        result.value = std::string(1, static_cast<char>('a' + *rc::gen::inRange(0, 3)));
    }
    if (*rc::gen::arbitrary<bool>()) {
        result.lifetime = std::chrono::seconds(*rc::gen::inRange(1, 100));
    }
    result.written = kNow - std::chrono::seconds(*rc::gen::inRange(0, 100));
    return result;
}

bool same(const DefinitionMap& one, const DefinitionMap& two) {
    const auto a = entries_of(one);
    const auto b = entries_of(two);
    return a.size() == b.size() && one.root_hash() == two.root_hash() &&
           one.partition_hashes() == two.partition_hashes() &&
           std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
               return same_content(x, y) && x.written == y.written;
           });
}

DefinitionMap map_of(const std::vector<DefinitionEntry>& entries) {
    DefinitionMap map(100);
    for (const DefinitionEntry& e : entries) {
        map.merge(e, kNow);
    }
    return map;
}

DefinitionMap merged(DefinitionMap into, const DefinitionMap& from) {
    for (const DefinitionEntry& e : entries_of(from)) {
        into.merge(e, kNow);
    }
    return into;
}

std::vector<DefinitionEntry> arbitrary_entries() {
    return *rc::gen::container<std::vector<DefinitionEntry>>(
        *rc::gen::inRange<std::size_t>(0, 15), rc::gen::exec([] { return arbitrary_entry(); }));
}

TEST_CASE("merging is commutative, associative and idempotent, in any order of arrival") {
    CHECK(rc::check([] {
        const DefinitionMap a = map_of(arbitrary_entries());
        const DefinitionMap b = map_of(arbitrary_entries());
        const DefinitionMap c = map_of(arbitrary_entries());
        RC_ASSERT(same(merged(a, b), merged(b, a)));
        RC_ASSERT(same(merged(merged(a, b), c), merged(a, merged(b, c))));
        RC_ASSERT(same(merged(a, a), a));
    }));
    CHECK(rc::check([] {
        std::vector<DefinitionEntry> entries = arbitrary_entries();
        const DefinitionMap forward = map_of(entries);
        std::reverse(entries.begin(), entries.end());
        RC_ASSERT(same(forward, map_of(entries)));
    }));
}

TEST_CASE("it is the dumb model: the largest version of each name") {
    CHECK(rc::check([] {
        std::map<std::string, Version> model;
        const std::vector<DefinitionEntry> entries = arbitrary_entries();
        for (const DefinitionEntry& e : entries) {
            model[e.name] = std::max(model[e.name], e.version);
        }
        const DefinitionMap map = map_of(entries);
        RC_ASSERT(map.size() == model.size());
        for (const auto& [name, version] : model) {
            RC_ASSERT(map.find(name)->version == version);
        }
    }));
}

TEST_CASE("merging never lowers a version") {
    CHECK(rc::check([] {
        DefinitionMap map(100);
        for (const DefinitionEntry& e : arbitrary_entries()) {
            const DefinitionEntry* const before = map.find(e.name);
            const Version old = before != nullptr ? before->version : Version{};
            map.merge(e, kNow);
            RC_ASSERT(map.find(e.name)->version >= old);
        }
    }));
}

TEST_CASE("hashes depend on content only") {
    CHECK(rc::check([] {
        const DefinitionMap map = map_of(arbitrary_entries());
        const DefinitionMap rebuilt = map_of(entries_of(map));
        RC_ASSERT(map.root_hash() == rebuilt.root_hash());
        std::uint64_t all = 0;
        for (std::size_t partition = 0; partition < DefinitionMap::kPartitions; ++partition) {
            std::uint64_t slots = 0;
            for (std::uint64_t hash : map.slot_hashes(partition)) {
                slots ^= hash;
            }
            RC_ASSERT(slots == map.partition_hashes()[partition]);
            all ^= slots;
        }
        RC_ASSERT(all == map.root_hash());
    }));
}

TEST_CASE("a change gets an epoch above all that is known") {
    DefinitionMap map(10);
    CHECK(map.next_version(7) == Version{1, 7});
    map.merge(entry("a", 41, 9), kNow);
    CHECK(map.next_version(7) == Version{42, 7});
}

TEST_CASE("epochs more than 2^32 above the highest known are refused") {
    DefinitionMap map(10);
    map.merge(entry("a", 5, 1), kNow);
    CHECK(DefinitionMap::kEpochLeap == 4'294'967'296);  // of the protocol: every member agrees
    CHECK(map.merge(entry("b", 5 + DefinitionMap::kEpochLeap, 1), kNow) == MergeOutcome::applied);
    DefinitionMap other(10);
    other.merge(entry("a", 5, 1), kNow);
    CHECK(other.merge(entry("b", 6 + DefinitionMap::kEpochLeap, 1), kNow) == MergeOutcome::epoch);
    CHECK(other.merge(entry("b", ~std::uint64_t{0}, 1), kNow) == MergeOutcome::epoch);
    CHECK(other.size() == 1);
    CHECK(other.next_version(1).epoch == 6);
}

TEST_CASE("tombstones are kept for 24 hours and then forgotten everywhere") {
    DefinitionMap map(10);
    map.merge(entry("a", 1, 1), kNow);
    map.merge(entry("a", 2, 1, EntryKind::removed), kNow);
    CHECK(map.merge(entry("a", 1, 1), kNow) == MergeOutcome::older);
    map.forget_old(kNow + 24h - 1s, 100);
    CHECK(map.size() == 1);
    map.forget_old(kNow + 24h, 100);
    CHECK(map.size() == 0);
    CHECK(map.root_hash() == 0);
    // Somebody who has not forgotten yet does not bring it back.
    CHECK(map.merge(entry("a", 2, 1, EntryKind::removed), kNow + 24h) == MergeOutcome::stale);
}

TEST_CASE("lifetimes end, and what ended is forgotten after a day") {
    DefinitionMap map(10);
    DefinitionEntry e = entry("a", 1, 1);
    e.lifetime = 60s;
    map.merge(e, kNow);
    CHECK(map.take_expired(kNow + 59s).empty());
    CHECK(map.find("a")->in_force(kNow + 59s));
    CHECK(map.take_expired(kNow + 60s) == std::vector<std::string>{"a"});
    CHECK_FALSE(map.find("a")->in_force(kNow + 60s));
    CHECK(map.take_expired(kNow + 61s).empty());
    map.forget_old(kNow + 24h + 60s, 100);
    CHECK(map.size() == 0);
}

TEST_CASE("a full map refuses new names, and still takes changes of old ones") {
    DefinitionMap map(2);
    map.merge(entry("a", 1, 1), kNow);
    map.merge(entry("b", 1, 1), kNow);
    CHECK(map.merge(entry("c", 1, 1), kNow) == MergeOutcome::full);
    CHECK(map.merge(entry("a", 2, 1), kNow) == MergeOutcome::applied);
}

TEST_CASE("only the latest writers are remembered") {
    DefinitionMap map(100);
    for (std::uint64_t i = 1; i <= 40; ++i) {
        map.merge(entry("n" + std::to_string(i), i, 1000 + i), kNow);
    }
    const std::vector<Version> writers = map.writers();
    REQUIRE(writers.size() == DefinitionMap::kWriters);
    CHECK(writers.front() == Version{40, 1040});
    CHECK(writers.back() == Version{25, 1025});
}

TEST_CASE("of writers at the same epoch those of the highest versions are remembered") {
    std::vector<std::uint64_t> numbers(DefinitionMap::kWriters + 1);
    std::iota(numbers.begin(), numbers.end(), 1001);
    SUBCASE("that came in order") {}
    SUBCASE("that came in reverse") { std::reverse(numbers.begin(), numbers.end()); }
    DefinitionMap map(100);
    for (const std::uint64_t number : numbers) {
        map.merge(entry("n" + std::to_string(number), 7, number), kNow);
    }
    const std::vector<Version> writers = map.writers();
    REQUIRE(writers.size() == DefinitionMap::kWriters);
    CHECK(writers.front() == Version{7, 1000 + DefinitionMap::kWriters + 1});
    CHECK(writers.back() == Version{7, 1002});
}

TEST_CASE("hashes are what every version of the protocol makes of the content") {
    DefinitionMap map(10);
    DefinitionEntry whole = entry("storage/a", 7, 0x0123456789abcdef);
    whole.who = "ann";
    whole.why = "a burst";
    whole.lifetime = 90s;
    map.merge(whole, kNow);
    map.merge(entry("b", 1, 2, EntryKind::absent), kNow);
    CHECK(map.root_hash() == 0xebcacee4eb7add27U);
}

/// Names of the same slot, sorted.
std::vector<std::string> neighbours(std::size_t count, std::size_t partition, std::size_t slot) {
    std::vector<std::string> names;
    for (std::size_t i = 0; names.size() < count; ++i) {
        DefinitionMap alone(1);
        const std::string name = "n" + std::to_string(i);
        alone.merge(entry(name, 1, 1), kNow);
        if (alone.slot_hashes(partition)[slot] != 0) {
            names.push_back(name);
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

TEST_CASE("a slot is visited in order, behind a name, until the visitor has enough") {
    const std::vector<std::string> names = neighbours(4, 3, 5);
    DefinitionMap map(100);
    for (const std::string& name : names) {
        map.merge(entry(name, 1, 1), kNow);
    }
    const auto visited = [&](std::string_view after, std::size_t enough) {
        std::vector<std::string> result;
        map.for_each_in_slot(
            3, 5,
            [&](const DefinitionEntry& e) {
                result.push_back(e.name);
                return result.size() < enough;
            },
            after);
        return result;
    };
    const auto part = [&](std::size_t from, std::size_t to) {
        return std::vector<std::string>(names.begin() + static_cast<std::ptrdiff_t>(from),
                                        names.begin() + static_cast<std::ptrdiff_t>(to));
    };
    CHECK(visited("", 9) == names);
    CHECK(visited("", 1) == part(0, 1));
    CHECK(visited(names[0], 9) == part(1, 4));
    CHECK(visited(names[1], 1) == part(2, 3));
    CHECK(visited(names[1] + "!", 9) == part(2, 4));  // one that is not there any more
    CHECK(visited(names[3], 9).empty());
}

TEST_CASE("names of one slot whose tags are equal are told apart") {
    // Found by a search over 20,000,000 names.
    const std::string one = "q2870290";
    const std::string other = "q8480054";
    DefinitionMap map(10);
    CHECK(map.merge(entry(one, 1, 1), kNow) == MergeOutcome::applied);
    CHECK(map.find(other) == nullptr);
    CHECK(map.merge(entry(other, 1, 1), kNow) == MergeOutcome::applied);
    CHECK(map.merge(entry(other, 5, 1), kNow) == MergeOutcome::applied);
    CHECK(map.size() == 2);
    CHECK(map.find(one)->version.epoch == 1);
    CHECK(map.find(other)->version.epoch == 5);
}

TEST_CASE("each of a slot's entries is found, replaced and put in its place") {
    std::vector<std::string> names = neighbours(5, 3, 5);
    DefinitionMap map(100);
    for (const std::size_t i : {3u, 0u, 4u, 1u}) {
        map.merge(entry(names[i], 1, 1), kNow);
    }
    CHECK(map.find(names[2]) == nullptr);
    for (const std::size_t i : {0u, 1u, 3u, 4u}) {
        CHECK(map.merge(entry(names[i], 1, 1), kNow) == MergeOutcome::known);
        CHECK(map.merge(entry(names[i], 2 + i, 1), kNow) == MergeOutcome::applied);
        REQUIRE(map.find(names[i]) != nullptr);
        CHECK(map.find(names[i])->version.epoch == 2 + i);
    }
    CHECK(map.size() == 4);
    map.merge(entry(names[2], 1, 1), kNow);
    std::vector<std::string> visited;
    for (const DefinitionEntry& e : entries_of(map)) {
        visited.push_back(e.name);
    }
    CHECK(visited == names);
}

TEST_CASE("forgetting looks at no more entries than it may, and goes on where it was") {
    DefinitionMap map(100);
    for (int i = 0; i < 6; ++i) {
        map.merge(entry("n" + std::to_string(i), 1, 1, EntryKind::removed), kNow);
    }
    for (std::size_t left = 6; left > 0; --left) {
        CHECK(map.size() == left);
        map.forget_old(kNow + 24h, 1);
    }
    CHECK(map.size() == 0);
}

TEST_CASE("one call goes all the way round, to what is before the place where it begins") {
    const std::vector<std::string> names = neighbours(3, 3, 5);
    DefinitionMap map(100);
    for (const std::string& name : names) {
        map.merge(entry(name, 1, 1, EntryKind::removed), kNow);
    }
    map.forget_old(kNow, 2);  // looks at two and stands before the third
    CHECK(map.size() == 3);
    DefinitionMap other = map;
    other.forget_old(kNow + 24h, 1);
    CHECK(other.size() == 2);
    CHECK(other.find(names[2]) == nullptr);
    map.forget_old(kNow + 24h, 100);
    CHECK(map.size() == 0);
    // What stays is looked at once a call at most, and does not keep it from ending.
    map.merge(entry("stays", 2, 1), kNow);
    map.forget_old(kNow + 24h, 1'000'000);
    CHECK(map.size() == 1);
    map.forget_old(kNow + 24h, 0);
    CHECK(map.size() == 1);
}

TEST_CASE("ends of lifetimes are told once, in their order, a few at a time") {
    DefinitionMap map(10);
    for (const auto& [name, lifetime] : {std::pair{"c", 30s}, {"a", 20s}, {"b", 10s}}) {
        DefinitionEntry e = entry(name, 1, 1);
        e.lifetime = lifetime;
        map.merge(e, kNow);
    }
    CHECK(map.take_expired(kNow + 60s, 0).empty());
    CHECK(map.take_expired(kNow + 60s, 2) == std::vector<std::string>{"b", "a"});
    CHECK(map.take_expired(kNow + 60s, 2) == std::vector<std::string>{"c"});
    CHECK(map.take_expired(kNow + 60s, 2).empty());
}

TEST_CASE("a lifetime goes with its entry") {
    DefinitionMap map(10);
    DefinitionEntry e = entry("a", 1, 1);
    e.lifetime = 60s;
    map.merge(e, kNow);
    e = entry("a", 2, 1);
    e.lifetime = 90s;
    map.merge(e, kNow);
    CHECK(map.take_expired(kNow + 89s).empty());  // the first one's is over
    CHECK(map.take_expired(kNow + 90s) == std::vector<std::string>{"a"});
    // A tombstone's says nothing, nor does that of what was forgotten.
    e = entry("b", 3, 1, EntryKind::removed);
    e.lifetime = 60s;
    map.merge(e, kNow);
    CHECK(map.take_expired(kNow + 2h).empty());
    e = entry("c", 4, 1);
    e.lifetime = 60s;
    map.merge(e, kNow);
    map.forget_old(kNow + 24h + 59s, 100);
    CHECK(map.find("c") != nullptr);
    CHECK(map.find("b") == nullptr);
    map.forget_old(kNow + 24h + 60s, 100);
    CHECK(map.find("c") == nullptr);
    CHECK(map.take_expired(kNow + 48h).empty());
}

TEST_CASE("the earlier of two estimates holds, with its end") {
    DefinitionMap map(10);
    DefinitionEntry e = entry("a", 1, 1);
    e.lifetime = 60s;
    map.merge(e, kNow);
    e.written = kNow - 10s;
    CHECK(map.merge(e, kNow) == MergeOutcome::known);
    CHECK(map.find("a")->written == kNow - 10s);
    CHECK(map.take_expired(kNow + 50s) == std::vector<std::string>{"a"});
    e.written = kNow - 5s;
    CHECK(map.merge(e, kNow) == MergeOutcome::known);
    CHECK(map.find("a")->written == kNow - 10s);
    CHECK(map.take_expired(kNow + 60s).empty());
    CHECK(map.size() == 1);
}

TEST_CASE("an instant from the future counts as now") {
    DefinitionMap map(10);
    DefinitionEntry e = entry("a", 1, 1);
    e.written = kNow + 1000h;
    map.merge(e, kNow);
    CHECK(map.find("a")->written == kNow);
}

}  // namespace
}  // namespace weir::definitions

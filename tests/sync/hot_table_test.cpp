#include "sync/hot_table.h"

#include <doctest/doctest.h>

#include "base/records.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;

HotEntry hot(std::uint64_t quota, double rate, Duration age) {
    HotEntry entry;
    entry.key.quota = quota;
    entry.rate = rate;
    entry.level = 150;
    entry.age = age;
    return entry;
}

const Instant kNow{std::chrono::seconds(100)};

TEST_CASE("the newest word about a limit wins, an old one is no news") {
    HotTable table(4);
    CHECK(table.note(hot(1, 100, 500ms), kNow));
    CHECK_FALSE(table.note(hot(1, 999, 600ms), kNow));
    CHECK_FALSE(table.note(hot(2, 100, 4s), kNow));
    CHECK(table.note(hot(1, 200, 100ms), kNow));
    REQUIRE(table.find({1, 0, 0, 0}) != nullptr);
    CHECK(table.find({1, 0, 0, 0})->rate == 200);
    CHECK(table.size() == 1);
}

TEST_CASE("a full table keeps the hottest, and rumours end by themselves") {
    HotTable table(2);
    CHECK(table.note(hot(1, 100, 0ms), kNow));
    CHECK(table.note(hot(2, 300, 0ms), kNow));
    CHECK_FALSE(table.note(hot(3, 50, 0ms), kNow));
    CHECK(table.note(hot(4, 200, 0ms), kNow));
    CHECK(table.size() == 2);
    CHECK(table.find({1, 0, 0, 0}) == nullptr);
    CHECK(table.entries(kNow + 1s).front().rate == 300);
    CHECK(table.entries(kNow + 1s).front().age == 1s);
    table.forget_old(kNow + HotTable::kLongestAge);
    CHECK(table.size() == 2);
    table.forget_old(kNow + HotTable::kLongestAge + 1ms);
    CHECK(table.size() == 0);
}

TEST_CASE("what is told fits, whole entries only, and takes turns") {
    HotTable table(64);
    for (std::uint64_t i = 1; i <= 64; ++i) {
        table.note(hot(i, 1.0 * static_cast<double>(i), 0ms), kNow);
    }
    const auto decode = [](const std::vector<std::byte>& body) {
        std::vector<std::uint64_t> quotas;
        ByteReader reader(body);
        skip_head(reader);
        while (reader.remaining() > 0) {
            quotas.push_back(decode_hot(reader).key.quota);
        }
        CHECK(reader.ok());
        return quotas;
    };
    const auto first = decode(table.encode(kNow, 900, 0));
    const auto second = decode(table.encode(kNow, 900, 33));
    CHECK(first.size() > 32);
    CHECK(first.front() == 64);
    CHECK(second.front() == 31);
    CHECK(table.encode(kNow, 3, 0).empty());
}

}  // namespace
}  // namespace weir::sync

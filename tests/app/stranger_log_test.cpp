// What the log tells about gossip that cannot be read, and how often.

#include "app/stranger_log.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1h};

engine::StrangerStatus stranger(std::uint32_t number, std::uint64_t datagrams = 1,
                                Duration silence = 0s) {
    return {Endpoint::v4(0x0a000000 + number, 7946), "unknown_key", 0xabcd0123, datagrams, silence};
}

std::string field(const StrangerLog::Line& line, std::string_view key) {
    const auto found = std::find_if(line.fields.begin(), line.fields.end(),
                                    [&](const auto& field) { return field.first == key; });
    return found == line.fields.end() ? "" : found->second;
}

TEST_CASE("a stranger is named at once, and again each minute while it goes on") {
    StrangerLog log;
    const engine::SealStatus status{{0x01020304, 5}, {stranger(9, 3)}};
    const auto first = log.lines(status, kStart);
    REQUIRE(first.size() == 1);
    CHECK(first[0].message == "gossip that is sealed with a key that this sidecar does not have");
    CHECK(field(first[0], "from") == "10.0.0.9:7946");
    CHECK(field(first[0], "datagrams") == "3");
    CHECK(field(first[0], "key") == "abcd0123");
    CHECK(field(first[0], "our_keys") == "01020304,00000005");
    for (int i = 1; i < 600; ++i) {
        CHECK(log.lines(status, kStart + i * 100ms).empty());
    }
    CHECK(log.lines(status, kStart + 60s).size() == 1);
}

TEST_CASE("one that has stopped is not told again") {
    StrangerLog log;
    CHECK(log.lines({{1}, {stranger(9)}}, kStart).size() == 1);
    CHECK(log.lines({{1}, {stranger(9, 1, 20s)}}, kStart + 61s).empty());
}

TEST_CASE("invented senders get a few lines a minute, and are counted") {
    StrangerLog log;
    std::size_t lines = 0;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        lines += log.lines({{1}, {stranger(i)}}, kStart + i * 10ms).size();
    }
    CHECK(lines == StrangerLog::kLinesPerMinute);
    const auto later = log.lines({{1}, {stranger(5000)}}, kStart + 70s);
    REQUIRE(later.size() == 1);
    CHECK(field(later[0], "senders_left_out") == "992");
}

}  // namespace
}  // namespace weir::app

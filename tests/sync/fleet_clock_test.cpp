// The wall clock that the fleet goes by.

#include "sync/fleet_clock.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "base/bytes.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;

/// 2026-11-28 12:00:00 UTC.
constexpr Duration kNoonOfClocks = std::chrono::seconds(1'795'867'200);

gossip::MemberId clock_member(std::uint32_t number) {
    return {Endpoint::v4(0x0a000000 + number, 7946), number + 1};
}

/// Members whose clocks differ from the true time by so much, after each has told all others its
/// clock; and what each then takes for the fleet's clock, as a difference from the true time.
std::vector<Duration> agreed(const std::vector<Duration>& off) {
    const Instant now{1h};
    std::vector<FleetClock> clocks(off.size());
    for (std::size_t i = 0; i < off.size(); ++i) {
        clocks[i].set_own(kNoonOfClocks + off[i] - now.time_since_epoch());
    }
    for (std::size_t from = 0; from < off.size(); ++from) {
        for (std::size_t to = 0; to < off.size(); ++to) {
            std::array<std::byte, 16> buffer;
            ByteWriter writer(buffer);
            clocks[from].encode(writer, now);
            REQUIRE(writer.ok());
            ByteReader reader(writer.written());
            if (from != to) {
                const auto member = clock_member(static_cast<std::uint32_t>(from));
                CHECK(clocks[to].receive(member, reader, now + 3ms));
            }
        }
    }
    std::vector<Duration> result;
    for (FleetClock& clock : clocks) {
        result.push_back(clock.ahead(now + 3ms) + now.time_since_epoch() - kNoonOfClocks);
    }
    return result;
}

TEST_CASE("one clock that is wrong moves nobody, and is put right") {
    for (const Duration wrong : {Duration(1h), Duration(-1h)}) {
        const std::vector<Duration> result = agreed({0s, wrong, 2ms});
        CHECK(result[0] == 0s);
        CHECK(std::chrono::abs(result[1]) < 10ms);
        CHECK(result[2] == 2ms);
    }
}

TEST_CASE("clocks that are nearly alike stay as they are") {
    const std::vector<Duration> off = {-20ms, 0ms, 30ms, 10ms};
    CHECK(agreed(off) == off);
}

TEST_CASE("two clocks that differ agree on the earlier one") {
    const std::vector<Duration> result = agreed({0s, 3600s});
    CHECK(std::chrono::abs(result[0]) < 10ms);
    CHECK(std::chrono::abs(result[1]) < 10ms);
}

TEST_CASE("a member that is not heard any more counts no longer, and a false time is refused") {
    FleetClock clock;
    Instant now{1h};
    clock.set_own(kNoonOfClocks - now.time_since_epoch());
    for (std::uint32_t i = 0; i < 2; ++i) {
        FleetClock other;
        other.set_own(kNoonOfClocks + 1h - now.time_since_epoch());
        std::array<std::byte, 16> buffer;
        ByteWriter writer(buffer);
        other.encode(writer, now);
        ByteReader reader(writer.written());
        CHECK(clock.receive(clock_member(i), reader, now));
    }
    CHECK(clock.ahead(now) + now.time_since_epoch() == kNoonOfClocks + 1h);
    CHECK(clock.difference() == -1h);
    now += 36s;
    CHECK(clock.ahead(now) + now.time_since_epoch() - 36s == kNoonOfClocks);
    CHECK(clock.difference() == 0s);
    const std::array<std::byte, 9> late = {std::byte{8}, std::byte{255}, std::byte{255}};
    ByteReader reader(late);
    CHECK_FALSE(clock.receive(clock_member(5), reader, now));
    ByteReader empty(ByteSpan(late).first(1));
    CHECK_FALSE(clock.receive(clock_member(5), empty, now));
}

}  // namespace
}  // namespace weir::sync

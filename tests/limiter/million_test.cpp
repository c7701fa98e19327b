// As many instances as a sidecar holds by default, at once: what they take, that each has a bucket
// of its own, and that further ones find room.

#include <doctest/doctest.h>

#include <string>

#include "limiter/fixture.h"

namespace weir::limiter {
namespace {

using namespace testing;

constexpr int kInstances = 1'000'000;
constexpr int kSampled = 9'973;  // one in so many is looked at

std::string name_of(int number) { return "k/" + std::to_string(number); }

/// Makes the instances of these names; how many there was no room for.
int make(Fixture& fixture, int from, int to) {
    int without = 0;
    for (int i = from; i < to; ++i) {
        const LeafId leaf = fixture.find(name_of(i));
        without += leaf && leaf.overflow_depth == 0 ? 0 : 1;
        if (i % 1024 == 0) {
            fixture.limiter.quiescent(fixture.thread);
            fixture.limiter.maintain(fixture.now);
        }
    }
    return without;
}

TEST_CASE("1,000,000 instances: a bucket each, within 128 MB, and room for more") {
    LimiterOptions options;
    options.seed = 5;
    REQUIRE(options.max_instances == kInstances);
    Fixture fixture(
        {quota("all", {borders(1, 1e9, 1e9)}), quota("k/{key}", {per_minute(5)}, "all")}, options);
    CHECK(make(fixture, 1, kInstances) == 0);  // the exact name's is one of them
    const Memory memory = fixture.limiter.memory();
    CHECK(memory.instances == kInstances);
    CHECK(memory.bytes <= 128'000'000);
    CHECK(memory.name_bytes > 0);
    MESSAGE((memory.bytes / kInstances)
            << " bytes an instance, " << (memory.name_bytes / kInstances) << " of names");
    for (int i = 1; i + 1 < kInstances; i += kSampled) {
        CAPTURE(i);
        for (int request = 0; request < 5; ++request) {
            CHECK(fixture.admits(name_of(i)));
        }
        CHECK_FALSE(fixture.admits(name_of(i)));
        CHECK(fixture.level(name_of(i)) == 5);
        CHECK(fixture.level(name_of(i + 1)) == 0);
    }
    CHECK(fixture.limiter.counters().replaced == 0);

    constexpr int kMore = 1000;
    fixture.wait(2);
    CHECK(make(fixture, kInstances, kInstances + kMore) == 0);
    CHECK(fixture.limiter.counters().replaced == kMore);
    CHECK(fixture.limiter.counters().overflowed == 0);
    CHECK(fixture.limiter.memory().instances == kInstances);
    CHECK(fixture.limiter.memory().bytes <= 128'000'000);
    // Empty ones made room: those that were charged are as full as they were.
    for (int i = 1; i + 1 < kInstances; i += kSampled) {
        CAPTURE(i);
        CHECK(fixture.level(name_of(i)) > 4);
    }
    CHECK(fixture.admits(name_of(kInstances)));
}

}  // namespace
}  // namespace weir::limiter

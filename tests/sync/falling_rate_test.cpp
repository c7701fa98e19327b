#include "sync/falling_rate.h"

#include <doctest/doctest.h>

namespace weir::sync {
namespace {

using namespace std::chrono_literals;

TEST_CASE(
    "a fall shows within 0.1 s, also when a tick notes what is earlier than what came in it") {
    Instant now{1h};
    FallingRate rate;
    for (int i = 0; i < 20; ++i) {
        rate.note(10, now);
        now += 10ms;
    }
    CHECK_FALSE(rate.fallen(1000, now));
    // A message that arrived while the tick began is noted at its own time, the tick at its.
    rate.note(0, now + 1ms);
    rate.note(0, now);
    for (int i = 0; i < 10; ++i) {
        now += 10ms;
        rate.note(0, now);
    }
    const auto fallen = rate.fallen(1000, now);
    REQUIRE(fallen);
    CHECK(*fallen < 200);
}

}  // namespace
}  // namespace weir::sync

// When a process that was stopped, or whose machine was paused, notices it.

#include "engine/stop_detector.h"

#include <doctest/doctest.h>

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a tick that is late by more than the threshold is a stop, which ends once") {
    StopDetector stops(500ms);
    const Instant start{1h};
    stops.expect(start + 10ms);
    CHECK_FALSE(stops.is_late(start + 510ms));
    stops.expect(start + 520ms);
    CHECK_FALSE(stops.discards(start + 1s));
    CHECK(stops.discards(start + 1021ms));
    CHECK(stops.is_late(start + 1021ms));
    stops.expect(start + 1031ms);
    stops.begin_discarding(start + 1021ms);
    CHECK(stops.discards(start + 1050ms));
    CHECK_FALSE(stops.take_recovered(start + 1050ms));
    CHECK(stops.take_recovered(start + 1051ms));
    CHECK_FALSE(stops.take_recovered(start + 1052ms));
}

TEST_CASE("a clock that stood still is moved forward by the largest lead, once") {
    StopDetector stops(500ms);
    const Instant start{1h};
    stops.expect(start + 10ms);
    CHECK_FALSE(stops.lags(0s, start));
    CHECK(stops.take_lag(start + 1h) == 0s);
    CHECK(stops.lags(700ms, start));
    CHECK(stops.lags(4s, start + 1ms));
    CHECK(stops.lags(0s, start + 2ms));  // what comes now is not heeded either
    CHECK(stops.take_lag(start + 29ms) == 0s);
    CHECK(stops.take_lag(start + 30ms) == 4s);
    CHECK(stops.take_lag(start + 31ms) == 0s);
    CHECK_FALSE(stops.lags(0s, start + 31ms));
}

}  // namespace
}  // namespace weir::engine

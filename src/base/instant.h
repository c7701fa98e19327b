#pragma once
// Instants and durations. Nothing here reads a clock: the modules `net` (real time) and `sim`
// (virtual time) make instants, and all other code is given them as the argument `now`. Plain
// values.

#include <chrono>
#include <cstdint>

namespace weir {

using Duration = std::chrono::nanoseconds;

/// A clock without now(): it only gives its time_point a type of its own, so that an instant of
/// the monotonic time line is never mixed up with wall-clock time.
struct MonotonicTimeline {
    using duration = Duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<MonotonicTimeline, duration>;
    static constexpr bool is_steady = true;
};

/// A point on the monotonic time line of one process (or of the simulator).
using Instant = MonotonicTimeline::time_point;

[[nodiscard]] constexpr Duration from_seconds(double seconds) {
    return Duration(static_cast<Duration::rep>(seconds * 1e9));
}

[[nodiscard]] constexpr double to_seconds(Duration duration) {
    return static_cast<double>(duration.count()) * 1e-9;
}

}  // namespace weir

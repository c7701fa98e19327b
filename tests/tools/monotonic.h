#pragma once
// The clock of the test tools: nanoseconds of CLOCK_MONOTONIC, which every process of a machine
// shares, so that the origin's arrival times, the generator's schedule and a Python test's
// time.monotonic_ns() are one time line. Thread-safe.

#include <cstdint>

namespace weir::tools {

[[nodiscard]] std::int64_t monotonic_ns();

/// Seconds to whole nanoseconds.
[[nodiscard]] constexpr std::int64_t to_ns(double seconds) {
    return static_cast<std::int64_t>(seconds * 1e9);
}

}  // namespace weir::tools

#pragma once
// The clock of the test tools: nanoseconds of CLOCK_MONOTONIC. All processes of a machine share it,
// so the origin's arrival times, the generator's schedule and a Python test's time.monotonic_ns()
// can be compared. Thread-safe.

#include <cstdint>

namespace weir::tools {

[[nodiscard]] std::int64_t monotonic_ns();

/// Converts seconds to whole nanoseconds.
[[nodiscard]] constexpr std::int64_t to_ns(double seconds) {
    return static_cast<std::int64_t>(seconds * 1e9);
}

}  // namespace weir::tools

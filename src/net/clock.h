#pragma once
// The only place that reads a real clock. All other code is given instants as an argument.
// Thread-safe. It keeps nothing.

#include <chrono>

#include "base/instant.h"

namespace weir::net {

/// The monotonic clock that goes on while the machine sleeps (CLOCK_BOOTTIME), and what was added
/// to it. Setting the wall clock does not change it.
[[nodiscard]] Instant now();

/// Adds to the clock of this process, because the machine was paused and its clock stood still.
void move_forward(Duration by);

/// The wall clock as time since 1970, for what people or other machines read: logs, expiry dates,
/// header fields. It must not be used to measure durations.
[[nodiscard]] Duration unix_time();

/// How much later the time since 1970 is than now(). Both clocks are read together, so that a
/// process that is stopped in between does not take the pause for a difference.
[[nodiscard]] Duration unix_ahead();

}  // namespace weir::net

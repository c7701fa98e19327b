#pragma once
// The only place that reads a real clock. All other code is given instants as an argument.
// Thread-safe.

#include <chrono>

#include "base/instant.h"

namespace weir::net {

/// The monotonic clock (CLOCK_MONOTONIC). Setting the wall clock does not change it.
[[nodiscard]] Instant now();

/// The wall clock as time since 1970, for what people or other machines read: logs, expiry dates,
/// header fields. It must not be used to measure durations.
[[nodiscard]] Duration unix_time();

}  // namespace weir::net

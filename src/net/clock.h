#pragma once
// The only place that reads a real clock. Everything else takes `now` as an argument.
// Thread-safe.

#include <chrono>

#include "base/instant.h"

namespace weir::net {

/// The monotonic clock (CLOCK_MONOTONIC): unmoved by changes of the wall clock.
[[nodiscard]] Instant now();

/// Time since 1970, for what people or other machines read: logs, expiry dates, headers.
/// Never for measuring how long something took.
[[nodiscard]] Duration unix_time();

}  // namespace weir::net

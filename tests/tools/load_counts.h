#pragma once
// The load generator's counts for one target and stream. Plain values.
//
// Invariant at the end of a run: offered = ok + refused + other + errors + skipped.

#include <algorithm>
#include <cstdint>

#include "tools/latencies.h"

namespace weir::tools {

struct LoadCounts {
    std::uint64_t offered = 0;  ///< arrivals of the schedule
    std::uint64_t ok = 0;       ///< answered 2xx
    std::uint64_t refused = 0;  ///< answered 429
    std::uint64_t other = 0;    ///< any other answer
    std::uint64_t errors = 0;   ///< no complete answer: refused connection, reset or time-out
    std::uint64_t skipped = 0;  ///< never sent: the bounded queue was full, or every target paused
    std::uint64_t retried = 0;  ///< sent again because the kept connection had been closed
    std::int64_t lag_ns = 0;    ///< largest delay of the schedule by the generator itself
    std::int64_t slowest_ns = 0;

    [[nodiscard]] bool empty() const {
        return offered + ok + refused + other + errors + skipped + retried == 0;
    }
    LoadCounts& operator+=(const LoadCounts& more) {
        offered += more.offered;
        ok += more.ok;
        refused += more.refused;
        other += more.other;
        errors += more.errors;
        skipped += more.skipped;
        retried += more.retried;
        lag_ns = std::max(lag_ns, more.lag_ns);
        slowest_ns = std::max(slowest_ns, more.slowest_ns);
        return *this;
    }
};

/// The counts of the present bin and of all bins before it, and all latencies.
struct LoadCell {
    LoadCounts bin;
    LoadCounts total;
    Latencies latencies;
};

}  // namespace weir::tools

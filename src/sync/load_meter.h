#pragma once
// How many datagrams (or bytes) a second come in or go out, whichever are more. Not thread-safe;
// belongs to the control thread.

#include <algorithm>
#include <cstdint>

#include "base/assert.h"
#include "base/instant.h"

namespace weir::sync {

class LoadMeter {
  public:
    void start(Instant now) { noted_ = now; }
    [[nodiscard]] Instant noted() const { return noted_; }
    /// Datagrams or bytes per second since the last call, in the direction with more of them. `in`
    /// and `out` are totals since the start, which only grow. Each is compared with its own earlier
    /// value, so that a direction that led long ago does not count now.
    [[nodiscard]] double per_second(std::uint64_t in, std::uint64_t out, Instant now) {
        WEIR_ASSERT(in >= in_ && out >= out_);
        WEIR_ASSERT(now > noted_);
        const std::uint64_t most = std::max(in - in_, out - out_);
        // Ticks may be late, as in a container that is throttled, so the time that passed divides.
        const double seconds = to_seconds(now - noted_);
        in_ = in;
        out_ = out;
        noted_ = now;
        return static_cast<double>(most) / seconds;
    }

  private:
    std::uint64_t in_ = 0;
    std::uint64_t out_ = 0;
    Instant noted_{};
};

}  // namespace weir::sync

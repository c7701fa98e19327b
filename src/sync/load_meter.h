#pragma once
// How many datagrams a second come or go, whichever are more. Plain; control thread only.

#include <algorithm>
#include <cstdint>

#include "base/instant.h"

namespace weir::sync {

class LoadMeter {
  public:
    void start(Instant now) { noted_ = now; }
    [[nodiscard]] Instant noted() const { return noted_; }
    /// A second's worth since the last call, of totals that only grow. Each direction has a mark of
    /// its own: one that was ahead for days says nothing of now.
    [[nodiscard]] double per_second(std::uint64_t in, std::uint64_t out, Instant now) {
        const std::uint64_t most = std::max(in - in_, out - out_);
        // Ticks of a process that is often stopped are no measure of time.
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

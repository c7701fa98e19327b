#pragma once
// The numbers of the runs that an origin's counts have (counter_cell.h). Those of one process
// follow each other, so that an owner knows a delta of a former run that comes after one of the
// present run: without that it would take it for a run that has just begun, and count both runs a
// second time. Plain value.

#include <cstdint>

#include "base/assert.h"
#include "base/random.h"
#include "sync/messages.h"

namespace weir::sync {

/// What a late packet can be late by. Later than that a run is a new one, whatever its number.
inline constexpr Duration kLatestPacket = std::chrono::seconds(10);

/// Draws the first number and counts on from there. 0 is not among them: it means no run.
class RunNumbers {
  public:
    explicit RunNumbers(Random& random)
        : last_(static_cast<std::uint32_t>(random.below(kLargestIdentity)) + 1) {}

    [[nodiscard]] std::uint32_t next() {
        last_ = last_ % kLargestIdentity + 1;
        WEIR_ASSERT(last_ >= 1 && last_ <= kLargestIdentity);
        return last_;
    }

  private:
    std::uint32_t last_;
};

/// Whether a run of the same process began before another one, by its number. It is wrong where the
/// process has begun more than half of all numbers in between; whoever knows when a run began looks
/// at that as well.
[[nodiscard]] inline bool began_before(std::uint32_t run, std::uint32_t other) {
    WEIR_ASSERT(run <= kLargestIdentity && other <= kLargestIdentity);
    constexpr std::uint32_t kMostBetween = kLargestIdentity / 2;
    if (run == 0 || other == 0 || run == other) {
        return false;
    }
    return (other + kLargestIdentity - run) % kLargestIdentity <= kMostBetween;
}

}  // namespace weir::sync

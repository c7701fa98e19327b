#pragma once
// A stand-in for the next version of weir, so that tests can run two versions in one fleet. It
// differs from this version by one more kind of limit, the *trial kind*: it sends the limits whose
// period is 11 s as limits of that kind, which this version does not know. Fields of later versions
// are tested codec by codec (later_versions_test). The program weir_next of the tests is linked
// with another definition of is_next_version() (tests/tools/next_version.cpp); no other program is.
// Pure functions, thread-safe.

#include <chrono>
#include <cstdint>

#include "base/instant.h"

namespace weir {

/// Whether this program stands for the next version.
[[nodiscard]] bool is_next_version();

/// The number of the trial kind: the last one that has room in a limit's key.
inline constexpr std::uint8_t kTrialKind = 7;
/// Whether a limit with this period is of the trial kind in this program.
[[nodiscard]] inline bool is_trial(Duration period) {
    return period == std::chrono::seconds(11) && is_next_version();
}

}  // namespace weir

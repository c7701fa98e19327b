#pragma once
// A story of random faults: a fleet under load, and a fault each minute, all drawn from one seed.
// Pure.
//
// Faults that weir does not withstand yet are left out, because a test that always fails would hide
// everything else:
// - A cloned machine, with the address of a sidecar, gets none of the datagrams that go there: the
//   network goes on delivering them to the first one. If the clone answered, the first one would be
//   replaced, and the fleet would refuse its datagrams for an hour or until it is restarted.
// - At most 35 % of the datagrams are lost. After heavier loss a suspicion whose refutation was
//   lost can stay for more than a minute. The checkers accept that, because a suspect counts as
//   alive.
// - Where windows are counted, no monotonic clock leaps by itself. Its sidecar would reckon with
//   wrong wall clocks of the others until they tell them again, for ten seconds at most, and forget
//   windows.

#include <cstdint>

#include "sim/story.h"

namespace weir::sim {

/// What kind of limits the fleet of a drawn story has.
enum class FaultLimits : std::uint8_t {
    rates,   // 24 limits, and 200 requests a second
    counted  // 12 limits of windows and of requests in flight, and 40 requests a second
};

/// The fleet has 3 to 10 sidecars. A fault ends after half of its minute, so that the fleet can
/// heal and be checked before the next one.
[[nodiscard]] Story draw_fault_story(std::uint64_t seed, double minutes, FaultLimits limits);

}  // namespace weir::sim

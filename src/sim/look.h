#pragma once
// Reads the facts for the checkers out of a simulated sidecar, without changing anything in it.
// Pure functions.

#include <span>
#include <vector>

#include "sim/facts.h"
#include "sim/simulated_sidecar.h"

namespace weir::sim {

/// The limits that these quotas have in the whole fleet.
[[nodiscard]] std::vector<LimitFact> limits_of(
    std::span<const limiter::QuotaDefinition> definitions);

/// What a running process holds. Which process it is, is left open.
[[nodiscard]] ProcessFact look_into(SimulatedSidecar& sidecar, std::uint32_t number, Instant now,
                                    std::span<const LimitFact> limits);
/// Adds what costs by the size of the fleet: whom it takes for alive.
void look_closely(SimulatedSidecar& sidecar, ProcessFact& process);

void add(sync::ToldWeight& sum, const sync::ToldWeight& told);

}  // namespace weir::sim

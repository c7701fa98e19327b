#pragma once
// Reads the facts for the checkers from a simulated sidecar, without changing it. Pure functions.

#include <span>

#include "sim/facts.h"
#include "sim/simulated_sidecar.h"

namespace weir::sim {

/// The facts of a running process. The caller sets ProcessFact::process.
[[nodiscard]] ProcessFact look_into(SimulatedSidecar& sidecar, std::uint32_t number, Instant now,
                                    std::span<const LimitFact> limits);
/// Adds the number of peers that the process believes alive. This costs more the larger the fleet
/// is.
void look_closely(SimulatedSidecar& sidecar, ProcessFact& process);

}  // namespace weir::sim

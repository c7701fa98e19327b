#pragma once
// Reads values of a story file. Times, rates and shares are written as in weir's own settings and
// become the plain numbers with which the simulator computes. Each function reports errors and then
// returns 0. Functions without state; errors go to the caller's diagnostics.

#include <cstdint>

#include "config/diagnostics.h"
#include "config/document.h"
#include "sim/story.h"

namespace weir::sim {

/// Reads "1.5s" as 1.5.
[[nodiscard]] double read_seconds(config::NodeRef node, config::Diagnostics& diagnostics);
/// Reads "500r/s" or "30r/m" as requests per second.
[[nodiscard]] double read_rate(config::NodeRef node, config::Diagnostics& diagnostics);
/// Reads "30%" as 0.3.
[[nodiscard]] double read_share(config::NodeRef node, config::Diagnostics& diagnostics);
/// Reads the number of a sidecar of the fleet; numbers begin at 0.
[[nodiscard]] std::uint32_t read_sidecar(config::NodeRef node, std::uint32_t sidecars,
                                         config::Diagnostics& diagnostics);
/// Reads a range such as "0.96..1.04".
[[nodiscard]] ValueRange read_range(config::NodeRef node, config::Diagnostics& diagnostics);

}  // namespace weir::sim

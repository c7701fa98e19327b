#pragma once
// Finds the limits that the load of a fleet uses. A template such as "user-{id}" has limits of its
// own for each of its instances, so the names in the load decide which limits there are. Plain
// values and pure functions.

#include <span>
#include <string>
#include <vector>

#include "limiter/definition.h"
#include "sim/facts.h"
#include "sim/load.h"

namespace weir::sim {

struct FleetLimits {
    std::vector<LimitFact> limits;
    /// For each leaf of the load, the limits to which its requests are charged, from the leaf
    /// upwards, one chain after the other.
    std::vector<std::vector<LimitIndex>> chains;
};

/// The limits of all quotas with exact names, in the order of the definitions, followed by those of
/// the instances that the load uses.
[[nodiscard]] FleetLimits find_limits(const LoadPlan& load,
                                      std::span<const limiter::QuotaDefinition> definitions);

/// Whether the name falls under a definition, exact or template.
[[nodiscard]] bool is_covered(std::string_view name,
                              std::span<const limiter::QuotaDefinition> definitions);

}  // namespace weir::sim

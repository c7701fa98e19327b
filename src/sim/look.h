#pragma once
// Reads the facts for the checkers from a simulated sidecar. The engine is not changed by it. The
// facts are copies and refer to nothing. Not thread-safe, as nothing of a simulated world is.

#include <optional>
#include <span>

#include "sim/facts.h"
#include "sim/simulated_sidecar.h"

namespace weir::sim {

/// The facts of a running process. The caller sets ProcessFact::process. The runs that the
/// sidecar's ledger has noted as begun are taken out of it, so each is in one look only.
[[nodiscard]] ProcessFact look_into(SimulatedSidecar& sidecar, std::uint32_t number, Instant now,
                                    std::span<const LimitFact> limits);
/// A limit of windows, or of requests in flight, as the process has it; nothing if it has not used
/// the limit.
[[nodiscard]] std::optional<limiter::LimitStatus> find_status(SimulatedSidecar& sidecar,
                                                              const LimitFact& limit, Instant now);
/// Adds what the process has of limits of windows and of requests in flight.
void look_at_counts(SimulatedSidecar& sidecar, ProcessFact& process, Instant now,
                    std::span<const LimitFact> limits);
/// Adds the number of peers that the process believes alive. This costs more the larger the fleet
/// is.
void look_closely(SimulatedSidecar& sidecar, ProcessFact& process);

}  // namespace weir::sim

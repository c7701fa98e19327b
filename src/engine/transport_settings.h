#pragma once
// What the engine's options mean for the transport of messages. Pure and thread-safe.

#include "engine/engine.h"
#include "membership/transport.h"

namespace weir::engine {

[[nodiscard]] inline membership::TransportSettings transport_settings(
    const EngineOptions& options) {
    membership::TransportSettings settings;
    settings.cluster_name = options.cluster_name;
    settings.self = options.advertise;
    settings.flags.anchor = options.anchor;
    settings.membership = options.membership;
    settings.counter_budget = membership::counter_budget_of(options.sync.counter_bytes);
    settings.membership_budget.bytes_per_second *= options.membership_bytes_share;
    settings.membership_budget.burst *= options.membership_bytes_share;
    return settings;
}

}  // namespace weir::engine

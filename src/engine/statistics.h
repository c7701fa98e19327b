#pragma once
// What the engine counts, for metrics and for tests. Plain values, copied out.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/endpoint.h"
#include "base/instant.h"

namespace weir::engine {

/// Messages and datagrams of the counter synchronisation. All are totals since the start.
struct SyncStatistics {
    std::uint64_t deltas_sent = 0;
    std::uint64_t deltas_received = 0;
    std::uint64_t deltas_resent = 0;
    std::uint64_t totals_sent = 0;
    std::uint64_t totals_received = 0;
    std::uint64_t publications = 0;
    std::uint64_t handovers_sent = 0;
    std::uint64_t handovers_received = 0;
    std::uint64_t names_asked = 0;
    std::uint64_t names_told = 0;

    // The three rules and the silence rules at work.
    std::uint64_t baselines = 0;
    std::uint64_t late_lumps = 0;
    std::uint64_t ceiling_hits = 0;
    std::uint64_t stops = 0;
    std::uint64_t splits = 0;
    std::uint64_t silent_origins = 0;
    std::uint64_t discarded_after_stop = 0;

    // What was refused or dropped, by reason.
    std::uint64_t refused_values = 0;         // not finite, negative, beyond the clamp
    std::uint64_t refused_falling = 0;        // a cumulative count that fell within its run
    std::uint64_t refused_not_owner = 0;      // a delta for a shard that is not ours
    std::uint64_t refused_unknown = 0;        // a total for a limit we do not use
    std::uint64_t refused_stale = 0;          // a total older than a second
    std::uint64_t dropped_synced_limits = 0;  // table of synced limits full
    std::uint64_t dropped_owned_limits = 0;   // table of owned limits full
    std::uint64_t dropped_cells = 0;          // too many origins of one limit
    std::uint64_t dropped_entries = 0;        // the datagram budget was used up
};

struct Statistics {
    SyncStatistics sync;

    std::uint64_t synced_limits = 0;
    std::uint64_t owned_limits = 0;
    std::uint64_t cells = 0;
    std::uint64_t hot_limits = 0;

    std::uint64_t datagrams_in = 0;
    std::uint64_t datagrams_out = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    /// Messages by type ("delta", "total", "ping", ...).
    std::map<std::string, std::uint64_t> messages_in;
    std::map<std::string, std::uint64_t> messages_out;
    /// Refused datagrams by reason.
    std::map<std::string, std::uint64_t> rejected;

    std::map<std::string, std::uint64_t> peers_by_state;
    /// The peer of whom the most counter values were refused, if any.
    std::optional<Endpoint> most_refused_peer;
    std::uint64_t most_refused_count = 0;
    /// The age of the oldest view that is believed.
    Duration staleness{};
};

}  // namespace weir::engine

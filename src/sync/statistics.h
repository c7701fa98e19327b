#pragma once
// What the counter synchronisation counts and shows, for metrics and for tests. Plain values,
// copied out.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/endpoint.h"
#include "base/instant.h"

namespace weir::sync {

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
    std::uint64_t room_made = 0;  // owned limits that nobody used made room for others

    // The three rules and the silence rules at work.
    std::uint64_t baselines = 0;
    std::uint64_t late_lumps = 0;
    std::uint64_t ceiling_hits = 0;
    std::uint64_t stops = 0;
    std::uint64_t splits = 0;
    std::uint64_t isolations = 0;
    std::uint64_t silent_origins = 0;
    std::uint64_t unreachable = 0;  // members given up since their host refused datagrams
    std::uint64_t discarded_after_stop = 0;

    // What was refused or dropped, by reason.
    std::uint64_t refused_values = 0;         // not finite, negative, beyond the clamp
    std::uint64_t refused_falling = 0;        // a cumulative count that fell within its run
    std::uint64_t refused_leaps = 0;          // more than can have happened
    std::uint64_t refused_not_owner = 0;      // a delta for a shard that is not ours
    std::uint64_t refused_unknown = 0;        // a total for a limit we do not use
    std::uint64_t refused_stale = 0;          // a total older than a second
    std::uint64_t dropped_synced_limits = 0;  // table of synced limits full
    std::uint64_t dropped_owned_limits = 0;   // table of owned limits full
    std::uint64_t dropped_cells = 0;          // too many origins of one limit
    std::uint64_t dropped_entries = 0;        // the datagram budget was used up
    std::uint64_t refused_definitions = 0;    // the limiter had no room for them
};

/// What became of the weight that origins told an owner of for one limit: the level took it, or one
/// of the three rules forgave it, or it was refused as a lie. For what the cells hold or held,
///     cells + forgotten = counted + first_sight + late + ceiling + refused - drained.
struct ToldWeight {
    double counted = 0;      // taken into the level, also in advance
    double first_sight = 0;  // rule 1: a baseline
    double late = 0;         // rule 2: a late lump beyond its last second's share and the balance
    double ceiling = 0;      // rule 3: above the ceiling
    double refused = 0;      // more than can have happened
    double drained = 0;      // reckoned in advance, not admitted, and drained before that was known
    double forgotten = 0;    // in cells that were dropped, or that began a new run
};

struct PeerRefusals {
    Endpoint peer;
    std::uint64_t count = 0;
};

/// When the owners of a limit were heard of last, ourselves not counted.
struct LimitSilence {
    std::string quota;
    std::string_view unit;
    Duration period{};
    /// Since any of them was; of one that was never answered, since it was first used.
    Duration silence{};
    std::uint32_t owners = 0;
    std::uint32_t believed = 0;  // of them, whose word holds now
    bool isolated = false;
};

}  // namespace weir::sync

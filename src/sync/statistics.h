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
    std::uint64_t deltas_resent = 0;   // after one that was not answered in time
    std::uint64_t deltas_put_off = 0;  // they were due, and there was no room to send them
    std::uint64_t totals_sent = 0;
    std::uint64_t totals_received = 0;
    std::uint64_t publications = 0;
    std::uint64_t publications_put_off = 0;
    std::uint64_t quiet_sent = 0;  // entries of quiet limits
    std::uint64_t quiet_received = 0;
    std::uint64_t quiet_resent = 0;
    std::uint64_t orders_put_off = 0;  // to wake
    std::uint64_t quiet_put_off = 0;
    std::uint64_t quiet_given_up = 0;  // how often an entry was sent no more, as nobody answered
    std::uint64_t children_told = 0;   // tellings of the children of parents that shed fairly
    std::uint64_t allowances_reported = 0;  // to owners of limits of requests in flight
    std::uint64_t allowances_granted = 0;   // by this member, as their owner
    std::uint64_t windows_reported = 0;     // what was admitted in a window, to its owners
    std::uint64_t windows_granted = 0;      // by this member, as the first owner of the limit
    std::uint64_t windows_put_off = 0;      // reports that waited for room in the budget
    std::uint64_t owners_lost = 0;          // shards all of whose owners were lost at once
    std::uint64_t woken = 0;                // limits that this member, as their owner, woke
    std::uint64_t fallen_quiet = 0;         // limits that fell quiet here
    std::uint64_t handovers_sent = 0;
    std::uint64_t handovers_received = 0;
    std::uint64_t names_asked = 0;
    std::uint64_t names_told = 0;
    /// How often a tick looked at a limit, as an origin or as an owner. Limits without load are not
    /// looked at.
    std::uint64_t looks = 0;
    std::uint64_t room_made = 0;  // unused owned limits that were dropped to make room for others

    // How often the three rules for increases and the rules for silence were applied.
    std::uint64_t baselines = 0;
    std::uint64_t late_lumps = 0;
    std::uint64_t ceiling_hits = 0;
    std::uint64_t stops = 0;
    std::uint64_t splits = 0;
    std::uint64_t isolations = 0;
    std::uint64_t silent_origins = 0;
    std::uint64_t unreachable = 0;  // members given up because their host refused datagrams
    std::uint64_t discarded_after_stop = 0;

    // Values and entries that were refused or dropped, by reason.
    std::uint64_t skipped_kinds = 0;    // entries about limits that a later version knows
    std::uint64_t refused_values = 0;   // not finite, negative or out of range
    std::uint64_t refused_falling = 0;  // a cumulative count that fell within its run
    std::uint64_t refused_leaps = 0;    // more than can have happened
    std::uint64_t refused_not_owner =
        0;  // for a shard that is not owned here, or not as the first owner
    std::uint64_t refused_unknown = 0;  // a total, an answer or a place that says nothing here
    std::uint64_t dropped_synced_limits = 0;  // the table of synced limits was full
    std::uint64_t dropped_owned_limits = 0;   // the table of owned limits was full
    std::uint64_t dropped_cells = 0;          // one limit had too many origins
    std::uint64_t dropped_entries = 0;        // the queue was full, or the receiver unknown
    std::uint64_t dropped_datagrams = 0;      // the budget of counters was used up
    std::uint64_t refused_definitions = 0;    // the limiter had no room for the definitions
};

struct PeerRefusals {
    Endpoint peer;
    std::uint64_t count = 0;
};

/// A kind of limit that only a later version knows, and the member that last told of one.
struct LaterKind {
    std::uint8_t kind = 0;
    Endpoint peer;
    Instant at{};
};

/// When the owners of a limit were last heard, without this member itself.
struct LimitSilence {
    std::string quota;
    std::string_view unit;
    Duration period{};
    /// The time since any of them was heard; if none ever was, since the limit was first used.
    Duration silence{};
    std::uint32_t owners = 0;
    std::uint32_t believed = 0;  // those of them that are believed now
    bool isolated = false;
};

}  // namespace weir::sync

#pragma once
// What the engine counts, for metrics and for tests. Plain values, copied out.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "base/instant.h"
#include "engine/definition_counters.h"

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

struct PeerRefusals {
    Endpoint peer;
    std::uint64_t count = 0;
};

/// Somebody whose datagrams cannot or must not be read: what they claim, which anybody can invent.
struct StrangerStatus {
    Endpoint from;
    std::string_view reason;  // as of weir_gossip_rejected_packets_total
    std::uint32_t key = 0;    // id of the key it seals with; 0: none
    std::uint64_t datagrams = 0;
    Duration silence{};  // since the last of them
};

/// How this sidecar's gossip is sealed, and who does not fit.
struct SealStatus {
    std::vector<std::uint32_t> keys;  // ids of the ring, the one that seals first; none: unsealed
    std::vector<StrangerStatus> strangers;  // heard of lately, most datagrams first
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

struct Statistics {
    SyncStatistics sync;
    DefinitionSyncCounters definitions;
    DefinitionStoreCounters definition_store;
    BulkCounters bulk;

    std::uint64_t synced_limits = 0;
    std::uint64_t owned_limits = 0;
    std::uint64_t cells = 0;
    std::uint64_t hot_limits = 0;
    /// Limits whose mode for isolation holds now.
    std::uint64_t isolated_limits = 0;

    std::uint64_t datagrams_in = 0;
    std::uint64_t datagrams_out = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    /// Messages by type ("delta", "total", "ping", ...).
    std::map<std::string, std::uint64_t> messages_in;
    std::map<std::string, std::uint64_t> messages_out;
    /// Refused datagrams by reason.
    std::map<std::string, std::uint64_t> rejected;
    std::uint64_t opened_with_second_key = 0;

    std::map<std::string, std::uint64_t> peers_by_state;
    /// The peers of whom values were refused or clamped, those with most first; 16 at most.
    std::vector<PeerRefusals> refused_by_peer;
    /// How old what is known here of the others may be, at most over all limits with load here:
    /// what is believed, since its owner was heard and as long as its answers took lately; as an
    /// owner, since each of the other origins was heard. What is silent without a goodbye goes on
    /// ageing.
    Duration staleness{};
    /// By how much longer keep-alives and error budget are, 1 to 3: as this sidecar asks of its
    /// reporters when it is under pressure as an owner, and as owners ask of it at most.
    double pace_asked = 1;
    double pace_followed = 1;
};

}  // namespace weir::engine

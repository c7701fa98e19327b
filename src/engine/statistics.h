#pragma once
// What the engine counts, for metrics and for tests. Plain values, copied out.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "base/instant.h"
#include "definitions/counters.h"
#include "sync/statistics.h"

namespace weir::engine {

/// A sender whose datagrams cannot be read or must not be. Everything here is what the datagrams
/// say, which anybody can forge.
struct StrangerStatus {
    Endpoint from;
    std::string_view reason;  // a label value of weir_gossip_rejected_packets_total
    std::uint32_t key = 0;    // id of the key that sealed them; 0: not sealed
    std::uint64_t datagrams = 0;
    Duration silence{};  // since the last of them
};

/// How this member's gossip is sealed, and whose datagrams do not fit.
struct SealStatus {
    // Ids of the keys, first the one that seals; empty: not sealed.
    std::vector<std::uint32_t> keys;
    std::vector<StrangerStatus> strangers;  // those heard lately, first those with most datagrams
};

struct EngineStatistics {
    sync::SyncStatistics sync;
    definitions::DefinitionExchangeCounters definitions;
    definitions::DefinitionStoreCounters definition_store;
    definitions::BulkCounters bulk;

    std::uint64_t synced_limits = 0;
    std::uint64_t owned_limits = 0;
    // Those of them that are looked at regularly; the others rest.
    std::uint64_t awake_synced_limits = 0;
    std::uint64_t awake_owned_limits = 0;
    std::uint64_t quiet_synced_limits = 0;  // beside those: quiet limits that are used here
    std::uint64_t quiet_owned_limits = 0;   // and quiet limits that this member was told of
    std::uint64_t fair_parents = 0;         // limits that shed fairly between children here
    std::uint64_t fair_children = 0;        // and the children whose rates are known
    std::uint64_t told_allowances = 0;      // of limits of requests in flight, by their owners
    std::uint64_t divided_limits = 0;       // such limits that this member divides
    std::uint64_t used_windows = 0;         // limits whose present window was used here
    std::uint64_t kept_windows = 0;         // and those whose counts this member keeps as an owner
    std::uint64_t uncertain_windows = 0;    // those of them of which counts may be missing
    Duration clock_difference{};            // this machine's wall clock less the fleet's
    std::uint64_t cells = 0;
    std::uint64_t hot_limits = 0;
    /// Limits that are isolated now, so that the quota's `when_isolated` is in force.
    std::uint64_t isolated_limits = 0;
    /// Whether this member hears most of the members that there were lately (sync::Side).
    bool hears_most = true;
    bool is_anchor = false;     // this member is one
    std::uint64_t anchors = 0;  // that live, this member included if it is one

    std::uint64_t datagrams_in = 0;
    std::uint64_t datagrams_out = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint64_t counter_bytes_out = 0;  // of those, what the budget of counters bounds
    /// Messages by type ("delta", "total", "ping", ...).
    std::map<std::string, std::uint64_t> messages_in;
    std::map<std::string, std::uint64_t> messages_out;
    /// Datagrams refused, by reason.
    std::map<std::string, std::uint64_t> rejected;
    std::uint64_t opened_with_second_key = 0;

    std::map<std::string, std::uint64_t> peers_by_state;
    /// At most 16 peers whose values were refused or clamped, first those with most of them.
    std::vector<sync::PeerRefusals> refused_by_peer;
    /// The staleness: the greatest age of what this member knows of the others, over all limits
    /// with load here. For a limit that it reports, the age counts from the believed owner's last
    /// message, plus the time that its answers took lately. For a limit that it owns, the age
    /// counts from the last message of each other origin. Members that fell silent without a
    /// goodbye still count.
    Duration staleness{};
    /// The factors, 1 to 3, by which keep-alives and the error budget are lengthened. pace_asked is
    /// what this member asks of its origins because it is overloaded as an owner; pace_followed is
    /// the largest that owners ask of it.
    double pace_asked = 1;
    double pace_followed = 1;
};

}  // namespace weir::engine

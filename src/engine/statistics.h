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

struct Statistics {
    sync::SyncStatistics sync;
    definitions::DefinitionExchangeCounters definitions;
    definitions::DefinitionStoreCounters definition_store;
    definitions::BulkCounters bulk;

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
    std::vector<sync::PeerRefusals> refused_by_peer;
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

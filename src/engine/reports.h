#pragma once
// What a member shows to people and to monitoring: its peers, its limits, its statistics. Plain
// values, and functions that read the parts of an engine and change nothing.
//
// Thread-safety: none, belongs to the control thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "base/instant.h"
#include "engine/statistics.h"
#include "limiter/statistics.h"

namespace weir::limiter {
class Limiter;
}
namespace weir::membership {
class Transport;
}
namespace weir::definitions {
class DefinitionExchange;
class DefinitionStore;
}  // namespace weir::definitions
namespace weir::sync {
class CounterExchange;
struct SyncSettings;
}  // namespace weir::sync

namespace weir::engine {

/// A peer, for GET /v1/peers and the metric weir_peers{state}.
struct PeerReport {
    Endpoint address;
    std::uint64_t incarnation = 0;
    std::string_view state;  // "alive", "suspect", "dead", "left" or "replaced"
    /// The time since its last datagram that could be opened or, of a peer that has left or died,
    /// since then. Nothing when there was no datagram.
    std::optional<Duration> silence;
    /// How many of its counter values and definitions were impossible and therefore refused or
    /// clamped.
    std::uint64_t refused_values = 0;
    bool self = false;
    bool anchor = false;
    /// The round trip of the last ping that it answered; nothing when it answered none.
    std::optional<Duration> round_trip;
    /// The id of the key that sealed its last datagram; 0: the datagram was not sealed.
    std::uint32_t key = 0;
    /// The definitions that it has, by its last digest; nothing before the first digest.
    struct Definitions {
        struct Set {
            std::string name;
            std::uint64_t generation = 0;
            std::uint64_t content_hash = 0;
            std::optional<std::uint64_t> on_disk{};  // the content of its file, if it votes
        };
        std::vector<Set> sets;
        std::uint64_t overrides_hash = 0;
        Duration age{};
        bool same = false;  // they are the same as here
    };
    std::optional<Definitions> definitions{};
};

/// One limit of a quota, as this member knows it.
struct LimitReport {
    std::string_view unit;
    Duration period{};
    double amount_per_second = 0;
    double low = 0;
    double high = 0;
    double level = 0;
    /// The offered rate of the whole fleet as this member believes it, in weight per second.
    double offered_rate = 0;
    double local_offered_rate = 0;
    double discard_probability = 0;
    double water_line = 0;  // of a quota that sheds fairly; 0 = none
    /// Of a limit that only counts: the requests in flight in this process (then the period is 0),
    /// or what it admitted in the present window. Such a limit has no rate, and its level also has
    /// what is kept for other members.
    std::optional<limiter::CountedHere> counted{};
    limiter::LimitKind kind = limiter::LimitKind::rate;
    std::int64_t window_end = 0;  // of a window: the second since 1970; 0 = there is none now
    Duration window_left{};       // until then
    bool fleet_wide = false;
    /// The limit is isolated, and the quota's `when_isolated` is in force.
    bool isolated = false;
    /// The limit is far below its limit, and only its first owner is told of it.
    bool quiet = false;
    /// How many sidecars report to the owners.
    std::uint32_t origins = 0;
    std::vector<Endpoint> owners;
    /// Those of the owners whose totals are believed now.
    std::vector<Endpoint> heard;
};

struct InstanceReport {
    std::string name;
    std::uint32_t waiting_requests = 0;  // here, for their turn
    std::vector<LimitReport> limits;
};

/// The parts of an engine that reports are read from, all borrowed.
struct ReportSources {
    const membership::Transport& transport;
    const sync::CounterExchange& counters;
    const sync::SyncSettings& settings;
    const definitions::DefinitionStore& store;
    const definitions::DefinitionExchange& exchange;
};

/// This member first, then the members that live, then those that have been gone for at most a
/// minute.
[[nodiscard]] std::vector<PeerReport> report_peers(const ReportSources& from, Instant now);
/// Nothing when there is no instance of that name here.
[[nodiscard]] std::optional<InstanceReport> report_quota(const ReportSources& from,
                                                         limiter::Limiter& limiter,
                                                         std::string_view name, Instant now);
[[nodiscard]] SealStatus report_seal(const membership::Transport& transport, Instant now);
/// All statistics but those of the exchange in bulk.
[[nodiscard]] EngineStatistics report_statistics(const ReportSources& from, Instant now);

}  // namespace weir::engine

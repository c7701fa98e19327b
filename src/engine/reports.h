#pragma once
// What is shown of a member to people and to monitoring: its peers, its limits, its statistics.
// Plain values, and functions that read the parts of an engine and change nothing of what it does.
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
    /// Since the last opened datagram, or of those that are gone since they left or died; nothing
    /// when there was none.
    std::optional<Duration> silence;
    /// Counter values and definitions of it that could not be and were refused or clamped.
    std::uint64_t refused_values = 0;
    bool self = false;
    /// Of the last answered ping; nothing when there was none.
    std::optional<Duration> round_trip;
    /// Id of the key that sealed its last datagram; 0: none.
    std::uint32_t key = 0;
    /// Which definitions it has, by its last digest; nothing before the first one.
    struct Definitions {
        struct Set {
            std::string name;
            std::uint64_t generation = 0;
            std::uint64_t content_hash = 0;
        };
        std::vector<Set> sets;
        std::uint64_t overrides_hash = 0;
        Duration age{};
        bool same = false;  // as here
    };
    std::optional<Definitions> definitions{};
};

/// What one limit of a quota looks like from here.
struct LimitReport {
    std::string_view unit;
    Duration period{};
    double amount_per_second = 0;
    double low = 0;
    double high = 0;
    double level = 0;
    /// The fleet's offered rate as believed here, weight per second.
    double offered_rate = 0;
    double local_offered_rate = 0;
    double discard_probability = 0;
    bool fleet_wide = false;
    /// What the quota says for isolation holds.
    bool isolated = false;
    /// How many sidecars report to the owners.
    std::uint32_t origins = 0;
    std::vector<Endpoint> owners;
    /// The owners whose totals are believed at this moment.
    std::vector<Endpoint> heard;
};

struct QuotaReport {
    std::string name;
    std::vector<LimitReport> limits;
};

/// The parts that reports are read from; all borrowed.
struct ReportSources {
    const membership::Transport& transport;
    const sync::CounterExchange& counters;
    const sync::SyncSettings& settings;
    const definitions::DefinitionStore& store;
    const definitions::DefinitionExchange& exchange;
};

/// Ourselves first, then the live members, then those that are gone since a minute at most.
[[nodiscard]] std::vector<PeerReport> report_peers(const ReportSources& from, Instant now);
/// Nothing when there is no live instance of that name.
[[nodiscard]] std::optional<QuotaReport> report_quota(const ReportSources& from,
                                                      limiter::Limiter& limiter,
                                                      std::string_view name, Instant now);
[[nodiscard]] SealStatus report_seal(const membership::Transport& transport, Instant now);
/// All statistics but those of the exchange in bulk.
[[nodiscard]] Statistics report_statistics(const ReportSources& from, Instant now);

}  // namespace weir::engine

#pragma once
// What the status and admin listeners show and change, as plain values and callbacks. admin sees
// neither proxy nor cluster; the composition root fills these. All callbacks run on the control
// thread and must return quickly. Values are copies: nothing here points into running parts.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "crdt/definition_map.h"
#include "engine/definition_store.h"
#include "engine/engine.h"
#include "limiter/definition.h"

namespace weir::admin {

// ---- health ----------------------------------------------------------------------------------

/// Ready = listening and configured and not draining. Having peers is not a condition.
struct Health {
    bool listening = false;
    bool configured = false;
    bool draining = false;
    [[nodiscard]] bool ready() const { return listening && configured && !draining; }
};

// ---- figures for /metrics --------------------------------------------------------------------

/// Counts per bucket, not cumulative; one more count than bounds, for what lies above the last.
struct HistogramFigures {
    std::vector<double> upper_bounds;
    std::vector<std::uint64_t> counts;
    double sum = 0;
};

struct RequestCount {
    /// admitted, refused, rejected (bad request), failed (upstream) …
    std::string outcome;
    /// A word of a fixed list: never text from a client.
    std::string reason;
    std::uint64_t count = 0;
};

struct ProxyFigures {
    std::vector<RequestCount> requests;
    HistogramFigures decision_seconds;
    /// By code class: 2xx, 3xx, 4xx, 5xx.
    std::map<std::string, HistogramFigures> request_seconds;
    HistogramFigures upstream_seconds;
    std::uint64_t inflight_requests = 0;
    /// Open now, by side: client, upstream.
    std::map<std::string, std::uint64_t> connections;
    /// Bytes by side (client, upstream) and direction (in, out).
    std::map<std::pair<std::string, std::string>, std::uint64_t> bytes;
    /// Everything else that the proxy counts, by a word of a fixed list.
    std::map<std::string, std::uint64_t> events;
};

struct QuotaLimitFigures {
    std::string unit;    // requests, request_bytes …
    std::string period;  // as written: 1s, 1m …
    double rate = 0;     // weight per second
};

/// One definition; for a template the sum over its instances, or their weighted mean.
struct QuotaFigures {
    std::string name;
    double offered = 0;
    double admitted = 0;
    double refused = 0;
    /// Would have been refused, had the quota been enforced.
    double shadow_refused = 0;
    double discard_probability = 0;
    double discard_probability_max = 0;
    /// Level over low burst, of the fullest limit.
    double level_ratio = 0;
    double level_ratio_max = 0;
    std::uint64_t instances = 0;
    /// Requests that were charged to the template's overflow instance.
    std::uint64_t overflowed = 0;
    std::vector<QuotaLimitFigures> limits;
};

struct LimiterFigures {
    std::vector<QuotaFigures> quotas;
    std::uint64_t live_instances = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t created_instances = 0;
    /// Made room for others.
    std::uint64_t replaced_instances = 0;
    std::uint64_t idle_instances_dropped = 0;
    /// Things that should be rare, by a word of a fixed list.
    std::map<std::string, std::uint64_t> events;
};

struct PacketCount {
    std::string direction;  // in, out
    std::string type;       // ping, delta, total …
    std::uint64_t count = 0;
};

struct ClusterFigures {
    std::map<std::string, std::uint64_t> peers;  // by state
    std::vector<PacketCount> packets;            // messages by type
    std::uint64_t datagrams_in = 0;
    std::uint64_t datagrams_out = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::map<std::string, std::uint64_t> rejected_packets;  // by reason
    /// The age of the oldest view that is believed.
    double staleness_seconds = 0;
    std::uint64_t synced_limits = 0;
    std::uint64_t owned_limits = 0;
    std::uint64_t cells = 0;
    std::uint64_t hot_limits = 0;
    /// The counter synchronisation's branches, by a word of a fixed list.
    std::map<std::string, std::uint64_t> sync_events;
    /// The exchange of definitions, likewise.
    std::map<std::string, std::uint64_t> definition_events;
    /// Filled by the composition root from the UDP driver (cluster::Statistics), by a word of a
    /// fixed list: send_errors, receive_pauses, lookup_failures …
    std::map<std::string, std::uint64_t> driver_events;
};

struct QuotaSetFigures {
    std::string name;
    std::uint64_t generation = 0;
    bool has_generation = false;  // otherwise it holds for this sidecar only
    std::string hash;
    std::uint64_t quotas = 0;
    /// A document of the same generation with other content was met.
    bool conflict = false;
};

struct ConfigFigures {
    std::string file;
    /// Of the effective settings.
    std::string hash;
    bool last_reload_successful = true;
    /// Unix time of the last successful load; 0 if never.
    double last_success_seconds = 0;
    std::uint64_t reloads = 0;
    std::uint64_t reload_failures = 0;
    /// Of the last reload: file:line:column: path: what.
    std::vector<std::string> errors;
    std::vector<QuotaSetFigures> quota_sets;
    /// Of everything in force, for comparing peers.
    std::string quotas_hash;
    /// The effective settings as JSON, without secrets; may be empty.
    std::string settings_json;
};

struct BuildFigures {
    std::string version;
    std::string revision;
    std::string compiler;
};

/// Any callback may be empty: its metrics are then left out.
struct MetricsSources {
    std::function<ProxyFigures()> proxy = {};
    std::function<LimiterFigures()> limiter = {};
    std::function<ClusterFigures()> cluster = {};
    std::function<ConfigFigures()> config = {};
    BuildFigures build = {};
    /// metrics.max_quota_series: further quotas are summed in quota="__other__".
    std::size_t max_quota_series = 1000;
};

// ---- the admin API ---------------------------------------------------------------------------

/// An effective definition, where it comes from, and who changed it.
using QuotaRow = engine::ListedDefinition;

struct QuotaReport {
    /// The definition that the name falls under: of exactly this name or a template's.
    std::optional<QuotaRow> row;
    /// Live limits; nothing unless an instance of exactly this name is live here.
    std::optional<engine::QuotaStatus> instance;
    /// Sums over the definition's instances.
    std::optional<QuotaFigures> figures;
};

/// What came of a change.
struct ChangeOutcome {
    /// The version that the change got; nothing when it was refused.
    std::optional<crdt::Version> version;
    ErrorCode code = ErrorCode::invalid_argument;
    std::string message;
    std::vector<limiter::DefinitionError> errors;
};

/// The effective definitions and the API layer's changes to them (engine_quotas.h has the real
/// one).
class QuotaDirectory {
  public:
    virtual ~QuotaDirectory() = default;
    /// At most `count` definitions whose names start with `prefix` and come after `after`, in the
    /// order of their names (bytes).
    [[nodiscard]] virtual std::vector<QuotaRow> page(std::string_view prefix,
                                                     std::string_view after,
                                                     std::size_t count) const = 0;
    /// The definition of exactly this name.
    [[nodiscard]] virtual std::optional<QuotaRow> find(std::string_view name) const = 0;
    /// All that is known of a definition's or an instance's name.
    [[nodiscard]] virtual QuotaReport report(std::string_view name) const = 0;
    /// In force at once and spreading, or refused whole with every reason.
    [[nodiscard]] virtual ChangeOutcome put(const limiter::QuotaDefinition& definition,
                                            const engine::Edit& edit) = 0;
    /// Hides the file layer's quota of that name.
    [[nodiscard]] virtual ChangeOutcome hide(std::string_view name, const engine::Edit& edit) = 0;
    /// Takes the API layer's entry away, so that the file layer's definition holds again.
    [[nodiscard]] virtual ChangeOutcome remove(std::string_view name, const engine::Edit& edit) = 0;
};

struct AdminSources {
    std::function<Health()> health = {};
    std::function<ConfigFigures()> config = {};
    std::function<std::vector<engine::PeerStatus>()> peers = {};
    BuildFigures build = {};
    /// The quota API; must outlive the server. Without one, /v1/quotas answers 404.
    QuotaDirectory* quotas = nullptr;
    std::function<void()> drain = {};
    /// Levels: debug, info, warning, error, off.
    std::function<std::string()> log_level = {};
    /// False for an unknown level.
    std::function<bool(std::string_view)> set_log_level = {};
    /// Seconds since the process started.
    std::function<double()> uptime_seconds = {};
};

}  // namespace weir::admin

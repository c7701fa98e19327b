#pragma once
// What the status and admin listeners show and change, as plain values and callbacks. admin sees
// neither proxy nor cluster; the composition root fills these. All callbacks run on the control
// thread and must return quickly. Values are copies: nothing here points into running parts.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "definitions/map.h"
#include "definitions/store.h"
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
    /// Questions of other proxies.
    std::vector<RequestCount> checks;
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
    double refunded = 0;
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
    /// Those with figures of their own, and "__other__" if there are more definitions.
    std::vector<QuotaFigures> quotas;
    std::uint64_t definitions = 0;
    std::uint64_t live_instances = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t created_instances = 0;
    /// Made room for others.
    std::uint64_t replaced_instances = 0;
    std::uint64_t idle_instances_dropped = 0;
    /// Lack what an edit asked for, until there is room.
    std::uint64_t instances_awaiting_room = 0;
    /// Things that should be rare, by a word of a fixed list.
    std::map<std::string, std::uint64_t> events;
};

struct PacketCount {
    std::string direction;  // in, out
    std::string type;       // ping, delta, total …
    std::uint64_t count = 0;
};

/// How this sidecar's gossip is sealed, and what keeps peers away from it.
struct GossipTrouble {
    /// False without a cluster.
    bool clustered = false;
    engine::SealStatus seal;
    /// Found as seeds, but nobody there takes part: they do not answer, or cannot be read.
    std::vector<Endpoint> silent_seeds;
    /// Whose owners were heard of longest ago, that one first.
    std::vector<sync::LimitSilence> limits;
};

struct ClusterFigures {
    std::map<std::string, std::uint64_t> peers;  // by state
    std::vector<PacketCount> packets;            // messages by type
    std::uint64_t datagrams_in = 0;
    std::uint64_t datagrams_out = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::map<std::string, std::uint64_t> rejected_packets;  // by reason
    /// By address: values that could not be; the 16 peers with most.
    std::map<std::string, std::uint64_t> refused_values;
    /// Opened with the ring's second key.
    std::uint64_t second_key_packets = 0;
    /// Ids of the ring's keys as texts, the one that seals first.
    std::vector<std::string> keys;
    /// The age of the oldest view that is believed.
    double staleness_seconds = 0;
    /// 1 to 3: what it asks of its reporters as an owner, and what owners ask of it.
    double pace_asked = 1;
    double pace_followed = 1;
    std::uint64_t synced_limits = 0;
    std::uint64_t owned_limits = 0;
    std::uint64_t cells = 0;
    std::uint64_t hot_limits = 0;
    std::uint64_t isolated_limits = 0;
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
    /// A newer generation that is being taken in; 0: none.
    std::uint64_t loading_generation = 0;
    /// Why the file here is not what is in force; empty if it is.
    std::string problem = {};
};

/// The overrides on disk (snapshot.file).
struct SnapshotFigures {
    std::string file;
    /// What came of the one found at start: loaded, none, refused.
    std::string found = "none";
    std::uint64_t loaded = 0;  ///< overrides taken from it
    std::uint64_t saves = 0;
    std::uint64_t failures = 0;
    std::uint64_t bytes = 0;      ///< of the last one written
    std::uint64_t overrides = 0;  ///< in it
    /// Unix time of the last one written; 0 if none was.
    double last_success_seconds = 0;
    /// Changes are here that are not on the disk yet.
    bool unsaved = false;
    /// Why the last attempt failed; empty if it did not.
    std::string problem = {};
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
    /// Definitions in force, and changes of them that the limiter has not been given yet.
    std::uint64_t quotas = 0;
    std::uint64_t quotas_waiting = 0;
    /// Of everything in force, for comparing peers.
    std::string quotas_hash;
    /// The effective settings with their sources as JSON, without secrets; may be empty.
    std::string settings_json;
    /// Keys whose change waits for a restart.
    std::vector<std::string> after_restart;
    /// Nothing without snapshot.file.
    std::optional<SnapshotFigures> snapshot = {};
};

/// Memory against limits.memory, or the control group's limit.
struct MemoryFigures {
    std::uint64_t used_bytes = 0;
    std::uint64_t limit_bytes = 0;  ///< 0: there is none
    bool is_short = false;          ///< requests get 503
};

/// Of the status or the admin listener: what became of the connections that were accepted.
struct ListenerFigures {
    std::uint64_t served = 0;
    std::uint64_t evicted = 0;  ///< made room for a newcomer, silent for longest
    std::uint64_t turned_away = 0;
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
    /// Of a program that embeds weir: decisions by outcome.
    std::function<std::map<std::string, std::uint64_t>()> checks = {};
    std::function<MemoryFigures()> memory = {};
    /// By listener: status, admin.
    std::function<std::map<std::string, ListenerFigures>()> listeners = {};
    BuildFigures build = {};
    /// The process's own metrics; a program that embeds weir has its own.
    bool process = true;
    /// metrics.max_quota_series: further quotas are summed in quota="__other__".
    std::size_t max_quota_series = 1000;
    /// metrics.max_quota_bytes: those beyond it, too.
    std::size_t max_quota_bytes = 900'000;
};

// ---- the admin API ---------------------------------------------------------------------------

/// An effective definition, where it comes from, and who changed it.
using QuotaRow = definitions::ListedDefinition;

/// One change that the API layer knows of a quota.
struct QuotaHistoryRow {
    definitions::Version version;
    /// current, replaced, overruled (it came when a newer one was here), expired
    std::string_view state;
    /// set, absent, removed
    std::string_view kind;
    std::string who;
    std::string why;
    Duration age{};
    std::optional<Duration> lifetime;
    std::optional<limiter::QuotaDefinition> definition;
};

struct QuotaReport {
    /// The definition that the name falls under: of exactly this name or a template's.
    std::optional<QuotaRow> row;
    /// Live limits; nothing unless an instance of exactly this name is live here.
    std::optional<engine::QuotaReport> instance;
    /// Sums over the definition's instances.
    std::optional<QuotaFigures> figures;
};

/// What came of a change.
struct ChangeOutcome {
    /// The version that the change got; nothing when it was refused.
    std::optional<definitions::Version> version;
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
    /// What the API layer says and said of exactly this name, newest version first.
    [[nodiscard]] virtual std::vector<QuotaHistoryRow> history(std::string_view name) const = 0;
    /// In force at once and spreading, or refused whole with every reason.
    [[nodiscard]] virtual ChangeOutcome put(const limiter::QuotaDefinition& definition,
                                            const definitions::Edit& edit) = 0;
    /// All of them in force at once, or none.
    [[nodiscard]] virtual definitions::TogetherReport put_together(
        std::span<const definitions::WantedDefinition> wanted, const definitions::Edit& edit) = 0;
    /// Hides the file layer's quota of that name.
    [[nodiscard]] virtual ChangeOutcome hide(std::string_view name,
                                             const definitions::Edit& edit) = 0;
    /// Takes the API layer's entry away, so that the file layer's definition holds again.
    [[nodiscard]] virtual ChangeOutcome remove(std::string_view name,
                                               const definitions::Edit& edit) = 0;
};

struct AdminSources {
    std::function<Health()> health = {};
    std::function<ConfigFigures()> config = {};
    std::function<std::vector<engine::PeerReport>()> peers = {};
    std::function<GossipTrouble()> gossip = {};
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

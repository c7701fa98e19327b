#pragma once
// What the status and admin listeners show and change, as plain values and callbacks. The module
// admin depends on neither proxy nor cluster; the program that puts the sidecar together fills in
// these values and callbacks.
//
// Thread-safety: the callbacks run on the control thread and must return quickly.
// Ownership: values are copies; nothing in them points into running parts.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/problem.h"
#include "base/result.h"
#include "definitions/definition_error.h"
#include "definitions/map.h"
#include "definitions/store.h"
#include "engine/engine.h"
#include "limiter/definition.h"
#include "limiter/statistics.h"

namespace weir::admin {

// ---- health ----------------------------------------------------------------------------------

/// Whether the sidecar is ready. It is ready when it listens, has its configuration with all quotas
/// of its files, and does not drain. It need not have peers.
struct Health {
    bool listening = false;
    bool configured = false;
    bool draining = false;
    bool loading = false;  ///< the first quotas of the files are not all in force yet
    [[nodiscard]] bool ready() const { return listening && configured && !draining && !loading; }
};

// ---- figures for /metrics --------------------------------------------------------------------

/// A histogram. `counts` has one count for each bucket, which are not cumulative, and one more for
/// values above the last bound.
struct HistogramFigures {
    std::vector<double> upper_bounds;
    std::vector<std::uint64_t> counts;
    double sum = 0;
};

/// Requests of one outcome and reason.
struct RequestCount {
    /// admitted, refused, rejected (bad request), failed (upstream) …
    std::string outcome;
    /// A word of a fixed list, never a text from a client.
    std::string reason;
    std::uint64_t count = 0;
};

/// The figures of the proxy. Counts grow for as long as the process runs; durations are in seconds.
struct ProxyFigures {
    /// Requests that have ended.
    std::vector<RequestCount> requests;
    /// Questions of other proxies (/check) that were answered.
    std::vector<RequestCount> checks;
    /// The time of routing and limiter for one request; of a sample of the requests.
    HistogramFigures decision_seconds;
    /// The time from the end of a request's head to the end of its answer, by class of status code:
    /// 2xx, 3xx, 4xx, 5xx.
    std::map<std::string, HistogramFigures> request_seconds;
    /// The time from sending a request to the head of the upstream's response.
    HistogramFigures upstream_seconds;
    HistogramFigures wait_seconds;
    std::uint64_t waiting = 0;
    std::uint64_t inflight_requests = 0;
    std::uint64_t tunnels = 0;  ///< open now, each the rest of a request that is being served
    /// Connections that are open now, by side: client, upstream.
    std::map<std::string, std::uint64_t> connections;
    /// Bytes by side (client, upstream) and direction: read (in), written (out).
    std::map<std::pair<std::string, std::string>, std::uint64_t> bytes;
    /// Requests and checks that no quota limits, by the place of their route.
    std::map<std::string, std::uint64_t> unlimited;
    std::map<std::string, std::uint64_t> partly_unlimited;
    /// All other counters of the proxy, by a word of a fixed list.
    std::map<std::string, std::uint64_t> events;
};

/// One rate of a definition.
struct QuotaLimitFigures {
    std::string unit;    // requests, request_bytes …
    std::string period;  // as written: 1s, 1m …
    double rate = 0;     // weight per second
};

/// A limit of windows, of a definition: the weight that each window admits, and of this process,
/// over all instances, what it has admitted in the present ones and how much it may admit.
struct WindowFigures {
    std::string unit;
    std::string period;
    double amount = 0;
    limiter::CountedHere here;
};

/// The figures of one definition: counters are summed over its instances, gauges are means weighted
/// by the offered rates. Weights are in the unit of its first limit.
struct QuotaFigures {
    std::string name;
    double offered = 0;
    double admitted = 0;
    double refused = 0;
    /// Weight that passed, but would have been refused if the quota had been enforced.
    double shadow_refused = 0;
    double refunded = 0;
    double discard_probability = 0;
    double discard_probability_max = 0;
    /// level/low of the fullest limit.
    double level_ratio = 0;
    double level_ratio_max = 0;
    std::uint64_t instances = 0;
    /// Requests that were charged to the template's overflow instance.
    std::uint64_t overflowed = 0;
    /// Requests that were admitted after they had waited for their turn.
    std::uint64_t waited = 0;
    std::vector<QuotaLimitFigures> limits;
    std::vector<WindowFigures> windows{};
    /// The most requests that may be in flight at once, if the quota has such a limit.
    std::optional<double> concurrency{};
    limiter::CountedHere in_flight{};  // under such a limit
};

/// The figures of the limiter.
struct LimiterFigures {
    /// The definitions that have figures of their own, and "__other__" if there are more.
    std::vector<QuotaFigures> quotas;
    std::uint64_t definitions = 0;
    std::uint64_t live_instances = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t created_instances = 0;
    /// Instances that were dropped to make room for others.
    std::uint64_t replaced_instances = 0;
    std::uint64_t idle_instances_dropped = 0;
    /// Instances that lack the parent or a record that an edit gave them, until there is room for
    /// it.
    std::uint64_t instances_awaiting_room = 0;
    /// Events that should be rare, by a word of a fixed list.
    std::map<std::string, std::uint64_t> events;
};

/// Messages of one type in one direction.
struct PacketCount {
    std::string direction;  // in, out
    std::string type;       // ping, delta, total …
    std::uint64_t count = 0;
};

/// How this sidecar's gossip is sealed, and what keeps peers away from it.
struct GossipTrouble {
    /// False when the sidecar has no cluster. All other members are empty then.
    bool clustered = false;
    engine::SealStatus seal;
    /// Addresses that were found as seeds, but where no peer takes part: it does not answer, or its
    /// answers cannot be read.
    std::vector<Endpoint> silent_seeds;
    /// Limits and when their owners were last heard; the longest silence comes first.
    std::vector<sync::LimitSilence> limits;
    /// Kinds of limits of later versions that peers told of, so that their entries were skipped.
    std::vector<sync::LaterKind> later_kinds;
};

/// The figures of gossip and synchronisation. Counts grow for as long as the process runs.
struct ClusterFigures {
    std::map<std::string, std::uint64_t> peers;  // by state
    std::vector<PacketCount> packets;            // messages by type
    std::uint64_t datagrams_in = 0;
    std::uint64_t datagrams_out = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint64_t counter_bytes_out = 0;
    std::map<std::string, std::uint64_t> rejected_packets;  // by reason
    /// Values from peers that were refused as impossible, by the peer's address; of the 16 peers
    /// with the most of them.
    std::map<std::string, std::uint64_t> refused_values;
    /// Datagrams that were opened with the second key of the key file.
    std::uint64_t second_key_packets = 0;
    /// The ids of the keys as texts; the key that seals comes first.
    std::vector<std::string> keys;
    /// How old the oldest news is that a limit in use has of what other members admit.
    double staleness_seconds = 0;
    /// The pace, 1 to 3: the one that this member asks of others as an owner, and the one that
    /// owners ask of it.
    double pace_asked = 1;
    double pace_followed = 1;
    std::uint64_t synced_limits = 0;
    std::uint64_t owned_limits = 0;
    std::uint64_t awake_synced_limits = 0;
    std::uint64_t awake_owned_limits = 0;
    std::uint64_t quiet_synced_limits = 0;
    std::uint64_t quiet_owned_limits = 0;
    std::uint64_t fair_parents = 0;
    std::uint64_t fair_children = 0;
    std::uint64_t told_allowances = 0;
    /// Limits whose present window was used here, and those whose counts this sidecar keeps.
    std::uint64_t used_windows = 0;
    std::uint64_t kept_windows = 0;
    std::uint64_t uncertain_windows = 0;  ///< those of which counts may be missing
    double clock_difference_seconds = 0;  // this machine's wall clock less the fleet's
    std::uint64_t divided_limits = 0;
    std::uint64_t cells = 0;
    std::uint64_t hot_limits = 0;
    std::uint64_t isolated_limits = 0;
    bool hears_most = true;
    bool is_anchor = false;     // this member is one
    std::uint64_t anchors = 0;  // that live, this member included if it is one
    /// Events of the synchronisation of limits, by a word of a fixed list.
    std::map<std::string, std::uint64_t> sync_events;
    /// Events of the exchange of definitions, by a word of a fixed list.
    std::map<std::string, std::uint64_t> definition_events;
    /// Events of the UDP sockets (cluster::ClusterStatistics), by a word of a fixed list:
    /// send_errors, receive_pauses, lookup_failures …
    std::map<std::string, std::uint64_t> driver_events;
};

/// One quota set as this sidecar has it.
struct QuotaSetFigures {
    std::string name;
    std::uint64_t generation = 0;
    bool has_generation = false;  // the set's file gives it a number
    bool automatic = false;       // the fleet decides which content is in force
    // If neither is true, the set holds for this sidecar only.
    std::uint64_t epoch = 0;  // number of the decision about an automatic set; 0: none was made
    std::string hash;
    std::uint64_t quotas = 0;
    /// This sidecar has seen a document of the same generation with other content.
    bool conflict = false;
    /// The newer generation that is being received and put in force; 0 if there is none.
    std::uint64_t loading_generation = 0;
    /// Why the file of this sidecar is not in force; empty if it is.
    std::string problem = {};
};

/// The snapshot of overrides, counts and levels on disk (snapshot.file).
struct SnapshotFigures {
    std::string file;
    /// What became of the file at start: loaded, none (there was no file) or refused.
    std::string found = "none";
    std::uint64_t loaded = 0;  ///< overrides taken from it at start
    std::uint64_t saves = 0;
    std::uint64_t failures = 0;
    std::uint64_t bytes = 0;      ///< of the last snapshot that was written
    std::uint64_t overrides = 0;  ///< in the last snapshot that was written
    /// What runs of members had admitted in windows of limits, as counts: those taken from the file
    /// at start, and those in the last snapshot that was written.
    std::uint64_t loaded_counts = 0;
    std::uint64_t counts = 0;
    /// The same of long levels.
    std::uint64_t loaded_levels = 0;
    std::uint64_t levels = 0;
    /// Unix time at which the last snapshot was written; 0 if none was.
    double last_success_seconds = 0;
    /// There are changes that are not on the disk yet, or counts that have changed, or long levels
    /// that have risen.
    bool unsaved = false;
    bool unsaved_counts = false;
    bool unsaved_levels = false;
    /// Why the last attempt to write failed; empty if it did not.
    std::string problem = {};
};

/// The settings and quota sets of this sidecar.
struct ConfigFigures {
    std::string file;
    /// A hash of the effective settings.
    std::string hash;
    bool last_reload_successful = true;
    /// Unix time of the last successful load; 0 if never.
    double last_success_seconds = 0;
    std::uint64_t reloads = 0;
    std::uint64_t reload_failures = 0;
    /// The errors of the last reload, each as file:line:column: path: what.
    std::vector<std::string> errors;
    std::vector<QuotaSetFigures> quota_sets;
    /// The number of definitions in force, and of changes that the limiter has not been given yet.
    std::uint64_t quotas = 0;
    std::uint64_t quotas_waiting = 0;
    /// The number of definitions with limits that only a later version of weir knows.
    std::uint64_t quotas_incomplete = 0;
    /// A hash of all definitions in force, for comparing peers.
    std::string quotas_hash;
    /// The effective settings with their sources as JSON, without secrets; may be empty.
    std::string settings_json;
    /// Keys whose new value takes effect only after a restart.
    std::vector<std::string> after_restart;
    /// Nothing if the key snapshot.file is not set.
    std::optional<SnapshotFigures> snapshot = {};
};

/// The memory in use, and its limit: limits.memory or the limit of the control group.
struct MemoryFigures {
    std::uint64_t used_bytes = 0;
    std::uint64_t limit_bytes = 0;  ///< 0: there is no limit
    bool is_short = false;          ///< requests get 503 because memory is short
};

/// What became of the connections that the status or the admin listener accepted.
struct ListenerFigures {
    std::uint64_t served = 0;
    /// Closed to make room for a new one, because it was silent for longest.
    std::uint64_t evicted = 0;
    std::uint64_t turned_away = 0;  // closed at once, because no other connection could make room
};

struct BuildFigures {
    std::string version;
    std::string revision;
    std::string compiler;
};

/// Where /metrics gets its figures. A callback may be empty: then its metrics are left out.
struct MetricsSources {
    std::function<ProxyFigures()> proxy = {};
    std::function<LimiterFigures()> limiter = {};
    std::function<ClusterFigures()> cluster = {};
    std::function<ConfigFigures()> config = {};
    /// For a program that embeds weir: its decisions by outcome.
    std::function<std::map<std::string, std::uint64_t>()> checks = {};
    std::function<MemoryFigures()> memory = {};
    std::function<ProblemList()> problems = {};
    /// The figures of the listeners by name: status, admin.
    std::function<std::map<std::string, ListenerFigures>()> listeners = {};
    BuildFigures build = {};
    /// Whether metrics of the process are shown. A program that embeds weir shows its own.
    bool process = true;
    /// metrics.max_quota_series: at most this many quotas have series of their own; the others are
    /// summed up in quota="__other__".
    std::size_t max_quota_series = 1000;
    /// metrics.max_quota_bytes: the bytes that these series may take on the page; quotas for which
    /// they do not suffice are summed up, too.
    std::size_t max_quota_bytes = 900'000;
};

// ---- the admin API ---------------------------------------------------------------------------

/// An effective definition, where it comes from, and who changed it.
using QuotaRow = definitions::ListedDefinition;

/// One change of a quota by the API.
struct QuotaHistoryRow {
    definitions::Version version;
    /// What became of the change: current, replaced, overruled (a newer change was here when it
    /// arrived) or expired.
    std::string_view state;
    /// The kind of the change: set, absent or removed.
    std::string_view kind;
    std::string who;
    std::string why;
    Duration age{};
    std::optional<Duration> lifetime;
    /// The definition of a change of kind `set`.
    std::optional<limiter::QuotaDefinition> definition;
};

/// Everything that is known of a name.
struct QuotaReport {
    /// The definition that the name falls under: that of exactly this name, or that of a template.
    std::optional<QuotaRow> row;
    /// The limits of the instance of exactly this name; nothing if none is live in this process.
    std::optional<engine::InstanceReport> instance;
    /// The figures of the definition over all its instances.
    std::optional<QuotaFigures> figures;
};

/// The result of a change.
struct ChangeOutcome {
    /// The version that the change got; nothing when it was refused.
    std::optional<definitions::Version> version;
    /// Why the change was refused: this code, a message and, of each error, its place.
    ErrorCode code = ErrorCode::invalid_argument;
    std::string message;
    std::vector<definitions::DefinitionError> errors;
};

/// The effective definitions, and changes of them by the API. engine_quotas.h implements it for a
/// running member.
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
    /// The changes by the API of exactly this name, newest version first.
    [[nodiscard]] virtual std::vector<QuotaHistoryRow> history(std::string_view name) const = 0;
    /// Sets a definition. It is in force here at once and spreads to the fleet, or it is refused as
    /// a whole with all reasons.
    [[nodiscard]] virtual ChangeOutcome put(const limiter::QuotaDefinition& definition,
                                            const definitions::Edit& edit) = 0;
    /// Sets several definitions: either all of them are in force at once, or none.
    [[nodiscard]] virtual definitions::TogetherReport put_together(
        std::span<const definitions::WantedDefinition> wanted, const definitions::Edit& edit) = 0;
    /// Hides the quota of this name that a file defines.
    [[nodiscard]] virtual ChangeOutcome hide(std::string_view name,
                                             const definitions::Edit& edit) = 0;
    /// Takes away what the API says of this name, so that the definition of the files holds again.
    [[nodiscard]] virtual ChangeOutcome remove(std::string_view name,
                                               const definitions::Edit& edit) = 0;
};

/// Who asks for a change and why, as the request says.
struct Caller {
    std::string who;
    std::string why;
};

/// What the admin API shows, and the changes that it makes.
struct AdminSources {
    std::function<Health()> health = {};
    std::function<ConfigFigures()> config = {};
    std::function<std::vector<engine::PeerReport>()> peers = {};
    std::function<GossipTrouble()> gossip = {};
    std::function<ProblemList()> problems = {};
    BuildFigures build = {};
    /// The definitions; must outlive the server. If it is null, /v1/quotas answers 404.
    QuotaDirectory* quotas = nullptr;
    /// Begins to drain the sidecar.
    std::function<void(const Caller&)> drain = {};
    /// The level of the log: debug, info, warning, error or off.
    std::function<std::string()> log_level = {};
    /// Sets the level of the log. False for an unknown level.
    std::function<bool(std::string_view, const Caller&)> set_log_level = {};
    /// Seconds since the process started.
    std::function<double()> uptime_seconds = {};
};

}  // namespace weir::admin

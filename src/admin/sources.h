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
    /// Opened so far, by side.
    std::map<std::string, std::uint64_t> connections_opened;
    /// Not accepted or closed at once, by reason (limit, descriptors …).
    std::map<std::string, std::uint64_t> connections_rejected;
    /// Bytes by side and direction: {client, received} …
    std::map<std::pair<std::string, std::string>, std::uint64_t> bytes;
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
    /// Level over high burst.
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
    std::uint64_t max_instances = 0;
    std::uint64_t memory_bytes = 0;
    /// Requests for which no quota exists.
    std::uint64_t unlimited = 0;
    /// Instances that made room for others, and those dropped when idle.
    std::uint64_t replaced_instances = 0;
};

struct PacketCount {
    std::string direction;  // in, out
    std::string type;       // ping, delta, total …
    std::uint64_t count = 0;
};

struct ClusterFigures {
    std::map<std::string, std::uint64_t> peers;  // by state
    std::vector<PacketCount> packets;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::map<std::string, std::uint64_t> rejected_packets;  // by reason
    /// The longest time since an owner was heard, over the fleet's limits in use here; 0 if none.
    double staleness_seconds = 0;
    std::uint64_t owned_shards = 0;
    std::uint64_t fleet_limits = 0;  // limits that a fleet view is installed for
    std::uint64_t send_errors = 0;
    std::uint64_t receive_pauses = 0;
    std::uint64_t discarded_datagrams = 0;
    std::uint64_t detected_stops = 0;
    std::uint64_t lookups = 0;
    std::uint64_t lookup_failures = 0;
};

struct QuotaSetFigures {
    std::string name;
    std::uint64_t generation = 0;
    std::string hash;
    /// The file it was read from, or `peer` if it came by gossip.
    std::string source;
    std::uint64_t quotas = 0;
    std::vector<std::string> errors;
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
    std::vector<std::string> errors;
    std::vector<QuotaSetFigures> quota_sets;
    /// Effective definitions by source: file, api.
    std::map<std::string, std::uint64_t> quotas;
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
    std::function<ProxyFigures()> proxy;
    std::function<LimiterFigures()> limiter;
    std::function<ClusterFigures()> cluster;
    std::function<ConfigFigures()> config;
    BuildFigures build;
    /// metrics.max_quota_series: further quotas are summed in quota="__other__".
    std::size_t max_quota_series = 1000;
};

// ---- the admin API ---------------------------------------------------------------------------

struct PeerReport {
    std::string address;
    std::string incarnation;
    std::string state;  // self, alive, suspect, dead, left
    /// Since the last packet of it; nothing for oneself or if none ever came.
    std::optional<double> silent_seconds;
    std::optional<double> round_trip_seconds;
};

/// Where an effective definition comes from.
struct QuotaSource {
    std::string layer;           // file, api
    std::string set;             // the file layer's set
    std::uint64_t version = 0;   // generation of the set, or epoch of the API's change
    std::string writer;          // API: the sidecar that the change was made at
    std::string who;             // API
    std::string why;             // API
    double expires_seconds = 0;  // API: unix time, 0 for never
    /// API: the file layer has a definition of that name below.
    bool overrides_file = false;
};

struct QuotaRow {
    limiter::QuotaDefinition definition;
    QuotaSource source;
};

/// One limit of a live quota or instance, now.
struct LimitReport {
    std::string unit;
    std::string period;
    double rate = 0;
    double low = 0;
    double high = 0;
    double level = 0;
    double local_level = 0;
    double offered_rate = 0;
    double local_offered_rate = 0;
    double discard_probability = 0;
    bool shedding = false;
    /// The level is the fleet's; otherwise what this sidecar knows alone.
    bool fleet = false;
    std::optional<double> heard_seconds_ago;
    std::vector<std::string> owners;
};

struct InstanceReport {
    std::string name;
    std::string definition;  // the template's name, or its own
    std::vector<LimitReport> limits;
};

struct QuotaReport {
    /// The effective definition, that of the template for an instance's name.
    std::optional<QuotaRow> row;
    /// Live limits; nothing for a template or an instance that is not live.
    std::optional<InstanceReport> instance;
    /// Sums over a template's instances.
    std::optional<QuotaFigures> figures;
};

struct Change {
    std::string who;
    std::string why;
    /// Unix time; 0 for never.
    double expires_seconds = 0;
};

struct Removal {
    /// False when the API layer has no entry of that name.
    bool found = false;
    std::vector<limiter::DefinitionError> errors;
};

/// The effective definitions and the API layer's changes to them.
class QuotaDirectory {
  public:
    virtual ~QuotaDirectory() = default;
    /// At most `count` effective definitions whose names start with `prefix` and come after
    /// `after`, in the order of their names (bytes).
    [[nodiscard]] virtual std::vector<QuotaRow> page(std::string_view prefix,
                                                     std::string_view after,
                                                     std::size_t count) const = 0;
    /// The effective definition of exactly this name.
    [[nodiscard]] virtual std::optional<QuotaRow> find(std::string_view name) const = 0;
    /// All that is known of a definition's or an instance's name.
    [[nodiscard]] virtual QuotaReport report(std::string_view name) const = 0;
    /// Validates the whole effective set with the definition in it; in force if there are no
    /// errors, unchanged otherwise.
    [[nodiscard]] virtual std::vector<limiter::DefinitionError> put(
        const limiter::QuotaDefinition& definition, const Change& change) = 0;
    /// Hides the file layer's quota of that name.
    [[nodiscard]] virtual std::vector<limiter::DefinitionError> hide(std::string_view name,
                                                                     const Change& change) = 0;
    /// Takes the API layer's entry away, so that the file layer's definition holds again.
    [[nodiscard]] virtual Removal remove(std::string_view name, const Change& change) = 0;
};

struct AdminSources {
    std::function<Health()> health;
    std::function<ConfigFigures()> config;
    std::function<std::vector<PeerReport>()> peers;
    BuildFigures build;
    /// The quota API; must outlive the server. Without one, /v1/quotas answers 404.
    QuotaDirectory* quotas = nullptr;
    std::function<void()> drain;
    /// Levels: trace, debug, info, warning, error.
    std::function<std::string()> log_level;
    /// False for an unknown level.
    std::function<bool(std::string_view)> set_log_level;
    /// Seconds since the process started.
    std::function<double()> uptime_seconds;
};

}  // namespace weir::admin

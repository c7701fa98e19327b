#include "admin/metrics.h"

#include <prometheus/text_serializer.h>

#include <utility>

#include "admin/config_metrics.h"
#include "admin/families.h"
#include "admin/figures.h"
#include "admin/process_figures.h"
#include "admin/quota_metrics.h"
#include "admin/quota_series.h"
#include "net/clock.h"

namespace weir::admin {
namespace {

using CountsByLabel = std::map<std::string, std::uint64_t>;

void add_counts(Family family, const std::string& label, const CountsByLabel& counts) {
    for (const auto& [value, count] : counts) {
        family.add({{label, value}}, number(count));
    }
}

void add_requests(Families& families, const ProxyFigures& proxy) {
    auto requests =
        families.counter("weir_requests_total",
                         "Requests that ended, by what came of them and why. Each counts once.");
    for (const auto& entry : proxy.requests) {
        requests.add({{"outcome", entry.outcome}, {"reason", entry.reason}}, number(entry.count));
    }
    auto checks =
        families.counter("weir_checks_total",
                         "Questions of other proxies (/check) that were answered, by what "
                         "came of them and why.");
    for (const auto& entry : proxy.checks) {
        checks.add({{"outcome", entry.outcome}, {"reason", entry.reason}}, number(entry.count));
    }
    add_counts(families.counter("weir_unlimited_requests_total",
                                "Requests and checks that no quota limits, by route: none of the "
                                "quotas that it names exists, or (none) no route matches."),
               "route", proxy.unlimited);
    add_counts(families.counter("weir_partly_unlimited_requests_total",
                                "Requests and checks that only some of their route's lists of "
                                "quotas limit, by route: another list names none that exists."),
               "route", proxy.partly_unlimited);
    families
        .histogram("weir_decision_duration_seconds",
                   "Time taken by routing and limiter for one request; a sample of the requests.")
        .add({}, proxy.decision_seconds);
    auto durations = families.histogram(
        "weir_request_duration_seconds",
        "Time from the end of a request's head to the end of its answer, by class of status code.");
    for (const auto& [code_class, figures] : proxy.request_seconds) {
        durations.add({{"code_class", code_class}}, figures);
    }
    families
        .histogram("weir_upstream_duration_seconds",
                   "Time from sending a request to the head of the upstream's response.")
        .add({}, proxy.upstream_seconds);
    families
        .histogram("weir_wait_duration_seconds",
                   "Time that requests waited for their turn, however that ended.")
        .add({}, proxy.wait_seconds);
    families
        .gauge("weir_waiting_requests",
               "Requests being served now that wait for their turn, because a quota refuses them.")
        .add(number(proxy.waiting));
    families.gauge("weir_inflight_requests", "Requests being served now.")
        .add(number(proxy.inflight_requests));
    families
        .gauge("weir_tunnels",
               "Requests being served now that have switched to another protocol, such as "
               "WebSocket.")
        .add(number(proxy.tunnels));
}

void add_proxy(Families& families, const ProxyFigures& proxy) {
    add_requests(families, proxy);
    add_counts(families.gauge("weir_connections", "Open connections, by side."), "side",
               proxy.connections);
    auto bytes = families.counter("weir_proxy_bytes_total",
                                  "Bytes read (in) and written (out) by the proxy, by side.");
    for (const auto& [key, count] : proxy.bytes) {
        bytes.add({{"side", key.first}, {"direction", key.second}}, number(count));
    }
    add_counts(families.counter("weir_proxy_events_total",
                                "What else happened in the proxy: connections opened, closed, "
                                "reused, timed out, retries, refunds and the like."),
               "event", proxy.events);
}

void add_limiter(Families& families, LimiterFigures limiter, QuotaSeries& series) {
    families.gauge("weir_quotas", "Quota definitions in force.").add(number(limiter.definitions));
    const auto quotas = series.bound(std::move(limiter.quotas), limiter.definitions);
    add_quotas(families, quotas);
    families
        .counter("weir_metrics_series_dropped_total",
                 "How often a quota got no series of its own, or gave its place to one that "
                 "refuses, since metrics.max_quota_series or "
                 "metrics.max_quota_bytes was reached; these are summed in quota=\"__other__\".")
        .add(number(series.dropped()));
    families.gauge("weir_limiter_instances", "Live quota instances on this sidecar.")
        .add(number(limiter.live_instances));
    families.gauge("weir_limiter_memory_bytes", "Memory of the limiter's instances and tables.")
        .add(number(limiter.memory_bytes));
    families.counter("weir_limiter_instances_created_total", "Quota instances made on first use.")
        .add(number(limiter.created_instances));
    families
        .counter("weir_limiter_instances_replaced_total",
                 "Idle instances that made room for others since a cap was reached.")
        .add(number(limiter.replaced_instances));
    families
        .counter("weir_limiter_instances_dropped_total",
                 "Instances dropped since they were idle and empty.")
        .add(number(limiter.idle_instances_dropped));
    families
        .gauge("weir_limiter_instances_awaiting_room",
               "Live instances without a limit or parent that an edit gave them, since there was "
               "no room.")
        .add(number(limiter.instances_awaiting_room));
    add_counts(families.counter("weir_limiter_events_total",
                                "What should be rare in the limiter: clamped weights, contention, "
                                "refused views."),
               "event", limiter.events);
}

void add_gossip_traffic(Families& families, const ClusterFigures& cluster) {
    auto packets =
        families.counter("weir_gossip_packets_total", "Gossip messages by direction and type.");
    for (const auto& entry : cluster.packets) {
        packets.add({{"direction", entry.direction}, {"type", entry.type}}, number(entry.count));
    }
    families.counter("weir_gossip_datagrams_total", "Datagrams, each of several messages.")
        .add({{"direction", "in"}}, number(cluster.datagrams_in))
        .add({{"direction", "out"}}, number(cluster.datagrams_out));
    families
        .counter("weir_gossip_bytes_total",
                 "Bytes of gossip datagrams, without the IP and UDP headers.")
        .add({{"direction", "in"}}, number(cluster.bytes_in))
        .add({{"direction", "out"}}, number(cluster.bytes_out));
    families
        .counter("weir_gossip_sync_bytes_total",
                 "Bytes of the datagrams with counters that were sent: cluster.counter_bytes "
                 "bounds them.")
        .add({}, number(cluster.counter_bytes_out));
    add_counts(families.counter("weir_gossip_rejected_packets_total",
                                "Datagrams that were dropped unread, by reason."),
               "reason", cluster.rejected_packets);
    add_counts(families.counter("weir_gossip_refused_values_total",
                                "Counter values and definitions of a peer that cannot be true, "
                                "refused or clamped; the 16 peers with most."),
               "peer", cluster.refused_values);
    families
        .counter("weir_gossip_second_key_packets_total",
                 "Datagrams that were opened with the second key of the ring.")
        .add(number(cluster.second_key_packets));
    auto keys = families.gauge("weir_gossip_key_info",
                               "Always 1; the labels tell the ids of the gossip keys in use: the "
                               "first one seals, both are accepted.");
    for (std::size_t i = 0; i < cluster.keys.size(); ++i) {
        keys.add({{"use", i == 0 ? "first" : "second"}, {"id", cluster.keys[i]}}, 1);
    }
}

void add_gossip_limits(Families& families, const ClusterFigures& cluster) {
    families.gauge("weir_gossip_synced_limits", "Limits that this sidecar reports to their owners.")
        .add(number(cluster.synced_limits));
    families.gauge("weir_gossip_owned_limits", "Limits that this sidecar adds up for the fleet.")
        .add(number(cluster.owned_limits));
    families
        .gauge(
            "weir_gossip_awake_limits",
            "Limits that are looked at regularly, because they have load or something is due: of "
            "those that this sidecar reports, and of those that it adds up. All others rest and "
            "cost nothing.")
        .add({{"side", "reported"}}, number(cluster.awake_synced_limits))
        .add({{"side", "owned"}}, number(cluster.awake_owned_limits));
    families
        .gauge("weir_gossip_quiet_limits",
               "Limits so far below their limit that only their first owners hear of them: those "
               "that are used here, and those of which this sidecar was told.")
        .add({{"side", "reported"}}, number(cluster.quiet_synced_limits))
        .add({{"side", "owned"}}, number(cluster.quiet_owned_limits));
    families
        .gauge("weir_gossip_allowances",
               "Limits of requests in flight of which an owner has told this sidecar its part, and "
               "those that this sidecar divides among all.")
        .add({{"side", "told"}}, number(cluster.told_allowances))
        .add({{"side", "divided"}}, number(cluster.divided_limits));
    families
        .gauge(
            "weir_gossip_windows",
            "Limits of windows whose present window was used on this sidecar, those whose counts "
            "it keeps as an owner, and those of them of which counts may be missing.")
        .add({{"side", "used"}}, number(cluster.used_windows))
        .add({{"side", "kept"}}, number(cluster.kept_windows))
        .add({{"side", "uncertain"}}, number(cluster.uncertain_windows));
    families
        .gauge("weir_gossip_clock_difference_seconds",
               "This machine's wall clock less the fleet's, by which windows begin and end.")
        .add(cluster.clock_difference_seconds);
    families
        .gauge("weir_gossip_fair_parents",
               "Limits that shed requests here and divide what they refuse fairly among the "
               "children of their quotas.")
        .add(number(cluster.fair_parents));
    families
        .gauge("weir_gossip_fair_children",
               "Children of those limits whose rates are known here, at most 1,024 of each.")
        .add(number(cluster.fair_children));
}

void add_cluster(Families& families, const ClusterFigures& cluster) {
    add_counts(families.gauge("weir_peers", "Known peers by state, this sidecar not counted."),
               "state", cluster.peers);
    families
        .gauge("weir_role_info",
               "1, with the role of this process: sidecar, or anchor, which has no proxy.")
        .add({{"role", std::string(role_word(cluster.is_anchor))}}, 1);
    families.gauge("weir_gossip_anchors", "Live anchors of the fleet, this process counted.")
        .add(number(cluster.anchors));
    add_gossip_traffic(families, cluster);
    families
        .gauge(
            "weir_gossip_staleness_seconds",
            "How old what is known here of the others' part in a fleet's limit with load may be, "
            "at most: since owners, and as an owner the other origins, were heard. Who is silent "
            "without a goodbye goes on ageing.")
        .add(cluster.staleness_seconds);
    families
        .gauge(
            "weir_gossip_pace",
            "By how much longer keep-alives and error budget are, 1 to 3: asked of its reporters "
            "by this sidecar as an owner, and followed here since owners ask for it.")
        .add({{"side", "asked"}}, cluster.pace_asked)
        .add({{"side", "followed"}}, cluster.pace_followed);
    add_gossip_limits(families, cluster);
    families.gauge("weir_gossip_cells", "Counts of single origins kept for the owned limits.")
        .add(number(cluster.cells));
    families
        .gauge("weir_gossip_hot_limits",
               "Synchronised limits above half of their low burst or shedding.")
        .add(number(cluster.hot_limits));
    families
        .gauge("weir_gossip_isolated_limits",
               "Limits whose owners fell silent or hold the share of silent sidecars: their mode "
               "for isolation is in force.")
        .add(number(cluster.isolated_limits));
    families
        .gauge(
            "weir_gossip_hears_most",
            "1 if this sidecar hears more than half of the sidecars that there were lately, 0 if "
            "it may be cut off from them.")
        .add(cluster.hears_most ? 1 : 0);
    add_counts(families.counter("weir_gossip_sync_events_total",
                                "What happened in the synchronisation of counters: baselines, late "
                                "lumps, splits, stops, refused values and the like."),
               "event", cluster.sync_events);
    add_counts(families.counter("weir_gossip_definition_events_total",
                                "What happened in the exchange of quota definitions."),
               "event", cluster.definition_events);
    add_counts(
        families.counter("weir_gossip_driver_events_total",
                         "What happened at the gossip socket: send errors, pauses of reading, "
                         "look-ups of seeds and their failures and the like."),
        "event", cluster.driver_events);
}

void add_memory(Families& families, const MemoryFigures& memory) {
    families
        .gauge("weir_memory_used_bytes",
               "Memory in use as limits.memory, or the control group, counts it.")
        .add(number(memory.used_bytes));
    families.gauge("weir_memory_limit_bytes", "Memory that may be used; 0 if there is no limit.")
        .add(number(memory.limit_bytes));
    families.gauge("weir_memory_shedding", "1 while memory is short and requests get 503.")
        .add(memory.is_short ? 1 : 0);
}

void add_problems(Families& families, const ProblemList& list) {
    auto problems = families.gauge(
        "weir_problems", "Problems that there are now, by kind; docs/problems.md explains each.");
    for (const ProblemKindRow& row : problem_kinds()) {
        problems.add({{"kind", std::string(row.label)}},
                     number(list.counts.at(static_cast<std::size_t>(row.kind))));
    }
}

void add_listeners(Families& families, const std::map<std::string, ListenerFigures>& listeners) {
    auto connections = families.counter(
        "weir_listener_connections_total",
        "Connections to the status and the admin listener: served, evicted (silent for longest, "
        "closed for a newcomer when all places were taken), or turned away at once.");
    for (const auto& [listener, figures] : listeners) {
        connections.add({{"listener", listener}, {"result", "served"}}, number(figures.served))
            .add({{"listener", listener}, {"result", "evicted"}}, number(figures.evicted))
            .add({{"listener", listener}, {"result", "turned_away"}}, number(figures.turned_away));
    }
}

void add_process(Families& families) {
    const auto process = read_process_figures();
    if (!process) {
        return;
    }
    families.counter("process_cpu_seconds_total", "User and system CPU time spent.")
        .add(process->cpu_seconds);
    families.gauge("process_resident_memory_bytes", "Resident memory size.")
        .add(process->resident_bytes);
    families.gauge("process_virtual_memory_bytes", "Virtual memory size.")
        .add(process->virtual_bytes);
    families.gauge("process_open_fds", "Open file descriptors.").add(process->open_descriptors);
    families.gauge("process_max_fds", "Largest number of open file descriptors allowed.")
        .add(process->max_descriptors);
    families.gauge("process_start_time_seconds", "Unix time at which the process started.")
        .add(process->start_time_seconds);
}

}  // namespace

/// Its functions are const, but QuotaSeries has state: it remembers which quotas have series.
class Metrics::Collector {
  public:
    Collector(MetricsSources sources, std::function<Instant()> clock)
        : sources_(std::move(sources)),
          clock_(std::move(clock)),
          series_(sources_.max_quota_series, sources_.max_quota_bytes) {}

    [[nodiscard]] std::vector<prometheus::MetricFamily> families() const {
        Families families;
        families
            .gauge(
                "weir_page_timestamp_seconds",
                "Unix time just before the counters of this page were read. A page that took long "
                "to make is given again for a while.")
            .add(to_seconds(net::unix_time()));
        if (sources_.proxy) {
            add_proxy(families, sources_.proxy());
        }
        if (sources_.checks) {
            add_counts(families.counter("weir_embedded_checks_total",
                                        "Decisions of a program that embeds weir, by outcome."),
                       "outcome", sources_.checks());
        }
        if (sources_.limiter) {
            add_limiter(families, sources_.limiter(), series_);
        }
        if (sources_.cluster) {
            add_cluster(families, sources_.cluster());
        }
        if (sources_.config) {
            add_config(families, sources_.config());
        }
        if (sources_.memory) {
            add_memory(families, sources_.memory());
        }
        if (sources_.problems) {
            add_problems(families, sources_.problems());
        }
        if (sources_.listeners) {
            add_listeners(families, sources_.listeners());
        }
        families.gauge("weir_build_info", "Always 1; the labels tell what is running.")
            .add({{"version", sources_.build.version},
                  {"revision", sources_.build.revision},
                  {"compiler", sources_.build.compiler}},
                 1);
        if (sources_.process) {
            add_process(families);
        }
        return families.take();
    }

    [[nodiscard]] const std::string& text() const {
        const Instant begin = clock_();
        if (begin < reuse_until_) {
            return text_;
        }
        text_ = prometheus::TextSerializer().Serialize(families());
        const Instant end = clock_();
        const Duration cost = end - begin;
        reuse_until_ = cost > kCheapScrape ? end + 10 * cost : end;
        return text_;
    }

  private:
    MetricsSources sources_;
    std::function<Instant()> clock_;
    mutable QuotaSeries series_;
    mutable std::string text_;
    mutable Instant reuse_until_{};
};

Metrics::Metrics(MetricsSources sources) : Metrics(std::move(sources), net::now) {}
Metrics::Metrics(MetricsSources sources, std::function<Instant()> clock)
    : collector_(std::make_unique<Collector>(std::move(sources), std::move(clock))) {}
Metrics::~Metrics() = default;

std::string Metrics::text() const { return collector_->text(); }

}  // namespace weir::admin

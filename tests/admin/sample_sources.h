#pragma once
// Made-up figures from which every metric gets at least one sample. For tests.

#include "admin/figures.h"
#include "admin/sources.h"

namespace weir::admin::test {

inline HistogramFigures sample_histogram() {
    return {.upper_bounds = {0.001, 0.1}, .counts = {3, 2, 1}, .sum = 0.75};
}

inline ProxyFigures sample_proxy() {
    ProxyFigures proxy;
    proxy.requests = {{"admitted", "quota", 10}, {"refused", "limit", 4}};
    proxy.checks = {{"admitted", "quota", 3}, {"refused", "limit", 1}};
    proxy.decision_seconds = sample_histogram();
    proxy.request_seconds = {{"2xx", sample_histogram()}, {"4xx", sample_histogram()}};
    proxy.upstream_seconds = sample_histogram();
    proxy.inflight_requests = 2;
    proxy.tunnels = 1;
    proxy.connections = {{"client", 3}, {"upstream", 1}};
    proxy.bytes = {{{"client", "in"}, 100}, {{"client", "out"}, 200}};
    proxy.unlimited = {{"routes[0]", 2}, {"none", 0}};
    proxy.partly_unlimited = {{"routes[0]", 1}};
    proxy.events = {{"upstream_retried", 1}};
    return proxy;
}

inline QuotaFigures sample_quota(std::string name) {
    QuotaFigures quota;
    quota.name = std::move(name);
    quota.offered = 14;
    quota.admitted = 10;
    quota.refused = 4;
    quota.discard_probability = 0.25;
    quota.discard_probability_max = 0.5;
    quota.level_ratio = 1.5;
    quota.level_ratio_max = 2;
    quota.instances = 2;
    quota.limits = {{"requests", "1s", 100}, {"requests", "1m", 50}};
    quota.windows = {{"requests", "1h", 1000, {30, 400}}};
    quota.concurrency = 64;
    quota.in_flight.count = 12;
    return quota;
}

inline LimiterFigures sample_limiter() {
    LimiterFigures limiter;
    limiter.quotas = {sample_quota("s3"), sample_quota("s3/{bucket}/write")};
    limiter.definitions = limiter.quotas.size();
    limiter.live_instances = 3;
    limiter.events = {{"clamped_weights", 1}};
    return limiter;
}

inline ClusterFigures sample_cluster() {
    engine::EngineStatistics statistics;
    statistics.peers_by_state = {{"alive", 2}, {"suspect", 0}};
    statistics.messages_in = {{"ping", 5}};
    statistics.messages_out = {{"ping", 6}};
    statistics.datagrams_in = 4;
    statistics.bytes_out = 1000;
    statistics.counter_bytes_out = 600;
    statistics.rejected = {{"seal", 7}};
    statistics.refused_by_peer = {{Endpoint::v4(0x0a000001, 7946), 3}};
    statistics.staleness = std::chrono::milliseconds(250);
    ClusterFigures cluster = to_figures(statistics);
    cluster.keys = {"0a0b0c0d", "00000007"};
    cluster.second_key_packets = 3;
    cluster.definition_events = {{"pushes_sent", 1}};
    cluster.driver_events = {{"send_errors", 1}};
    return cluster;
}

inline ConfigFigures sample_config() {
    ConfigFigures config;
    config.file = "/etc/weir/weir.yaml";
    config.hash = "00112233";
    config.quotas_hash = "44556677";
    config.reloads = 3;
    config.reload_failures = 1;
    config.last_success_seconds = 1.7e9;
    config.snapshot = SnapshotFigures{.file = "/var/lib/weir/overrides", .saves = 1};
    config.settings_json = R"({"listen": "0.0.0.0:8080"})";
    config.quota_sets = {to_figures(definitions::SetStatus{
        .set = "storage", .generation = 7, .content_hash = 0xabc, .quotas = 2, .conflict = false})};
    return config;
}

inline ProblemList sample_problems() {
    ProblemList list;
    list.problems = {{ProblemKind::unknown_quota, "routes[0]", "routes[0]: there is no quota 'al'",
                      "did you mean 'all'?", std::chrono::milliseconds(1500)}};
    list.counts.at(static_cast<std::size_t>(ProblemKind::unknown_quota)) = 1;
    return list;
}

inline MetricsSources sample_sources() {
    return {.proxy = sample_proxy,
            .limiter = sample_limiter,
            .cluster = sample_cluster,
            .config = sample_config,
            .checks =
                [] {
                    return std::map<std::string, std::uint64_t>{{"admitted", 6}};
                },
            .memory = [] { return MemoryFigures{.used_bytes = 5, .limit_bytes = 10}; },
            .problems = sample_problems,
            .listeners =
                [] {
                    return std::map<std::string, ListenerFigures>{
                        {"status", {.served = 4, .evicted = 2, .turned_away = 1}}};
                },
            .build = {.version = "0.1.0", .revision = "abcdef", .compiler = "g++"},
            .max_quota_series = 1000};
}

}  // namespace weir::admin::test

#pragma once
// One running sidecar: owns all of its parts and wires them together. See run.h for its threads.
// Lives on the control thread; everything here is called there.

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <vector>

#include "admin/admin_server.h"
#include "admin/engine_quotas.h"
#include "admin/metrics.h"
#include "admin/status_server.h"
#include "app/access_log_writer.h"
#include "app/log.h"
#include "app/memory_watch.h"
#include "app/stranger_log.h"
#include "app/upstream_lookup.h"
#include "base/random.h"
#include "cluster/cluster.h"
#include "node/file_watch.h"
#include "node/loader.h"
#include "node/node.h"
#include "node/reloader.h"
#include "proxy/server.h"

namespace weir::app {

class Sidecar {
  public:
    /// `loaded` is free of errors. The seed feeds every random choice of all parts.
    Sidecar(node::ConfigSource source, node::Loaded loaded, std::uint64_t seed);
    Sidecar(const Sidecar&) = delete;
    Sidecar& operator=(const Sidecar&) = delete;
    ~Sidecar();

    /// Binds everything and begins to serve. An error names what could not be had.
    [[nodiscard]] Result<void> start();
    /// Until the end; the exit code.
    [[nodiscard]] int run();

  private:
    using Reload = node::Reload;

    [[nodiscard]] Result<void> open_cluster();
    [[nodiscard]] Result<void> open_listeners();
    [[nodiscard]] Result<void> open_proxy();
    [[nodiscard]] admin::AdminSources admin_sources();
    [[nodiscard]] admin::MetricsSources metrics_sources();
    [[nodiscard]] admin::Health health() const;
    [[nodiscard]] admin::ClusterFigures cluster_figures();
    [[nodiscard]] admin::ConfigFigures config_figures();

    void wait_for_signal();
    void on_signal(int number);
    void drain();
    void stop();
    void finish();
    static void end_at_next_signal();

    /// The same problem is told once, unless somebody asked.
    void reload_keys(bool by_hand);
    void reload_token();
    void watch_keys();
    void tell_strangers();
    [[nodiscard]] admin::GossipTrouble gossip_trouble() const;
    void set_memory_limit();
    void memory_changed(bool is_short, const MemoryGauge::Reading& reading);

    void reload(Reload what) { reloader_.request(what); }
    [[nodiscard]] node::Reloader::Job reload_job(Reload what) const;
    void loaded_again(Reload what, node::Loaded loaded);
    void reload_failed(Reload what, std::vector<std::string> errors);
    /// Errors of conflicts between documents; empty if all is well.
    void log_outcome(const node::SetsOutcome& outcome);
    std::vector<std::string> apply_sets(const std::vector<config::QuotaSet>& sets, bool by_hand);
    void apply_settings(const config::Settings& settings);
    /// Opens the access log, or again, if it is wanted.
    [[nodiscard]] Result<void> open_access_log();
    void replace_snapshot();
    [[nodiscard]] std::shared_ptr<const proxy::Snapshot> make_snapshot() const;
    void set_upstream(std::vector<net::SocketAddress> addresses);

    node::ConfigSource source_;
    config::Settings settings_;
    std::vector<config::QuotaSet> first_sets_;
    Random random_;
    Log log_;
    boost::asio::io_context control_;
    boost::asio::signal_set signals_;
    node::Member member_;
    limiter::Limiter& limiter_;            ///< the member's
    cluster::Cluster* cluster_ = nullptr;  ///< the member's, once it is open
    std::shared_ptr<const routing::Router> router_;
    std::vector<net::SocketAddress> upstream_;
    AccessLogWriter access_log_;  ///< outlives the proxy, whose workers write to it
    std::unique_ptr<proxy::Server> proxy_;
    UpstreamLookup upstream_lookup_;
    node::FileWatch watch_;
    node::FileWatch key_watch_;
    boost::asio::steady_timer stranger_timer_;
    StrangerLog stranger_log_;
    MemoryWatch memory_;
    std::unique_ptr<admin::EngineQuotas> quotas_;
    std::unique_ptr<admin::Metrics> metrics_;
    std::unique_ptr<admin::StatusServer> status_server_;
    std::unique_ptr<admin::AdminServer> admin_server_;

    admin::ConfigFigures figures_;
    std::uint64_t quotas_hash_ = 0;           ///< 0: the last reload failed, look again
    bool settings_bad_ = false;               ///< as last read; only SIGHUP looks again
    std::vector<std::string> after_restart_;  ///< keys whose change waits for one
    std::string keys_problem_;                ///< of the key file as last read; empty: none
    std::string token_problem_;               ///< of the admin token's file, likewise
    Instant started_{};
    bool listening_ = false;
    bool draining_ = false;
    bool stopping_ = false;

    /// Last: its thread must be gone before the rest.
    node::Reloader reloader_;
};

}  // namespace weir::app

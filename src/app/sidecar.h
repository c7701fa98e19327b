#pragma once
// One running sidecar: owns all of its parts and wires them together. See run.h for its threads.
// Lives on the control thread; everything here is called there.

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "admin/admin_server.h"
#include "admin/engine_quotas.h"
#include "admin/metrics.h"
#include "admin/status_server.h"
#include "app/file_watch.h"
#include "app/loader.h"
#include "app/log.h"
#include "app/upstream_lookup.h"
#include "base/random.h"
#include "cluster/cluster.h"
#include "limiter/limiter.h"
#include "proxy/server.h"

namespace weir::app {

class Sidecar {
  public:
    /// `loaded` is free of errors. The seed feeds every random choice of all parts.
    Sidecar(ConfigSource source, Loaded loaded, std::uint64_t seed);
    Sidecar(const Sidecar&) = delete;
    Sidecar& operator=(const Sidecar&) = delete;
    ~Sidecar();

    /// Binds everything and begins to serve. An error names what could not be had.
    [[nodiscard]] Result<void> start();
    /// Until the end; the exit code.
    [[nodiscard]] int run();

  private:
    enum class Reload { quotas, everything };

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
    void maintain();
    void drain();
    void stop();
    void finish();

    void reload(Reload what);
    void loaded_again(Reload what, Loaded loaded);
    void reload_failed(Reload what, std::vector<std::string> errors);
    /// Errors of conflicts between documents; empty if all is well.
    std::vector<std::string> apply_sets(const std::vector<config::QuotaSet>& sets);
    void apply_settings(const config::Settings& settings);
    void replace_snapshot();
    [[nodiscard]] std::shared_ptr<const proxy::Snapshot> make_snapshot() const;
    void set_upstream(std::vector<net::SocketAddress> addresses);

    ConfigSource source_;
    config::Settings settings_;
    std::vector<config::QuotaSet> first_sets_;
    Random random_;
    Log log_;
    boost::asio::io_context control_;
    boost::asio::signal_set signals_;
    boost::asio::steady_timer maintenance_;
    limiter::Limiter limiter_;
    std::unique_ptr<cluster::Cluster> cluster_;
    std::shared_ptr<const routing::Router> router_;
    std::vector<net::SocketAddress> upstream_;
    std::unique_ptr<proxy::Server> proxy_;
    UpstreamLookup upstream_lookup_;
    FileWatch watch_;
    std::unique_ptr<admin::EngineQuotas> quotas_;
    std::unique_ptr<admin::Metrics> metrics_;
    std::unique_ptr<admin::StatusServer> status_server_;
    std::unique_ptr<admin::AdminServer> admin_server_;

    admin::ConfigFigures figures_;
    std::set<std::string> local_sets_;  ///< in force from files here
    std::uint64_t quotas_hash_ = 0;     ///< 0: the last reload failed, look again
    bool settings_bad_ = false;         ///< as last read; only SIGHUP looks again
    Instant started_{};
    bool listening_ = false;
    bool draining_ = false;
    bool stopping_ = false;
    bool loading_ = false;
    std::optional<Reload> load_next_;

    /// Last: its thread must be gone before the rest.
    boost::asio::thread_pool loader_;
};

}  // namespace weir::app

#pragma once
// One running sidecar: a host (its membership, files and reload) with a proxy, the admin and status
// listeners, and signals. It connects them and writes to its log what the host reports. An anchor
// is the same without the proxy.
//
// Thread-safety: none; it belongs to the control thread. run.h names the other threads.
// Ownership: owns all of its parts.

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/admin_server.h"
#include "admin/metrics.h"
#include "admin/status_server.h"
#include "app/audit_log.h"
#include "app/audited_quotas.h"
#include "app/live_settings.h"
#include "app/log.h"
#include "app/problem_reporter.h"
#include "app/proxy_part.h"
#include "app/stranger_log.h"
#include "base/random.h"
#include "node/host.h"

namespace weir::app {

class Sidecar final : private node::HostListener {
  public:
    /// The settings in `loaded` must have no errors. The seed determines every random choice of all
    /// parts.
    Sidecar(node::ConfigSource source, node::Loaded loaded, std::uint64_t seed);
    Sidecar(const Sidecar&) = delete;
    Sidecar& operator=(const Sidecar&) = delete;
    ~Sidecar();

    /// Binds all sockets and begins to serve. The error names what failed; with `strict` also what
    /// keeps the quotas of the files from being in force.
    [[nodiscard]] Result<void> start(bool strict);
    /// Runs until the sidecar ends.
    void run();

  private:
    [[nodiscard]] Result<void> open_host(bool strict);
    [[nodiscard]] Result<void> open_listeners();
    [[nodiscard]] admin::AdminSources admin_sources();
    [[nodiscard]] admin::MetricsSources metrics_sources();
    [[nodiscard]] admin::Health health() const;
    [[nodiscard]] admin::ConfigFigures config_figures();
    [[nodiscard]] admin::GossipTrouble gossip_trouble();

    void wait_for_signal();
    void on_signal(int number);
    /// `by` says who asked for it and why.
    void drain(const admin::Caller& by);
    [[nodiscard]] bool set_log_level(std::string_view word, const admin::Caller& by);
    void look_at_fleet();
    void stop(std::string_view signal);
    void finish();
    static void end_at_next_signal();

    void tell_strangers();
    void tell_errors(std::string_view message, const std::vector<std::string>& errors);
    void memory_changed(bool is_short, const MemoryGauge::MemoryReading& reading);

    void keys_warned(const std::string& warning) override;
    void keys_failed(const std::string& reason) override;
    void keys_changed() override;
    void first_quotas_failed(const std::vector<std::string>& errors) override;
    void reload_failed(const std::vector<std::string>& errors) override;
    void sets_left_out(const std::vector<std::string>& errors) override;
    void sets_applied(const node::SetsOutcome& outcome) override;
    void late_outcome(const node::SetsOutcome& outcome) override;
    void settings_taken_over(const config::Settings& in_force,
                             const std::vector<std::string>& after_restart) override;
    /// Reads the admin token again.
    void read_own_files() override;
    void reloaded(std::size_t quota_sets) override;
    void snapshot_noted(const node::SnapshotNotice& notice) override;

    Random random_;
    Log log_;
    boost::asio::io_context control_;
    boost::asio::signal_set signals_;
    node::Host host_;
    LiveSettings live_;  ///< outlives the proxy, whose workers write to its access log
    ProxyPart proxy_;
    boost::asio::steady_timer stranger_timer_;
    StrangerLog stranger_log_;
    ProblemReporter problems_;
    AuditLog audit_;
    FleetAudit fleet_audit_;
    boost::asio::steady_timer audit_timer_;
    std::unique_ptr<AuditedQuotas> audited_quotas_;
    std::unique_ptr<admin::Metrics> metrics_;
    std::unique_ptr<admin::StatusServer> status_server_;
    std::unique_ptr<admin::AdminServer> admin_server_;

    Instant started_{};
    bool listening_ = false;  ///< all listeners are open
    bool draining_ = false;
    bool stopping_ = false;
};

}  // namespace weir::app

#include "embed/fleet.h"

#include <pthread.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "admin/report_json.h"
#include "embed/blocked_signals.h"
#include "embed/fork_count.h"
#include "engine/engine.h"
#include "net/clock.h"

namespace weir::embed {
namespace {

std::string dump(const admin::Json& json) {
    return json.dump(-1, ' ', false, admin::Json::error_handler_t::replace);
}

Result<void> to_result(const admin::ChangeOutcome& outcome) {
    if (outcome.version) {
        return {};
    }
    return error(outcome.code, outcome.message);
}

void add(std::map<std::string, std::uint64_t>& sums, const CheckCounts& counts) {
    sums["admitted"] += counts.admitted.get();
    sums["refused"] += counts.refused.get();
    sums["unlimited"] += counts.unlimited.get();
    sums["failed"] += counts.failed.get();
}

}  // namespace

Result<std::unique_ptr<Fleet>> Fleet::open(node::ConfigSource source, LogCallback log,
                                           std::uint64_t seed) {
    node::Loaded loaded = node::load(source);
    if (!loaded.good()) {
        return error(ErrorCode::invalid_argument, loaded.diagnostics.text());
    }
    // Many processes may read one file of settings, perhaps that of a sidecar. Only the sidecar may
    // write the snapshot that the file names.
    loaded.settings.snapshot = {};
    // The threads of all parts are made here or by the control thread.
    const BlockedSignals blocked;
    std::unique_ptr<Fleet> fleet(new Fleet(std::move(source), std::move(loaded), log, seed));
    if (auto started = fleet->start(); !started) {
        return started.error();
    }
    return fleet;
}

Fleet::Fleet(node::ConfigSource source, node::Loaded loaded, LogCallback log, std::uint64_t seed)
    : log_(log),
      fork_(ForkCount::here()),
      random_(seed),
      tag_(random_.next() | 1U),
      work_(control_.get_executor()),
      host_(control_, std::move(source), std::move(loaded), *this, random_.next()) {}

Result<void> Fleet::start() {
    if (auto opened = host_.open(); !opened) {
        return opened;
    }
    if (auto applied = host_.apply_first(); !applied) {
        return applied;
    }
    metrics_ = std::make_unique<admin::Metrics>(metrics_sources());
    boost::asio::post(control_, [this] {
        for (const std::string& warning : host_.cluster().warnings()) {
            log_(warning);
        }
        host_.start();
    });
    thread_ = std::thread([this] { run(); });
    return {};
}

void Fleet::run() noexcept {
    ::pthread_setname_np(::pthread_self(), "weir-control");
    for (;;) {
        try {
            control_.run();
            return;
        } catch (const std::exception& failure) {
            // There is a defect, or no memory is left. The library must not end the program, which
            // goes on and checks its limits.
            if (log_.write != nullptr) {
                log_.write(log_.context, failure.what());
            }
        } catch (...) {
            if (log_.write != nullptr) {
                log_.write(log_.context, "an unknown exception");
            }
        }
    }
}

Fleet::~Fleet() {
    if (thread_.joinable()) {
        try {
            boost::asio::post(control_, [this] { stop(); });
        } catch (const std::exception&) {
            control_.stop();  // no memory is left for a goodbye; peers notice by themselves
        }
        thread_.join();
    }
    host_.join();
}

void Fleet::stop() {
    control_.stop();  // comes first, so that the thread ends whatever fails now, because weir_close
                      // waits for it
    host_.stop_reloading();
    host_.leave();
}

bool Fleet::forked() const { return ForkCount::now() != fork_; }

Result<weir_worker*> Fleet::open_worker() {
    const std::lock_guard lock(workers_mutex_);
    if (free_contexts_.empty()) {
        if (contexts_ == limiter::Limiter::kMaxThreads) {
            return error(ErrorCode::exhausted,
                         "64 workers are open already: close some, or share them");
        }
        free_contexts_.push_back(&host_.limiter().register_thread(random_.next()));
        ++contexts_;
    }
    workers_.push_back(std::unique_ptr<weir_worker>(
        new weir_worker{*this, {host_.limiter(), *free_contexts_.back(), fork_, tag_}}));
    free_contexts_.pop_back();
    return workers_.back().get();
}

void Fleet::close_worker(weir_worker* worker) {
    const std::lock_guard lock(workers_mutex_);
    const auto found = std::find_if(workers_.begin(), workers_.end(),
                                    [&](const auto& one) { return one.get() == worker; });
    if (found == workers_.end()) {
        return;
    }
    free_contexts_.push_back(&worker->worker.context());
    add(closed_counts_, worker->worker.counts());
    workers_.erase(found);
}

void Fleet::keys_failed(const std::string& reason) {
    log_("the gossip keys are not read again, those in use stay: " + reason);
}

void Fleet::reload_failed(const std::vector<std::string>& errors) {
    for (const std::string& one : errors) {
        log_("reload failed, what was in force stays: " + one);
    }
}

void Fleet::sets_left_out(const std::vector<std::string>& errors) {
    for (const std::string& one : errors) {
        log_("a quota set is not in force, everything else of the files is: " + one);
    }
}

void Fleet::sets_applied(const node::SetsOutcome& outcome) {
    for (const auto* messages : {&outcome.gone, &outcome.waiting}) {
        for (const std::string& message : *messages) {
            log_(message);
        }
    }
}

void Fleet::late_outcome(const node::SetsOutcome& outcome) {
    for (const auto* messages : {&outcome.older, &outcome.errors}) {
        for (const std::string& message : *messages) {
            log_(message);
        }
    }
}

Result<void> Fleet::reload() {
    return on_control([this] { return host_.reload_now(); });
}

Result<void> Fleet::set_quota(std::string definition, definitions::Edit edit) {
    config::Diagnostics diagnostics;
    const auto parsed =
        config::parse_quota({.file = "definition", .text = std::move(definition)}, diagnostics);
    if (!parsed || diagnostics.has_errors()) {
        return error(ErrorCode::invalid_argument, diagnostics.text());
    }
    return on_control([&] { return to_result(host_.quotas().put(*parsed, edit)); });
}

Result<void> Fleet::hide_quota(std::string name, definitions::Edit edit) {
    return on_control([&] { return to_result(host_.quotas().hide(name, edit)); });
}

Result<void> Fleet::remove_quota(std::string name, definitions::Edit edit) {
    return on_control([&] { return to_result(host_.quotas().remove(name, edit)); });
}

Result<std::string> Fleet::describe_quota(std::string name) {
    return on_control([&]() -> Result<std::string> {
        const admin::QuotaReport report = host_.quotas().report(name);
        if (!report.row) {
            return error(ErrorCode::not_found, "no quota is named '" + name + "'");
        }
        return dump(admin::to_json(report));
    });
}

Result<std::string> Fleet::metrics() {
    return on_control([this]() -> Result<std::string> { return metrics_->text(); });
}

Result<std::string> Fleet::report() {
    return on_control([this]() -> Result<std::string> { return report_here(); });
}

std::uint32_t Fleet::live_peers() {
    return on_control([this] {
        const auto peers = host_.cluster().engine().peers(net::now());
        return static_cast<std::uint32_t>(std::count_if(
            peers.begin(), peers.end(),
            [](const engine::PeerReport& peer) { return !peer.self && peer.state == "alive"; }));
    });
}

std::string Fleet::report_here() {
    cluster::Cluster& cluster = host_.cluster();
    admin::Json peers = admin::Json::array();
    for (const auto& peer : cluster.engine().peers(net::now())) {
        peers.push_back(admin::to_json(peer));
    }
    return dump({{"address", host_.settings().cluster ? admin::Json(to_string(cluster.advertised()))
                                                      : admin::Json(nullptr)},
                 {"incarnation", cluster.engine().incarnation()},
                 {"peers", std::move(peers)},
                 {"config", admin::to_json(host_.config_figures())}});
}

std::map<std::string, std::uint64_t> Fleet::check_counts() {
    const std::lock_guard lock(workers_mutex_);
    std::map<std::string, std::uint64_t> sums = closed_counts_;
    add(sums, {});
    for (const auto& worker : workers_) {
        add(sums, worker->worker.counts());
    }
    return sums;
}

admin::MetricsSources Fleet::metrics_sources() {
    admin::MetricsSources sources = host_.metrics_sources();
    sources.checks = [this] { return check_counts(); };
    sources.process = false;
    return sources;
}

}  // namespace weir::embed

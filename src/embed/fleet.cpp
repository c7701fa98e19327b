#include "embed/fleet.h"

#include <pthread.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "admin/figures.h"
#include "admin/report_json.h"
#include "embed/blocked_signals.h"
#include "embed/fork_count.h"
#include "engine/engine.h"
#include "net/clock.h"
#include "node/figures.h"

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

Result<std::unique_ptr<Fleet>> Fleet::open(node::ConfigSource source, Log log, std::uint64_t seed) {
    node::Loaded loaded = node::load(source);
    if (!loaded.good()) {
        return error(ErrorCode::invalid_argument, loaded.diagnostics.text());
    }
    const std::vector<config::QuotaSet> sets = std::move(loaded.sets);
    // The threads of all parts are made here or by the control thread.
    const BlockedSignals blocked;
    std::unique_ptr<Fleet> fleet(new Fleet(std::move(source), std::move(loaded), log, seed));
    if (auto started = fleet->start(sets); !started) {
        return started.error();
    }
    return fleet;
}

Fleet::Fleet(node::ConfigSource source, node::Loaded loaded, Log log, std::uint64_t seed)
    : source_(std::move(source)),
      settings_(std::move(loaded.settings)),
      log_(log),
      fork_(ForkCount::here()),
      random_(seed),
      tag_(random_.next() | 1U),
      work_(control_.get_executor()),
      member_(control_, settings_, random_.next()),
      watch_(control_, [this] { reloader_.request(node::Reload::quotas); }),
      key_watch_(control_, [this] { static_cast<void>(reload_keys(false)); }),
      quotas_hash_(loaded.quotas_hash),
      reloader_(
          control_,
          [this](node::Reload) {
              return [settings = settings_, documents = source_.documents, known = quotas_hash_] {
                  return node::load_quotas(settings, known, documents);
              };
          },
          [this](node::Reload, node::Loaded again) { take_over(std::move(again), false); }) {
    // Many processes read one file of settings, perhaps the sidecar's: who has it keeps it.
    settings_.snapshot = {};
    figures_.file = source_.file.value_or("");
    figures_.hash = admin::hash_text(loaded.settings_hash);
}

Result<void> Fleet::start(const std::vector<config::QuotaSet>& sets) {
    if (auto opened = member_.open(settings_); !opened) {
        return opened;
    }
    if (auto applied = member_.apply_first(sets); !applied) {
        return applied;
    }
    figures_.last_success_seconds = to_seconds(net::unix_time());
    quotas_ = std::make_unique<admin::EngineQuotas>(member_.cluster().engine(), member_.limiter(),
                                                    &net::now);
    metrics_ = std::make_unique<admin::Metrics>(metrics_sources());
    member_.on_late_outcome([this](const node::SetsOutcome& outcome) {
        for (const std::string& message : outcome.errors) {
            log_(message);
        }
        if (outcome.again) {
            reloader_.request(node::Reload::quotas);
        }
    });
    boost::asio::post(control_, [this] {
        member_.start();
        watch_.watch(settings_.quotas);
        watch_keys();
        reloader_.request(node::Reload::quotas);  // what changed between reading and watching
        for (const std::string& warning : member_.cluster().warnings()) {
            log_(warning);
        }
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
            // A defect, or no memory. The program is not ours to end: its limits go on.
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
            control_.stop();  // No memory for the goodbye: peers find out by themselves.
        }
        thread_.join();
    }
    reloader_.join();
}

void Fleet::stop() {
    control_.stop();  // First: whatever fails now, the thread ends, and weir_close waits for it.
    reloader_.stop();
    member_.leave();
    watch_.stop();
    key_watch_.stop();
}

bool Fleet::forked() const { return ForkCount::now() != fork_; }

Result<weir_worker*> Fleet::open_worker() {
    const std::lock_guard lock(workers_mutex_);
    if (free_contexts_.empty()) {
        if (contexts_ == limiter::Limiter::kMaxThreads) {
            return error(ErrorCode::exhausted,
                         "64 workers are open already: close some, or share them");
        }
        free_contexts_.push_back(&member_.limiter().register_thread(random_.next()));
        ++contexts_;
    }
    workers_.push_back(std::unique_ptr<weir_worker>(
        new weir_worker{*this, {member_.limiter(), *free_contexts_.back(), fork_, tag_}}));
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

void Fleet::take_over(node::Loaded loaded, bool by_hand) {
    if (loaded.quotas_unchanged) {
        return;
    }
    if (loaded.unreadable) {
        watch_.again();
    }
    quotas_hash_ = loaded.good() ? loaded.quotas_hash : 0;
    std::vector<std::string> errors;
    if (loaded.good()) {
        node::SetsOutcome outcome = member_.apply(loaded.sets, by_hand);
        for (const std::string& message : outcome.older) {
            log_(message);
        }
        errors = std::move(outcome.errors);
    } else {
        errors.push_back(loaded.diagnostics.text());
        if (!by_hand && loaded.unreadable && errors == figures_.errors) {
            return;
        }
    }
    ++figures_.reloads;
    figures_.last_reload_successful = errors.empty();
    if (errors.empty()) {
        figures_.last_success_seconds = to_seconds(net::unix_time());
    }
    if (!errors.empty()) {
        reload_failed(errors);
    }
    figures_.errors = std::move(errors);
}

void Fleet::reload_failed(const std::vector<std::string>& errors) {
    quotas_hash_ = 0;
    ++figures_.reload_failures;
    for (const std::string& one : errors) {
        log_("reload failed, what was in force stays: " + one);
    }
}

void Fleet::watch_keys() {
    if (!settings_.cluster || settings_.cluster->key_file.empty()) {
        return;
    }
    key_watch_.watch({settings_.cluster->key_file});
}

Result<void> Fleet::reload_keys(bool by_hand) {
    const auto changed = member_.cluster().reload_keys();
    if (changed) {
        keys_problem_.clear();
        return {};
    }
    key_watch_.again();
    const bool told = !by_hand && keys_problem_ == changed.error().message;
    keys_problem_ = changed.error().message;
    if (told) {
        return changed.error();
    }
    log_("the gossip keys are not read again, those in use stay: " + changed.error().message);
    return changed.error();
}

Result<void> Fleet::reload() {
    return on_control([this]() -> Result<void> {
        if (auto keys = reload_keys(true); !keys) {
            return keys;
        }
        node::Loaded loaded = node::load_quotas(settings_, 0, source_.documents);
        take_over(std::move(loaded), true);
        if (figures_.errors.empty()) {
            return {};
        }
        return error(ErrorCode::invalid_argument, figures_.errors.front());
    });
}

Result<void> Fleet::set_quota(std::string definition, definitions::Edit edit) {
    config::Diagnostics diagnostics;
    const auto parsed =
        config::parse_quota({.file = "definition", .text = std::move(definition)}, diagnostics);
    if (!parsed || diagnostics.has_errors()) {
        return error(ErrorCode::invalid_argument, diagnostics.text());
    }
    return on_control([&] { return to_result(quotas_->put(*parsed, edit)); });
}

Result<void> Fleet::hide_quota(std::string name, definitions::Edit edit) {
    return on_control([&] { return to_result(quotas_->hide(name, edit)); });
}

Result<void> Fleet::remove_quota(std::string name, definitions::Edit edit) {
    return on_control([&] { return to_result(quotas_->remove(name, edit)); });
}

Result<std::string> Fleet::describe_quota(std::string name) {
    return on_control([&]() -> Result<std::string> {
        const admin::QuotaReport report = quotas_->report(name);
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
        const auto peers = member_.cluster().engine().peers(net::now());
        return static_cast<std::uint32_t>(std::count_if(
            peers.begin(), peers.end(),
            [](const engine::PeerReport& peer) { return !peer.self && peer.state == "alive"; }));
    });
}

std::string Fleet::report_here() {
    cluster::Cluster& cluster = member_.cluster();
    admin::Json peers = admin::Json::array();
    for (const auto& peer : cluster.engine().peers(net::now())) {
        peers.push_back(admin::to_json(peer));
    }
    return dump({{"address", settings_.cluster ? admin::Json(to_string(cluster.advertised()))
                                               : admin::Json(nullptr)},
                 {"incarnation", cluster.engine().incarnation()},
                 {"peers", std::move(peers)},
                 {"config", admin::to_json(config_figures())}});
}

admin::ConfigFigures Fleet::config_figures() {
    return node::with_quota_sets(figures_, member_.cluster());
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
    admin::MetricsSources sources;
    sources.limiter = [this] { return admin::to_figures(member_.limiter(), net::now()); };
    sources.cluster = [this] { return node::cluster_figures(member_.cluster()); };
    sources.config = [this] { return config_figures(); };
    sources.checks = [this] { return check_counts(); };
    sources.build = node::build_figures();
    sources.process = false;
    sources.max_quota_series = settings_.max_quota_series;
    sources.max_quota_bytes = settings_.max_quota_bytes;
    return sources;
}

}  // namespace weir::embed

// The part of Sidecar that shows itself: what admin and status listeners ask for.

#include "admin/figures.h"
#include "app/figures.h"
#include "app/sidecar.h"
#include "config/given_settings.h"
#include "engine/engine.h"
#include "net/clock.h"
#include "node/figures.h"

namespace weir::app {
namespace {

/// Whoever was evicted or turned away was accepted first.
admin::ListenerFigures listener_figures(const admin::HttpServerStatistics& statistics) {
    return {.served = statistics.accepted - statistics.evicted - statistics.turned_away,
            .evicted = statistics.evicted,
            .turned_away = statistics.turned_away};
}

}  // namespace

admin::Health Sidecar::health() const {
    return {.listening = listening_, .configured = !upstream_.empty(), .draining = draining_};
}

admin::ClusterFigures Sidecar::cluster_figures() { return node::cluster_figures(*cluster_); }

admin::ConfigFigures Sidecar::config_figures() {
    admin::ConfigFigures figures = node::with_quota_sets(figures_, *cluster_);
    for (const std::string& problem : {keys_problem_, token_problem_}) {
        if (problem.empty()) {
            continue;
        }
        figures.last_reload_successful = false;
        figures.errors.push_back(problem);
    }
    for (admin::QuotaSetFigures& set : figures.quota_sets) {
        const auto problem = member_.set_problems().find(set.name);
        if (problem != member_.set_problems().end()) {
            set.problem = problem->second;
        }
    }
    figures.settings_json = config::describe_settings(settings_.given);
    figures.after_restart = after_restart_;
    figures.snapshot = member_.snapshot();
    return figures;
}

admin::GossipTrouble Sidecar::gossip_trouble() const {
    admin::GossipTrouble trouble;
    trouble.clustered = settings_.cluster.has_value();
    if (!trouble.clustered) {
        return trouble;
    }
    trouble.seal = cluster_->engine().seal_status(net::now());
    trouble.silent_seeds = cluster_->silent_seeds();
    constexpr std::size_t kMostLimits = 16;
    trouble.limits = cluster_->engine().silences(kMostLimits, net::now());
    return trouble;
}

void Sidecar::tell_strangers() {
    if (!settings_.cluster || stopping_) {
        return;
    }
    for (const StrangerLog::Line& line :
         stranger_log_.lines(cluster_->engine().seal_status(net::now()), net::now())) {
        log_.warning(line.message, line.fields);
    }
    constexpr std::chrono::milliseconds kLook{250};
    stranger_timer_.expires_after(kLook);
    stranger_timer_.async_wait([this](const boost::system::error_code& failure) {
        if (!failure) {
            tell_strangers();
        }
    });
}

admin::MetricsSources Sidecar::metrics_sources() {
    admin::MetricsSources sources;
    sources.proxy = [this] {
        auto figures = to_figures(proxy_ ? proxy_->statistics() : proxy::Statistics{});
        const auto log = access_log_.counters();
        figures.events["access_log_written"] = log.written;
        figures.events["access_log_dropped"] = log.dropped;
        figures.events["access_log_failed"] = log.failed;
        return figures;
    };
    sources.limiter = [this] { return admin::to_figures(limiter_, net::now()); };
    sources.cluster = [this] { return cluster_figures(); };
    sources.config = [this] { return config_figures(); };
    sources.memory = [this] {
        return admin::MemoryFigures{memory_.last().used, memory_.last().limit, memory_.is_short()};
    };
    sources.listeners = [this] {
        std::map<std::string, admin::ListenerFigures> figures;
        if (status_server_) {
            figures["status"] = listener_figures(status_server_->statistics());
        }
        if (admin_server_) {
            figures["admin"] = listener_figures(admin_server_->statistics());
        }
        return figures;
    };
    sources.build = node::build_figures();
    sources.max_quota_series = settings_.max_quota_series;
    sources.max_quota_bytes = settings_.max_quota_bytes;
    return sources;
}

admin::AdminSources Sidecar::admin_sources() {
    admin::AdminSources sources;
    sources.health = [this] { return health(); };
    sources.config = [this] { return config_figures(); };
    sources.peers = [this] { return cluster_->engine().peers(net::now()); };
    sources.gossip = [this] { return gossip_trouble(); };
    sources.build = node::build_figures();
    sources.quotas = quotas_.get();
    sources.drain = [this] { drain(); };
    sources.log_level = [this] { return std::string(to_string(log_.level())); };
    sources.set_log_level = [this](std::string_view word) {
        config::LogLevel level = config::LogLevel::info;
        const bool known = parse_log_level(word, level);
        if (known) {
            log_.set_level(level);
        }
        return known;
    };
    sources.uptime_seconds = [this] { return to_seconds(net::now() - started_); };
    return sources;
}

}  // namespace weir::app

// The part of Sidecar that fills in what the admin and status listeners show.

#include "app/figures.h"
#include "app/sidecar.h"
#include "config/given_settings.h"
#include "engine/engine.h"
#include "net/clock.h"
#include "node/figures.h"

namespace weir::app {
namespace {

/// The figures of a listener. Connections that were evicted or turned away had been accepted
/// before.
admin::ListenerFigures listener_figures(const admin::HttpServerStatistics& statistics) {
    return {.served = statistics.accepted - statistics.evicted - statistics.turned_away,
            .evicted = statistics.evicted,
            .turned_away = statistics.turned_away};
}

}  // namespace

admin::Health Sidecar::health() const {
    return {.listening = listening_,
            .configured = live_.is_complete(),
            .draining = draining_,
            .loading = host_.loading()};
}

admin::ConfigFigures Sidecar::config_figures() {
    admin::ConfigFigures figures = host_.config_figures();
    figures.settings_json = config::describe_settings(host_.settings().given);
    return figures;
}

admin::GossipTrouble Sidecar::gossip_trouble() {
    admin::GossipTrouble trouble;
    trouble.clustered = host_.settings().cluster.has_value();
    if (!trouble.clustered) {
        return trouble;
    }
    trouble.seal = host_.cluster().engine().seal_status(net::now());
    trouble.silent_seeds = host_.cluster().seed_report().silent;
    constexpr std::size_t kMostLimits = 16;
    trouble.limits = host_.cluster().engine().silences(kMostLimits, net::now());
    trouble.later_kinds = host_.cluster().engine().later_kinds(net::now());
    return trouble;
}

void Sidecar::tell_strangers() {
    if (!host_.settings().cluster || stopping_) {
        return;
    }
    for (const StrangerLog::Line& line :
         stranger_log_.lines(host_.cluster().engine().seal_status(net::now()), net::now())) {
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
    admin::MetricsSources sources = host_.metrics_sources();
    sources.proxy = [this] {
        auto figures = to_figures(proxy_.statistics(), host_.settings().routing.routes.size());
        const auto log = live_.access_log().counters();
        figures.events["access_log_written"] = log.written;
        figures.events["access_log_dropped"] = log.dropped;
        figures.events["access_log_failed"] = log.failed;
        return figures;
    };
    sources.memory = [this] {
        const MemoryWatch& memory = live_.memory();
        return admin::MemoryFigures{memory.last().used, memory.last().limit, memory.is_short()};
    };
    sources.problems = [this] { return problems_.list(); };
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
    return sources;
}

admin::AdminSources Sidecar::admin_sources() {
    admin::AdminSources sources;
    sources.health = [this] { return health(); };
    sources.config = [this] { return config_figures(); };
    sources.peers = [this] { return host_.cluster().engine().peers(net::now()); };
    sources.gossip = [this] { return gossip_trouble(); };
    sources.problems = [this] { return problems_.list(); };
    sources.build = node::build_figures();
    audited_quotas_ = std::make_unique<AuditedQuotas>(host_.quotas(), audit_);
    sources.quotas = audited_quotas_.get();
    sources.drain = [this](const admin::Caller& by) { drain(by); };
    sources.log_level = [this] { return std::string(to_string(log_.level())); };
    sources.set_log_level = [this](std::string_view word, const admin::Caller& by) {
        return set_log_level(word, by);
    };
    sources.uptime_seconds = [this] { return to_seconds(net::now() - started_); };
    return sources;
}

}  // namespace weir::app

// The part of Sidecar that shows itself: what admin and status listeners ask for.

#include <nlohmann/json.hpp>

#include "admin/figures.h"
#include "app/figures.h"
#include "app/sidecar.h"
#include "engine/definition_store.h"
#include "engine/engine.h"
#include "net/clock.h"

namespace weir::app {
namespace {

/// The settings that tell sidecars apart; no secrets.
std::string settings_json(const config::Settings& settings) {
    nlohmann::ordered_json json{{"listen", to_string(settings.listen)},
                                {"upstream", to_string(settings.upstream)},
                                {"admin", to_string(settings.admin)},
                                {"status", to_string(settings.status)},
                                {"quotas", settings.quotas},
                                {"routes", settings.routing.routes.size()},
                                {"workers", settings.workers}};
    if (settings.cluster) {
        json["cluster"] = {{"name", settings.cluster->name},
                           {"listen", to_string(settings.cluster->listen)},
                           {"sealed", !settings.cluster->insecure}};
    }
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

admin::Health Sidecar::health() const {
    return {.listening = listening_, .configured = !upstream_.empty(), .draining = draining_};
}

admin::ClusterFigures Sidecar::cluster_figures() {
    admin::ClusterFigures figures = admin::to_figures(cluster_->engine());
    figures.driver_events = driver_events(cluster_->statistics());
    return figures;
}

admin::ConfigFigures Sidecar::config_figures() {
    admin::ConfigFigures figures = figures_;
    engine::DefinitionStore& store = cluster_->engine().definitions();
    for (const engine::SetStatus& set : store.sets()) {
        figures.quota_sets.push_back(admin::to_figures(set));
    }
    figures.quotas_hash = admin::hash_text(store.content_hash());
    figures.settings_json = settings_json(settings_);
    return figures;
}

admin::MetricsSources Sidecar::metrics_sources() {
    admin::MetricsSources sources;
    sources.proxy = [this] {
        return to_figures(proxy_ ? proxy_->statistics() : proxy::Statistics{});
    };
    sources.limiter = [this] { return admin::to_figures(limiter_, net::now()); };
    sources.cluster = [this] { return cluster_figures(); };
    sources.config = [this] { return config_figures(); };
    sources.build = build_figures();
    sources.max_quota_series = settings_.max_quota_series;
    return sources;
}

admin::AdminSources Sidecar::admin_sources() {
    admin::AdminSources sources;
    sources.health = [this] { return health(); };
    sources.config = [this] { return config_figures(); };
    sources.peers = [this] { return cluster_->engine().peers(net::now()); };
    sources.build = build_figures();
    sources.quotas = quotas_.get();
    sources.drain = [this] { drain(); };
    sources.log_level = [this] { return std::string(to_string(log_.level())); };
    sources.set_log_level = [this](std::string_view word) {
        config::LogLevel level = config::LogLevel::info;
        const bool known = parse_log_level(word, level);
        if (known) log_.set_level(level);
        return known;
    };
    sources.uptime_seconds = [this] { return to_seconds(net::now() - started_); };
    return sources;
}

}  // namespace weir::app

// The part of Sidecar that takes over changed files: everything good, or nothing.

#include <algorithm>
#include <boost/asio/post.hpp>

#include "admin/figures.h"
#include "app/sidecar.h"
#include "engine/definition_store.h"
#include "engine/engine.h"
#include "net/clock.h"
#include "routing/router.h"

namespace weir::app {
namespace {

/// Enough to see what is wrong; the rest is in GET /v1/config and in `weir validate`.
constexpr std::size_t kLoggedErrors = 10;

std::vector<std::string> error_lines(const config::Diagnostics& diagnostics) {
    std::vector<std::string> lines;
    for (const config::Diagnostic& diagnostic : diagnostics.sorted()) {
        if (diagnostic.severity == config::Severity::error) {
            lines.push_back(to_string(diagnostic));
        }
    }
    return lines;
}

bool same_cluster(const std::optional<config::ClusterSettings>& one,
                  const std::optional<config::ClusterSettings>& other) {
    return one.has_value() == other.has_value() && (!one || *one == *other);
}

/// Keys whose change only a restart takes over.
std::string fixed_changes(const config::Settings& now, const config::Settings& wanted) {
    std::string keys;
    const auto note = [&](bool same, const char* key) {
        if (!same) keys += (keys.empty() ? "" : ", ") + std::string(key);
    };
    note(now.listen == wanted.listen, "listen");
    note(now.admin == wanted.admin, "admin");
    note(now.admin_token_file == wanted.admin_token_file, "admin_token_file");
    note(now.status == wanted.status, "status");
    note(now.workers == wanted.workers, "workers");
    note(now.limits.connections == wanted.limits.connections, "limits.connections");
    note(now.drain == wanted.drain, "drain");
    note(now.limiter == wanted.limiter, "limiter");
    note(now.log.format == wanted.log.format, "log.format");
    note(now.max_quota_series == wanted.max_quota_series, "metrics.max_quota_series");
    note(same_cluster(now.cluster, wanted.cluster), "cluster");
    return keys;
}

/// What a reload may change, into what is in force.
void take_over(config::Settings& now, const config::Settings& wanted) {
    const std::size_t connections = now.limits.connections;
    now.upstream = wanted.upstream;
    now.quotas = wanted.quotas;
    now.routing = wanted.routing;
    now.timeouts = wanted.timeouts;
    now.limits = wanted.limits;
    now.limits.connections = connections;
    now.headers = wanted.headers;
    now.trusted_proxies = wanted.trusted_proxies;
    now.log.level = wanted.log.level;
}

}  // namespace

void Sidecar::reload(Reload what) {
    if (stopping_) return;
    if (loading_) {
        const bool everything = what == Reload::everything || load_next_ == Reload::everything;
        load_next_ = everything ? Reload::everything : Reload::quotas;
        return;
    }
    loading_ = true;
    boost::asio::post(
        loader_, [this, what, settings = settings_, source = source_, known = quotas_hash_] {
            auto loaded = std::make_shared<Loaded>(
                what == Reload::everything ? load(source) : load_quotas(settings, known));
            boost::asio::post(control_, [this, what, loaded] {
                loaded_again(what, std::move(*loaded));
                loading_ = false;
                if (const auto next = std::exchange(load_next_, std::nullopt)) reload(*next);
            });
        });
}

void Sidecar::loaded_again(Reload what, Loaded loaded) {
    if (stopping_ || loaded.quotas_unchanged) return;
    if (!loaded.good()) {
        reload_failed(what, error_lines(loaded.diagnostics));
        return;
    }
    std::vector<std::string> errors = apply_sets(loaded.sets);
    quotas_hash_ = loaded.quotas_hash;
    if (what == Reload::everything) {
        apply_settings(loaded.settings);
        figures_.hash = admin::hash_text(loaded.settings_hash);
        if (auto keys = cluster_->reload_keys(); !keys) errors.push_back(keys.error().message);
    }
    if (!errors.empty()) {
        reload_failed(what, std::move(errors));
        return;
    }
    ++figures_.reloads;
    settings_bad_ = settings_bad_ && what == Reload::quotas;
    if (settings_bad_) return;
    figures_.last_reload_successful = true;
    figures_.last_success_seconds = to_seconds(net::unix_time());
    figures_.errors.clear();
    log_.info("reloaded", {{"quota_sets", std::to_string(loaded.sets.size())}});
}

void Sidecar::reload_failed(Reload what, std::vector<std::string> errors) {
    quotas_hash_ = 0;
    settings_bad_ = settings_bad_ || what == Reload::everything;
    ++figures_.reloads;
    ++figures_.reload_failures;
    figures_.last_reload_successful = false;
    log_.error("reload failed, what was in force stays",
               {{"errors", std::to_string(errors.size())}});
    for (std::size_t i = 0; i < std::min(errors.size(), kLoggedErrors); ++i) {
        log_.error(errors[i], {});
    }
    figures_.errors = std::move(errors);
}

std::vector<std::string> Sidecar::apply_sets(const std::vector<config::QuotaSet>& sets) {
    engine::DefinitionStore& store = cluster_->engine().definitions();
    std::vector<std::string> errors;
    std::set<std::string> names;
    for (const config::QuotaSet& set : sets) {
        names.insert(set.name);
        const auto report =
            store.apply_document({set.name, set.generation, set.quotas}, net::now());
        const std::string message = set.file + ": " + report.message;
        switch (report.outcome) {
            case engine::DocumentOutcome::applied:
            case engine::DocumentOutcome::unchanged:
                break;
            case engine::DocumentOutcome::older:
                log_.info("a newer generation is in force", {{"reason", message}});
                break;
            case engine::DocumentOutcome::conflict:
            case engine::DocumentOutcome::invalid:
                errors.push_back(message);
                break;
        }
    }
    for (const std::string& name : local_sets_) {
        if (!names.contains(name)) store.forget_local_document(name, net::now());
    }
    local_sets_ = std::move(names);
    return errors;
}

void Sidecar::apply_settings(const config::Settings& settings) {
    const std::string fixed = fixed_changes(settings_, settings);
    if (!fixed.empty()) {
        log_.warning("some changes take a restart", {{"keys", fixed}});
    }
    if (settings_.log.level != settings.log.level) log_.set_level(settings.log.level);
    take_over(settings_, settings);
    auto compiled = routing::Router::compile(settings_.routing);
    if (auto* router = std::get_if<std::shared_ptr<const routing::Router>>(&compiled)) {
        router_ = *router;
    }
    replace_snapshot();
    upstream_lookup_.set(settings_.upstream);
    watch_.watch(settings_.quotas);
}

}  // namespace weir::app

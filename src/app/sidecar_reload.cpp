// The part of Sidecar that takes over changed files: everything good, or nothing.

#include <algorithm>
#include <boost/asio/post.hpp>

#include "admin/figures.h"
#include "app/sidecar.h"
#include "config/given_settings.h"
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

std::optional<config::ListenAddress> check_address(const config::Settings& settings) {
    if (!settings.check) {
        return std::nullopt;
    }
    return settings.check->listen;
}

/// Keys whose change only a restart takes over.
std::vector<std::string> fixed_changes(const config::Settings& now,
                                       const config::Settings& wanted) {
    std::vector<std::string> keys;
    const auto note = [&](bool same, const char* key) {
        if (!same) {
            keys.emplace_back(key);
        }
    };
    note(now.listen == wanted.listen, "listen");
    note(now.admin == wanted.admin, "admin");
    note(now.admin_token_file == wanted.admin_token_file, "admin_token_file");
    note(now.status == wanted.status, "status");
    note(check_address(now) == check_address(wanted), "check.listen");
    note(now.workers == wanted.workers, "workers");
    note(now.access_log_file == wanted.access_log_file, "access_log_file");
    note(now.limits.connections == wanted.limits.connections, "limits.connections");
    note(now.drain == wanted.drain, "drain");
    note(now.limiter == wanted.limiter, "limiter");
    note(now.log.format == wanted.log.format, "log.format");
    note(now.snapshot == wanted.snapshot, "snapshot");
    note(now.max_quota_series == wanted.max_quota_series, "metrics.max_quota_series");
    note(now.max_quota_bytes == wanted.max_quota_bytes, "metrics.max_quota_bytes");
    note(same_cluster(now.cluster, wanted.cluster), "cluster");
    return keys;
}

/// What a reload may change, into what is in force.
void take_over(config::Settings& now, const config::Settings& wanted) {
    const std::size_t connections = now.limits.connections;
    now.given = config::take_over(now.given, wanted.given);
    now.upstream = wanted.upstream;
    now.quotas = wanted.quotas;
    now.routing = wanted.routing;
    now.timeouts = wanted.timeouts;
    now.limits = wanted.limits;
    now.limits.connections = connections;
    now.headers = wanted.headers;
    now.trusted_proxies = wanted.trusted_proxies;
    now.judging_proxies = wanted.judging_proxies;
    if (now.check && wanted.check) {
        now.check->clients = wanted.check->clients;
    }
    now.log.level = wanted.log.level;
    now.access_log = wanted.access_log;
    now.peek = wanted.peek;
}

}  // namespace

node::Reloader::Job Sidecar::reload_job(Reload what) const {
    return [what, settings = settings_, source = source_, known = quotas_hash_] {
        return what == Reload::everything ? node::load(source) : node::load_quotas(settings, known);
    };
}

void Sidecar::loaded_again(Reload what, node::Loaded loaded) {
    if (stopping_ || loaded.quotas_unchanged) {
        return;
    }
    if (loaded.unreadable) {
        watch_.again();
    }
    if (!loaded.good()) {
        std::vector<std::string> errors = error_lines(loaded.diagnostics);
        const bool told = what == Reload::quotas && loaded.unreadable && errors == figures_.errors;
        if (!told) {
            reload_failed(what, std::move(errors));
        }
        return;
    }
    std::vector<std::string> errors = apply_sets(loaded.sets, what == Reload::everything);
    quotas_hash_ = loaded.quotas_hash;
    if (what == Reload::everything) {
        apply_settings(loaded.settings);
        figures_.hash = admin::hash_text(loaded.settings_hash);
        reload_keys(true);
        reload_token();
    }
    settings_bad_ = settings_bad_ && what == Reload::quotas;
    if (!errors.empty()) {
        reload_failed(Reload::quotas, std::move(errors));  // the settings are taken over
        return;
    }
    ++figures_.reloads;
    if (settings_bad_) {
        return;
    }
    figures_.last_reload_successful = true;
    figures_.last_success_seconds = to_seconds(net::unix_time());
    figures_.errors.clear();
    log_.info("reloaded", {{"quota_sets", std::to_string(loaded.sets.size())}});
    // What changed between reading and watching anew.
    if (what == Reload::everything) {
        reload(Reload::quotas);
    }
}

/// Its own trouble: a bad key file leaves quotas and settings alone, and they leave it.
void Sidecar::reload_keys(bool by_hand) {
    if (stopping_) {
        return;
    }
    const auto changed = cluster_->reload_keys();
    if (!changed) {
        key_watch_.again();
        if (!by_hand && keys_problem_ == changed.error().message) {
            return;
        }
        ++figures_.reloads;
        ++figures_.reload_failures;
        keys_problem_ = changed.error().message;
        log_.error("the gossip keys are not read again, those in use stay",
                   {{"reason", keys_problem_}});
        return;
    }
    for (const std::string& warning : cluster_->warnings()) {
        log_.warning(warning, {});
    }
    keys_problem_.clear();
    if (!*changed) {
        return;
    }
    ++figures_.reloads;
    std::string accepted;
    for (const std::uint32_t key : cluster_->engine().key_ids()) {
        accepted += (accepted.empty() ? "" : ",") + admin::key_text(key);
    }
    log_.info("gossip keys changed, the first one seals", {{"keys", accepted}});
}

void Sidecar::reload_token() {
    if (stopping_) {
        return;
    }
    const auto read = admin_server_->reload_token();
    if (read) {
        token_problem_.clear();
        return;
    }
    ++figures_.reloads;
    ++figures_.reload_failures;
    token_problem_ = read.error().message;
    log_.error("the admin token is not read again, the one in use stays",
               {{"reason", token_problem_}});
}

void Sidecar::watch_keys() {
    if (!settings_.cluster || settings_.cluster->key_file.empty()) {
        return;
    }
    key_watch_.watch({settings_.cluster->key_file});
    reload_keys(false);  // what changed between reading and watching
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

/// What came of a long document after it was taken in, or of a conflict that a peer showed.
void Sidecar::log_outcome(const node::SetsOutcome& outcome) {
    for (const std::string& message : outcome.older) {
        log_.info("a newer generation is in force", {{"reason", message}});
    }
    for (const std::string& message : outcome.errors) {
        log_.error("a quota document is not in force", {{"reason", message}});
    }
    for (const std::string& set : outcome.over) {
        log_.info("a quota set is not in conflict any more", {{"set", set}});
    }
}

std::vector<std::string> Sidecar::apply_sets(const std::vector<config::QuotaSet>& sets,
                                             bool by_hand) {
    node::SetsOutcome outcome = member_.apply(sets, by_hand);
    for (const std::string& message : outcome.older) {
        log_.info("a newer generation is in force", {{"reason", message}});
    }
    for (const std::string& message : outcome.gone) {
        log_.warning("quotas stay in force without a file here", {{"reason", message}});
    }
    return std::move(outcome.errors);
}

void Sidecar::apply_settings(const config::Settings& settings) {
    after_restart_ = fixed_changes(settings_, settings);
    if (!after_restart_.empty()) {
        std::string keys;
        for (const std::string& key : after_restart_) {
            keys += (keys.empty() ? "" : ", ") + key;
        }
        log_.warning("some changes take a restart", {{"keys", keys}});
    }
    if (settings_.log.level != settings.log.level) {
        log_.set_level(settings.log.level);
    }
    take_over(settings_, settings);
    auto compiled = routing::Router::compile(settings_.routing);
    if (auto* router = std::get_if<std::shared_ptr<const routing::Router>>(&compiled)) {
        router_ = *router;
    }
    if (auto opened = open_access_log(); !opened) {
        log_.error(opened.error().message, {});
    }
    replace_snapshot();
    upstream_lookup_.set(settings_.upstream);
    set_memory_limit();
    watch_.watch(settings_.quotas);
}

}  // namespace weir::app

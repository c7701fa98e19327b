// The part of Sidecar that writes to the log what the host reports about reloads.

#include <algorithm>

#include "admin/figures.h"
#include "app/joined.h"
#include "app/sidecar.h"
#include "definitions/store.h"
#include "engine/engine.h"
#include "net/clock.h"

namespace weir::app {
namespace {

/// The largest number of errors that are logged; the others, up to a hundred, are in GET /v1/config
/// and in `weir validate`.
constexpr std::size_t kLoggedErrors = 10;

}  // namespace

void Sidecar::keys_warned(const std::string& warning) { log_.warning(warning, {}); }

void Sidecar::keys_failed(const std::string& reason) {
    log_.error("the gossip keys are not read again, those in use stay", {{"reason", reason}});
}

void Sidecar::keys_changed() {
    std::vector<std::string> accepted;
    for (const std::uint32_t key : host_.cluster().engine().key_ids()) {
        accepted.push_back(admin::key_text(key));
    }
    log_.info("gossip keys changed, the first one seals",
              {{"audit", "keys"},
               {"keys", joined(accepted, ",")},
               {"who", "file " + host_.settings().cluster->key_file},
               {"why", "the key file was changed"}});
}

void Sidecar::first_quotas_failed(const std::vector<std::string>& errors) {
    tell_errors(
        "the quota files are not in force, serving with what the fleet and the snapshot have",
        errors);
}

void Sidecar::reload_failed(const std::vector<std::string>& errors) {
    tell_errors("reload failed, what was in force stays", errors);
}

void Sidecar::sets_left_out(const std::vector<std::string>& errors) {
    tell_errors("quota sets of the files are not in force, everything else of the files is",
                errors);
}

void Sidecar::tell_errors(std::string_view message, const std::vector<std::string>& errors) {
    log_.error(message, {{"errors", std::to_string(errors.size())}});
    for (std::size_t i = 0; i < std::min(errors.size(), kLoggedErrors); ++i) {
        log_.error(errors[i], {});
    }
}

void Sidecar::sets_applied(const node::SetsOutcome& outcome) {
    for (const std::string& message : outcome.gone) {
        log_.warning("a quota set has no file here any more", {{"reason", message}});
    }
    for (const std::string& message : outcome.waiting) {
        log_.info("a quota file waits for the fleet", {{"reason", message}});
    }
}

void Sidecar::late_outcome(const node::SetsOutcome& outcome) {
    sets_applied(outcome);
    for (const std::string& message : outcome.older) {
        log_.error("a quota document is not in force", {{"reason", message}});
    }
    for (const std::string& message : outcome.errors) {
        log_.error("a quota document is not in force", {{"reason", message}});
    }
    for (const std::string& set : outcome.over) {
        log_.info("a quota set is not in conflict any more", {{"set", set}});
    }
}

void Sidecar::settings_taken_over(const config::Settings& in_force,
                                  const std::vector<std::string>& after_restart) {
    if (!after_restart.empty()) {
        log_.warning("some changes take a restart", {{"keys", joined(after_restart, ", ")}});
    }
    live_.take_over(in_force);
    problems_.routes_changed();
}

void Sidecar::read_own_files() {
    const auto read = admin_server_->reload_token();
    if (read) {
        host_.record().file_is_good(node::OwnFile::admin_token, false);
        return;
    }
    host_.record().file_is_bad(node::OwnFile::admin_token, read.error().message);
    log_.error("the admin token is not read again, the one in use stays",
               {{"reason", read.error().message}});
}

void Sidecar::reloaded(std::size_t quota_sets) {
    log_.info("reloaded", {{"quota_sets", std::to_string(quota_sets)}});
}

/// The line is written at the level that shows more, so that switching the log off is in it.
bool Sidecar::set_log_level(std::string_view word, const admin::Caller& by) {
    config::LogLevel level = config::LogLevel::info;
    if (!parse_log_level(word, level)) {
        return false;
    }
    const config::LogLevel before = log_.level();
    log_.set_level(std::min({before, level, config::LogLevel::info}));
    audit_.note(AuditKind::log_level, "the log's level was changed by the API",
                {{"level", std::string(word)},
                 {"before", std::string(to_string(before))},
                 {"who", by.who},
                 {"why", by.why}},
                net::now());
    log_.set_level(level);
    return true;
}

void Sidecar::look_at_fleet() {
    const Instant now = net::now();
    engine::Engine& engine = host_.cluster().engine();
    definitions::DefinitionStore& store = engine.definitions();
    fleet_audit_.look(engine.peers(now), store.sets(), store.take_expired(), now);
    audit_.flush(now);
    audit_timer_.expires_after(std::chrono::seconds(1));
    audit_timer_.async_wait([this](const boost::system::error_code& failure) {
        if (!failure && !stopping_) {
            look_at_fleet();
        }
    });
}

void Sidecar::snapshot_noted(const node::SnapshotNotice& notice) {
    const LogFields fields = {{"what", notice.reason}};
    notice.is_warning ? log_.warning(notice.message, fields) : log_.info(notice.message, fields);
}

}  // namespace weir::app

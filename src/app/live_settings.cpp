#include "app/live_settings.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "routing/router.h"

namespace weir::app {
namespace {

/// Compiles the routes; null if they have errors. The settings were checked when they were read.
std::shared_ptr<const routing::Router> compile(const config::Settings& settings) {
    auto compiled = routing::Router::compile(settings.routing);
    auto* router = std::get_if<std::shared_ptr<const routing::Router>>(&compiled);
    return router == nullptr ? nullptr : *router;
}

}  // namespace

LiveSettings::LiveSettings(boost::asio::io_context& control, const config::Settings& settings,
                           Log& log, Told told)
    : settings_(settings),
      log_(log),
      told_(std::move(told)),
      router_(compile(settings)),
      access_log_(settings.access_log_file),
      upstream_lookup_(
          control,
          [this](std::vector<net::SocketAddress> found) { found_upstream(std::move(found)); },
          [this](const std::string& message) {
              log_.warning("the upstream's name cannot be looked up",
                           {{"upstream", to_string(settings_.upstream)}, {"reason", message}});
          }),
      memory_(control, told_.memory) {
    memory_.configure(settings.limits.memory);
}

void LiveSettings::look_up_upstream() {
    if (has_proxy()) {
        upstream_lookup_.set(settings_.upstream);
    }
}

Result<void> LiveSettings::open_access_log() {
    if (!has_proxy() || settings_.access_log == config::AccessLogMode::off) {
        return {};
    }
    return access_log_.open();
}

void LiveSettings::watch_memory() {
    memory_.set_limit(settings_.limits.memory);
    // A thousand transfers begin between two looks at the memory in use: their buffers have a
    // bound of their own.
    const auto limit = memory_.last().limit;
    told_.buffer_bytes(limit == 0 ? std::numeric_limits<std::size_t>::max() : limit / 2);
}

void LiveSettings::take_over(const config::Settings& settings) {
    const config::LogLevel configured = std::exchange(settings_, settings).log.level;
    if (configured != settings_.log.level) {  // else a level set by the admin API stays
        const config::LogLevel before = log_.level();
        // The line is written at the level that shows more, so that switching the log off is in it.
        log_.set_level(std::min({before, settings_.log.level, config::LogLevel::info}));
        log_.info("the log's level was changed by the settings",
                  {{"audit", "log_level"},
                   {"level", std::string(to_string(settings_.log.level))},
                   {"before", std::string(to_string(before))},
                   {"who", "the settings' file"},
                   {"why", "log.level was changed"}});
        log_.set_level(settings_.log.level);
    }
    if (auto router = compile(settings_)) {
        router_ = std::move(router);
    }
    if (auto opened = open_access_log(); !opened) {
        log_.error(opened.error().message, {});
    }
    told_.snapshot(snapshot());
    look_up_upstream();
    watch_memory();
}

void LiveSettings::stop() {
    upstream_lookup_.stop();
    memory_.stop();
}

std::shared_ptr<const proxy::Snapshot> LiveSettings::snapshot() const {
    auto snapshot = std::make_shared<proxy::Snapshot>();
    static_cast<config::ServingSettings&>(*snapshot) =
        static_cast<const config::ServingSettings&>(settings_);
    snapshot->router = router_;
    snapshot->upstream = upstream_;
    snapshot->upstream_host = host_of(settings_.upstream);
    if (settings_.check) {
        snapshot->check_clients = settings_.check->clients;
    }
    return snapshot;
}

void LiveSettings::found_upstream(std::vector<net::SocketAddress> addresses) {
    upstream_ = std::move(addresses);
    told_.snapshot(snapshot());
}

}  // namespace weir::app

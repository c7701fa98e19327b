#include "app/sidecar.h"

#include <boost/asio/post.hpp>
#include <csignal>
#include <cstdlib>

#include "engine/engine.h"
#include "net/clock.h"
#include "node/version.h"

namespace weir::app {

Sidecar::Sidecar(node::ConfigSource source, node::Loaded loaded, std::uint64_t seed)
    : random_(seed),
      log_(loaded.settings.log),
      control_(1),
      signals_(control_),
      host_(control_, std::move(source), std::move(loaded), *this, random_.next()),
      live_(control_, host_.settings(), log_,
            {.snapshot =
                 [this](std::shared_ptr<const proxy::Snapshot> snapshot) {
                     proxy_.replace(std::move(snapshot));
                 },
             .buffer_bytes = [this](std::size_t bytes) { proxy_.bound_buffers(bytes); },
             .memory =
                 [this](bool is_short, const MemoryGauge::MemoryReading& reading) {
                     memory_changed(is_short, reading);
                 }}),
      stranger_timer_(control_),
      problems_(control_, host_, live_, log_,
                {.upstream_failures = [this] { return proxy_.upstream_failures(); },
                 .crowded = [this] { return proxy_.crowded(); },
                 .most_connections = [this] { return proxy_.most_connections(); },
                 .asked_in_vain = [this] { return proxy_.take_unknown_names(); }}),
      audit_([this](std::string_view message, const LogFields& fields) {
          log_.info(message, fields);
      }),
      fleet_audit_(audit_),
      audit_timer_(control_) {}

Sidecar::~Sidecar() {
    host_.join();
    proxy_.stop_now();
    proxy_.join();
}

Result<void> Sidecar::start(bool strict) {
    started_ = net::now();
    if (auto opened = open_host(strict); !opened) {
        return opened;
    }
    if (auto opened = open_listeners(); !opened) {
        return opened;
    }
    live_.look_up_upstream();
    if (auto opened = proxy_.open(host_.settings(), host_.limiter(), live_, random_.next());
        !opened) {
        return opened;
    }
    listening_ = true;
    live_.watch_memory();
    host_.start();
    tell_strangers();
    problems_.start();
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
        signals_.add(number);
    }
    wait_for_signal();
    return {};
}

Result<void> Sidecar::open_host(bool strict) {
    if (auto opened = host_.open(); !opened) {
        return opened;
    }
    host_.bound_memory([this] { return live_.room_left(); });
    for (const std::string& warning : host_.cluster().warnings()) {
        log_.warning(warning, {});
    }
    const auto& cluster = host_.settings().cluster;
    if (cluster && cluster->insecure) {
        log_.warning("gossip is not sealed: whoever reaches its port can change every limit", {});
    }
    // A sidecar without the quotas of its files serves: it may have those of its fleet.
    auto applied = host_.apply_first();
    return strict ? std::move(applied) : Result<void>{};
}

Result<void> Sidecar::open_listeners() {
    metrics_ = std::make_unique<admin::Metrics>(metrics_sources());
    status_server_ = std::make_unique<admin::StatusServer>(
        control_, host_.settings().status, [this] { return health(); }, *metrics_,
        [this] { return problems_.list(); });
    if (auto started = status_server_->start(); !started) {
        return error(started.error().code, "status: " + started.error().message);
    }
    admin::AdminOptions options;
    options.listen = host_.settings().admin;
    options.token_file = host_.settings().admin_token_file;
    admin_server_ = std::make_unique<admin::AdminServer>(control_, options, admin_sources());
    if (auto started = admin_server_->start(); !started) {
        return error(started.error().code, "admin: " + started.error().message);
    }
    return {};
}

void Sidecar::run() {
    const config::Settings& settings = host_.settings();
    log_.info(proxy_.is_open() ? "serving" : "serving its fleet as an anchor, without a proxy",
              {{"version", std::string(node::kVersion)},
               {"listen", proxy_.listening()},
               {"upstream", proxy_.is_open() ? to_string(settings.upstream) : "none"},
               {"admin", to_string(admin_server_->bound())},
               {"status", to_string(status_server_->bound())},
               {"check", proxy_.checking()},
               {"gossip", settings.cluster ? to_string(host_.cluster().bound()) : "none"},
               {"workers", std::to_string(proxy_.workers())}});
    look_at_fleet();
    control_.run();
    host_.join();
    proxy_.join();
    live_.access_log().close();
    log_.info("ended", {});
}

void Sidecar::wait_for_signal() {
    signals_.async_wait([this](const boost::system::error_code& failure, int number) {
        if (failure) {
            return;
        }
        on_signal(number);
        wait_for_signal();
    });
}

void Sidecar::on_signal(int number) {
    if (number == SIGHUP) {
        host_.reload(node::Reload::everything);
        return;
    }
    if (stopping_) {
        log_.warning("ending at once: told so a second time", {});
        std::_Exit(1);
    }
    stop(number == SIGTERM ? "SIGTERM" : "SIGINT");
}

/// Makes the next signal end the process, because from here on the control thread may wait for a
/// disk and handles no signals.
void Sidecar::end_at_next_signal() {
    // A handler is needed, because the default action does not end the first process of a
    // container.
    for (const int number : {SIGTERM, SIGINT}) {
        std::signal(number, [](int) { std::_Exit(1); });
    }
}

void Sidecar::memory_changed(bool is_short, const MemoryGauge::MemoryReading& reading) {
    proxy_.shed(is_short);
    const auto used = std::to_string(reading.used);
    const auto limit = std::to_string(reading.limit);
    if (is_short) {
        const auto instances = std::to_string(host_.limiter().memory().bytes);
        log_.warning(proxy_.is_open() ? "memory is short: requests get 503" : "memory is short",
                     {{"used", used}, {"limit", limit}, {"quota_instances", instances}});
    } else {
        log_.info("memory is no longer short", {{"used", used}, {"limit", limit}});
    }
}

void Sidecar::drain(const admin::Caller& by) {
    if (std::exchange(draining_, true)) {
        return;
    }
    audit_.note(AuditKind::drain, "draining: not ready any more, still serving",
                {{"who", by.who}, {"why", by.why}}, net::now());
    proxy_.drain();
}

void Sidecar::stop(std::string_view signal) {
    stopping_ = true;
    host_.stop_reloading();
    // The system does not say who sent it.
    drain({.who = "signal " + std::string(signal), .why = "told to end"});
    log_.info("finishing what is in flight", {});
    proxy_.stop([this] { boost::asio::post(control_, [this] { finish(); }); });
}

void Sidecar::finish() {
    end_at_next_signal();
    host_.leave();
    live_.stop();
    stranger_timer_.cancel();
    problems_.stop();
    audit_timer_.cancel();
    signals_.cancel();
    admin_server_->stop();
    status_server_->stop();
    control_.stop();
}

}  // namespace weir::app

#include "app/sidecar.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>
#include <cstdlib>
#include <limits>

#include "admin/figures.h"
#include "app/figures.h"
#include "engine/engine.h"
#include "net/clock.h"
#include "node/version.h"
#include "routing/router.h"

namespace weir::app {
namespace {

net::Address to_address(const config::ListenAddress& listen) {
    if (listen.is_unix()) {
        net::Address address;
        address.path = listen.path;
        return address;
    }
    return net::Address::from(listen.endpoint);
}

/// The settings were checked when they were read, so this cannot fail then.
std::shared_ptr<const routing::Router> compile(const config::Settings& settings) {
    auto compiled = routing::Router::compile(settings.routing);
    auto* router = std::get_if<std::shared_ptr<const routing::Router>>(&compiled);
    return router == nullptr ? nullptr : *router;
}

}  // namespace

Sidecar::Sidecar(node::ConfigSource source, node::Loaded loaded, std::uint64_t seed)
    : source_(std::move(source)),
      settings_(std::move(loaded.settings)),
      first_sets_(std::move(loaded.sets)),
      random_(seed),
      log_(settings_.log),
      control_(1),
      signals_(control_),
      member_(control_, settings_, random_.next()),
      limiter_(member_.limiter()),
      router_(compile(settings_)),
      access_log_(settings_.access_log_file),
      upstream_lookup_(
          control_,
          [this](std::vector<net::SocketAddress> found) { set_upstream(std::move(found)); },
          [this](const std::string& message) {
              log_.warning("the upstream's name cannot be looked up",
                           {{"upstream", to_string(settings_.upstream)}, {"reason", message}});
          }),
      watch_(control_, [this] { reload(Reload::quotas); }),
      key_watch_(control_, [this] { reload_keys(false); }),
      stranger_timer_(control_),
      memory_(control_,
              [this](bool is_short, const MemoryGauge::Reading& reading) {
                  memory_changed(is_short, reading);
              }),
      quotas_hash_(loaded.quotas_hash),
      reloader_(
          control_, [this](Reload what) { return reload_job(what); },
          [this](Reload what, node::Loaded again) { loaded_again(what, std::move(again)); }) {
    figures_.file = source_.file.value_or("");
    figures_.hash = admin::hash_text(loaded.settings_hash);
}

Sidecar::~Sidecar() {
    reloader_.join();
    if (proxy_) {
        proxy_->stop_now();
        proxy_->join();
    }
}

Result<void> Sidecar::start() {
    started_ = net::now();
    if (auto opened = open_cluster(); !opened) {
        return opened;
    }
    if (auto applied = member_.apply_first(first_sets_); !applied) {
        return applied;
    }
    first_sets_ = {};
    figures_.last_success_seconds = to_seconds(net::unix_time());
    if (auto opened = open_listeners(); !opened) {
        return opened;
    }
    upstream_lookup_.set(settings_.upstream);
    if (auto opened = open_proxy(); !opened) {
        return opened;
    }
    set_memory_limit();
    member_.on_late_outcome([this](const node::SetsOutcome& outcome) {
        log_outcome(outcome);
        if (outcome.again) {
            reload(Reload::quotas);
        }
    });
    member_.start();
    watch_.watch(settings_.quotas);
    reload(Reload::quotas);  // what changed between reading and watching
    watch_keys();
    tell_strangers();
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
        signals_.add(number);
    }
    wait_for_signal();
    return {};
}

Result<void> Sidecar::open_cluster() {
    member_.on_snapshot([this](const node::SnapshotNotice& notice) {
        const LogFields fields = {{"what", notice.reason}};
        notice.is_warning ? log_.warning(notice.message, fields)
                          : log_.info(notice.message, fields);
    });
    if (auto opened = member_.open(settings_); !opened) {
        return opened;
    }
    cluster_ = &member_.cluster();
    for (const std::string& warning : cluster_->warnings()) {
        log_.warning(warning, {});
    }
    if (settings_.cluster && settings_.cluster->insecure) {
        log_.warning("gossip is not sealed: whoever reaches its port can change every limit", {});
    }
    return {};
}

Result<void> Sidecar::open_listeners() {
    quotas_ = std::make_unique<admin::EngineQuotas>(cluster_->engine(), limiter_, &net::now);
    metrics_ = std::make_unique<admin::Metrics>(metrics_sources());
    status_server_ = std::make_unique<admin::StatusServer>(
        control_, settings_.status, [this] { return health(); }, *metrics_);
    if (auto started = status_server_->start(); !started) {
        return error(started.error().code, "status: " + started.error().message);
    }
    admin::AdminOptions options;
    options.listen = settings_.admin;
    options.token_file = settings_.admin_token_file;
    admin_server_ = std::make_unique<admin::AdminServer>(control_, options, admin_sources());
    if (auto started = admin_server_->start(); !started) {
        return error(started.error().code, "admin: " + started.error().message);
    }
    return {};
}

Result<void> Sidecar::open_proxy() {
    proxy::ServerSettings settings;
    settings.listen = to_address(settings_.listen);
    if (settings_.check) {
        settings.check = to_address(settings_.check->listen);
    }
    settings.workers = settings_.workers;
    settings.connections = settings_.limits.connections;
    settings.drain = settings_.drain;
    settings.seed = random_.next();
    settings.access_log = &access_log_;
    if (auto opened = open_access_log(); !opened) {
        return opened;
    }
    proxy_ = std::make_unique<proxy::Server>(settings, limiter_, make_snapshot());
    if (auto started = proxy_->start(); !started) {
        proxy_.reset();
        return error(started.error().code, "listen: " + started.error().message);
    }
    listening_ = true;
    return {};
}

int Sidecar::run() {
    log_.info("serving", {{"version", std::string(node::kVersion)},
                          {"listen", net::to_string(proxy_->listening())},
                          {"upstream", to_string(settings_.upstream)},
                          {"admin", to_string(admin_server_->bound())},
                          {"status", to_string(status_server_->bound())},
                          {"check", settings_.check ? net::to_string(proxy_->checking()) : "none"},
                          {"gossip", settings_.cluster ? to_string(cluster_->bound()) : "none"},
                          {"workers", std::to_string(proxy_->workers())}});
    control_.run();
    reloader_.join();
    proxy_->join();
    access_log_.close();
    log_.info("ended", {});
    return 0;
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
        reload(Reload::everything);
        return;
    }
    if (stopping_) {
        log_.warning("ending at once: told so a second time", {});
        std::_Exit(1);
    }
    stop();
}

/// From here on the control thread may wait for a disk, and hears no signal.
void Sidecar::end_at_next_signal() {
    // A handler, not the default: the first process of a container would go on.
    for (const int number : {SIGTERM, SIGINT}) {
        std::signal(number, [](int) { std::_Exit(1); });
    }
}

void Sidecar::set_memory_limit() {
    memory_.set_limit(settings_.limits.memory);
    // A thousand transfers begin between two looks at the memory in use: their buffers have a
    // bound of their own.
    const auto limit = memory_.last().limit;
    proxy_->bound_buffers(limit == 0 ? std::numeric_limits<std::size_t>::max() : limit / 2);
}

void Sidecar::memory_changed(bool is_short, const MemoryGauge::Reading& reading) {
    if (proxy_) {
        proxy_->shed(is_short);
    }
    const auto used = std::to_string(reading.used);
    const auto limit = std::to_string(reading.limit);
    if (is_short) {
        const auto instances = std::to_string(limiter_.memory().bytes);
        log_.warning("memory is short: requests get 503",
                     {{"used", used}, {"limit", limit}, {"quota_instances", instances}});
    } else {
        log_.info("memory is no longer short", {{"used", used}, {"limit", limit}});
    }
}

void Sidecar::drain() {
    if (std::exchange(draining_, true)) {
        return;
    }
    log_.info("draining: not ready any more, still serving", {});
    proxy_->drain();
}

void Sidecar::stop() {
    stopping_ = true;
    drain();
    log_.info("finishing what is in flight", {});
    proxy_->stop([this] { boost::asio::post(control_, [this] { finish(); }); });
}

void Sidecar::finish() {
    end_at_next_signal();
    member_.leave();
    reloader_.stop();
    upstream_lookup_.stop();
    watch_.stop();
    key_watch_.stop();
    stranger_timer_.cancel();
    memory_.stop();
    signals_.cancel();
    admin_server_->stop();
    status_server_->stop();
    control_.stop();
}

std::shared_ptr<const proxy::Snapshot> Sidecar::make_snapshot() const {
    auto snapshot = std::make_shared<proxy::Snapshot>();
    snapshot->router = router_;
    snapshot->upstream = upstream_;
    snapshot->timeouts = settings_.timeouts;
    snapshot->limits = settings_.limits;
    snapshot->headers = settings_.headers;
    snapshot->trusted_proxies = settings_.trusted_proxies;
    snapshot->judging_proxies = settings_.judging_proxies;
    snapshot->access_log = settings_.access_log;
    snapshot->peek = settings_.peek;
    if (settings_.check) {
        snapshot->check_clients = settings_.check->clients;
    }
    return snapshot;
}

Result<void> Sidecar::open_access_log() {
    if (settings_.access_log == config::AccessLogMode::off) {
        return {};
    }
    return access_log_.open();
}

void Sidecar::replace_snapshot() {
    if (proxy_) {
        proxy_->replace(make_snapshot());
    }
}

void Sidecar::set_upstream(std::vector<net::SocketAddress> addresses) {
    upstream_ = std::move(addresses);
    replace_snapshot();
}

}  // namespace weir::app

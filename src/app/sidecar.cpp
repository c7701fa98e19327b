#include "app/sidecar.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>
#include <cstdlib>

#include "admin/figures.h"
#include "app/figures.h"
#include "app/version.h"
#include "engine/definition_store.h"
#include "engine/engine.h"
#include "net/clock.h"
#include "routing/router.h"

namespace weir::app {
namespace {

constexpr std::chrono::milliseconds kMaintenance{100};

limiter::LimiterOptions limiter_options(const config::Settings& settings, std::uint64_t seed) {
    limiter::LimiterOptions options;
    options.max_instances = static_cast<std::uint32_t>(settings.limiter.max_instances);
    options.max_weight = settings.limiter.max_weight;
    options.seed = seed;
    return options;
}

net::Address to_address(const config::ListenAddress& listen) {
    if (listen.is_unix()) {
        net::Address address;
        address.path = listen.path;
        return address;
    }
    return net::Address::from(listen.endpoint);
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// The settings were checked when they were read, so this cannot fail then.
std::shared_ptr<const routing::Router> compile(const config::Settings& settings) {
    auto compiled = routing::Router::compile(settings.routing);
    auto* router = std::get_if<std::shared_ptr<const routing::Router>>(&compiled);
    return router == nullptr ? nullptr : *router;
}

}  // namespace

Sidecar::Sidecar(ConfigSource source, Loaded loaded, std::uint64_t seed)
    : source_(std::move(source)),
      settings_(std::move(loaded.settings)),
      first_sets_(std::move(loaded.sets)),
      random_(seed),
      log_(settings_.log),
      control_(1),
      signals_(control_),
      maintenance_(control_),
      limiter_(limiter_options(settings_, random_.next())),
      router_(compile(settings_)),
      upstream_lookup_(
          control_,
          [this](std::vector<net::SocketAddress> found) { set_upstream(std::move(found)); },
          [this](const std::string& message) {
              log_.warning("the upstream's name cannot be looked up",
                           {{"upstream", to_string(settings_.upstream)}, {"reason", message}});
          }),
      watch_(control_, [this] { reload(Reload::quotas); }),
      quotas_hash_(loaded.quotas_hash),
      loader_(1) {
    figures_.file = source_.file.value_or("");
    figures_.hash = admin::hash_text(loaded.settings_hash);
}

Sidecar::~Sidecar() {
    loader_.join();
    if (proxy_) {
        proxy_->stop_now();
        proxy_->join();
    }
}

Result<void> Sidecar::start() {
    started_ = net::now();
    if (auto opened = open_cluster(); !opened) return opened;
    const std::vector<std::string> errors = apply_sets(first_sets_);
    first_sets_ = {};
    if (!errors.empty()) return error(ErrorCode::invalid_argument, errors.front());
    // The engine would do it at its first tick, but no request may come before.
    static_cast<void>(limiter_.apply(cluster_->engine().definitions().in_force(), started_));
    figures_.last_success_seconds = to_seconds(net::unix_time());
    if (auto opened = open_listeners(); !opened) return opened;
    upstream_lookup_.set(settings_.upstream);
    if (auto opened = open_proxy(); !opened) return opened;
    cluster_->start();
    watch_.watch(settings_.quotas);
    reload(Reload::quotas);  // what changed between reading and watching
    maintain();
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) signals_.add(number);
    wait_for_signal();
    return {};
}

Result<void> Sidecar::open_cluster() {
    cluster::Options options;
    options.settings = settings_.cluster;
    options.pod_ip = environment("POD_IP");
    auto opened = cluster::Cluster::open(control_, limiter_, std::move(options), random_.next());
    if (!opened) return opened.error();
    cluster_ = std::move(*opened);
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
    settings.workers = settings_.workers;
    settings.connections = settings_.limits.connections;
    settings.drain = settings_.drain;
    settings.seed = random_.next();
    proxy_ = std::make_unique<proxy::Server>(settings, limiter_, make_snapshot());
    if (auto started = proxy_->start(); !started) {
        proxy_.reset();
        return error(started.error().code, "listen: " + started.error().message);
    }
    listening_ = true;
    return {};
}

int Sidecar::run() {
    log_.info("serving", {{"version", std::string(kVersion)},
                          {"listen", net::to_string(proxy_->listening())},
                          {"upstream", to_string(settings_.upstream)},
                          {"admin", to_string(admin_server_->bound())},
                          {"status", to_string(status_server_->bound())},
                          {"gossip", settings_.cluster ? to_string(cluster_->bound()) : "none"},
                          {"workers", std::to_string(proxy_->workers())}});
    control_.run();
    loader_.join();
    proxy_->join();
    log_.info("ended", {});
    return 0;
}

void Sidecar::wait_for_signal() {
    signals_.async_wait([this](const boost::system::error_code& failure, int number) {
        if (failure) return;
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

void Sidecar::maintain() {
    limiter_.maintain(net::now());
    maintenance_.expires_after(kMaintenance);
    maintenance_.async_wait([this](const boost::system::error_code& failure) {
        if (!failure) maintain();
    });
}

void Sidecar::drain() {
    if (std::exchange(draining_, true)) return;
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
    cluster_->leave();
    cluster_->stop();
    upstream_lookup_.stop();
    watch_.stop();
    maintenance_.cancel();
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
    return snapshot;
}

void Sidecar::replace_snapshot() {
    if (proxy_) proxy_->replace(make_snapshot());
}

void Sidecar::set_upstream(std::vector<net::SocketAddress> addresses) {
    upstream_ = std::move(addresses);
    replace_snapshot();
}

}  // namespace weir::app

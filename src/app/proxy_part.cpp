#include "app/proxy_part.h"

#include <utility>

#include "base/assert.h"

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

proxy::ServerSettings server_settings(const config::Settings& settings, LiveSettings& live,
                                      std::uint64_t seed) {
    proxy::ServerSettings server;
    server.listen = to_address(settings.listen);
    if (settings.check) {
        server.check = to_address(settings.check->listen);
    }
    server.workers = settings.workers;
    server.connections = settings.limits.connections;
    server.drain = settings.drain;
    server.seed = seed;
    server.access_log = &live.access_log();
    return server;
}

}  // namespace

Result<void> ProxyPart::open(const config::Settings& settings, limiter::Limiter& limiter,
                             LiveSettings& live, std::uint64_t seed) {
    WEIR_ASSERT(!is_open());
    if (settings.role == config::MemberRole::anchor) {
        return {};
    }
    if (auto opened = live.open_access_log(); !opened) {
        return opened;
    }
    server_ = std::make_unique<proxy::Server>(server_settings(settings, live, seed), limiter,
                                              live.snapshot());
    if (auto started = server_->start(); !started) {
        server_.reset();
        return error(started.error().code, "listen: " + started.error().message);
    }
    return {};
}

void ProxyPart::replace(std::shared_ptr<const proxy::Snapshot> snapshot) {
    WEIR_ASSERT(snapshot != nullptr);
    if (server_) {
        server_->replace(std::move(snapshot));
    }
}

void ProxyPart::shed(bool on) {
    if (server_) {
        server_->shed(on);
    }
}

void ProxyPart::bound_buffers(std::size_t bytes) {
    WEIR_ASSERT(bytes > 0);
    if (server_) {
        server_->bound_buffers(bytes);
    }
}

void ProxyPart::drain() {
    if (server_) {
        server_->drain();
    }
}

void ProxyPart::stop(std::function<void()> stopped) {
    WEIR_ASSERT(stopped != nullptr);
    if (server_) {
        server_->stop(std::move(stopped));
    } else {
        stopped();
    }
}

void ProxyPart::stop_now() {
    if (server_) {
        server_->stop_now();
    }
}

void ProxyPart::join() {
    if (server_) {
        server_->join();
    }
}

proxy::ProxyStatistics ProxyPart::statistics() const {
    return server_ ? server_->statistics() : proxy::ProxyStatistics{};
}

std::size_t ProxyPart::most_connections() const {
    return server_ ? server_->most_connections() : 0;
}

std::vector<std::string> ProxyPart::take_unknown_names() {
    return server_ ? server_->take_unknown_names() : std::vector<std::string>();
}

std::uint64_t ProxyPart::upstream_failures() const {
    const proxy::ProxyStatistics counts = statistics();
    return counts[proxy::Ending::upstream_refused] +
           counts[proxy::Ending::upstream_connect_timeout];
}

std::uint64_t ProxyPart::crowded() const {
    const proxy::ProxyStatistics counts = statistics();
    return counts[proxy::Event::accept_paused_connections] +
           counts[proxy::Event::accept_paused_descriptors] +
           counts[proxy::Event::client_evicted_head];
}

std::string ProxyPart::listening() const {
    return server_ ? net::to_string(server_->listening()) : "none";
}

std::string ProxyPart::checking() const {
    const net::Address none;
    return server_ && !(server_->checking() == none) ? net::to_string(server_->checking()) : "none";
}

unsigned ProxyPart::workers() const { return server_ ? server_->workers() : 0; }

}  // namespace weir::app

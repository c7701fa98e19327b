#include "proxy/fixture.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <thread>
#include <utility>

#include "net/clock.h"
#include "net/resolve.h"
#include "sim/quota_set.h"

namespace weir::proxy::testing {
namespace {

std::shared_ptr<const routing::Router> compile(const routing::RoutingSettings& settings) {
    auto compiled = routing::Router::compile(settings);
    if (const auto* errors = std::get_if<std::vector<routing::RouteError>>(&compiled)) {
        throw std::runtime_error("route: " + errors->front().message);
    }
    return std::get<std::shared_ptr<const routing::Router>>(compiled);
}

double figure(const limiter::Limiter& limiter, std::string_view quota,
              double limiter::DefinitionStatistics::*member) {
    double value = -1;
    limiter.for_each_statistics(net::now(), [&](const limiter::DefinitionStatistics& figures) {
        if (figures.quota == quota) {
            value = figures.*member;
        }
    });
    return value;
}

}  // namespace

bool eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

Snapshot patient_snapshot() {
    Snapshot snapshot;
    snapshot.timeouts.connect = std::chrono::seconds(5);
    snapshot.timeouts.upstream_restart = Duration::zero();
    return snapshot;
}

Duration middle_of_five(const std::function<Duration()>& go) {
    std::array<Duration, 5> all{};
    for (auto& each : all) {
        each = go();
    }
    std::ranges::sort(all);
    return all[2];
}

Fixture::Fixture(const Options& options)
    : upstream(options.upstream_path), limiter(limiter::LimiterOptions{.max_instances = 10'000}) {
    if (!sim::replace_quotas(limiter, options.quotas, net::now()).empty()) {
        throw std::runtime_error("quotas");
    }
    auto snapshot = std::make_shared<Snapshot>(options.snapshot);
    snapshot->router = compile(options.routing);
    snapshot->upstream =
        options.upstream.empty() ? *net::resolve(upstream.address()) : options.upstream;
    snapshot_ = std::move(snapshot);
    auto settings = options.server;
    if (settings.workers == 0) {
        settings.workers = 1;
    }
    if (settings.listen == net::Address{}) {
        settings.listen = {.host = "127.0.0.1", .port = 0, .path = {}};
    }
    settings.seed = 42;
    server = std::make_unique<Server>(settings, limiter, snapshot_);
    const auto started = server->start();
    if (!started) {
        throw std::runtime_error(started.error().message);
    }
}

Fixture::~Fixture() { server.reset(); }

SocketIo Fixture::connect() const { return SocketIo(connect_to(server->listening())); }

SocketIo Fixture::connect_check() const { return SocketIo(connect_to(server->checking())); }

Message Fixture::ask(std::string_view request) const {
    auto client = connect();
    client.send(request);
    return read_response(client, request.starts_with("HEAD ")).value_or(Message{});
}

Message Fixture::get(std::string_view path) const {
    return ask("GET " + std::string(path) + " HTTP/1.1\r\nHost: a.test\r\n\r\n");
}

std::uint64_t Fixture::operator[](Ending ending) const {
    eventually([&] { return statistics().inflight_requests() == 0; });
    return statistics()[ending];
}

double Fixture::admitted(std::string_view quota) const {
    return figure(limiter, quota, &limiter::DefinitionStatistics::admitted);
}

double Fixture::refused(std::string_view quota) const {
    return figure(limiter, quota, &limiter::DefinitionStatistics::refused);
}

double Fixture::counted(std::string_view quota,
                        double limiter::DefinitionStatistics::*member) const {
    return figure(limiter, quota, member);
}

bool Fixture::finished(std::uint64_t requests) const {
    return eventually([&] { return (*this)[Event::request_finished] >= requests; });
}

limiter::QuotaDefinition quota(std::string name, double amount, Duration period) {
    limiter::RateLimit limit;
    limit.amount = amount;
    limit.period = period;
    limiter::QuotaDefinition definition;
    definition.name = std::move(name);
    definition.limits = {limit};
    return definition;
}

routing::RoutingSettings route_all_to(std::string quota) {
    routing::RouteSettings route;
    route.match.path = "/**";
    route.quotas = {std::move(quota)};
    routing::RoutingSettings settings;
    settings.routes = {route};
    return settings;
}

}  // namespace weir::proxy::testing

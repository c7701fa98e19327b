// Definitions in bulk over real sockets: what comes by TCP, what comes without it, and what
// strangers on the port achieve.

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "cluster/run_until.h"
#include "definitions/store.h"
#include "engine/engine.h"
#include "limiter/limiter.h"
#include "net/clock.h"

using namespace weir;
using namespace weir::cluster;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::size_t kQuotas = 20'000;

definitions::FileDocument document(std::size_t count) {
    definitions::FileDocument result{"big", 3, {}};
    for (std::size_t i = 0; i < count; ++i) {
        limiter::QuotaDefinition quota;
        quota.name = "bucket-with-a-name-" + std::to_string(i);
        limiter::RateLimit limit;
        limit.amount = static_cast<double>(i + 1);
        quota.limits.push_back(limit);
        result.quotas.push_back(std::move(quota));
    }
    return result;
}

struct Sidecar {
    Sidecar(asio::io_context& io, const ClusterOptions& options, std::uint64_t seed)
        : limiter({.seed = seed}), cluster(Cluster::open(io, limiter, options, seed).value()) {
        cluster->start();
    }
    definitions::DefinitionStore& store() { return cluster->engine().definitions(); }
    const BulkStatistics& bulk() { return cluster->statistics().bulk; }

    limiter::Limiter limiter;
    std::unique_ptr<Cluster> cluster;
};

struct World {
    ClusterOptions options(const std::vector<config::Seed>& join = {}) {
        ClusterOptions result;
        result.settings.emplace();
        result.settings->name = "test";
        result.settings->listen = parse_endpoint("127.0.0.1:0").value();
        result.settings->insecure = true;
        result.settings->join = join;
        return result;
    }
    /// The kernel chooses the UDP port; somebody else may have TCP's of that number.
    Sidecar& add(const ClusterOptions& with) {
        for (int tries = 0; tries < 20; ++tries) {
            sidecars.push_back(std::make_unique<Sidecar>(io, with, ++seed));
            const auto& warnings = sidecars.back()->cluster->warnings();
            if (std::none_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
                    return warning.find("not served in bulk") != std::string::npos;
                })) {
                break;
            }
            sidecars.pop_back();
        }
        REQUIRE_FALSE(sidecars.empty());
        return *sidecars.back();
    }
    Sidecar& join(Sidecar& first) {
        const Endpoint& at = first.cluster->bound();
        return add(options({{.host = "127.0.0.1", .port = at.port, .literal = at}}));
    }
    template <class Condition>
    bool run_until(Condition condition) {
        return test::run_until(io, 40s, condition);
    }
    void fill(Sidecar& first) {
        REQUIRE(first.store().apply_document(document(kQuotas), net::now()).outcome ==
                definitions::DocumentOutcome::applied);
    }
    tcp::socket connect(Sidecar& to) {
        tcp::socket socket(io);
        socket.connect({asio::ip::make_address("127.0.0.1"), to.cluster->bound().port});
        return socket;
    }

    asio::io_context io;
    std::uint64_t seed = 70;
    std::vector<std::unique_ptr<Sidecar>> sidecars;
};

}  // namespace

TEST_CASE("who joins gets a long document by TCP, and the limiter gets it bit by bit") {
    World world;
    Sidecar& first = world.add(world.options());
    world.fill(first);
    Sidecar& second = world.join(first);
    REQUIRE(world.run_until([&] {
        return second.limiter.definition_for("bucket-with-a-name-7") &&
               second.store().size() == kQuotas;
    }));
    CHECK(second.bulk().connects == 1);
    CHECK(first.bulk().accepted == 1);
    CHECK(second.bulk().bytes_in > kQuotas * 30);
    CHECK(second.cluster->engine().statistics().bulk.pulls_done == 1);
    // Then overrides, too many for pages.
    for (std::size_t i = 0; i < 3000; ++i) {
        limiter::QuotaDefinition quota;
        quota.name = "override-" + std::to_string(i);
        REQUIRE(first.store().set(quota, {"ann", "test", {}}, net::now()).has_value());
    }
    REQUIRE(world.run_until([&] {
        return second.store().overrides().root_hash() == first.store().overrides().root_hash();
    }));
    CHECK(second.store().content_hash() == first.store().content_hash());
    CHECK(second.bulk().connects >= 2);
}

TEST_CASE("where TCP is blocked everything comes by datagrams, and the failure is counted") {
    World world;
    ClusterOptions closed = world.options();
    closed.bulk.incoming = 0;
    Sidecar& first = world.add(closed);
    world.fill(first);
    Sidecar& second = world.join(first);
    REQUIRE(world.run_until([&] { return second.store().size() == kQuotas; }));
    CHECK(first.bulk().turned_away >= 1);
    CHECK(second.cluster->engine().statistics().bulk.pulls_failed >= 1);
    CHECK(second.cluster->engine().statistics().definitions.bulk_failures >= 1);
    CHECK(second.store().content_hash() == first.store().content_hash());
}

TEST_CASE("strangers are refused, cut off in time and bounded in number") {
    World world;
    ClusterOptions few = world.options();
    few.bulk.incoming = 2;
    few.bulk.greeting = 2s;  // the third one comes within it, on a busy machine as well
    Sidecar& first = world.add(few);
    REQUIRE(world.run_until([&] { return first.cluster->bound().port != 0; }));
    {
        tcp::socket junk = world.connect(first);
        asio::write(junk, asio::buffer(std::string(5000, 'x')));
        CHECK(world.run_until([&] { return first.bulk().refused == 1; }));
    }
    tcp::socket one = world.connect(first);
    tcp::socket two = world.connect(first);
    CHECK(world.run_until([&] { return first.bulk().accepted == 3; }));
    tcp::socket three = world.connect(first);
    CHECK(world.run_until([&] { return first.bulk().turned_away == 1; }));
    CHECK(world.run_until([&] { return first.bulk().timeouts == 2; }));
    // The places are free again.
    tcp::socket four = world.connect(first);
    CHECK(world.run_until([&] { return first.bulk().accepted == 5; }));
    CHECK(first.bulk().turned_away == 1);
}

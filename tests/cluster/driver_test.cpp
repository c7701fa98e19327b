// Real sockets on loopback, several sidecars on one thread.

#include <doctest/doctest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstdlib>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "cluster/run_until.h"
#include "definitions/store.h"
#include "engine/engine.h"
#include "limiter/limiter.h"
#include "net/clock.h"
#include "sim/quota_set.h"

using namespace weir;
using namespace weir::cluster;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

constexpr char kKey[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
constexpr char kOtherKey[] = "f00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

class TemporaryFile {
  public:
    explicit TemporaryFile(std::string_view text) {
        std::string pattern = "/tmp/weir-key-XXXXXX";
        const int descriptor = ::mkstemp(pattern.data());
        REQUIRE(descriptor >= 0);
        path = pattern;
        ::close(descriptor);
        write(text);
    }
    ~TemporaryFile() { ::unlink(path.c_str()); }
    void write(std::string_view text) const {
        std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"),
                                                             std::fclose);
        REQUIRE(file != nullptr);
        REQUIRE(std::fwrite(text.data(), 1, text.size(), file.get()) == text.size());
    }
    std::string path;
};

/// One sidecar: its own limiter and cluster on the shared event loop.
struct Sidecar {
    Sidecar(asio::io_context& io, ClusterOptions options, std::uint64_t seed)
        : limiter({.seed = seed}), opened(Cluster::open(io, limiter, std::move(options), seed)) {
        REQUIRE_MESSAGE(opened.has_value(), (opened.has_value() ? "" : opened.error().message));
        (*opened)->start();
    }
    Cluster& operator*() { return **opened; }
    Cluster* operator->() { return opened->get(); }

    std::size_t peers_in(std::string_view state) {
        std::size_t count = 0;
        for (const auto& peer : (*opened)->engine().peers(net::now())) {
            if (!peer.self && peer.state == state) {
                ++count;
            }
        }
        return count;
    }
    std::uint64_t rejected() {
        std::uint64_t total = 0;
        for (const auto& [reason, count] : (*opened)->engine().statistics().rejected) {
            total += count;
        }
        return total;
    }

    limiter::Limiter limiter;
    Result<std::unique_ptr<Cluster>> opened;
};

struct World {
    ClusterOptions options(const std::string& key_file, std::vector<config::Seed> join = {}) {
        ClusterOptions result;
        result.settings.emplace();
        result.settings->name = "test";
        result.settings->listen = parse_endpoint("127.0.0.1:0").value();
        result.settings->key_file = key_file;
        result.settings->join = std::move(join);
        return result;
    }
    Sidecar& add(ClusterOptions of) {
        sidecars.push_back(std::make_unique<Sidecar>(io, std::move(of), ++seed));
        return *sidecars.back();
    }
    Sidecar& add(std::vector<config::Seed> join = {}) { return add(options(key.path, join)); }

    static config::Seed seed_at(const Endpoint& endpoint) {
        return {.host = "127.0.0.1", .port = endpoint.port, .literal = endpoint};
    }

    /// Runs everything until the condition holds; false after thirty seconds.
    template <class Condition>
    bool run_until(Condition condition) {
        return test::run_until(io, 30s, condition);
    }

    TemporaryFile key{kKey};
    asio::io_context io;
    std::uint64_t seed = 40;
    std::vector<std::unique_ptr<Sidecar>> sidecars;
};

class JunkSender {
  public:
    explicit JunkSender(const Endpoint& to)
        : socket_(io_, asio::ip::udp::v4()), to_(asio::ip::address_v4::loopback(), to.port) {}
    void send(const std::string& bytes) {
        boost::system::error_code ignored;
        socket_.send_to(asio::buffer(bytes), to_, 0, ignored);
    }

  private:
    asio::io_context io_;
    asio::ip::udp::socket socket_;
    asio::ip::udp::endpoint to_;
};

/// Lets real time pass in which nothing runs: this process is "stopped".
void stand_still(std::chrono::milliseconds time) {
    std::promise<void>().get_future().wait_for(time);
}

limiter::QuotaDefinition quota(std::string name, double amount) {
    limiter::QuotaDefinition definition;
    definition.name = std::move(name);
    limiter::RateLimit limit;
    limit.amount = amount;
    definition.limits = {limit};
    return definition;
}

}  // namespace

TEST_CASE("two sidecars find each other, one goes with a goodbye") {
    World world;
    auto& one = world.add();
    auto& two = world.add({World::seed_at(one->bound())});
    CHECK(one->advertised() == one->bound());
    REQUIRE(
        world.run_until([&] { return one.peers_in("alive") == 1 && two.peers_in("alive") == 1; }));
    CHECK(one->statistics().received_datagrams > 0);
    CHECK(one->statistics().sent_datagrams > 0);
    CHECK(one->statistics().received_bytes > one->statistics().received_datagrams);
    two->leave();
    CHECK(world.run_until([&] { return one.peers_in("alive") == 0; }));
    CHECK(one.peers_in("dead") == 0);
    CHECK(one.peers_in("suspect") == 0);
    const auto ticks = two->statistics().ticks;
    CHECK(world.run_until([&] { return one->statistics().ticks > 20; }));
    CHECK(two->statistics().ticks == ticks);  // who left does nothing more
}

TEST_CASE("three sidecars meet through one, and a definition set at one is in force at all") {
    World world;
    auto& one = world.add();
    auto& two = world.add({World::seed_at(one->bound())});
    auto& three = world.add({World::seed_at(one->bound())});
    REQUIRE(world.run_until([&] {
        return one.peers_in("alive") == 2 && two.peers_in("alive") == 2 &&
               three.peers_in("alive") == 2;
    }));
    REQUIRE(two->engine()
                .definitions()
                .set(quota("shared", 100), {.who = "test", .why = "", .lifetime = std::nullopt},
                     net::now())
                .has_value());
    const auto in_force = [](Sidecar& sidecar) {
        return sidecar.limiter.definition_for("shared").has_value();
    };
    CHECK(world.run_until([&] { return in_force(one) && in_force(two) && in_force(three); }));
}

TEST_CASE("another key: packets are counted as rejected and nobody joins") {
    World world;
    const TemporaryFile other(kOtherKey);
    auto& one = world.add();
    auto& stranger = world.add(world.options(other.path, {World::seed_at(one->bound())}));
    REQUIRE(world.run_until([&] { return one.rejected() >= 2; }));
    CHECK(one.peers_in("alive") == 0);
    CHECK(stranger.peers_in("alive") == 0);
}

TEST_CASE("keys rotate while running: both are accepted, the first one seals") {
    World world;
    const TemporaryFile rotating(kKey);
    auto& one = world.add(world.options(rotating.path));
    rotating.write(std::string(kOtherKey) + "\n" + kKey + "\n");
    REQUIRE(one->reload_keys().has_value());
    const TemporaryFile fresh{kOtherKey};
    auto& two = world.add(world.options(fresh.path, {World::seed_at(one->bound())}));
    CHECK(
        world.run_until([&] { return one.peers_in("alive") == 1 && two.peers_in("alive") == 1; }));
    rotating.write("nonsense");
    CHECK(one->reload_keys().has_error());
    CHECK(one.peers_in("alive") == 1);
}

TEST_CASE("a seed may be a name, looked up through the system") {
    World world;
    auto& one = world.add();
    auto& two =
        world.add({{.host = "localhost", .port = one->bound().port, .literal = std::nullopt}});
    CHECK(
        world.run_until([&] { return one.peers_in("alive") == 1 && two.peers_in("alive") == 1; }));
    CHECK(two->statistics().lookups >= 1);
    CHECK(two->statistics().lookup_failures == 0);
    CHECK(two->statistics().seeds >= 1);
}

TEST_CASE("a name that nobody knows is counted and tried again") {
    World world;
    auto settings =
        world.options(world.key.path, {{.host = "nowhere", .port = 1, .literal = std::nullopt}});
    settings.lookup_interval_alone = 5ms;
    settings.lookup = [](const std::string&, std::uint16_t) -> Result<Addresses> {
        return error(ErrorCode::not_found, "nowhere");
    };
    auto& one = world.add(std::move(settings));
    CHECK(world.run_until([&] { return one->statistics().lookup_failures >= 3; }));
    CHECK(one.peers_in("alive") == 0);
}

TEST_CASE("without an answer from anybody a sidecar runs alone") {
    World world;
    asio::io_context other;
    const asio::ip::udp::socket deaf(  // bound but never read
        other, asio::ip::udp::endpoint(asio::ip::address_v4::loopback(), 0));
    Endpoint silent = parse_endpoint("127.0.0.1:0").value();
    silent.port = deaf.local_endpoint().port();
    auto& one = world.add({World::seed_at(silent)});
    REQUIRE(sim::put_quota(one.limiter, quota("q", 5), net::now()).empty());
    auto& thread = one.limiter.register_thread(1);
    REQUIRE(world.run_until([&] { return one->statistics().ticks > 50; }));
    const auto leaf = one.limiter.find(thread, "q", net::now());
    std::size_t admitted = 0;
    for (int i = 0; i < 20; ++i) {
        const auto decision =
            one.limiter.check(thread, leaf, {}, net::now(), limiter::CheckMode::charge);
        admitted += decision.admitted ? 1 : 0;
    }
    CHECK(admitted >= 5);
    CHECK(admitted <= 7);
    CHECK(one.peers_in("alive") == 0);
}

TEST_CASE("a sidecar without a cluster ticks and has no socket") {
    World world;
    auto& one = world.add(ClusterOptions{});
    CHECK(world.run_until([&] { return one->statistics().ticks > 5; }));
    CHECK(one->bound() == Endpoint{});
    CHECK(one->statistics().sent_datagrams == 0);
}

TEST_CASE("a flood is read in bounded turns, between which everything else runs") {
    World world;
    auto& one = world.add();
    JunkSender junk(one->bound());
    std::uint64_t before = 0;
    std::uint64_t largest = 0;
    REQUIRE(world.run_until([&] {
        // More come all the time: a machine that stands still has what waits thrown away.
        for (int i = 0; i < 500; ++i) {
            junk.send(std::string(200, static_cast<char>(i)));
        }
        const auto now = one->statistics().received_datagrams;
        largest = std::max(largest, now - before);
        before = now;
        return now >= 1000;
    }));
    // One handler may be a turn of its own or a tick with a turn in it.
    CHECK(largest <= kDatagramsPerTurn);
    CHECK(one.rejected() >= 1000);
}

TEST_CASE("reading pauses when it has used up its share of the time, and goes on") {
    World world;
    auto settings = world.options(world.key.path);
    settings.receive_share = 0;  // any reading at all is too much
    auto& one = world.add(std::move(settings));
    JunkSender junk(one->bound());
    std::uint64_t sent = 0;
    REQUIRE(world.run_until([&] {
        // As many more as were thrown away because this process had stood still.
        while (sent < 300 + one->statistics().discarded_datagrams) {
            junk.send("junk");
            ++sent;
        }
        return one->statistics().received_datagrams == 300;
    }));
    CHECK(one->statistics().receive_pauses >= 300 / kDatagramsPerTurn);
    // Each pause lasts until a tick.
    CHECK(one->statistics().ticks >= one->statistics().receive_pauses - 1);
}

TEST_CASE("datagrams of any size and content are dropped and counted, never answered") {
    bool stood_still = true;  // and threw away what waited
    for (int i = 0; i < 5 && stood_still; ++i) {
        World world;
        auto& one = world.add();
        REQUIRE(world.run_until([&] { return one->statistics().ticks > 2; }));
        JunkSender junk(one->bound());
        junk.send("");
        junk.send("x");
        junk.send(std::string(1232, '\xff'));
        junk.send(std::string(2048, 'y'));
        junk.send(std::string(65'507, 'z'));
        REQUIRE(world.run_until([&] {
            return one->statistics().received_datagrams + one->statistics().discarded_datagrams ==
                   5;
        }));
        stood_still = one->statistics().discarded_datagrams > 0;
        CHECK(one->statistics().sent_datagrams == 0);
        if (!stood_still) {
            CHECK(one->statistics().oversized_datagrams == 1);
            CHECK(one.rejected() == 4);
        }
    }
    CHECK_FALSE(stood_still);
}

TEST_CASE("a sidecar that was stopped throws away what waited in its socket") {
    World world;
    auto& one = world.add();
    REQUIRE(world.run_until([&] { return one->statistics().ticks > 2; }));
    JunkSender junk(one->bound());
    for (int i = 0; i < 100; ++i) {
        junk.send("junk");
    }
    const auto stops = one->statistics().detected_stops;
    stand_still(600ms);
    REQUIRE(world.run_until([&] { return one->statistics().detected_stops > stops; }));
    CHECK(one->statistics().discarded_datagrams == 100);
    CHECK(one->statistics().received_datagrams == 0);
    const auto ticks = one->statistics().ticks;
    const auto after_stop = one->statistics().detected_stops;
    Instant last = net::now();
    Duration longest{};
    CHECK(world.run_until([&] {
        longest = std::max(longest, net::now() - std::exchange(last, net::now()));
        return one->statistics().ticks > ticks + 3;
    }));
    // One stop is found once, unless the machine has really stood still again.
    CHECK((one->statistics().detected_stops == after_stop || longest > 300ms));
    CHECK(world.run_until([&] {
        junk.send("after");
        return one->statistics().received_datagrams > 0;
    }));
}

TEST_CASE("what cannot work is an error at the start") {
    asio::io_context io;
    limiter::Limiter limiter({});
    World world;
    const auto message = [&](const ClusterOptions& options) {
        const auto opened = Cluster::open(io, limiter, options, 1);
        return opened.has_value() ? std::string("it opened") : opened.error().message;
    };
    auto no_key = world.options("");
    CHECK(message(no_key).find("key_file") != std::string::npos);
    no_key.settings->insecure = true;
    CHECK(message(no_key) == "it opened");
    CHECK(message(world.options("/nonexistent")).find("/nonexistent") != std::string::npos);
    auto& one = world.add();
    auto taken = world.options(world.key.path);
    taken.settings->listen = one->bound();
    CHECK(message(taken).find("cluster.listen") != std::string::npos);
    auto bad_address = world.options(world.key.path);
    bad_address.settings->listen = parse_endpoint("0.0.0.0:0").value();
    bad_address.pod_ip = "pod";
    CHECK(message(bad_address).find("POD_IP") != std::string::npos);
}

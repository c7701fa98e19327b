// Start, reload, draining, stopping, running out of descriptors.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <atomic>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "net/resolve.h"
#include "proxy/access_log.h"
#include "proxy/fixture.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

constexpr const char* kGet = "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n";

std::uint64_t total(const Histogram& histogram) {
    return std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::uint64_t{0});
}

}  // namespace

TEST_CASE("an address in use is an error, not a crash") {
    weir::limiter::Limiter limiter{weir::limiter::LimiterOptions{.max_instances = 100}};
    Fixture fixture;
    Server second({.listen = {.host = "192.0.2.1", .port = 80, .path = {}}, .workers = 2}, limiter,
                  fixture.snapshot());
    CHECK(!second.start());
    Server nowhere({.listen = {.host = "no.such.host.invalid", .port = 80, .path = {}}}, limiter,
                   fixture.snapshot());
    CHECK(!nowhere.start());
    Server same({.listen = fixture.server->listening()}, limiter, fixture.snapshot());
    const auto started = same.start();
    REQUIRE(started.has_error());
    CHECK(started.error().code == weir::ErrorCode::conflict);
    CHECK(fixture.get("/").status() == 200);
}

TEST_CASE("a new snapshot holds for the requests that follow") {
    Fixture proxy;
    FakeUpstream other;
    other.set_script([](FakeUpstream::Session& session) {
        while (session.request()) {
            session.answer(200, "other");
        }
    });
    auto client = proxy.connect();
    client.send(kGet);
    CHECK(read_response(client)->body == "ok");
    auto changed = std::make_shared<Snapshot>(*proxy.snapshot());
    changed->upstream = *weir::net::resolve(other.address());
    proxy.server->replace(changed);
    REQUIRE(eventually([&] { return proxy[Event::reloads] == 1; }));
    client.send(kGet);
    CHECK(read_response(client)->body == "other");
    CHECK(proxy.upstream.requests() == 1);
}

TEST_CASE("draining: accepts and serves, each answer closes its connection") {
    Fixture proxy;
    auto before = proxy.connect();
    before.send(kGet);
    CHECK(read_response(before)->field("Connection") != "close");
    proxy.server->drain();
    auto after = proxy.connect();
    for (auto* client : {&before, &after}) {
        client->send(kGet);
        const auto answer = read_response(*client);
        REQUIRE(answer);
        CHECK(answer->status() == 200);
        CHECK(answer->field("Connection") == "close");
        CHECK(client->closed_within(kPatience));
    }
}

TEST_CASE("stopping lets requests in flight end, closes idle connections, then refuses") {
    std::atomic<bool> go = false;
    std::atomic<bool> stopped = false;
    Fixture::Options options;
    options.server.workers = 2;
    options.server.drain = {.grace = 10s, .keep_accepting = 1s};
    Fixture proxy(std::move(options));
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.request();
        eventually([&] { return go.load(); });
        session.answer(200, "late");
    });
    auto busy = proxy.connect();
    busy.send(kGet);
    auto idle = proxy.connect();
    REQUIRE(eventually([&] { return proxy.upstream.requests() == 1; }));
    proxy.server->stop([&] { stopped = true; });
    // Still accepting for a while.
    CHECK_NOTHROW((void)proxy.connect());
    CHECK(idle.closed_within(kPatience));
    CHECK(idle.closing() == Closing::orderly);
    CHECK(!stopped);
    go = true;
    const auto answer = read_response(busy);
    REQUIRE(answer);
    CHECK(answer->body == "late");
    CHECK(eventually([&] { return stopped.load(); }));
    proxy.server->join();
    CHECK_THROWS((void)proxy.connect());
    CHECK(proxy.statistics().client_connections() == 0);
    CHECK(proxy.statistics().upstream_connections() == 0);
}

TEST_CASE("the grace is over: what is left is cut off") {
    Fixture::Options options;
    options.server.drain = {.grace = 200ms, .keep_accepting = 0ms};
    Fixture proxy(std::move(options));
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.request();
        session.io.closed_within(kPatience);
    });
    auto busy = proxy.connect();
    busy.send(kGet);
    REQUIRE(eventually([&] { return proxy.upstream.requests() == 1; }));
    proxy.server->stop([] {});
    proxy.server->join();
    CHECK(busy.closed_within(kPatience));
    CHECK(busy.buffered().empty());
    CHECK(proxy[Ending::client_closed] == 1);
}

TEST_CASE("41: no request fails while a loaded server stops") {
    std::atomic<int> answered = 0;
    std::atomic<int> failed = 0;
    std::atomic<bool> stopping = false;
    Fixture::Options options;
    options.server.workers = 2;
    options.server.drain = {.grace = 10s, .keep_accepting = 2s};
    Fixture proxy(std::move(options));
    const auto one_connection = [&] {
        auto client = proxy.connect();
        for (bool stays = true; stays && !stopping;) {
            client.send(kGet);
            const auto answer = read_response(client);
            if (!answer || answer->status() != 200) {
                ++failed;
                return;
            }
            ++answered;
            stays = answer->field("Connection") != "close";
        }
    };
    const auto load = [&] {
        try {
            // Connections that were told to close are replaced until new ones are refused.
            while (!stopping && failed == 0) {
                one_connection();
            }
        } catch (const std::runtime_error&) {
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back(load);
    }
    REQUIRE(eventually([&] { return answered > 100; }));
    proxy.server->stop([] {});
    // Well before it refuses new connections.
    const int before = answered;
    const bool loaded = eventually([&] { return answered > before + 100; });
    stopping = true;
    for (auto& thread : threads) {
        thread.join();
    }
    proxy.server->join();
    CHECK(failed == 0);
    CHECK(loaded);
}

TEST_CASE("35: without descriptors accepting pauses, and goes on when there are some again") {
    std::atomic<bool> go = false;
    Fixture proxy;
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        while (session.request()) {
            eventually([&] { return go.load(); });
            session.answer(200, "late");
        }
    });
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    auto client = SocketIo(connect_to(proxy.server->listening()));
    client.send(kGet);  // one that is busy does not make room
    REQUIRE(eventually([&] { return proxy.upstream.requests() == 1; }));
    std::vector<weir::net::FileDescriptor> files;
    rlimit tight = before;
    tight.rlim_cur = 256;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
    weir::net::FileDescriptor mine(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    for (;;) {
        weir::net::FileDescriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        if (!file.is_open()) {
            break;
        }
        files.push_back(std::move(file));
    }
    const auto address = weir::net::resolve(proxy.server->listening())->front();
    REQUIRE(::connect(mine.get(), address.get(), address.length) == 0);
    CHECK(eventually([&] { return proxy[Event::accept_paused_descriptors] > 0; }));
    // What is connected goes on being served meanwhile.
    go = true;
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->body == "late");
    files.clear();
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    SocketIo waiting(std::move(mine));
    waiting.send(kGet);
    CHECK(read_response(waiting)->status() == 200);
}

TEST_CASE("at the limit of connections others wait until one ends, if all are busy") {
    std::atomic<bool> go = false;
    Fixture::Options options;
    options.server.connections = 2;
    Fixture proxy(std::move(options));
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        while (session.request()) {
            eventually([&] { return go.load(); });
            session.answer(200, "late");
        }
    });
    auto first = proxy.connect();
    auto second = proxy.connect();
    for (auto* client : {&first, &second}) {
        client->send(kGet);
    }
    REQUIRE(eventually([&] { return proxy.upstream.requests() == 2; }));
    auto third = proxy.connect();
    third.send(kGet);
    CHECK(eventually([&] { return proxy[Event::accept_paused_connections] > 0; }));
    CHECK(proxy.statistics().client_connections() == 2);
    CHECK(proxy[Event::client_evicted] == 0);
    first.close();
    go = true;
    CHECK(read_response(second)->body == "late");
    CHECK(read_response(third)->body == "late");
}

TEST_CASE("36: a transfer goes on, whole, while memory is short and after") {
    Fixture proxy;
    const std::string body(30'000'000, 'b');
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        while (session.request()) {
            session.answer(200, body);
        }
    });
    auto client = proxy.connect();
    client.send(kGet);
    REQUIRE(client.take_until("\r\n\r\n"));
    for (const bool on : {true, false, true}) {
        const bool part = client.take(10'000'000) == body.substr(0, 10'000'000);
        CHECK(part);
        proxy.server->shed(on);
    }
    CHECK(eventually([&] { return proxy.statistics().inflight_requests() == 0; }));
    CHECK(proxy[Ending::unlimited] == 1);
}

TEST_CASE("36: while memory is short requests get 503, charged and sent nowhere; checks go on") {
    Fixture::Options options;
    options.quotas = {quota("q", 3, 600s)};
    options.routing = route_all_to("q");
    options.server.check = weir::net::Address{.host = "127.0.0.1", .port = 0, .path = {}};
    Fixture proxy(std::move(options));
    auto before = proxy.connect();
    before.send(kGet);
    CHECK(read_response(before)->status() == 200);
    proxy.server->shed(true);
    before.send(kGet);
    const auto answer = read_response(before);
    REQUIRE(answer);
    CHECK(answer->status() == 503);
    CHECK(answer->field("Connection") == "close");
    CHECK(answer->has("Retry-After"));
    // Not the client's doing: whoever stands before us may try another instance.
    CHECK_FALSE(answer->has("x-envoy-ratelimited"));
    CHECK(answer->body.find("#temporary-reduced-capacity") != std::string::npos);
    CHECK(answer->has("X-Request-Id"));
    CHECK(before.closed_within(kPatience));
    CHECK(proxy.get("/").status() == 503);
    auto check = proxy.connect_check();
    check.send("GET /check/x HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(read_response(check)->status() == 200);
    proxy.server->shed(false);
    CHECK(proxy.get("/").status() == 200);
    CHECK(proxy.upstream.requests() == 2);
    CHECK(proxy.admitted("q") == 3);
    CHECK(proxy[Ending::memory_short] == 2);
}

namespace {

/// Holds up its worker in each record until told to go on.
struct Gate final : AccessLog {
    void record(const AccessRecord&) override {
        ++waiting;
        eventually([&] { return open.load(); });
        --waiting;
    }
    std::atomic<int> waiting = 0;
    std::atomic<bool> open = false;
};

}  // namespace

TEST_CASE("41: what reaches a busy worker before it stops listening is served") {
    Gate gate;
    Fixture::Options options;
    options.server.access_log = &gate;
    options.snapshot.access_log = AccessLogMode::all;
    options.server.drain = {.grace = 10s, .keep_accepting = 100ms};
    Fixture proxy(std::move(options));
    auto first = proxy.connect();
    auto kept = proxy.connect();
    REQUIRE(eventually([&] { return proxy[Event::client_accepted] == 2; }));
    first.send(kGet);
    REQUIRE(eventually([&] { return gate.waiting == 1; }));
    proxy.server->stop([] {});
    auto late = proxy.connect();  // waits in the backlog
    late.send(kGet);
    kept.send(kGet);
    std::this_thread::sleep_for(150ms);  // the time for accepting passes meanwhile
    gate.open = true;
    for (auto* client : {&first, &late, &kept}) {
        const auto answer = read_response(*client);
        REQUIRE(answer);
        CHECK(answer->status() == 200);
    }
    proxy.server->join();
}

TEST_CASE("41: a new connection has a moment to send its first request while a server stops") {
    Fixture::Options options;
    options.server.drain = {.grace = 10s, .keep_accepting = 0s};
    Fixture proxy(std::move(options));
    auto fresh = proxy.connect();
    auto kept = proxy.connect();
    kept.send(kGet);
    CHECK(read_response(kept)->status() == 200);
    REQUIRE(eventually([&] { return proxy[Event::client_accepted] == 2; }));
    proxy.server->stop([] {});
    CHECK(kept.closed_within(kPatience));  // so it has begun to finish
    fresh.send(kGet);
    const auto answer = read_response(fresh);
    REQUIRE(answer);
    CHECK(answer->status() == 200);
    CHECK(answer->field("Connection") == "close");
    proxy.server->join();
}

TEST_CASE("the hook for the access log gets each finished request") {
    struct Log final : AccessLog {
        void record(const AccessRecord& record) override {
            const std::lock_guard lock(mutex);
            lines.push_back(std::string(record.method) + " " + std::string(record.target) + " " +
                            std::string(record.host) + " " + std::to_string(record.status) + " " +
                            std::string(outcome(record.ending)) + " " + std::string(record.quota) +
                            " " + std::to_string(record.bytes_out));
            ids.emplace_back(record.request_id);
        }
        std::mutex mutex;
        std::vector<std::string> lines;
        std::vector<std::string> ids;
    } log;
    Fixture::Options options;
    options.server.access_log = &log;
    options.snapshot.access_log = AccessLogMode::all;
    options.quotas = {quota("q", 100, 1s), quota("none", 0, 1s)};
    options.routing = route_all_to("q");
    options.routing.routes.insert(options.routing.routes.begin(), route_all_to("none").routes[0]);
    options.routing.routes[0].match.path = "/z";
    Fixture proxy(std::move(options));
    CHECK(proxy.get("/a?b").status() == 200);
    CHECK(proxy.ask("nonsense\r\n\r\n").status() == 400);
    CHECK(proxy.ask("GET /z HTTP/1.1\r\nHost: a.test\r\nX-Request-Id: abc\r\n\r\n").status() ==
          429);
    CHECK(proxy.ask("PUT /n?token=1 HTTP/1.1\r\nno-host: a\r\n\r\n").status() == 400);
    CHECK(proxy.ask("\x16\x03\x01 /\r\n\r\n").status() == 400);
    REQUIRE(proxy.finished(5));
    const std::lock_guard lock(log.mutex);
    REQUIRE(log.lines.size() == 5);
    CHECK(log.ids[0].size() == 36);
    CHECK(log.ids[0] == proxy.upstream.heads()[0].field("X-Request-Id"));
    CHECK(log.ids[1].size() == 36);  // made for the answer, which carries it
    CHECK(log.ids[1] != log.ids[0]);
    CHECK(log.ids[2] == "abc");
    CHECK(log.lines[0].starts_with("GET /a a.test 200 admitted q "));
    CHECK(log.lines[1].starts_with("nonsense   400 rejected  "));
    CHECK(log.lines[2].starts_with("GET /z a.test 429 refused none "));
    CHECK(log.lines[3].starts_with("PUT /n  400 rejected  "));
    CHECK(log.lines[4].starts_with("   400 rejected  "));
}

TEST_CASE("gauges never fall below nothing, though their counters are not read at one moment") {
    ProxyStatistics torn;
    torn.events[static_cast<std::size_t>(Event::client_closed)] = 1;
    torn.events[static_cast<std::size_t>(Event::upstream_closed)] = 1;
    torn.events[static_cast<std::size_t>(Event::request_finished)] = 1;
    CHECK(torn.client_connections() == 0);
    CHECK(torn.upstream_connections() == 0);
    CHECK(torn.inflight_requests() == 0);
}

TEST_CASE("histograms and gauges") {
    Fixture proxy;
    for (int i = 0; i < 32; ++i) {
        CHECK(proxy.get("/").status() == 200);
    }
    REQUIRE(proxy.finished(32));
    const auto statistics = proxy.statistics();
    CHECK(total(statistics.request_seconds[1]) == 32);
    CHECK(total(statistics.upstream_seconds) == 32);
    CHECK(total(statistics.decision_seconds) == 2);
    CHECK(statistics.inflight_requests() == 0);
    CHECK(statistics[Event::client_bytes_in] > 0);
    CHECK(statistics[Event::upstream_bytes_out] > statistics[Event::client_bytes_in]);
    CHECK(eventually([&] { return proxy.statistics().client_connections() == 0; }));
    CHECK(proxy.statistics().upstream_connections() == 1);
}

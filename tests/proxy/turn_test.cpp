// Requests that wait for their turn, over real sockets.

#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/clock.h"
#include "proxy/access_log.h"
#include "proxy/fixture.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

/// A period in which nothing drains while a test runs.
constexpr weir::Duration kForEver = 1h;

weir::limiter::QuotaDefinition queued(std::string name, double amount, weir::Duration longest,
                                      std::uint32_t most = 0, weir::Duration period = 1s) {
    auto definition = quota(std::move(name), amount, period);
    weir::limiter::QuotaOptions options;
    options.wait = {longest, most};
    definition.options = options;
    return definition;
}

Fixture::Options waiting(double amount, weir::Duration longest, std::uint32_t most = 0,
                         weir::Duration period = 1s) {
    Fixture::Options options;
    options.quotas = {queued("q", amount, longest, most, period)};
    options.routing = route_all_to("q");
    return options;
}

constexpr const char* kGet = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

}  // namespace

TEST_CASE("a request waits for its turn and is told how long") {
    Fixture proxy(waiting(5, 2s));
    // The sixth one waits; on a slow machine the bucket drains meanwhile, and a later one does.
    double waited = 0;
    std::uint64_t asked = 0;
    std::uint64_t waits = 0;
    while (asked < 50 && waited < 0.05) {
        const weir::Instant begin = weir::net::now();
        const auto answer = proxy.get("/");
        const weir::Duration took = weir::net::now() - begin;
        CHECK(answer.status() == 200);
        ++asked;
        if (answer.has("X-Weir-Waited")) {
            ++waits;
            waited = std::stod(answer.field("X-Weir-Waited"));
            CHECK(waited <= weir::to_seconds(took) + 0.001);  // rounded
        }
    }
    CHECK(asked >= 6);
    CHECK(waited >= 0.05);
    CHECK(proxy[Event::quota_waits] == waits);
    CHECK(proxy[Event::quota_waits_admitted] == waits);
    CHECK(proxy.statistics().waiting() == 0);
    CHECK(proxy.admitted("q") == static_cast<double>(asked));
    CHECK(proxy.refused("q") == 0);
}

TEST_CASE("the time over, the usual refusal, and it is counted once") {
    Fixture proxy(waiting(1, 300ms, 0, kForEver));
    CHECK(proxy.get("/").status() == 200);
    const auto answer = proxy.get("/");
    CHECK(answer.status() == 429);
    CHECK(answer.field("X-Weir-Quota") == "q");
    CHECK(std::stod(answer.field("X-Weir-Waited")) >= 0.3);
    CHECK(proxy[Ending::refused_limit] == 1);
    CHECK(proxy[Event::quota_waits_refused] == 1);
    CHECK(proxy.refused("q") == 1);
    CHECK(proxy.counted("q", &weir::limiter::DefinitionStatistics::offered) == 2);
}

TEST_CASE("what the quotas find of a request is counted once, however often it is tried") {
    auto options = waiting(5, 2s);
    auto shadow = quota("parent", 0, 1s);
    shadow.mode = weir::limiter::Mode::shadow;
    options.quotas[0].parent = "parent";
    options.quotas.push_back(shadow);
    Fixture proxy(options);
    std::uint64_t asked = 0;
    while (asked < 1000 && proxy[Event::quota_waits] == 0) {
        CHECK(proxy.get("/").status() == 200);
        ++asked;
    }
    CHECK(proxy[Event::quota_waits] == 1);
    CHECK(proxy[Event::shadow_refused] == asked);
}

TEST_CASE("the log of a request whose client left names the quota for which it waited") {
    struct Log final : AccessLog {
        void record(const AccessRecord& record) override {
            const std::scoped_lock lock(mutex);
            quotas.emplace_back(record.quota);
        }
        std::vector<std::string> all() {
            const std::scoped_lock lock(mutex);
            return quotas;
        }
        std::mutex mutex;
        std::vector<std::string> quotas;
    } log;
    auto options = waiting(1, kPatience, 0, kForEver);
    options.server.access_log = &log;
    options.snapshot.access_log = AccessLogMode::all;
    Fixture proxy(options);
    CHECK(proxy.get("/").status() == 200);
    auto client = proxy.connect();
    client.send(kGet);
    CHECK(eventually([&] { return proxy.statistics().waiting() == 1; }));
    client.reset();
    CHECK(eventually([&] { return log.all().size() == 2; }));
    CHECK(log.all() == std::vector<std::string>{"q", "q"});
}

TEST_CASE("a full queue refuses at once; who leaves makes room and is not sent on") {
    Fixture proxy(waiting(1, 1min, 1, kForEver));
    CHECK(proxy.get("/").status() == 200);
    {
        auto first = proxy.connect();
        first.send(kGet);
        CHECK(eventually([&] { return proxy.statistics().waiting() == 1; }));
        const auto full = proxy.get("/");
        CHECK(full.status() == 429);
        CHECK_FALSE(full.has("X-Weir-Waited"));
        CHECK(proxy[Event::quota_waits_full] == 1);
        first.reset();
    }
    CHECK(eventually([&] { return proxy[Event::quota_waits_left] == 1; }));
    auto next = proxy.connect();
    next.send(kGet);
    CHECK(eventually([&] { return proxy.statistics().waiting() == 1; }));
    CHECK(proxy[Event::quota_waits] == 2);
    CHECK(proxy.admitted("q") == 1);
    next.reset();
}

TEST_CASE("a client that half-closes is answered at once") {
    Fixture proxy(waiting(2, 1min, 0, kForEver));
    CHECK(proxy.get("/").status() == 200);
    CHECK(proxy.get("/").status() == 200);
    auto client = proxy.connect();
    client.send(kGet);
    client.shut_down_sending();
    CHECK(read_response(client).value_or(Message{}).status() == 429);
}

TEST_CASE("pipelined requests wait one by one") {
    Fixture proxy(waiting(2, 5s));
    auto pipelined = proxy.connect();
    // On a slow machine the bucket may drain between two of them.
    int waited = 0;
    for (int pair = 0; pair < 100 && waited < 2; ++pair) {
        pipelined.send(std::string(kGet) + kGet);
        waited = 0;
        for (int i = 0; i < 2; ++i) {
            const auto answer = read_response(pipelined).value_or(Message{});
            CHECK(answer.status() == 200);
            waited += answer.has("X-Weir-Waited") ? 1 : 0;
        }
    }
    CHECK(waited == 2);
}

TEST_CASE("twenty clients at two workers: none is refused, and the limit holds") {
    auto options = waiting(50, kPatience);
    options.quotas[0].limits[0].low = {weir::limiter::BurstSpec::Kind::amount, 10};
    options.quotas[0].limits[0].high = {weir::limiter::BurstSpec::Kind::amount, 20};
    options.server.workers = 2;
    Fixture proxy(options);
    constexpr int kEach = 8;
    std::atomic<int> good = 0;
    const weir::Instant begin = weir::net::now();
    {
        std::vector<std::jthread> clients;
        for (int i = 0; i < 20; ++i) {
            clients.emplace_back([&] {
                auto client = proxy.connect();
                for (int request = 0; request < kEach; ++request) {
                    client.send(kGet);
                    good += read_response(client).value_or(Message{}).status() == 200 ? 1 : 0;
                }
            });
        }
    }
    CHECK(good == 20 * kEach);
    // `high`, and what has drained; two workers may each take a free place.
    CHECK(good <= 20 + 2 + 50 * weir::to_seconds(weir::net::now() - begin));
    CHECK(proxy[Event::quota_waits_refused] == 0);
}

TEST_CASE("when the server stops, those who wait are served in time or refused, never cut off") {
    auto options = waiting(1, 5s);
    options.server.drain.keep_accepting = 0s;
    options.server.drain.grace = 500ms;
    Fixture proxy(options);
    CHECK(proxy.get("/").status() == 200);
    auto client = proxy.connect();
    client.send(kGet);
    CHECK(eventually([&] { return proxy.statistics().waiting() == 1; }));
    proxy.server->stop([] {});
    const auto answer = read_response(client).value_or(Message{});
    CHECK((answer.status() == 429 || answer.status() == 200));
    proxy.server->join();
}

TEST_CASE("a definition without a queue, or no definition, ends the waiting") {
    Fixture proxy(waiting(0.2, 10s));
    CHECK(proxy.get("/").status() == 200);
    auto client = proxy.connect();
    client.send(kGet);
    CHECK(eventually([&] { return proxy.statistics().waiting() == 1; }));
    const weir::limiter::DefinitionChange removed{"q", {}};
    proxy.limiter.change(std::span(&removed, 1), weir::net::now());
    CHECK(read_response(client).value_or(Message{}).status() == 200);
    CHECK(eventually([&] { return proxy[Ending::unlimited] == 1; }));
}

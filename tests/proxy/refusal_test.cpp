// What the limiter turns away: the answer, the connection, and that the upstream never hears of it.

#include <doctest/doctest.h>

#include "net/clock.h"
#include "proxy/fixture.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

constexpr const char* kGet = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

Fixture::Options limited(double amount, weir::Duration period) {
    Fixture::Options options;
    options.quotas = {quota("q", amount, period)};
    options.routing = route_all_to("q");
    return options;
}

}  // namespace

TEST_CASE("the sixth of 5r/m is refused without touching the upstream") {
    Fixture proxy(limited(5, 60s));
    auto client = proxy.connect();
    for (int i = 0; i < 5; ++i) {
        client.send(kGet);
        CHECK(read_response(client)->status() == 200);
    }
    for (int i = 0; i < 3; ++i) {
        client.send(kGet);
        const auto answer = read_response(client);
        REQUIRE(answer);
        CHECK(answer->status() == 429);
        CHECK(std::stoi(answer->field("Retry-After")) >= 1);
        CHECK(answer->field("X-Weir-Quota") == "q");
        CHECK(answer->has("RateLimit"));
        CHECK(answer->has("RateLimit-Policy"));
        CHECK(answer->field("x-envoy-ratelimited") == "true");
        CHECK(answer->field("Cache-Control") == "no-store");
        CHECK(answer->has("Date"));
    }
    CHECK(proxy.upstream.requests() == 5);
    REQUIRE(proxy.finished(8));
    CHECK(proxy[Ending::admitted] == 5);
    CHECK(proxy[Ending::refused_limit] == 3);
    CHECK(proxy.admitted("q") == 5);
    CHECK(proxy.refused("q") == 3);
    CHECK(proxy[Event::client_accepted] == 1);
}

TEST_CASE("a limit of 0 refuses everything, HEAD without a body") {
    Fixture proxy(limited(0, 1s));
    CHECK(proxy.get("/").status() == 429);
    const auto head = proxy.ask("HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    CHECK(head.status() == 429);
    CHECK(head.complete);
    CHECK(proxy.upstream.connections() == 0);
    REQUIRE(proxy.finished(2));
    CHECK(proxy[Ending::refused_zero] == 2);
}

TEST_CASE("a pessimistic quota that is isolated gets 503 with its reason, others go on") {
    auto options = limited(1000, 1s);
    options.quotas[0].when_isolated = weir::limiter::IsolationMode::pessimistic;
    Fixture proxy(options);
    CHECK(proxy.get("/").status() == 200);
    // The engine's part: nothing else calls the limiter's control side here.
    const auto limit = proxy.limiter.lookup("q", weir::limiter::Unit::requests, 1s);
    REQUIRE(limit);
    const weir::Instant now = weir::net::now();
    REQUIRE(proxy.limiter.isolate(*limit, true, now));
    const auto answer = proxy.get("/");
    CHECK(answer.status() == 503);
    CHECK(answer.has("Retry-After"));
    CHECK(answer.field("X-Weir-Quota") == "q");
    CHECK(answer.body.find("isolated") != std::string::npos);
    CHECK_FALSE(answer.has("x-envoy-ratelimited"));
    REQUIRE(proxy.finished(2));
    CHECK(proxy[Ending::refused_isolated] == 1);
    CHECK(proxy.upstream.requests() == 1);
    REQUIRE(proxy.limiter.isolate(*limit, false, now));
    CHECK(proxy.get("/").status() == 200);
}

TEST_CASE("a refused request's short body is read away, and the connection stays") {
    Fixture proxy(limited(0, 1s));
    auto client = proxy.connect();
    for (const std::string body : {"Content-Length: 5\r\n\r\nhello",
                                   "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"}) {
        client.send("POST / HTTP/1.1\r\nHost: a.test\r\n" + body);
        CHECK(read_response(client)->status() == 429);
    }
    // One whose body comes after the answer.
    client.send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 50000\r\n\r\n");
    CHECK(read_response(client)->status() == 429);
    client.send(std::string(50'000, 'x') + kGet);
    CHECK(read_response(client)->status() == 429);
    REQUIRE(proxy.finished(4));
    CHECK(eventually([&] { return proxy[Event::request_bodies_drained] == 3; }));
    CHECK(proxy[Event::client_accepted] == 1);
}

TEST_CASE("a refused request's long body closes the connection, the answer still arrives") {
    Fixture proxy(limited(0, 1s));
    auto client = proxy.connect();
    client.send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10000000\r\n\r\n" +
                std::string(200'000, 'x'));
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->status() == 429);
    CHECK(answer->field("Connection") == "close");
    CHECK(client.closed_within(kPatience));
    CHECK(proxy.upstream.connections() == 0);
}

TEST_CASE("a refused chunked body beyond the cap is given up on") {
    Fixture proxy(limited(0, 1s));
    auto client = proxy.connect();
    client.send("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n");
    CHECK(read_response(client)->status() == 429);
    for (int i = 0; i < 20; ++i) {
        client.send("2000\r\n" + std::string(0x2000, 'x') + "\r\n");
    }
    CHECK(client.closed_within(kPatience));
    CHECK(eventually([&] { return proxy[Event::request_bodies_abandoned] == 1; }));
}

TEST_CASE("23: a refused Expect gets 429 before any 100") {
    Fixture proxy(limited(0, 1s));
    auto client = proxy.connect();
    client.send(
        "PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->status() == 429);
    CHECK(answer->field("Connection") == "close");
    CHECK(client.closed_within(kPatience));
    CHECK(proxy.upstream.connections() == 0);
}

TEST_CASE("a request for which no quota exists passes and is counted as unlimited") {
    auto options = limited(0, 1s);
    options.routing = route_all_to("other");
    Fixture proxy(std::move(options));
    CHECK(proxy.get("/").status() == 200);
    REQUIRE(proxy.finished(1));
    CHECK(proxy[Ending::unlimited] == 1);
}

TEST_CASE("the first name that exists is the one that is checked") {
    auto options = limited(0, 1s);
    options.routing.routes[0].quotas = {"missing", "q", "later"};
    options.quotas.push_back(quota("later", 1000, 1s));
    Fixture proxy(std::move(options));
    CHECK(proxy.get("/").status() == 429);
    CHECK(proxy.refused("q") == 1);
}

TEST_CASE("a quota of each list applies, the tightest is told, and the refusing one named") {
    auto options = limited(6, 60s);
    options.quotas = {quota("user/{u}", 3, 600s), quota("space", 2, 600s)};
    options.routing.routes[0].match.path = "/{u}/{w}";
    options.routing.routes[0].quotas.clear();
    options.routing.routes[0].lists = {{"user/{u}", "space"}, {"missing", "{w}"}};
    options.snapshot.headers.on_success = true;
    Fixture proxy(std::move(options));
    for (int i = 0; i < 2; ++i) {
        const auto answer = proxy.get("/a/space");
        CHECK(answer.status() == 200);
        CHECK(answer.field("RateLimit").starts_with("\"space\""));
    }
    CHECK(proxy.get("/a/space").field("X-Weir-Quota") == "space");
    CHECK(proxy.get("/a/nowhere").status() == 200);
    CHECK(proxy.get("/a/nowhere").field("X-Weir-Quota") == "user/a");
    CHECK(proxy.get("/a/user").field("X-Weir-Quota") == "user/a");
    REQUIRE(proxy.finished(6));
    CHECK(proxy.admitted("user/{u}") == 3);
    CHECK(proxy.admitted("space") == 2);
    CHECK(proxy[Ending::admitted] == 3);
    CHECK(proxy.statistics().partly_unlimited[0] == 3);
    CHECK(proxy.statistics().unlimited[0] == 0);
}

TEST_CASE("a request that never arrived is given back to all quotas of its lists") {
    auto options = limited(6, 60s);
    options.quotas = {quota("all", 100, 1s), quota("user", 10, 600s), quota("space", 10, 600s)};
    options.quotas[1].parent = options.quotas[2].parent = "all";
    options.routing.routes[0].quotas.clear();
    options.routing.routes[0].lists = {{"user"}, {"space"}};
    options.upstream = {weir::net::to_socket_address(weir::Endpoint::v4(0x7f000001, 1))};
    Fixture proxy(std::move(options));
    CHECK(proxy.get("/").status() == 502);
    REQUIRE(proxy.finished(1));
    for (const char* name : {"all", "user", "space"}) {
        CHECK(proxy.counted(name, &weir::limiter::DefinitionStatistics::refunded) == 1);
    }
}

TEST_CASE("a hidden quota is not named") {
    auto options = limited(0, 1s);
    options.quotas[0].hide_headers = true;
    Fixture proxy(std::move(options));
    const auto answer = proxy.get("/");
    CHECK(answer.status() == 429);
    CHECK(!answer.has("X-Weir-Quota"));
    CHECK(!answer.has("RateLimit"));
}

TEST_CASE("headers on success, when asked for") {
    auto options = limited(6, 60s);
    options.snapshot.headers.on_success = true;
    Fixture proxy(std::move(options));
    const auto answer = proxy.get("/");
    CHECK(answer.status() == 200);
    CHECK(answer.field("RateLimit").starts_with("\"q\";r=5;"));
    CHECK(answer.field("RateLimit-Policy") == "\"q\";q=6;w=60");
    auto hidden = limited(6, 60s);
    hidden.snapshot.headers.on_success = true;
    hidden.quotas[0].hide_headers = true;
    CHECK(!Fixture(std::move(hidden)).get("/").has("RateLimit"));
    CHECK(!Fixture(limited(6, 60s)).get("/").has("RateLimit"));
}

TEST_CASE("request bytes are charged by Content-Length, and as they came when chunked") {
    auto options = limited(2000, 60s);
    options.quotas[0].limits[0].unit = weir::limiter::Unit::request_bytes;
    Fixture proxy(std::move(options));
    const auto put = [&](const std::string& framing_and_body) {
        return proxy.ask("PUT / HTTP/1.1\r\nHost: a.test\r\n" + framing_and_body).status();
    };
    CHECK(put("Content-Length: 1000\r\n\r\n" + std::string(1000, 'x')) == 200);
    CHECK(put("Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + std::string(1000, 'x') +
              "\r\n0\r\n\r\n") == 200);
    REQUIRE(proxy.finished(2));
    CHECK(proxy[Event::corrections] == 1);
    // Without the chunked body's bytes there would be room for this one.
    CHECK(put("Content-Length: 500\r\n\r\n" + std::string(500, 'x')) == 429);
}

TEST_CASE("a request that never reached the upstream is given back") {
    auto options = limited(5, 60s);
    Fixture proxy(std::move(options));
    proxy.upstream.stop_listening();
    for (int i = 0; i < 20; ++i) {
        CHECK(proxy.get("/").status() == 502);
    }
    REQUIRE(proxy.finished(20));
    CHECK(proxy[Event::refunds] == 20);
    CHECK(proxy[Ending::refused_limit] == 0);
}

// Which connections make room for new ones at the bound of connections.

#include <doctest/doctest.h>

#include <chrono>
#include <vector>

#include "proxy/fixture.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

constexpr const char* kRequest = "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n";

}  // namespace

TEST_CASE("at the limit of connections the longest idle one makes room, whichever worker has it") {
    for (const unsigned workers : {1U, 2U}) {
        CAPTURE(workers);
        Fixture::Options options;
        options.server.connections = 4;
        options.server.workers = workers;
        Fixture proxy(std::move(options));
        std::vector<SocketIo> clients;
        for (int i = 0; i < 20; ++i) {
            clients.push_back(proxy.connect());
            clients.back().send(kRequest);
            const auto answer = read_response(clients.back());
            REQUIRE(answer);
            CHECK(answer->status() == 200);
            REQUIRE(proxy.finished(static_cast<std::uint64_t>(i) + 1));
        }
        CHECK(proxy[Event::client_evicted] == 16);
        CHECK(eventually([&] { return proxy.statistics().client_connections() == 4; }));
        CHECK(clients.front().closed_within(kPatience));
        CHECK(clients.front().closing() == Closing::orderly);
        clients.back().send(kRequest);
        CHECK(read_response(clients.back())->status() == 200);
    }
}

TEST_CASE("connections that send nothing make room, too") {
    Fixture::Options options;
    options.server.connections = 3;
    Fixture proxy(std::move(options));
    std::vector<SocketIo> silent;
    for (int i = 0; i < 3; ++i) {
        silent.push_back(proxy.connect());
    }
    REQUIRE(eventually([&] { return proxy[Event::client_accepted] == 3; }));
    auto client = proxy.connect();
    client.send(kRequest);
    CHECK(read_response(client)->status() == 200);
    CHECK(proxy[Event::client_evicted] == 1);
    CHECK(silent.front().closed_within(kPatience));
}

TEST_CASE("a new connection that sends nothing, or half a head, keeps its place for a moment") {
    // How long is a share of the time for a head; this much time makes it the longest, a second.
    Fixture::Options options;
    options.server.connections = 3;
    options.snapshot.timeouts.request_head = std::chrono::hours(1);
    Fixture proxy(std::move(options));
    std::vector<SocketIo> others;
    for (const bool half : {false, true}) {
        others.clear();
        REQUIRE(eventually([&] { return proxy.statistics().client_connections() == 0; }));
        const auto from = std::chrono::steady_clock::now();
        const auto before = proxy[Event::client_accepted];
        for (std::uint64_t i = 0; i < 3; ++i) {
            others.push_back(proxy.connect());
            if (half) {
                others.back().send("GET / HTTP/1.1\r\n");
            }
            REQUIRE(eventually([&] { return proxy[Event::client_accepted] == before + i + 1; }));
        }
        auto client = proxy.connect();
        client.send(kRequest);
        CHECK(read_response(client)->status() == 200);
        CHECK(std::chrono::steady_clock::now() - from >= 1s);
    }
    CHECK(proxy[Event::client_evicted] + proxy[Event::client_evicted_head] == 2);
}

TEST_CASE("half heads make room, that which is nearest to its timeout first") {
    Fixture::Options options;
    options.server.connections = 3;
    Fixture proxy(std::move(options));
    std::vector<SocketIo> half;
    for (int i = 0; i < 3; ++i) {
        half.push_back(proxy.connect());
        half.back().send("GET / HTTP/1.1\r\n");
        const auto begun = static_cast<std::uint64_t>(i + 1);
        REQUIRE(eventually([&] { return proxy[Event::client_accepted] == begun; }));
    }
    half.front().send("Host: a.test\r\n");  // further bytes do not keep its place longer
    CHECK(proxy.get("/").status() == 200);
    CHECK(half.front().closed_within(kPatience));
    CHECK(proxy[Event::client_evicted_head] == 1);
    CHECK(proxy[Event::client_evicted] == 0);
    for (auto* other : {&half[1], &half[2]}) {
        other->send("Host: a.test\r\n\r\n");
        CHECK(read_response(*other)->status() == 200);
    }
}

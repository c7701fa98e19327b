// Requests that wait while the upstream restarts.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/resolve.h"
#include "proxy/upstream_answers.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

/// A proxy whose upstream is down, and which waits for it so long.
Fixture::Options waiting(weir::Duration time, std::size_t most = 1000) {
    Fixture::Options options;
    options.snapshot.timeouts.upstream_restart = time;
    options.snapshot.limits.waiting = most;
    options.quotas = {quota("q", 1000, 1h)};
    options.routing = route_all_to("q");
    return options;
}

weir::Duration time_of(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::steady_clock::now() - begin;
}

std::vector<SocketIo> asking(const Fixture& proxy, int clients) {
    std::vector<SocketIo> all;
    for (int i = 0; i < clients; ++i) {
        all.push_back(proxy.connect());
        all.back().send(kGet);
    }
    return all;
}

void check_served(std::vector<SocketIo>& clients) {
    for (auto& client : clients) {
        const auto answer = read_response(client);
        REQUIRE(answer);
        CHECK(answer->status() == 200);
    }
}

bool begun(const Fixture& proxy, std::uint64_t waits) {
    return eventually([&] { return proxy[Event::upstream_waits] == waits; });
}

}  // namespace

TEST_CASE("26: while an upstream restarts requests wait, and get their answers") {
    Fixture proxy(waiting(kPatience));
    proxy.upstream.stop_listening();
    std::vector<SocketIo> clients;
    for (int i = 0; i < 20; ++i) {
        clients.push_back(proxy.connect());
        clients.back().send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n\r\nbody");
    }
    REQUIRE(begun(proxy, 20));
    REQUIRE(eventually([&] { return proxy[Event::upstream_connect_errors] > 40; }));
    CHECK(proxy.statistics().inflight_requests() == 20);
    proxy.upstream.listen_again();
    check_served(clients);
    CHECK(proxy.upstream.requests() == 20);
    CHECK(proxy.upstream.heads().back().method() == "POST");
    CHECK(proxy[Ending::admitted] == 20);
    CHECK(proxy[Event::upstream_waits_served] == 20);
    CHECK(proxy[Event::upstream_waits_full] == 0);
    CHECK(proxy.admitted("q") == 20);
}

TEST_CASE("a request whose pooled connection was closed by the restart waits, too") {
    bool comes_back = true;
    SUBCASE("and is answered") {}
    SUBCASE("and stays charged if it waits in vain, because it was sent before") {
        comes_back = false;
    }
    Fixture proxy(waiting(comes_back ? weir::Duration(kPatience) : 300ms));
    std::atomic<bool> go = false;
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.request();
        session.answer(200, "ok");
        session.request();  // then the process ends
        eventually([&] { return go.load(); });
    });
    CHECK(proxy.get("/").status() == 200);
    proxy.upstream.set_script(FakeUpstream::serve);
    auto client = proxy.connect();
    client.send(kGet);
    REQUIRE(eventually([&] { return proxy.upstream.requests() == 2; }));
    proxy.upstream.stop_listening();
    go = true;
    REQUIRE(begun(proxy, 1));
    if (comes_back) {
        proxy.upstream.listen_again();
    }
    CHECK(read_response(client)->status() == (comes_back ? 200 : 502));
    CHECK(proxy[Ending::upstream_refused] == (comes_back ? 0 : 1));
    CHECK(proxy[Event::upstream_retried] == 1);
    CHECK(proxy[Event::refunds] == 0);
    CHECK(proxy.admitted("q") == 2);
}

TEST_CASE("when the time is over the answer is 502, and nothing stays charged") {
    Fixture proxy(waiting(300ms));
    proxy.upstream.stop_listening();
    CHECK(time_of([&] { CHECK(proxy.get("/").status() == 502); }) >= 300ms);
    CHECK(proxy[Ending::upstream_refused] == 1);
    CHECK(proxy[Event::upstream_waits] == 1);
    CHECK(proxy[Event::upstream_waits_served] == 0);
    CHECK(proxy[Event::refunds] == 1);
    // Pauses grow: not more than these fit.
    CHECK(proxy[Event::upstream_connect_errors] >= 3);
    CHECK(proxy[Event::upstream_connect_errors] <= 8);
}

TEST_CASE("beyond limits.waiting requests get 502 at once, and places become free again") {
    Fixture proxy(waiting(kPatience, 2));
    proxy.upstream.stop_listening();
    auto clients = asking(proxy, 2);
    REQUIRE(begun(proxy, 2));
    for (int i = 0; i < 3; ++i) {
        CHECK(proxy.get("/").status() == 502);
    }
    CHECK(proxy[Event::upstream_waits_full] == 3);
    clients[0].reset();
    REQUIRE(eventually([&] { return proxy.statistics().inflight_requests() == 1; }));
    CHECK(proxy.statistics()[Ending::client_closed] == 1);
    auto next = proxy.connect();
    next.send(kGet);
    REQUIRE(begun(proxy, 3));
    proxy.upstream.listen_again();
    CHECK(read_response(next)->status() == 200);
    CHECK(read_response(clients[1])->status() == 200);
}

TEST_CASE("a client that leaves stops waiting") {
    Fixture proxy(waiting(kPatience));
    proxy.upstream.stop_listening();
    SUBCASE("with a reset: nobody is answered") {
        auto client = proxy.connect();
        client.send(kGet);
        REQUIRE(begun(proxy, 1));
        client.reset();
        CHECK(proxy[Ending::client_closed] == 1);
    }
    SUBCASE("with a FIN, which may mean that it only sends no more: 502 at once") {
        auto client = proxy.connect();
        client.send(kGet);
        REQUIRE(begun(proxy, 1));
        client.shut_down_sending();
        CHECK(read_response(client)->status() == 502);
        CHECK(proxy[Ending::upstream_refused] == 1);
    }
    CHECK(proxy[Event::refunds] == 1);
    CHECK(proxy.upstream.requests() == 0);
}

TEST_CASE("requests go on waiting for an upstream that listens again and is slow to accept") {
    auto options = waiting(kPatience);
    options.snapshot.timeouts.connect = 250ms;
    Fixture proxy(options);
    proxy.upstream.stop_listening();
    auto clients = asking(proxy, 20);
    REQUIRE(begun(proxy, 20));
    proxy.upstream.listen_again_slowly(600ms);
    check_served(clients);
    CHECK(proxy[Event::upstream_connect_timeouts] > 0);
    CHECK(proxy[Event::upstream_waits_served] == 20);
    CHECK(proxy[Event::refunds] == 0);
}

TEST_CASE("requests that wait share the connections that limits.upstream_connections allows") {
    auto options = waiting(kPatience);
    options.snapshot.limits.upstream_connections = 1;
    Fixture proxy(options);
    proxy.upstream.stop_listening();
    std::vector<SocketIo> clients;
    for (std::uint64_t busy = 0; clients.size() < 5;) {
        auto client = std::move(asking(proxy, 1)[0]);
        const auto waits = [&] { return proxy[Event::upstream_waits] > clients.size(); };
        const auto refused = [&] { return proxy.statistics()[Ending::upstream_exhausted] > busy; };
        REQUIRE(eventually([&] { return waits() || refused(); }));
        if (waits()) {
            clients.push_back(std::move(client));
        } else {
            ++busy;  // the one connection was in use for somebody else's try
        }
    }
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        while (session.request()) {
            std::this_thread::sleep_for(200ms);  // longer than others pause
            session.answer(200, "ok");
        }
    });
    proxy.upstream.listen_again();
    check_served(clients);
    CHECK(proxy[Event::upstream_waits_served] == 5);
    CHECK(proxy.upstream.connections() == 1);
}

TEST_CASE("when the time is over while nothing accepts, the last try decides: 504") {
    auto options = waiting(500ms);
    options.snapshot.timeouts.connect = 200ms;
    Fixture proxy(options);
    // On a slow machine the time may be over before the upstream listens: then once more.
    std::uint64_t asked = 0;
    while (asked < 80 && proxy[Ending::upstream_connect_timeout] == 0) {
        proxy.upstream.stop_listening();
        auto clients = asking(proxy, 8);
        asked += 8;
        REQUIRE(begun(proxy, asked));
        proxy.upstream.listen_again_slowly(2s);
        REQUIRE(eventually([&] {
            return proxy[Ending::upstream_connect_timeout] > 0 ||
                   proxy[Ending::upstream_refused] == asked;
        }));
    }
    CHECK(proxy[Ending::upstream_connect_timeout] > 0);
    CHECK(proxy[Event::upstream_waits] == asked);
}

TEST_CASE("an upstream that comes back at another address is found") {
    FakeUpstream other;
    Fixture proxy(waiting(kPatience));
    proxy.upstream.stop_listening();
    auto client = proxy.connect();
    client.send(kGet);
    REQUIRE(begun(proxy, 1));
    auto moved = std::make_shared<Snapshot>(*proxy.snapshot());
    moved->upstream = *weir::net::resolve(other.address());
    proxy.server->replace(moved);
    CHECK(read_response(client)->status() == 200);
    CHECK(other.requests() == 1);
    // Its connection is one of those that are kept.
    CHECK(proxy.get("/").status() == 200);
    CHECK(other.connections() == 1);
}

TEST_CASE("requests that wait do not outlive a server that is aborted") {
    Fixture proxy(waiting(kPatience));
    proxy.upstream.stop_listening();
    auto client = proxy.connect();
    client.send(kGet);
    REQUIRE(begun(proxy, 1));
    CHECK(time_of([&] { proxy.server.reset(); }) < kPatience / 2);
}

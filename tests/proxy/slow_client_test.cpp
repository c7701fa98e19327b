// robustness of the client's side: clients that stand still, and those that leave. Numbers are
// those of the list of faults in docs/proxy.md.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "proxy/bad_input.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

TEST_CASE("16: every prefix of a request waits, then is answered with 408") {
    auto options = limited();
    options.snapshot.timeouts.request_head = 1s;  // a busy machine has sent the prefix by then
    Fixture proxy(std::move(options));
    const std::string whole = "GET /x HTTP/1.1\r\nHost: a.test\r\nX: y\r\n\r\n";
    std::vector<SocketIo> clients;
    for (std::size_t size = 1; size < whole.size(); ++size) {
        clients.push_back(proxy.connect());
        clients.back().send(whole.substr(0, size));
    }
    for (auto& client : clients) {
        const auto answer = read_response(client);
        REQUIRE(answer);
        CHECK(answer->status() == 408);
        CHECK(client.closed_within(kPatience));
    }
    CHECK(proxy.upstream.connections() == 0);
    CHECK(proxy[Ending::rejected_head_timeout] == whole.size() - 1);
}

TEST_CASE("16: the time for a head is counted in total, not per byte") {
    auto options = limited();
    options.snapshot.timeouts.request_head = 400ms;
    Fixture proxy(std::move(options));
    auto client = proxy.connect();
    const auto begin = std::chrono::steady_clock::now();
    while (client.closing() == Closing::open &&
           std::chrono::steady_clock::now() - begin < kPatience) {
        client.send_some("G", 10ms);
        client.receive_more(50ms);
    }
    CHECK(std::chrono::steady_clock::now() - begin < kPatience);  // else it would never end
    CHECK(client.buffered().find(" 408 ") != std::string::npos);
}

TEST_CASE("an idle connection is closed without a word") {
    auto options = limited();
    options.snapshot.timeouts.request_head = 1200ms;  // a busy machine has sent it by then
    options.snapshot.timeouts.keep_alive_idle = 1s;
    Fixture proxy(std::move(options));
    auto silent = proxy.connect();
    auto served = proxy.connect();
    served.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(read_response(served)->status() == 200);
    CHECK(silent.closed_within(kPatience));
    CHECK(served.closed_within(kPatience));
    CHECK(silent.buffered().empty());
    CHECK(served.buffered().empty());
    CHECK(proxy[Event::client_idle_timeout] == 2);
}

TEST_CASE("17: a body that stands still is answered with 408, and the upstream is let go") {
    auto options = limited();
    options.snapshot.timeouts.body_idle = 300ms;
    Fixture proxy(std::move(options));
    auto client = proxy.connect();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->status() == 408);
    CHECK(client.closed_within(kPatience));
    CHECK(proxy[Ending::rejected_body_timeout] == 1);
    CHECK(eventually([&] { return proxy.statistics().upstream_connections() == 0; }));
}

TEST_CASE("17, 23: a client that was told to go on and then sends nothing is slow") {
    auto options = limited();
    options.routing.refund = {{400, 599}};
    options.snapshot.timeouts.body_idle = 500ms;  // a client's patience comes before stream_idle
    Fixture proxy(std::move(options));
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.head();
        session.send("HTTP/1.1 100 Continue\r\n\r\n");
        session.io.closed_within(kPatience);
    });
    auto client = proxy.connect();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    for (const int status : {100, 408}) {
        const auto answer = read_response(client);
        REQUIRE(answer);
        CHECK(answer->status() == status);
    }
    CHECK(client.closed_within(kPatience));
    CHECK(proxy[Ending::rejected_body_timeout] == 1);
    CHECK(proxy[Event::refunds_by_status] == 0);
}

TEST_CASE("17, 23: one that waits for the word to go on is not, until nothing has moved for long") {
    auto options = limited();
    options.routing.refund = {{500, 599}};
    options.snapshot.timeouts.body_idle = 100ms;
    options.snapshot.timeouts.stream_idle = 1s;
    Fixture proxy(std::move(options));
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.head();
        session.io.closed_within(kPatience);
    });
    const auto begin = std::chrono::steady_clock::now();
    CHECK(
        proxy.ask("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
            .status() == 408);
    CHECK(std::chrono::steady_clock::now() - begin >= 1s);
    CHECK(proxy[Ending::rejected_body_timeout] == 1);
    CHECK(proxy[Event::refunds_by_status] == 0);
}

TEST_CASE("24: a client that leaves within its body or the answer takes the upstream with it") {
    std::atomic<int> partial = 0;
    Fixture proxy(limited());
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        const auto got = session.request();
        if (got && !got->complete) {
            ++partial;
        }
        if (got && got->complete) {
            session.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\npart of it");
        }
        session.io.closed_within(kPatience + kPatience);
    });
    auto waiting = proxy.connect();
    int clients = 0;
    const auto until_released = middle_of_five([&] {
        auto in_body = proxy.connect();
        in_body.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
        auto in_answer = proxy.connect();
        in_answer.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        clients += 2;
        REQUIRE(eventually([&] { return proxy.upstream.requests() == clients; }));
        REQUIRE(in_answer.take_until("part of it"));
        const auto begin = std::chrono::steady_clock::now();
        in_body.close();
        in_answer.reset();
        REQUIRE(eventually([&] { return proxy.upstream.ended() == clients; }));
        return std::chrono::steady_clock::now() - begin;
    });
    CHECK(until_released < 1s);
    CHECK(partial == 5);
    CHECK(eventually([&] { return proxy[Ending::client_closed] == 10; }));
    CHECK(eventually([&] { return proxy.statistics().upstream_connections() == 0; }));
}

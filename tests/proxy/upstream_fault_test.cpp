// What an upstream may do wrong once it is connected, and what comes of it for the client.
#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "proxy/upstream_answers.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

TEST_CASE("27, 30: invalid responses become 502, their connection is not used again") {
    std::string flood;
    for (int i = 0; i < 1000; ++i) {
        flood += "HTTP/1.1 103 X\r\n\r\n";
    }
    const std::vector<std::string> responses = {
        "garbage\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\nb\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: " + std::string(20 << 20, 'a') + "\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nok\r\n0\r\n\r\n",
    };
    Fixture proxy;
    for (const auto& response : responses) {
        CAPTURE(response.substr(0, 60));
        answer_with(proxy, response);
        CHECK(proxy.get("/").status() == 502);
    }
    CHECK(proxy.upstream.connections() == static_cast<int>(responses.size()));
    REQUIRE(proxy.finished(responses.size()));
    CHECK(proxy[Ending::upstream_invalid_response] == responses.size());
    CHECK(eventually([&] { return proxy.statistics().upstream_connections() == 0; }));

    answer_with(proxy, flood + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    auto client = proxy.connect();
    client.send("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
    const auto all = client.take_all();
    CHECK(all.find("HTTP/1.1 200") == std::string::npos);
    CHECK(all.find(" 502 ") != std::string::npos);
}

TEST_CASE("answers that other proxies take are taken") {
    std::string many;
    for (int i = 0; i < 900; ++i) {
        many += "A" + std::to_string(i) + ": b\r\n";
    }
    const std::vector<std::string> heads = {
        "HTTP/1.1 200\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n",
        "HTTP/1.1 200 OK\r\n" + many,
        "HTTP/1.1 777 Odd\r\n",
    };
    Fixture proxy;
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        for (const auto& head : heads) {
            session.request();
            session.send(head + "Content-Length: 2\r\n\r\nok");
        }
    });
    for (const auto& head : heads) {
        CAPTURE(head.substr(0, 60));
        const auto answer = proxy.get("/");
        CHECK(answer.status() == std::stoi(head.substr(9, 3)));
        CHECK(answer.start.starts_with(head.substr(0, 12) + " "));
        CHECK(answer.count("Content-Length") == 1);
        CHECK(answer.body == "ok");
    }
    CHECK(proxy.upstream.connections() == 1);
    CHECK(proxy.finished(heads.size()));
    CHECK(proxy.statistics().request_seconds[4].sum_seconds > 0);

    auto fewer = std::make_shared<Snapshot>(*proxy.snapshot());
    fewer->limits.response_fields = 900;
    proxy.server->replace(fewer);
    REQUIRE(eventually([&] { return proxy[Event::reloads] == 1; }));
    answer_with(proxy, heads[2] + "Content-Length: 2\r\n\r\nok");
    CHECK(proxy.get("/").status() == 502);
    CHECK(proxy[Ending::upstream_invalid_response] == 1);
}

TEST_CASE("closing before an answer is a 502") {
    Fixture proxy;
    proxy.upstream.set_script([](FakeUpstream::Session& session) { session.request(); });
    CHECK(proxy.get("/").status() == 502);
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.request();
        session.send("HTTP/1.1 200 OK\r\nContent-");
    });
    CHECK(proxy.get("/").status() == 502);
    REQUIRE(proxy.finished(2));
    CHECK(proxy[Ending::upstream_closed] == 2);
    CHECK(proxy[Event::upstream_retried] == 0);
}

TEST_CASE("28: a response that breaks off is seen as broken off") {
    Fixture proxy;
    for (const std::string response :
         {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"}) {
        CAPTURE(response);
        proxy.upstream.set_script([response](FakeUpstream::Session& session) {
            session.request();
            session.send(response);
        });
        auto client = proxy.connect();
        client.send(kGet);
        const auto answer = read_response(client);
        if (answer) {
            CHECK(!answer->complete);
        }
        CHECK(client.closed_within(kPatience));
        CHECK(client.buffered().find("0\r\n\r\n") == std::string::npos);
    }
    REQUIRE(proxy.finished(3));
    CHECK(proxy[Ending::upstream_truncated] == 3);
}

TEST_CASE("28: a reset within a response without framing resets the client's connection too") {
    std::atomic<bool> go = false;
    Fixture proxy;
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.request();
        session.send("HTTP/1.1 200 OK\r\n\r\nhello");
        eventually([&] { return go.load(); });
        session.io.reset();
    });
    auto client = proxy.connect();
    client.send(kGet);
    CHECK(client.take_until("hello"));
    go = true;
    CHECK(client.closed_within(kPatience));
    CHECK(client.closing() == Closing::reset);
    CHECK(proxy[Event::client_reset] == 1);
}

TEST_CASE("28: a bad chunk in the middle of a response breaks the answer off") {
    std::atomic<bool> begun = false;
    Fixture proxy;
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.request();
        session.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
        eventually([&] { return begun.load(); });
        session.send("zz\r\n0\r\n\r\n");
        session.io.closed_within(kPatience);
    });
    auto client = proxy.connect();
    client.send(kGet);
    auto answer = read_head(client);
    REQUIRE(answer);
    begun = true;
    read_body(client, *answer, true);
    CHECK(!answer->complete);
    CHECK(client.closed_within(kPatience));
    CHECK(proxy[Ending::upstream_truncated] == 1);
}

TEST_CASE("29: bytes behind a response are discarded with the connection") {
    Fixture proxy;
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        while (session.request()) {
            if (!session.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
                              "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")) {
                return;
            }
        }
    });
    auto client = proxy.connect();
    for (int i = 0; i < 3; ++i) {
        client.send(kGet);
        CHECK(read_response(client)->body == "ok");
    }
    CHECK(proxy.upstream.connections() == 3);
    CHECK(eventually([&] { return proxy[Event::upstream_extra_bytes] == 3; }));
}

TEST_CASE("29: bytes that come later make a pooled connection unusable") {
    std::atomic<bool> answered = false;
    std::atomic<bool> sent = false;
    Fixture proxy;
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.request();
        session.answer(200, "ok");
        eventually([&] { return answered.load(); });
        session.answer(200, "evil");
        sent = true;
        session.io.closed_within(kPatience);
    });
    auto client = proxy.connect();
    client.send(kGet);
    CHECK(read_response(client)->body == "ok");
    REQUIRE(proxy.finished(1));  // so it is in the pool
    answered = true;
    REQUIRE(eventually([&] { return sent.load(); }));
    std::this_thread::sleep_for(50ms);  // a busy kernel may hand it over a little later
    client.send(kGet);
    CHECK(read_response(client)->body == "ok");
    CHECK(proxy.upstream.connections() == 2);
    CHECK(proxy[Event::upstream_stale] == 1);
}

TEST_CASE("33: a response that stands still ends at the idle timeout: 504 before, cut off within") {
    Fixture::Options options;
    options.snapshot.timeouts.stream_idle = 1s;  // longer than it takes a busy machine to begin
    Fixture proxy(std::move(options));
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.request();
        session.io.closed_within(kPatience);
    });
    CHECK(proxy.get("/").status() == 504);
    answer_with(proxy, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
    auto client = proxy.connect();
    client.send(kGet);
    const auto answer = read_response(client);
    if (answer) {
        CHECK(!answer->complete);
    }
    REQUIRE(proxy.finished(2));
    CHECK(proxy[Ending::upstream_response_timeout] == 1);
    CHECK(proxy[Ending::upstream_truncated] == 1);
}

TEST_CASE("a client that takes no byte for too long is let go") {
    Fixture::Options options;
    options.snapshot.timeouts.stream_idle = 2s;  // longer than a busy upstream stands still
    const std::string answer =
        "HTTP/1.1 200 OK\r\nContent-Length: 30000000\r\n\r\n" + std::string(30'000'000, 'x');
    Fixture proxy(std::move(options));
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.request();
        session.send(answer);
    });
    auto client = proxy.connect();
    client.set_receive_buffer(16 * 1024);
    client.send(kGet);
    CHECK(proxy.finished(1));
    CHECK(proxy[Ending::client_stalled] == 1);
}

TEST_CASE("34: an early 413 is relayed while the client still sends, then the connection closes") {
    Fixture proxy;
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.head();
        session.answer(413, "too much");
        session.io.closed_within(kPatience);
    });
    auto client = proxy.connect();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n");
    std::thread sender([&] {
        const std::string part(100'000, 'x');
        for (int i = 0; i < 100 && client.send_some(part, 200ms) == part.size(); ++i) {
        }
    });
    sender.join();
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->status() == 413);
    CHECK(answer->body == "too much");
    CHECK(answer->field("Connection") == "close");
    CHECK(client.closed_within(kPatience));
    CHECK(proxy[Ending::unlimited] == 1);
}

TEST_CASE("34: an upstream that answers and resets while the client still sends") {
    Fixture proxy;
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.head();
        session.answer(413, "too much");
        std::this_thread::sleep_for(50ms);  // the answer is there before the reset
    });
    auto client = proxy.connect();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n");
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->status() == 413);
}

TEST_CASE("the pool keeps no more than its bound and nothing idle for too long") {
    Fixture::Options options;
    options.snapshot.limits.upstream_idle_connections = 2;
    options.snapshot.timeouts.upstream_idle = 100ms;
    Fixture proxy(std::move(options));
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        while (session.request()) {
            eventually([&] { return proxy.upstream.requests() >= 5; });  // all at once
            if (!session.answer(200, "ok")) {
                return;
            }
        }
    });
    std::vector<SocketIo> clients;
    for (int i = 0; i < 5; ++i) {
        clients.push_back(proxy.connect());
        clients.back().send(kGet);
    }
    for (auto& client : clients) {
        CHECK(read_response(client)->status() == 200);
    }
    CHECK(proxy.upstream.connections() == 5);
    CHECK(eventually([&] { return proxy[Event::upstream_idle_closed] == 5; }));
    CHECK(eventually([&] { return proxy.statistics().upstream_connections() == 0; }));
}

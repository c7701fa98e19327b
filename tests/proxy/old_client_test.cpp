// Clients that speak HTTP/1.0.
#include <doctest/doctest.h>

#include "proxy/bodies.h"

using namespace weir::proxy;
using namespace weir::proxy::testing;

TEST_CASE("HTTP/1.0 clients are served, kept alive only if they ask") {
    Fixture proxy;
    auto client = proxy.connect();
    client.send("GET / HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n");
    auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->body == "ok");
    CHECK(answer->field("Connection") == "keep-alive");
    client.send("GET / HTTP/1.0\r\nHost: a.test\r\n\r\n");
    answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->body == "ok");
    CHECK(client.closed_within(kPatience));
}

TEST_CASE("an HTTP/1.0 client gets a chunked answer's content, ended by the connection") {
    Fixture proxy;
    const auto body = pattern(200'000);
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.request();
        session.send("HTTP/1.1 200 OK\r\nA: 1\r\nTransfer-Encoding: chunked\r\nB: 2\r\n\r\n" +
                     chunked(body, 777) + "0;x=y\r\nT: t\r\n\r\n");
        session.request();
    });
    auto client = proxy.connect();
    client.send("GET / HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n");
    const auto answer = read_head(client);
    REQUIRE(answer);
    CHECK(answer->status() == 200);
    CHECK(!answer->has("Transfer-Encoding"));
    CHECK(answer->field("A") == "1");
    CHECK(answer->field("B") == "2");
    CHECK(answer->field("Connection") == "close");
    const bool same = client.take_all() == body;  // too long to be printed
    CHECK(same);
    CHECK(client.closing() == Closing::orderly);
    CHECK(proxy[Ending::unlimited] == 1);
    // All of it was read, so the upstream's connection stays.
    CHECK(proxy.statistics().upstream_connections() == 1);
}

TEST_CASE("the head of a chunked answer to HEAD announces no chunks to HTTP/1.0") {
    Fixture proxy;
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        while (session.request()) {
            session.send("HTTP/1.1 200 OK\r\nA: 1\r\nTransfer-Encoding: chunked\r\nB: 2\r\n\r\n");
        }
    });
    for (const std::string version : {"1.0", "1.1"}) {
        CAPTURE(version);
        auto client = proxy.connect();
        client.send("HEAD / HTTP/" + version + "\r\nHost: a.test\r\nConnection: close\r\n\r\n");
        const auto answer = read_head(client);
        REQUIRE(answer);
        CHECK(answer->has("Transfer-Encoding") == (version == "1.1"));
        CHECK(answer->field("A") == "1");
        CHECK(answer->field("B") == "2");
        CHECK(client.take_all().empty());
    }
}

TEST_CASE("an Expect of HTTP/1.0 is ignored and not passed on") {
    Fixture proxy;
    for (const std::string value : {"100-continue", "miracles"}) {
        const auto answer = proxy.ask(
            "PUT / HTTP/1.0\r\nHost: a.test\r\nContent-Length: 2\r\n"
            "Expect: " +
            value + "\r\n\r\nhi");
        CHECK(answer.status() == 200);
    }
    for (const auto& head : proxy.upstream.heads()) {
        CHECK(!head.has("Expect"));
    }
}

TEST_CASE("an HTTP/1.0 client sees a broken-off chunked answer as broken off") {
    Fixture proxy;
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.request();
        session.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    });
    auto client = proxy.connect();
    client.send("GET / HTTP/1.0\r\nHost: a.test\r\n\r\n");
    static_cast<void>(client.take_all());
    CHECK(client.closing() == Closing::reset);
    CHECK(proxy[Ending::upstream_truncated] == 1);
}

TEST_CASE("requests of HTTP/1.0 share a connection of HTTP/1.1 to the upstream") {
    Fixture proxy;
    for (int i = 0; i < 20; ++i) {
        CHECK(proxy.ask("GET / HTTP/1.0\r\nHost: a.test\r\n\r\n").body == "ok");
    }
    CHECK(proxy.upstream.connections() == 1);
    for (const auto& head : proxy.upstream.heads()) {
        CHECK(head.start == "GET / HTTP/1.1");
        CHECK(head.field("Host") == "a.test");
        CHECK(head.field("Via") == "1.0 weir");
        CHECK(!head.has("Connection"));
    }
}

TEST_CASE("a health check of HTTP/1.0 needs no Host") {
    Fixture::Options options;
    options.snapshot.upstream_host = "app.test:3000";
    Fixture proxy(options);
    CHECK(proxy.ask("OPTIONS / HTTP/1.0\r\n\r\n").status() == 200);
    const auto heads = proxy.upstream.heads();
    REQUIRE(heads.size() == 1);
    CHECK(heads[0].start == "OPTIONS / HTTP/1.1");
    CHECK(heads[0].field("Host") == "app.test:3000");
    CHECK(!heads[0].has("X-Forwarded-Host"));
}

// Switching to another protocol, such as WebSocket: what is asked for, what is answered, and what
// passes afterwards.

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <vector>

#include "proxy/tunnels.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

/// One request in a long time, and no further one.
Fixture::Options one_request() {
    Fixture::Options options;
    options.quotas = {quota("q", 1, 600s)};
    options.routing = route_all_to("q");
    return options;
}

}  // namespace

TEST_CASE("after a 101 bytes pass both ways, also those that came with the heads") {
    Fixture proxy;
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.head();
        session.send(kSwitched + "early ");
        session.send(*session.io.take(5));
        session.io.take_all();
    });
    auto client = proxy.connect();
    const auto answer = ask_to_switch(client, "first");
    CHECK(answer.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
    CHECK(answer.find("Connection: Upgrade\r\n") != std::string::npos);
    CHECK(answer.find("Upgrade: websocket\r\n") != std::string::npos);
    CHECK(answer.find("Sec-WebSocket-Accept: a\r\n") != std::string::npos);
    CHECK(answer.find("close") == std::string::npos);
    CHECK(client.take(11) == "early first");
    CHECK(proxy.statistics().tunnels() == 1);
    CHECK(proxy.statistics().inflight_requests() == 1);
    client.shut_down_sending();
    CHECK(client.take_all().empty());
    CHECK(client.closing() == Closing::orderly);
    const auto heads = proxy.upstream.heads();
    REQUIRE(heads.size() == 1);
    CHECK(heads[0].field("Upgrade") == "websocket");
    CHECK(heads[0].field("Connection") == "Upgrade");
    CHECK(heads[0].field("Sec-WebSocket-Key") == "k");
    CHECK(proxy[Ending::unlimited] == 1);
    CHECK(proxy[Event::tunnel_ended] == 1);
    CHECK(proxy.statistics().tunnels() == 0);
    CHECK(eventually([&] { return proxy.statistics().upstream_connections() == 0; }));
}

TEST_CASE("much passes in both directions at once, and is not mixed up") {
    Fixture proxy;
    proxy.upstream.set_script(echo);
    auto client = proxy.connect();
    REQUIRE(!ask_to_switch(client).empty());
    std::string sent;
    std::string came;
    for (int i = 0; i < 300; ++i) {
        const std::string piece(static_cast<std::size_t>(1 + i * 97 % 20'000),
                                static_cast<char>('a' + i % 26));
        REQUIRE(client.send(piece));
        sent += piece;
        if (i % 3 == 0) {
            came += client.take(piece.size()).value_or("");
        }
    }
    client.shut_down_sending();
    came += client.take_all();
    CHECK(came.size() == sent.size());
    CHECK(came == sent);
    CHECK(eventually([&] { return proxy[Event::tunnel_ended] == 1; }));
}

TEST_CASE("a switch is charged as one request, whatever passes") {
    Fixture proxy(one_request());
    proxy.upstream.set_script(echo);
    auto client = proxy.connect();
    REQUIRE(!ask_to_switch(client).empty());
    for (int i = 0; i < 10; ++i) {
        client.send(kPlain);
        CHECK(client.take(kPlain.size()) == kPlain);
    }
    CHECK(proxy.admitted("q") == 1);
    CHECK(proxy.get("/other").status() == 429);
    client.close();
    CHECK(proxy[Ending::admitted] == 1);
    CHECK(proxy.admitted("q") == 1);
}

Fixture::Options bytes_for_ten_minutes(weir::limiter::Unit unit) {
    Fixture::Options options;
    options.quotas = {quota("q", 100'000, 600s)};
    options.quotas[0].limits[0].unit = unit;
    options.routing = route_all_to("q");
    return options;
}

TEST_CASE("limits of bytes count what passes in a tunnel") {
    using weir::limiter::Unit;
    for (const auto unit : {Unit::request_bytes, Unit::response_bytes}) {
        Fixture proxy(bytes_for_ten_minutes(unit));
        proxy.upstream.set_script(echo);
        auto client = proxy.connect();
        REQUIRE(!ask_to_switch(client).empty());
        client.send(std::string(200'000, 'x'));
        client.shut_down_sending();
        CHECK(client.take_all().size() == 200'000);
        CHECK(proxy[Ending::admitted] == 1);
        CHECK(proxy.get("/").status() == 429);
    }
}

TEST_CASE(
    "what passes in a tunnel is charged while it is open, and weighs no more than its steps") {
    using weir::limiter::Unit;
    for (const auto unit : {Unit::request_bytes, Unit::response_bytes}) {
        CAPTURE(static_cast<int>(unit));
        Fixture proxy(bytes_for_ten_minutes(unit));
        proxy.upstream.set_script(echo);
        auto client = proxy.connect();
        REQUIRE(!ask_to_switch(client).empty());
        for (int i = 0; i < 20; ++i) {
            REQUIRE(client.send(std::string(200'000, 'x')));
            REQUIRE(client.take(200'000));
        }
        CHECK(proxy[Event::tunnel_ended] == 0);
        CHECK(eventually([&] { return proxy.get("/").status() == 429; }));
        client.shut_down_sending();
        client.take_all();
        CHECK(proxy[Ending::admitted] == 1);
        // Above high there is at most the debt or one step, which drain within half an hour.
        const auto refused = proxy.get("/");
        CHECK(refused.status() == 429);
        CHECK(std::stoi(refused.field("Retry-After")) < 1800);
    }
}

TEST_CASE("behind a switch that the upstream does not take requests are judged like any other") {
    std::atomic<bool> more_came = false;
    Fixture proxy(one_request());
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.head();
        more_came = session.io.receive_more(300ms) || !session.io.buffered().empty();
        session.send(
            "HTTP/1.1 426 Upgrade Required\r\nUpgrade: other\r\nContent-Length: 2\r\n\r\nno");
        session.io.take_all();
    });
    auto client = proxy.connect();
    client.send(kAsk + kPlain + kPlain);
    const auto first = read_response(client);
    REQUIRE(first);
    CHECK(first->status() == 426);
    CHECK(first->field("Upgrade") == "other");
    CHECK(first->body == "no");
    for (int i = 0; i < 2; ++i) {
        const auto refused = read_response(client);
        REQUIRE(refused);
        CHECK(refused->status() == 429);
    }
    CHECK(!more_came);
    CHECK(proxy.upstream.requests() == 1);
    CHECK(proxy[Event::tunnel_opened] == 0);
}

TEST_CASE("behind a switch that a limit refuses requests are judged like any other") {
    Fixture proxy(one_request());
    CHECK(proxy.get("/").status() == 200);
    auto client = proxy.connect();
    client.send(kAsk + kPlain);
    for (int i = 0; i < 2; ++i) {
        const auto refused = read_response(client);
        REQUIRE(refused);
        CHECK(refused->status() == 429);
    }
    CHECK(proxy.upstream.requests() == 1);
}

TEST_CASE("a 101 that was not asked for, or not like this, is a 502") {
    const auto answer = [](std::string_view lines) {
        return "HTTP/1.1 101 X\r\n" + std::string(lines) + "\r\nbytes";
    };
    const std::vector<std::string> answers = {
        answer("Connection: upgrade\r\nUpgrade: other\r\n"),
        answer("Connection: upgrade\r\nUpgrade: websocket, other\r\n"),
        answer("Connection: upgrade\r\n"),
        answer("Upgrade: websocket\r\n"),
        "HTTP/1.0 101 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    };
    Fixture proxy;
    const auto answer_with = [&](const std::string& bytes) {
        proxy.upstream.set_script([bytes](FakeUpstream::Session& session) {
            session.head();
            session.send(bytes);
            session.io.take_all();
        });
    };
    for (const auto& each : answers) {
        CAPTURE(each);
        answer_with(each);
        CHECK(proxy.ask(kAsk).status() == 502);
    }
    // The client has to ask in HTTP/1.1, and in Connection, too.
    answer_with(kSwitched);
    CHECK(proxy.get("/").status() == 502);
    CHECK(proxy.ask("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n").status() == 502);
    CHECK(
        proxy.ask("GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n").status() ==
        502);
    for (const auto& head : proxy.upstream.heads()) {
        CHECK(head.has("Upgrade") == (head.target() == "/chat"));
    }
    CHECK(proxy[Ending::upstream_invalid_response] == answers.size() + 3);
    CHECK(proxy[Event::tunnel_opened] == 0);
    CHECK(eventually([&] { return proxy.statistics().upstream_connections() == 0; }));
}

TEST_CASE("a request with a body may switch once all of it has been sent") {
    const std::string head =
        "POST /exec HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
    Fixture proxy;
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        const auto request = session.request();
        session.send(kSwitched + (request ? request->body : ""));
        session.send(session.io.take(4).value_or(""));
        session.io.take_all();
    });
    for (const char* body : {"Content-Length: 3\r\n\r\nabc",
                             "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"}) {
        CAPTURE(body);
        auto client = proxy.connect();
        client.send(head + body + "next");
        CHECK(client.take_until("\r\n\r\n").value_or("").starts_with("HTTP/1.1 101 "));
        CHECK(client.take(7) == "abcnext");
    }

    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.head();
        session.send(kSwitched);
        session.io.take_all();
    });
    auto early = proxy.connect();
    early.send(head + "Content-Length: 10\r\n\r\nabc");
    CHECK(early.take_until("\r\n\r\n").value_or("").starts_with("HTTP/1.1 502 "));
    CHECK(proxy[Event::tunnel_opened] == 2);
}

TEST_CASE("only what the setting lists is asked for") {
    Fixture::Options options;
    options.snapshot.upgrades = {"other"};
    Fixture proxy(options);
    CHECK(proxy.ask(kAsk).status() == 501);
    CHECK(proxy.upstream.requests() == 0);
    CHECK(proxy[Ending::rejected_upgrade] == 1);
    CHECK(proxy
              .ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
                   "Upgrade: websocket, Other\r\n\r\n")
              .status() == 200);
    CHECK(proxy.upstream.heads().at(0).field("Upgrade") == "Other");
}

TEST_CASE("an idle connection to the upstream serves a switch, and is not kept afterwards") {
    Fixture proxy;
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.request();
        session.answer(200, "ok");
        echo(session);
    });
    CHECK(proxy.get("/").status() == 200);
    auto client = proxy.connect();
    CHECK(ask_to_switch(client, "x").starts_with("HTTP/1.1 101 "));
    CHECK(client.take(1) == "x");
    CHECK(proxy.upstream.connections() == 1);
    CHECK(proxy[Event::upstream_reused] == 1);
    client.close();
    CHECK(eventually([&] { return proxy.statistics().upstream_connections() == 0; }));
}

// What goes through: methods, bodies of any framing, trailers, interim responses, pipelining.
#include <doctest/doctest.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "proxy/bodies.h"
#include "proxy/buffer.h"

using namespace weir::proxy;
using namespace weir::proxy::testing;

TEST_CASE("a request goes through byte for byte, hop-by-hop fields aside") {
    Fixture proxy;
    const auto answer = proxy.ask(
        "GET /a%2Fb//c/../d?x=%20&y HTTP/1.1\r\nhOsT: A.test:80\r\nX-Odd:   two  words \r\n"
        "Connection: close, X-Private\r\nX-Private: 1\r\nKeep-Alive: 5\r\n\r\n");
    CHECK(answer.status() == 200);
    CHECK(answer.body == "ok");
    const auto heads = proxy.upstream.heads();
    REQUIRE(heads.size() == 1);
    CHECK(heads[0].start == "GET /a%2Fb//c/../d?x=%20&y HTTP/1.1");
    CHECK(heads[0].raw.find("hOsT: A.test:80\r\n") != std::string::npos);
    CHECK(heads[0].raw.find("X-Odd:   two  words \r\n") != std::string::npos);
    CHECK(!heads[0].has("X-Private"));
    CHECK(!heads[0].has("Keep-Alive"));
    CHECK(heads[0].field("X-Forwarded-For") == "127.0.0.1");
    CHECK(heads[0].field("X-Forwarded-Proto") == "http");
    CHECK(heads[0].field("Via").find("weir") != std::string::npos);
    CHECK(heads[0].has("X-Request-Id"));
    REQUIRE(proxy.finished(1));
    CHECK(proxy[Ending::unlimited] == 1);
}

TEST_CASE("unusual bytes of a target go through where no route depends on them") {
    weir::routing::RouteSettings route;
    route.match.path = "/api/{tenant}/**";
    route.quotas = {"api/{tenant}"};
    for (const bool routes : {false, true}) {
        CAPTURE(routes);
        Fixture::Options options;
        if (routes) {
            options.routing.routes = {route};
        }
        Fixture proxy(options);
        int forwarded = 0;
        for (const std::string text : {"^", "{", "}", "\"", "<", ">", "\\", "`", "%5C", "%0A",
                                       "%0d", "%09", "C:%5Cx%2Fy", "%0A%5C"}) {
            for (const auto& target : {"/api/t/a" + text + "b", "/?q=" + text + "&" + text}) {
                CAPTURE(target);
                CHECK(proxy.get(target).status() == 200);
                ++forwarded;
                CHECK(proxy.upstream.heads().back().start == "GET " + target + " HTTP/1.1");
            }
        }
        const auto answer = proxy.get("/api/t%5C1/a");
        CHECK(answer.status() == (routes ? 400 : 200));
        if (routes) {
            CHECK(answer.body.find("an escaped backslash where it decides about the route") !=
                  std::string::npos);
        }
        CHECK(proxy.upstream.requests() == forwarded + (routes ? 0 : 1));
        CHECK(proxy[Ending::rejected_path] == (routes ? 1 : 0));
    }
}

TEST_CASE("both sides keep their connections") {
    Fixture proxy;
    auto client = proxy.connect();
    for (int i = 0; i < 5; ++i) {
        client.send(request("GET /" + std::to_string(i)));
        const auto answer = read_response(client);
        REQUIRE(answer);
        CHECK(answer->body == "ok");
    }
    CHECK(proxy.upstream.connections() == 1);
    CHECK(proxy.upstream.requests() == 5);
    REQUIRE(proxy.finished(5));
    CHECK(proxy[Event::upstream_reused] == 4);
    CHECK(proxy[Event::client_accepted] == 1);
}

TEST_CASE("bodies of any size and framing go through both ways") {
    Fixture proxy;
    proxy.upstream.set_script(echo);
    auto client = proxy.connect();
    std::uint64_t count = 0;
    for (const std::size_t size : {1U, 100U, 1900U, 2048U, 32768U, 65536U, 1'000'000U}) {
        CAPTURE(size);
        const auto body = pattern(size);
        client.send(request("PUT /x", "Content-Length: " + std::to_string(size) + "\r\n") + body);
        auto answer = read_response(client);
        REQUIRE(answer);
        CHECK(answer->complete);
        CHECK(answer->body == body);
        client.send(request("PUT /x", "Transfer-Encoding: chunked\r\n") + chunked(body, 1000) +
                    "0\r\n\r\n");
        answer = read_response(client);
        REQUIRE(answer);
        CHECK(answer->body == body);
        count += 2;
    }
    CHECK(proxy.upstream.connections() == 1);
    REQUIRE(proxy.finished(count));
    CHECK(proxy[Ending::unlimited] == count);
}

TEST_CASE("a body that arrives in single bytes goes through as it came") {
    Fixture proxy;
    proxy.upstream.set_script(echo);
    auto client = proxy.connect();
    const auto text = request("POST /x", "Transfer-Encoding: chunked\r\n") +
                      "5;a=b\r\nhello\r\n0\r\nX-Sum: 7\r\n\r\n";
    for (const char byte : text) {
        REQUIRE(client.send(std::string_view(&byte, 1)));
    }
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->body == "hello");
}

TEST_CASE("chunks, extensions and trailers pass both ways as they came") {
    const std::string sent = "5;a=b\r\nhello\r\n0\r\nX-Sum: 7\r\n\r\n";
    Fixture proxy;
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        while (const auto got = session.request()) {
            session.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            const auto body = got->raw.substr(got->raw.find("\r\n\r\n") + 4);
            if (!session.send(body)) {
                return;
            }
        }
    });
    auto client = proxy.connect();
    for (int i = 0; i < 2; ++i) {
        client.send(request("POST /x", "Transfer-Encoding: chunked\r\n") + sent);
        const auto answer = read_response(client);
        REQUIRE(answer);
        CHECK(answer->raw.substr(answer->raw.find("\r\n\r\n") + 4) == sent);
        CHECK(answer->trailers == "X-Sum: 7\r\n");
    }
    CHECK(proxy.upstream.connections() == 1);
}

TEST_CASE("18: pipelined requests are answered in order, each counted once") {
    Fixture::Options options;
    options.quotas = {quota("all", 1000, std::chrono::seconds(1))};
    options.routing = route_all_to("all");
    Fixture proxy(std::move(options));
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        while (const auto got = session.request()) {
            if (!session.answer(200, got->target())) {
                return;
            }
        }
    });
    auto client = proxy.connect();
    std::string all;
    for (int i = 0; i < 100; ++i) {
        all += request("GET /" + std::to_string(i));
    }
    client.send(all);
    for (int i = 0; i < 100; ++i) {
        const auto answer = read_response(client);
        REQUIRE(answer);
        CHECK(answer->body == "/" + std::to_string(i));
    }
    CHECK(proxy.upstream.requests() == 100);
    REQUIRE(proxy.finished(100));
    CHECK(proxy[Ending::admitted] == 100);
    CHECK(proxy.admitted("all") == 100);
    CHECK(proxy[Event::request_pipelined] > 0);
}

TEST_CASE("pipelined requests with bodies, and one behind a chunked body") {
    Fixture proxy;
    proxy.upstream.set_script(echo);
    auto client = proxy.connect();
    std::string all;
    for (int i = 0; i < 20; ++i) {
        const auto body = pattern(static_cast<std::size_t>(i) * 997);
        all += request("POST /a", "Content-Length: " + std::to_string(body.size()) + "\r\n") + body;
        all +=
            request("POST /b", "Transfer-Encoding: chunked\r\n") + chunked(body, 333) + "0\r\n\r\n";
    }
    std::thread sender([&] { client.send(all); });
    for (int i = 0; i < 20; ++i) {
        const auto body = pattern(static_cast<std::size_t>(i) * 997);
        for (int j = 0; j < 2; ++j) {
            const auto answer = read_response(client);
            REQUIRE(answer);
            CHECK(answer->body == body);
        }
    }
    sender.join();
}

TEST_CASE("31: the answers to HEAD, 204 and 304 have no body, whatever the upstream sends") {
    std::mutex mutex;
    std::string answer_text;
    Fixture proxy;
    const auto current = [&] {
        const std::lock_guard lock(mutex);
        return answer_text;
    };
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        while (session.head()) {
            if (!session.send(current())) {
                return;
            }
        }
    });
    const std::string head_answer = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
    for (const std::string& text :
         {head_answer, head_answer + "body", std::string("HTTP/1.1 204 X\r\n\r\nbody"),
          std::string("HTTP/1.1 304 X\r\nContent-Length: 4\r\n\r\nbody")}) {
        CAPTURE(text);
        {
            const std::lock_guard lock(mutex);
            answer_text = text;
        }
        auto client = proxy.connect();
        const bool head = text.starts_with(head_answer);
        client.send(request(head ? "HEAD /" : "GET /"));
        const auto answer = read_response(client, head);
        REQUIRE(answer);
        CHECK(answer->status() == std::stoi(text.substr(9, 3)));
        // The next request gets its own answer, not those bytes.
        client.send(request("HEAD /next"));
        const auto next = read_response(client, true);
        REQUIRE(next);
        CHECK(next->start.starts_with("HTTP/1.1 "));
        CHECK(client.buffered().empty());
    }
    CHECK(eventually([&] { return proxy[Event::upstream_extra_bytes] >= 3; }));
}

TEST_CASE("an answer without Date gets one, and another keeps its own") {
    Fixture proxy;
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.request();
        session.answer(200, "");
        session.request();
        session.send("HTTP/1.1 200 OK\r\nDate: then\r\nContent-Length: 0\r\n\r\n");
        session.io.closed_within(kPatience);
    });
    auto answer = proxy.get("/");
    CHECK(answer.count("Date") == 1);
    CHECK(answer.field("Date").ends_with(" GMT"));
    answer = proxy.get("/");
    CHECK(answer.count("Date") == 1);
    CHECK(answer.field("Date") == "then");
}

TEST_CASE("interim responses are passed on, but not to HTTP/1.0") {
    Fixture proxy;
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        while (session.request()) {
            session.send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 P\r\n\r\n");
            if (!session.answer(200, "done")) {
                return;
            }
        }
    });
    auto client = proxy.connect();
    client.send(request("GET /"));
    auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->status() == 103);
    CHECK(answer->field("Link") == "</x>");
    CHECK(read_response(client)->status() == 102);
    CHECK(read_response(client)->body == "done");
    const auto old = proxy.ask("GET / HTTP/1.0\r\nHost: a.test\r\n\r\n");
    CHECK(old.status() == 200);
    CHECK(old.body == "done");
}

TEST_CASE("23: the upstream's 100 Continue is passed on, then the body follows") {
    Fixture proxy;
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        auto head = session.head();
        if (!head) {
            return;
        }
        session.send("HTTP/1.1 100 Continue\r\n\r\n");
        read_body(session.io, *head, false);
        session.answer(200, head->body);
    });
    auto client = proxy.connect();
    client.send(request("PUT /", "Content-Length: 5\r\nExpect: 100-continue\r\n"));
    CHECK(read_response(client)->status() == 100);
    client.send("hello");
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->body == "hello");
}

TEST_CASE("23: an answer instead of 100 Continue ends the connection behind it") {
    Fixture proxy;
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.head();
        session.answer(401, "no");
    });
    auto client = proxy.connect();
    client.send(request("PUT /", "Content-Length: 5\r\nExpect: 100-continue\r\n"));
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->status() == 401);
    CHECK(answer->field("Connection") == "close");
    CHECK(client.closed_within(kPatience));
}

TEST_CASE("25: a client that half-closes after its request gets the full answer") {
    const auto body = pattern(500'000);
    Fixture proxy;
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.request();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        session.answer(200, body);
    });
    auto client = proxy.connect();
    client.send(request("GET /"));
    client.shut_down_sending();
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->complete);
    CHECK(answer->body == body);
    CHECK(client.closed_within(kPatience));
}

TEST_CASE("a response without framing ends with the connection, on both sides") {
    Fixture proxy;
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.request();
        session.send("HTTP/1.1 200 OK\r\n\r\n" + pattern(100'000));
    });
    auto client = proxy.connect();
    client.send(request("GET /"));
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->body == pattern(100'000));
    CHECK(answer->complete);
    CHECK(client.closing() == Closing::orderly);
}

TEST_CASE("what comes behind a body of known length is the next request, however it is cut") {
    Fixture proxy;
    proxy.upstream.set_script(echo);
    auto client = proxy.connect();
    const auto body = pattern(100'000);  // more than comes with the head
    const auto put = request("PUT /a", "Content-Length: 100000\r\n") + body;
    const auto next = request("PUT /b", "Content-Length: 3\r\n") + "abc";
    for (const std::size_t with_body :
         {std::size_t{0}, std::size_t{1}, std::size_t{2}, next.size() - 1, next.size()}) {
        CAPTURE(with_body);
        std::thread sender([&] { client.send(put + next.substr(0, with_body)); });
        const auto first = read_response(client);
        sender.join();
        REQUIRE(first);
        const bool same = first->body == body;  // too long to be printed
        CHECK(same);
        client.send(next.substr(with_body));
        const auto second = read_response(client);
        REQUIRE(second);
        CHECK(second->body == "abc");
    }
}

TEST_CASE("a head that fills the buffer to its last byte, and a body behind it") {
    constexpr std::size_t kBuffer = 8 * 1024;
    Fixture::Options options;
    options.snapshot.limits.buffer = kBuffer;
    Fixture proxy(options);
    proxy.upstream.set_script(echo);
    for (const std::size_t left : {0U, 1U, 100U}) {
        CAPTURE(left);
        auto head = request("PUT /x", "Content-Length: 1000\r\nFill: \r\n");
        const auto room = kBuffer + kHeadRoom - left - head.size();
        head.insert(head.find("Fill: ") + 6, std::string(room, 'f'));
        const auto before = proxy.upstream.requests();
        auto client = proxy.connect();
        client.send(head);
        REQUIRE(eventually([&] { return proxy.upstream.requests() > before; }));
        client.send(pattern(1000));
        const auto answer = read_response(client);
        REQUIRE(answer);
        CHECK(answer->status() == 200);
        CHECK(answer->body == pattern(1000));
    }
}

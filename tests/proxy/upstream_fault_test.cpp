// What an upstream may do wrong, and what comes of it for the client.

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <atomic>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "net/listener.h"
#include "net/resolve.h"
#include "proxy/access_log.h"
#include "proxy/fixture.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

constexpr const char* kGet = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

void answer_with(Fixture& proxy, const std::string& text) {
    proxy.upstream.set_script([text](FakeUpstream::Session& session) {
        session.request();
        session.send(text);
        session.io.closed_within(kPatience);
    });
}

}  // namespace

TEST_CASE("26: connecting is refused: 502 at once, healthy as soon as it is back") {
    Fixture proxy;
    proxy.upstream.stop_listening();
    const auto until_answered = middle_of_five([&] {
        const auto begin = std::chrono::steady_clock::now();
        CHECK(proxy.get("/").status() == 502);
        return std::chrono::steady_clock::now() - begin;
    });
    CHECK(until_answered < 1s);
    // The client's connection stays usable.
    auto client = proxy.connect();
    client.send(kGet);
    CHECK(read_response(client)->status() == 502);
    proxy.upstream.listen_again();
    client.send(kGet);
    CHECK(read_response(client)->status() == 200);
    REQUIRE(proxy.finished(7));
    CHECK(proxy[Ending::upstream_refused] == 6);
    CHECK(proxy[Event::upstream_connect_errors] == 6);
}

namespace {

/// An address where connecting never comes to an end: nobody accepts, and the backlog is full.
class FullBacklog {
  public:
    FullBacklog() {
        auto listener = weir::net::listen_on(
            weir::net::resolve({.host = "127.0.0.1", .port = 0, .path = {}})->front());
        REQUIRE(listener.has_value());
        REQUIRE(::listen(listener->get(), 0) == 0);
        listener_ = std::move(*listener);
        address_ = *weir::net::local_address(listener_.get());
        for (int i = 0; i < 4; ++i) {  // the kernel then drops further SYNs
            weir::net::FileDescriptor one(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
            (void)::connect(one.get(), address_.get(), address_.length);
            fill_.push_back(std::move(one));
        }
    }
    [[nodiscard]] const weir::net::SocketAddress& address() const { return address_; }

  private:
    weir::net::FileDescriptor listener_;
    weir::net::SocketAddress address_{};
    std::vector<weir::net::FileDescriptor> fill_;
};

}  // namespace

TEST_CASE("26: an upstream whose backlog is full: 504 at the connect timeout") {
    const FullBacklog full;
    Fixture::Options options;
    options.upstream = {full.address()};
    options.snapshot.timeouts.connect = 250ms;
    Fixture proxy(std::move(options));
    const auto begin = std::chrono::steady_clock::now();
    CHECK(proxy.get("/").status() == 504);
    CHECK(std::chrono::steady_clock::now() - begin >= 250ms);
    CHECK(proxy[Ending::upstream_connect_timeout] == 1);
    CHECK(proxy[Event::upstream_connect_timeouts] == 1);
    // Long before the next bound, a client's of 10 s.
    CHECK(middle_of_five([&] {
              const auto start = std::chrono::steady_clock::now();
              CHECK(proxy.get("/").status() == 504);
              return std::chrono::steady_clock::now() - start;
          }) < 5s);
}

TEST_CASE(
    "26: however many addresses are silent, a request does not wait for one after the other") {
    const FullBacklog full;
    Fixture::Options options;
    options.upstream.assign(60, full.address());
    options.snapshot.timeouts.connect = 500ms;  // one after the other: longer than a client here
    Fixture proxy(std::move(options));
    CHECK(proxy.get("/").status() == 504);
    CHECK(proxy.get("/").status() == 504);  // now all of them are known
    CHECK(proxy[Ending::upstream_connect_timeout] == 2);
}

TEST_CASE("26: silent addresses leave time for one behind them that is not") {
    const FullBacklog full;
    FakeUpstream alive;
    Fixture::Options options;
    options.upstream = {full.address(), full.address(),
                        weir::net::resolve(alive.address())->front()};
    options.snapshot.timeouts.connect = 1s;  // the last one has a quarter, on a busy machine too
    Fixture proxy(std::move(options));
    CHECK(proxy.get("/").status() == 200);
    CHECK(proxy[Event::upstream_connect_timeouts] == 2);
}

namespace {

constexpr const char* kLast = "GET /last HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";

/// POSTs whose body would be a request too.
std::vector<std::string> posts_of_a_request() {
    const std::string inner = "GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n";
    const std::string post = "POST /post HTTP/1.1\r\nHost: a.test\r\n";
    std::ostringstream size;
    size << std::hex << inner.size();
    return {post + "Content-Length: " + std::to_string(inner.size()) + "\r\n\r\n" + inner,
            post + "Transfer-Encoding: chunked\r\n\r\n" + size.str() + "\r\n" + inner +
                "\r\n0\r\n\r\n"};
}

/// Sends such a POST and another request behind it: two answers, and none to the body.
void check_body_is_no_request(Fixture& proxy, int status, Ending ending) {
    const std::uint64_t before = proxy[Event::request_started];
    std::uint64_t requests = 0;
    for (const auto& post : posts_of_a_request()) {
        CAPTURE(post);
        auto client = proxy.connect();
        client.send(post + kLast);
        for (int i = 0; i < 2; ++i) {
            const auto answer = read_response(client);
            REQUIRE(answer);
            CHECK(answer->status() == status);
        }
        CHECK(client.closed_within(kPatience));
        CHECK(client.buffered().empty());
        requests += 2;
    }
    CHECK(proxy[Event::request_started] == before + requests);
    CHECK(proxy[ending] == requests);
}

}  // namespace

TEST_CASE("19, 26: the body of a request that no upstream takes is not the next request") {
    Fixture proxy;
    proxy.upstream.stop_listening();
    check_body_is_no_request(proxy, 502, Ending::upstream_refused);
    // A body that has not come whole ends the connection.
    auto client = proxy.connect();
    client.send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\nGET / HTTP/1.1\r\n");
    CHECK(read_response(client)->status() == 502);
    CHECK(client.closed_within(kPatience));
}

TEST_CASE("19, 26: nor when there is no connection to spare") {
    Fixture::Options options;
    options.snapshot.limits.upstream_connections = 1;
    Fixture proxy(std::move(options));
    std::atomic<bool> go = false;
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.request();
        eventually([&] { return go.load(); });
        session.answer(200, "ok");
    });
    auto holder = proxy.connect();
    holder.send(kGet);
    REQUIRE(eventually([&] { return proxy.upstream.requests() == 1; }));
    std::thread release([&] {
        // Endings are read when no request is in flight any more.
        eventually([&] { return proxy.statistics()[Event::request_finished] == 4; });
        go = true;
    });
    check_body_is_no_request(proxy, 503, Ending::upstream_exhausted);
    release.join();
    CHECK(read_response(holder)->status() == 200);
}

TEST_CASE("the next address is tried when the first refuses") {
    FakeUpstream other;
    FakeUpstream gone;
    gone.stop_listening();
    Fixture::Options options;
    options.upstream = {weir::net::resolve(gone.address())->front(),
                        weir::net::resolve(other.address())->front()};
    Fixture proxy(std::move(options));
    CHECK(proxy.get("/").status() == 200);
    CHECK(other.requests() == 1);
}

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

namespace {

/// Answers one request, then closes as the next one arrives, unread.
void stale(FakeUpstream::Session& session) {
    session.request();
    session.answer(200, "first");
    session.io.receive_more();
    session.io.reset();
}

}  // namespace

TEST_CASE("32: a reset on a reused connection is retried once, if the method is idempotent") {
    Fixture proxy;
    proxy.upstream.set_script(stale);
    auto client = proxy.connect();
    client.send(kGet);
    CHECK(read_response(client)->body == "first");
    client.send(kGet);
    CHECK(read_response(client)->body == "first");
    CHECK(proxy.upstream.connections() == 2);
    CHECK(proxy[Event::upstream_retried] == 1);

    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    CHECK(read_response(client)->status() == 502);
    CHECK(proxy[Event::upstream_retried] == 1);
}

TEST_CASE("32: no retry once something of the body was sent") {
    Fixture proxy;
    proxy.upstream.set_script(stale);
    auto client = proxy.connect();
    client.send(kGet);
    CHECK(read_response(client)->body == "first");
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    CHECK(read_response(client)->status() == 502);
    CHECK(proxy[Event::upstream_retried] == 0);
}

TEST_CASE("32: what cannot be sent twice is not sent on a connection that has just been closed") {
    struct Gate final : AccessLog {
        void record(const AccessRecord&) override {
            waiting = true;
            eventually([&] { return open.load(); });
        }
        std::atomic<bool> waiting = false;
        std::atomic<bool> open = false;
    } gate;
    Fixture::Options options;
    options.server.access_log = &gate;
    options.snapshot.access_log = AccessLogMode::all;
    std::atomic<bool> close = false;
    Fixture proxy(std::move(options));
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        while (session.request() && session.answer(200, "ok")) {
            if (proxy.upstream.connections() == 1) {
                break;
            }
        }
        eventually([&] { return close.load(); });
    });
    auto client = proxy.connect();
    // The second request is served in the same turn as the first one's end.
    client.send(std::string(kGet) + "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    CHECK(read_response(client)->status() == 200);
    REQUIRE(eventually([&] { return gate.waiting.load(); }));
    close = true;
    REQUIRE(eventually([&] { return proxy.upstream.ended() == 1; }));
    gate.open = true;
    CHECK(read_response(client)->status() == 200);
    CHECK(proxy[Event::upstream_stale] == 1);
}

TEST_CASE("32: a retry repeats the head that passed the gate, whatever of the body has come") {
    struct Gate final : AccessLog {
        void record(const AccessRecord& record) override {
            if (record.target != "/block") {
                return;
            }
            waiting = true;
            eventually([&] { return open.load(); });
        }
        std::atomic<bool> waiting = false;
        std::atomic<bool> open = false;
    } gate;
    Fixture::Options options;
    options.server.access_log = &gate;
    options.snapshot.access_log = AccessLogMode::all;
    std::atomic<bool> reset = false;
    Fixture proxy(std::move(options));
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        if (proxy.upstream.connections() > 1) {
            return FakeUpstream::serve(session);
        }
        session.request();
        session.answer(200, "ok");
        session.head();
        eventually([&] { return reset.load(); });
        session.io.reset();
    });
    auto client = proxy.connect();
    client.send(kGet);
    CHECK(read_response(client)->status() == 200);
    // A head too long for a small buffer, so that the body would be read behind it.
    client.send("PUT /put HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\nFill: " +
                std::string(3000, 'f') + "\r\n\r\n");
    REQUIRE(eventually([&] { return proxy.upstream.requests() == 2; }));
    // While the worker is busy first the body comes, then the upstream's reset.
    auto other = proxy.connect();
    other.send("GET /block HTTP/1.1\r\nHost: a\r\n\r\n");
    REQUIRE(eventually([&] { return gate.waiting.load(); }));
    client.send(std::string(4000, 'e'));
    std::this_thread::sleep_for(100ms);
    reset = true;
    REQUIRE(eventually([&] { return proxy.upstream.ended() >= 1; }));
    gate.open = true;
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->status() == 200);
    CHECK(proxy[Event::upstream_retried] == 1);
    const auto heads = proxy.upstream.heads();
    REQUIRE(heads.size() == 4);
    CHECK(heads[3].start == "PUT /put HTTP/1.1");
    CHECK(heads[3].field("Fill") == std::string(3000, 'f'));
}

TEST_CASE("32: no second retry, and none on a new connection") {
    Fixture proxy;
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.io.receive_more();
        session.io.reset();
    });
    CHECK(proxy.get("/").status() == 502);
    CHECK(proxy.upstream.connections() == 1);
    CHECK(proxy[Event::upstream_retried] == 0);
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

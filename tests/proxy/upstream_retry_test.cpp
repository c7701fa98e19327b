// A pooled connection that the upstream closes: which requests are sent once more, and which not.
#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>

#include "proxy/access_log.h"
#include "proxy/upstream_answers.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

/// Answers one request, then closes as the next one arrives, unread.
void stale(FakeUpstream::Session& session) {
    session.request();
    session.answer(200, "first");
    session.io.receive_more();
    session.io.reset();
}

/// An access log that keeps the worker busy with the record of a request until it is opened.
struct Gate final : AccessLog {
    /// Only records of this target wait; of all, if it is empty.
    explicit Gate(std::string target = {}) : target_(std::move(target)) {}
    void record(const AccessRecord& record) override {
        if (target_.empty() || record.target == target_) {
            waiting = true;
            eventually([&] { return open.load(); });
        }
    }
    std::atomic<bool> waiting = false;
    std::atomic<bool> open = false;

  private:
    std::string target_;
};

Fixture::Options logging_to(Gate& gate) {
    Fixture::Options options;
    options.server.access_log = &gate;
    options.snapshot.access_log = AccessLogMode::all;
    return options;
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
    Gate gate;
    std::atomic<bool> close = false;
    Fixture proxy(logging_to(gate));
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
    Gate gate("/block");
    std::atomic<bool> reset = false;
    Fixture proxy(logging_to(gate));
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

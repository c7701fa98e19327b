// Exchanges that end before both sides have said everything: early answers, clients that stop or
// leave within their bodies, upstreams that reset. Numbers are those of the list of faults in
// docs/proxy.md.

#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "proxy/access_log.h"
#include "proxy/fixture.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

const std::string kLongPut = "PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000000\r\n\r\n";
constexpr const char* kLast = "GET /last HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
const std::string kRefused = "HTTP/1.1 413 X\r\nContent-Length: 2000000\r\n\r\n";

/// Holds the worker up at the end of a request for /block.
struct Gate final : AccessLog {
    void record(const AccessRecord& record) override {
        if (record.target != "/block") {
            return;
        }
        waiting = true;
        eventually([&] { return open.load(); });
    }
    Fixture::Options options() {
        Fixture::Options options;
        options.server.access_log = this;
        options.snapshot.access_log = AccessLogMode::all;
        return options;
    }
    /// Returns when the worker stands still.
    void close(Fixture& proxy) {
        blocker_.emplace(proxy.connect());
        blocker_->send("GET /block HTTP/1.1\r\nHost: a\r\n\r\n");
        REQUIRE(eventually([&] { return waiting.load(); }));
    }
    std::atomic<bool> waiting = false;
    std::atomic<bool> open = false;

  private:
    std::optional<SocketIo> blocker_;
};

}  // namespace

TEST_CASE("34: a client that ends its body within an early answer gets all of the answer") {
    std::atomic<bool> ended = false;
    Fixture proxy;
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.head();
        session.send(kRefused + std::string(1000, 'x'));
        // The upstream is told as well that no more will come.
        ended = session.io.closed_within(kPatience);
        session.send(std::string(1'999'000, 'x'));
    });
    auto client = proxy.connect();
    client.set_receive_buffer(16 * 1024);
    client.send(kLongPut);
    auto answer = read_head(client);
    REQUIRE(answer);
    client.send(std::string(1'000'000, 'x'));
    client.shut_down_sending();
    read_body(client, *answer, false);
    CHECK(answer->status() == 413);
    CHECK(answer->complete);
    CHECK(ended);
    CHECK(client.closed_within(kPatience));
    CHECK(client.closing() == Closing::orderly);
    CHECK(proxy[Ending::unlimited] == 1);
    CHECK(eventually([&] { return proxy.statistics().upstream_connections() == 0; }));
}

TEST_CASE("34: so does one that stops sending, for the body is not due any more") {
    Fixture::Options options;
    options.snapshot.timeouts.body_idle = 1s;  // longer than it takes a busy machine to begin
    std::atomic<bool> ended = true;
    Fixture proxy(std::move(options));
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.head();
        session.send(kRefused + std::string(1000, 'x'));
        ended = session.io.closed_within(2s);
        session.send(std::string(1'999'000, 'x'));
    });
    auto client = proxy.connect();
    client.send(kLongPut + std::string(1'000'000, 'x'));
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->status() == 413);
    CHECK(answer->complete);
    CHECK(!ended);
    CHECK(client.closed_within(kPatience));
    CHECK(client.closing() == Closing::orderly);
    CHECK(proxy[Ending::unlimited] == 1);
}

TEST_CASE("24, 34: one that resets within an early answer ends everything") {
    for (const bool ends_before : {false, true}) {
        CAPTURE(ends_before);
        std::atomic<bool> ended = false;
        std::atomic<bool> done = false;
        Fixture proxy;
        proxy.upstream.set_script([&](FakeUpstream::Session& session) {
            session.head();
            session.send(kRefused);  // and no more
            ended = session.io.closed_within(kPatience);
            eventually([&] { return done.load(); });
        });
        auto client = proxy.connect();
        client.send(kLongPut);
        REQUIRE(read_head(client));
        if (ends_before) {
            client.shut_down_sending();
            REQUIRE(eventually([&] { return ended.load(); }));
            CHECK(proxy.statistics().upstream_connections() == 1);
        }
        client.reset();
        CHECK(eventually([&] { return proxy.statistics().upstream_connections() == 0; }));
        done = true;
        CHECK(proxy[Ending::client_closed] == 1);
    }
}

TEST_CASE("34: an answer that is there when the client ends its body is passed on") {
    Gate gate;
    std::atomic<bool> answer_now = false;
    std::atomic<bool> answered = false;
    Fixture proxy(gate.options());
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        if (proxy.upstream.connections() > 1) {
            return FakeUpstream::serve(session);
        }
        session.head();
        eventually([&] { return answer_now.load(); });
        answered = session.answer(413, "too much");
        session.io.closed_within(kPatience);
    });
    auto client = proxy.connect();
    client.send(kLongPut);
    REQUIRE(eventually([&] { return proxy.upstream.requests() == 1; }));
    gate.close(proxy);
    client.shut_down_sending();  // the worker learns of this first
    answer_now = true;
    REQUIRE(eventually([&] { return answered.load(); }));
    gate.open = true;
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->status() == 413);
    CHECK(answer->body == "too much");
    CHECK(proxy[Ending::client_closed] == 0);
}

TEST_CASE("19: what was read of a failed request's body and not sent is not the next request") {
    const std::string inner = "GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n";
    std::string half;
    while (half.size() < 30'000) {
        half += inner;
    }
    std::ostringstream size;
    size << std::hex << 2 * half.size();
    const std::string length = "Content-Length: " + std::to_string(2 * half.size()) + "\r\n\r\n";
    const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n" + size.str() + "\r\n";
    for (const bool in_chunks : {false, true}) {
        CAPTURE(in_chunks);
        Gate gate;
        std::atomic<bool> reset_now = false;
        Fixture proxy(gate.options());
        proxy.upstream.set_script([&](FakeUpstream::Session& session) {
            if (proxy.upstream.connections() > 1) {
                return FakeUpstream::serve(session);
            }
            session.head();
            eventually([&] { return reset_now.load(); });
            session.io.reset();
        });
        auto client = proxy.connect();
        client.send("POST / HTTP/1.1\r\nHost: a.test\r\n" + (in_chunks ? chunked : length));
        REQUIRE(eventually([&] { return proxy.upstream.requests() == 1; }));
        client.send(half);
        REQUIRE(eventually([&] { return proxy[Event::upstream_bytes_out] > half.size(); }));
        // While the worker stands still first the rest comes, then the upstream's reset: the rest
        // is read and cannot be sent.
        gate.close(proxy);
        client.send(half + (in_chunks ? "\r\n0\r\n\r\n" : "") + kLast);
        reset_now = true;
        REQUIRE(eventually([&] { return proxy.upstream.ended() == 1; }));
        gate.open = true;
        for (const int status : {502, 200}) {
            const auto answer = read_response(client);
            REQUIRE(answer);
            CHECK(answer->status() == status);
        }
        CHECK(client.closed_within(kPatience));
        CHECK(client.buffered().empty());
        CHECK(proxy.upstream.heads().back().target() == "/last");
        CHECK(proxy[Event::request_started] == 3);
    }
}

TEST_CASE("27: an answer of our own never begins within an interim response") {
    const std::string interim = "HTTP/1.1 103 X\r\nFill: " + std::string(500'000, 'x') + "\r\n\r\n";
    Fixture::Options options;
    options.snapshot.limits.response_head = 1'000'000;
    Fixture proxy(std::move(options));
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.head();
        for (int i = 0; i < 20; ++i) {
            session.send(interim);  // more than sockets hold
        }
        session.io.closed_within(kPatience);
    });
    auto client = proxy.connect();
    client.set_receive_buffer(8 * 1024);
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    // Until the client's socket takes no more.
    std::uint64_t before = 0;
    REQUIRE(eventually([&] {
        std::this_thread::sleep_for(100ms);
        const auto bytes = proxy[Event::client_bytes_out];
        return bytes > 0 && bytes == std::exchange(before, bytes);
    }));
    const auto read = proxy[Event::client_bytes_in];
    client.send("not a chunk\r\n");
    REQUIRE(eventually([&] { return proxy[Event::client_bytes_in] > read; }));
    const auto all = client.take_all();
    const auto own = all.find("HTTP/1.1 400");
    if (own != std::string::npos) {
        CHECK(all.substr(0, own).ends_with("\r\n\r\n"));
    }
    CHECK(proxy[Ending::rejected_body] == 1);
}

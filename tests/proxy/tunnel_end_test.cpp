// How a tunnel ends: half-close, failures, times without a byte, and stopping.

#include <doctest/doctest.h>

#include <atomic>
#include <string>

#include "proxy/access_log.h"
#include "proxy/tunnels.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

/// Remembers the last record, of which there is one.
class OneRecord final : public AccessLog {
  public:
    void record(const AccessRecord& record) override {
        status = record.status;
        bytes_in = record.bytes_in;
        bytes_out = record.bytes_out;
        target = record.target;
        ++count;
    }

    std::atomic<int> count = 0;
    unsigned status = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::string target;
};

/// Switches, then sends nothing and reads until the connection ends. Says how it ended.
FakeUpstream::Script listen_only(std::atomic<int>& ended, std::atomic<bool>& reset) {
    return [&](FakeUpstream::Session& session) {
        session.head();
        session.send(kSwitched);
        session.io.take_all();
        reset = session.io.closing() == Closing::reset;
        ++ended;
    };
}

}  // namespace

TEST_CASE("one direction goes on when the other has ended") {
    SUBCASE("the client ends first") {
        Fixture proxy;
        proxy.upstream.set_script([](FakeUpstream::Session& session) {
            session.head();
            session.send(kSwitched);
            const auto all = session.io.take_all();
            CHECK(session.io.closing() == Closing::orderly);
            session.send("after: " + all);
        });
        auto client = proxy.connect();
        REQUIRE(!ask_to_switch(client).empty());
        client.send("last");
        client.shut_down_sending();
        CHECK(client.take_all() == "after: last");
        CHECK(client.closing() == Closing::orderly);
        CHECK(eventually([&] { return proxy[Event::tunnel_ended] == 1; }));
    }
    SUBCASE("the upstream ends first") {
        std::atomic<bool> got_all = false;
        Fixture proxy;
        proxy.upstream.set_script([&](FakeUpstream::Session& session) {
            session.head();
            session.send(kSwitched + "last");
            session.io.shut_down_sending();
            got_all = session.io.take_all() == "after" && session.io.closing() == Closing::orderly;
        });
        auto client = proxy.connect();
        REQUIRE(!ask_to_switch(client).empty());
        CHECK(client.take_all() == "last");
        CHECK(client.send("after"));
        client.shut_down_sending();
        CHECK(eventually([&] { return got_all.load(); }));
        CHECK(eventually([&] { return proxy[Event::tunnel_ended] == 1; }));
    }
}

TEST_CASE("a reset on one side is a reset on the other") {
    SUBCASE("of the client") {
        std::atomic<int> ended = 0;
        std::atomic<bool> reset = false;
        Fixture proxy;
        proxy.upstream.set_script(listen_only(ended, reset));
        auto client = proxy.connect();
        REQUIRE(!ask_to_switch(client).empty());
        client.reset();
        CHECK(eventually([&] { return ended == 1; }));
        CHECK(reset);
        CHECK(proxy[Ending::unlimited] == 1);
        CHECK(proxy[Event::tunnel_client_failed] == 1);
    }
    SUBCASE("of the upstream") {
        Fixture proxy;
        proxy.upstream.set_script([](FakeUpstream::Session& session) {
            session.head();
            session.send(kSwitched + "last");
            session.io.take(2);
            session.io.reset();
        });
        auto client = proxy.connect();
        REQUIRE(!ask_to_switch(client).empty());
        CHECK(client.take(4) == "last");
        client.send("go");
        client.take_all();
        CHECK(client.closing() == Closing::reset);
        CHECK(proxy[Ending::unlimited] == 1);
        CHECK(proxy[Event::tunnel_upstream_failed] == 1);
    }
}

TEST_CASE("a tunnel in which nothing moves is closed") {
    Fixture::Options options;
    options.snapshot.timeouts.tunnel_idle = 300ms;
    std::atomic<int> ended = 0;
    std::atomic<bool> reset = false;
    Fixture proxy(options);
    proxy.upstream.set_script(listen_only(ended, reset));
    auto client = proxy.connect();
    REQUIRE(!ask_to_switch(client).empty());
    client.take_all();
    CHECK(client.closing() == Closing::reset);
    CHECK(eventually([&] { return ended == 1; }));
    CHECK(reset);
    CHECK(proxy[Event::tunnel_idle_timeout] == 1);
    CHECK(proxy[Ending::unlimited] == 1);
}

TEST_CASE("a tunnel outlives the times of requests, but not when one side takes nothing") {
    Fixture::Options options;
    options.snapshot.timeouts.stream_idle = 1s;
    options.snapshot.timeouts.body_idle = 100ms;
    options.snapshot.timeouts.keep_alive_idle = 100ms;
    Fixture proxy(options);
    proxy.upstream.set_script(echo);
    auto client = proxy.connect();
    REQUIRE(!ask_to_switch(client).empty());
    CHECK(!client.closed_within(2s));
    client.send("x");
    CHECK(client.take(1) == "x");

    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.head();
        session.send(kSwitched);
        while (session.send(std::string(100'000, 'x'))) {
        }
    });
    auto reader = proxy.connect();
    REQUIRE(!ask_to_switch(reader).empty());
    CHECK(eventually([&] { return proxy[Event::tunnel_idle_timeout] == 1; }));
    CHECK(proxy.statistics().tunnels() == 1);
    client.close();
}

TEST_CASE("a side that takes nothing is not excused by what it sends") {
    Fixture::Options options;
    options.snapshot.timeouts.stream_idle = 1s;
    Fixture proxy(options);
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.head();
        session.send(kSwitched);
        while (session.send(std::string(100'000, 'x'))) {
        }
    });
    auto client = proxy.connect();
    REQUIRE(!ask_to_switch(client).empty());
    CHECK(eventually([&] {
        client.send("x");
        return proxy[Event::tunnel_idle_timeout] == 1;
    }));
}

TEST_CASE("a half of a tunnel that nobody ends is closed like any exchange") {
    Fixture::Options options;
    options.snapshot.timeouts.stream_idle = 300ms;
    std::atomic<bool> go_on = false;
    Fixture proxy(options);
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.head();
        session.send(kSwitched);
        eventually([&] { return go_on.load(); });
    });
    auto client = proxy.connect();
    // A slow machine may not answer within the 300 ms, which is a 504.
    for (int i = 0; i < 20 && !ask_to_switch(client).starts_with("HTTP/1.1 101"); ++i) {
        client = proxy.connect();
    }
    client.shut_down_sending();
    client.take_all();
    CHECK(client.closing() == Closing::reset);
    CHECK(proxy[Event::tunnel_idle_timeout] == 1);
    go_on = true;
}

TEST_CASE("a tunnel in which nothing moves is not closed to make room") {
    Fixture::Options options;
    options.server.connections = 2;
    Fixture proxy(options);
    proxy.upstream.set_script(echo);
    auto client = proxy.connect();
    REQUIRE(!ask_to_switch(client).empty());
    proxy.upstream.set_script(FakeUpstream::serve);
    auto idle = proxy.connect();
    idle.send(kPlain);
    REQUIRE(read_response(idle));
    CHECK(proxy.get("/").status() == 200);
    CHECK(idle.closed_within(kPatience));
    CHECK(proxy[Event::client_evicted] == 1);
    client.send("x");
    CHECK(client.take(1) == "x");
}

TEST_CASE("draining leaves tunnels alone, stopping gives them the time of all requests") {
    Fixture::Options options;
    options.server.drain.keep_accepting = 0ms;
    options.server.drain.grace = 500ms;
    std::atomic<int> ended = 0;
    std::atomic<bool> reset = false;
    Fixture proxy(options);
    proxy.upstream.set_script(listen_only(ended, reset));
    auto silent = proxy.connect();
    REQUIRE(!ask_to_switch(silent).empty());
    proxy.upstream.set_script(echo);
    auto client = proxy.connect();
    REQUIRE(!ask_to_switch(client).empty());
    proxy.server->drain();
    client.send("x");
    CHECK(client.take(1) == "x");
    proxy.server->stop([] {});
    CHECK(client.closed_within(kPatience));
    CHECK(silent.closed_within(kPatience));
    CHECK(eventually([&] { return ended == 1; }));
    CHECK(reset);
    CHECK(eventually([&] { return proxy[Event::tunnel_cut_off] == 2; }));
    CHECK(proxy.statistics().tunnels() == 0);
    CHECK(eventually([&] { return proxy.statistics().client_connections() == 0; }));
}

TEST_CASE("the access log has one line for a tunnel, at its end, with the bytes of both ways") {
    OneRecord log;
    Fixture::Options options;
    options.server.access_log = &log;
    options.snapshot.access_log = AccessLogMode::all;
    Fixture proxy(options);
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.request();
        session.send(kSwitched);
        session.send(session.io.take(70'000).value_or(""));
        session.io.take_all();
    });
    auto client = proxy.connect();
    const std::string ask =
        "POST /chat HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nContent-Length: 4\r\n\r\nbody";
    client.send(ask);
    const auto head = client.take_until("\r\n\r\n").value_or("");
    client.send(std::string(70'000, 'x'));
    CHECK(client.take(70'000));
    CHECK(log.count == 0);
    client.shut_down_sending();
    client.take_all();
    REQUIRE(proxy.finished(1));
    REQUIRE(log.count == 1);
    CHECK(log.status == 101);
    CHECK(log.target == "/chat");
    CHECK(log.bytes_in == ask.size() + 70'000);
    CHECK(log.bytes_out == head.size() + 70'000);
    CHECK(proxy.statistics().request_seconds[0].counts != Histogram{}.counts);
}

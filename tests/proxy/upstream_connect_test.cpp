// Upstreams that refuse connections, do not accept them in time, or have none to spare.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <atomic>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "net/listener.h"
#include "net/resolve.h"
#include "proxy/upstream_answers.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

TEST_CASE("26: connecting is refused and nobody waits: 502 at once, healthy when it is back") {
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

TEST_CASE("26: one address that refuses is waited for, although another is silent") {
    FakeUpstream gone;
    gone.stop_listening();
    const FullBacklog full;
    Fixture::Options options;
    options.upstream = {weir::net::resolve(gone.address())->front(), full.address()};
    options.snapshot.timeouts.connect = 250ms;
    options.snapshot.timeouts.upstream_restart = kPatience;
    Fixture proxy(std::move(options));
    auto client = proxy.connect();
    client.send(kGet);
    REQUIRE(eventually([&] { return proxy[Event::upstream_waits] == 1; }));
    gone.listen_again();
    CHECK(read_response(client)->status() == 200);
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

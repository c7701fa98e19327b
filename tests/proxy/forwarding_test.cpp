// What goes through: methods, bodies of any framing, trailers, interim responses, pipelining.

#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "proxy/access_log.h"
#include "proxy/fixture.h"

using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

std::string request(std::string_view line, std::string_view more = {}) {
    return std::string(line) + " HTTP/1.1\r\nHost: a.test\r\n" + std::string(more) + "\r\n";
}

/// `bytes` of text that is different everywhere.
std::string pattern(std::size_t bytes) {
    std::string text;
    for (std::uint32_t i = 0; text.size() < bytes; ++i) {
        text += std::to_string(i * 2654435761U);
    }
    text.resize(bytes);
    return text;
}

std::string chunked(std::string_view body, std::size_t chunk) {
    std::string text;
    while (!body.empty()) {
        const auto part = body.substr(0, chunk);
        char size[20];
        std::snprintf(size, sizeof(size), "%zx\r\n", part.size());
        text += size + std::string(part) + "\r\n";
        body.remove_prefix(part.size());
    }
    return text;
}

/// Answers each request with its own body, framed by length.
void echo(FakeUpstream::Session& session) {
    while (const auto got = session.request()) {
        if (!got->complete || !session.answer(200, got->body)) {
            return;
        }
    }
}

}  // namespace

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

namespace {

/// The shortest of five goes: a busy machine may make any one of them long.
std::chrono::milliseconds shortest(const std::function<std::chrono::milliseconds()>& go) {
    auto best = std::chrono::milliseconds::max();
    for (int i = 0; i < 5; ++i) {
        best = std::min(best, go());
    }
    return best;
}

std::chrono::milliseconds since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 start);
}

}  // namespace

// The kernel may hold a segment back for 200 ms if it is told that more will follow.
TEST_CASE("what has come goes on at once, though more of the body is to come") {
    Fixture proxy;
    const auto both_ways = shortest([&] {
        const auto start = std::chrono::steady_clock::now();
        proxy.upstream.set_script([](FakeUpstream::Session& session) {
            session.head();
            session.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
            session.io.closed_within(kPatience);
        });
        auto client = proxy.connect();
        client.send(request("PUT /x", "Content-Length: 5\r\n"));
        CHECK(read_head(client));
        CHECK(client.take(5) == "hello");
        return since(start);
    });
    CHECK(both_ways < std::chrono::milliseconds(150));
}

TEST_CASE("a head that fills the buffer to its last byte, and a body behind it") {
    Fixture proxy;
    proxy.upstream.set_script(echo);
    for (const std::size_t left : {0U, 1U, 100U}) {
        CAPTURE(left);
        auto head = request("PUT /x", "Content-Length: 1000\r\nFill: \r\n");
        const auto room = 32 * 1024 - left - head.size();
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

TEST_CASE("an upstream on a unix socket") {
    Fixture::Options options;
    options.upstream_path = "@weir-test-" + std::to_string(::getpid());
    Fixture proxy(std::move(options));
    proxy.upstream.set_script(echo);
    const auto body = pattern(300'000);
    const auto answer = proxy.ask(
        request("PUT /", "Content-Length: " + std::to_string(body.size()) + "\r\n") + body);
    CHECK(answer.body == body);
    CHECK(answer.complete);
}

TEST_CASE("a listener on a unix socket, with two workers sharing it") {
    Fixture::Options options;
    options.server.listen.path = "@weir-listen-" + std::to_string(::getpid());
    options.server.workers = 2;
    Fixture proxy(std::move(options));
    for (int i = 0; i < 10; ++i) {
        CHECK(proxy.get("/").body == "ok");
    }
    CHECK(!proxy.upstream.heads()[0].has("X-Forwarded-For"));
}

namespace {

/// The threads on which requests end, one for each worker.
class Threads final : public AccessLog {
  public:
    void record(const AccessRecord& /*record*/) override {
        const std::lock_guard lock(mutex_);
        seen_.insert(std::this_thread::get_id());
    }
    [[nodiscard]] std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return seen_.size();
    }

  private:
    mutable std::mutex mutex_;
    std::set<std::thread::id> seen_;
};

/// Lets this thread, and those that it starts, run on one core only for as long as it lives.
class OneCore {
  public:
    OneCore() {
        REQUIRE(::sched_getaffinity(0, sizeof(usable_), &usable_) == 0);
        std::size_t first = 0;
        while (!CPU_ISSET(first, &usable_)) {
            ++first;
        }
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        REQUIRE(::sched_setaffinity(0, sizeof(one), &one) == 0);
    }
    ~OneCore() { ::sched_setaffinity(0, sizeof(usable_), &usable_); }
    OneCore(const OneCore&) = delete;
    OneCore& operator=(const OneCore&) = delete;
    [[nodiscard]] unsigned usable_before() const {
        return static_cast<unsigned>(CPU_COUNT(&usable_));
    }

  private:
    cpu_set_t usable_{};
};

}  // namespace

// The kernel chooses by the client's port: that one of three gets none of 200 has odds of 1e-35.
TEST_CASE("several workers share one port, and each serves some of its connections") {
    Threads threads;
    Fixture::Options options;
    options.server.workers = 3;
    options.server.access_log = &threads;
    options.snapshot.access_log = AccessLogMode::all;
    Fixture proxy(std::move(options));
    for (int i = 0; i < 200; ++i) {
        CHECK(proxy.get("/").status() == 200);
    }
    REQUIRE(proxy.finished(200));
    CHECK(proxy[Event::client_accepted] == 200);
    CHECK(proxy.server->workers() == 3);
    CHECK(threads.size() == 3);
}

TEST_CASE("workers: 0 is one per core that the process may use") {
    Fixture proxy;
    const auto started_with = [&](unsigned workers) {
        weir::limiter::Limiter limiter(weir::limiter::LimiterOptions{.max_instances = 1000});
        Server server({.listen = {.host = "127.0.0.1", .port = 0, .path = {}}, .workers = workers},
                      limiter, proxy.snapshot());
        return server.start() ? server.workers() : 0;
    };
    const unsigned all = started_with(0);
    const OneCore one;
    CHECK(all == std::min(one.usable_before(), Server::kMaxWorkers));
    CHECK(started_with(0) == 1);
    CHECK(started_with(2) == 2);                        // as it was told
    CHECK(started_with(Server::kMaxWorkers + 1) == 0);  // an error
}

namespace {

/// Whether all that came in went out again but for so many bytes. What is counted after the first
/// figure was taken makes the difference smaller at most.
bool passed_on(const Fixture& proxy, Event in, Event out, std::uint64_t most) {
    const auto came = proxy[in];
    return came <= proxy[out] + most;
}

}  // namespace

TEST_CASE("33: a stalled reader holds the upstream back, and gets everything in the end") {
    const auto body = pattern(30'000'000);
    std::atomic<std::size_t> sent = 0;
    Fixture proxy;
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.request();
        session.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) +
                     "\r\n\r\n");
        while (sent < body.size()) {
            const auto part =
                std::string_view(body).substr(sent, std::min<std::size_t>(65536, body.size()));
            const auto count = session.io.send_some(part, kPatience);
            if (count == 0) {
                return;
            }
            sent += count;
        }
    });
    auto client = proxy.connect();
    client.set_receive_buffer(16 * 1024);
    client.send(request("GET /"));
    // The kernel's buffers fill; then nothing moves, however long the client stalls.
    std::size_t before = 1;
    CHECK(eventually([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return before == std::exchange(before, sent.load()) && before > 0;
    }));
    CHECK(sent < body.size());
    CHECK(passed_on(proxy, Event::upstream_bytes_in, Event::client_bytes_out, 32 * 1024));
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->body == body);
}

TEST_CASE("a stalled upstream holds the client's upload back") {
    std::atomic<bool> go = false;
    Fixture proxy;
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        auto head = session.head();
        eventually([&] { return go.load(); });
        read_body(session.io, *head, false);
        session.answer(200, std::to_string(head->body.size()));
    });
    auto client = proxy.connect();
    const std::string body(30'000'000, 'x');
    client.send(request("PUT /", "Content-Length: " + std::to_string(body.size()) + "\r\n"));
    const auto taken = client.send_some(body, std::chrono::milliseconds(500));
    CHECK(taken < body.size());
    CHECK(passed_on(proxy, Event::client_bytes_in, Event::upstream_bytes_out, 33 * 1024));
    go = true;
    CHECK(client.send(std::string_view(body).substr(taken)));
    CHECK(read_response(client)->body == std::to_string(body.size()));
}

// A body goes on as soon as it comes, and no faster than its reader takes it.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "proxy/bodies.h"
#include "proxy/buffer.h"

using namespace weir::proxy;
using namespace weir::proxy::testing;

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

namespace {

/// Whether all that came in went out again but for what one buffer holds. What is counted after the
/// first figure was taken makes the difference smaller at most.
bool passed_on(const Fixture& proxy, Event in, Event out) {
    const std::uint64_t buffer = Fixture::Options{}.snapshot.limits.buffer + kHeadRoom;
    const auto came = proxy[in];
    return came <= proxy[out] + buffer;
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
    CHECK(passed_on(proxy, Event::upstream_bytes_in, Event::client_bytes_out));
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
    CHECK(passed_on(proxy, Event::client_bytes_in, Event::upstream_bytes_out));
    go = true;
    CHECK(client.send(std::string_view(body).substr(taken)));
    CHECK(read_response(client)->body == std::to_string(body.size()));
}

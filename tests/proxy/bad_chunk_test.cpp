// robustness of the client's side: malformed chunks, and millions of them. Numbers are those of the
// list of faults in docs/proxy.md.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "proxy/access_log.h"
#include "proxy/bad_input.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

/// Sanitizers and builds without optimisation make our own code slow, but not the kernel's.
#if defined(NDEBUG) && !defined(WEIR_SANITIZED)
constexpr bool kInstrumented = false;
#else
constexpr bool kInstrumented = true;
#endif

std::string one_byte_chunks(std::size_t count) {
    std::string body;
    for (std::size_t i = 0; i < count; ++i) {
        body += "1\r\nx\r\n";
    }
    return body + "0\r\n\r\n";
}

/// Processor time of the (only) worker: its thread calls the access log's hook at each request's
/// end.
class WorkerTime final : public AccessLog {
  public:
    void record(const AccessRecord& /*record*/) override {
        timespec now{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        const std::lock_guard lock(mutex_);
        now_ = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
        ++requests_;
    }
    /// Requests that ended since the last take().
    [[nodiscard]] int requests() const {
        const std::lock_guard lock(mutex_);
        return requests_;
    }
    /// Seconds between the last request's end and the one's before it that was taken.
    double take() {
        const std::lock_guard lock(mutex_);
        requests_ = 0;
        return now_ - std::exchange(taken_, now_);
    }

  private:
    mutable std::mutex mutex_;
    double now_ = 0;
    double taken_ = 0;
    int requests_ = 0;
};

}  // namespace

TEST_CASE("7, 8: malformed chunks in what came with the head") {
    std::vector<Case> cases;
    const std::vector<std::string> bodies = {
        "+5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        "5\nhello\n0\n\n",
        "5\rhello\r\n0\r\n\r\n",
        "5\r\nhelloX\r\n0\r\n\r\n",
        "\r\nhello",
        "00000000000000005\r\nhello\r\n0\r\n\r\n",
        "5;a=\x01\r\nhello\r\n0\r\n\r\n",
        "5;a=" + std::string(5000, 'b') + "\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nContent-Length: 7\r\nbad trailer\r\n\r\n"};
    for (const auto& body : bodies) {
        cases.push_back({body.c_str(),
                         post("Transfer-Encoding: chunked\r\n", body),
                         {400},
                         Ending::rejected_body});
    }
    check_all_refused(cases);
}

TEST_CASE(
    "7: a malformed chunk later ends both connections; the upstream sees no end of the body") {
    std::atomic<bool> complete = true;
    std::atomic<bool> ended = false;
    Fixture proxy(limited());
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        const auto got = session.request();
        complete = got && got->complete;
        ended = session.io.closed_within(kPatience);
    });
    auto client = proxy.connect();
    client.send(post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n"));
    REQUIRE(eventually([&] { return proxy.upstream.requests() == 1; }));
    client.send("0x3\r\nabc\r\n0\r\n\r\n");
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->status() == 400);
    CHECK(client.closed_within(kPatience));
    CHECK(eventually([&] { return ended.load(); }));
    CHECK(!complete);
    CHECK(proxy[Ending::rejected_body] == 1);
}

TEST_CASE("8: two million one-byte chunks pass, for a bounded multiple of what their bytes cost") {
    WorkerTime time;
    auto options = limited();
    options.server.access_log = &time;
    options.snapshot.access_log = AccessLogMode::all;
    Fixture proxy(std::move(options));
    std::atomic<std::size_t> arrived = 0;
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        while (session.head()) {
            while (!session.io.buffered().ends_with("0\r\n\r\n")) {
                if (!session.io.receive_more()) {
                    return;
                }
            }
            arrived = session.io.buffered().size();
            session.io.take(arrived);
            session.answer(200, "ok");
        }
    });
    const std::string tiny = one_byte_chunks(2'000'000);
    const std::string tenth = one_byte_chunks(200'000);
    // As many bytes on the wire as `tiny`, in one chunk.
    const std::string whole = "b71afb\r\n" + std::string(0xb71afb, 'x') + "\r\n0\r\n\r\n";
    auto client = proxy.connect();
    const auto cost = [&](const std::string& body) {
        client.send(post("Transfer-Encoding: chunked\r\n", {}));
        REQUIRE(client.send(body));
        const auto answer = read_response(client);
        REQUIRE(answer);
        CHECK(answer->status() == 200);
        REQUIRE(eventually([&] { return time.requests() > 0; }));
        CHECK(arrived == body.size());
        return time.take();
    };
    cost("0\r\n\r\n");  // so that the next one is measured from there
    auto tenth_seconds = cost(tenth);
    auto tiny_seconds = cost(tiny);
    auto whole_seconds = cost(whole);
    for (int i = 0; i < 2; ++i) {  // the least of three: others use this machine, too
        tenth_seconds = std::min(tenth_seconds, cost(tenth));
        tiny_seconds = std::min(tiny_seconds, cost(tiny));
        whole_seconds = std::min(whole_seconds, cost(whole));
    }
    MESSAGE("2,000,000 chunks: " << tiny_seconds << " s, a tenth: " << tenth_seconds
                                 << " s, one chunk: " << whole_seconds << " s");
    CHECK(tiny_seconds < 30 * tenth_seconds);  // in proportion, whatever their number
    // A system call or an allocation for each chunk would take some hundred times.
    if (!kInstrumented) {
        CHECK(tiny_seconds < 100 * whole_seconds);
    }
}

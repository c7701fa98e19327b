// Unix sockets on either side, and several workers that share one listener.
#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "proxy/access_log.h"
#include "proxy/bodies.h"

using namespace weir::proxy;
using namespace weir::proxy::testing;

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

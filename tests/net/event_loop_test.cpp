#include "net/event_loop.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/clock.h"
#include "net/listener.h"
#include "net/resolve.h"
#include "net/stream.h"
#include "net/task.h"

using namespace std::chrono_literals;
using namespace weir::net;

namespace {

/// A loop that runs in the test's own thread until somebody stops it, or for 20 s at most.
struct Running {
    Running() : loop(EventLoop::create().value()) {}
    void run() {
        struct Guard final : TimerEntry {
            explicit Guard(EventLoop& guarded) : loop(guarded) {}
            ~Guard() override = default;
            void expired() override {
                late = true;
                loop.stop();
            }
            EventLoop& loop;
            bool late = false;
        } guard(*loop);
        loop->timers().arm(guard, loop->now() + 20s);
        loop->run([] {});
        CHECK(!guard.late);
    }
    std::unique_ptr<EventLoop> loop;
};

/// Two connected sockets, the first in the loop.
struct Pair {
    explicit Pair(EventLoop& loop) {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
        REQUIRE(stream.adopt(loop, FileDescriptor(ends[0])));
        other = FileDescriptor(ends[1]);
    }
    void send(std::string_view text) const {
        REQUIRE(::send(other.get(), text.data(), text.size(), 0) ==
                static_cast<ssize_t>(text.size()));
    }
    Stream stream;
    FileDescriptor other;
};

Flow start(EventLoop& loop, std::function<Task<void>()> body) {
    co_await body();
    loop.stop();
}

}  // namespace

TEST_CASE("work posted from other threads runs in the loop's thread, all of it") {
    Running running;
    const auto here = std::this_thread::get_id();
    int count = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int j = 0; j < 100; ++j) {
                running.loop->post([&] {
                    CHECK(std::this_thread::get_id() == here);
                    if (++count == 400) {
                        running.loop->stop();
                    }
                });
            }
        });
    }
    running.run();
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(count == 400);
}

TEST_CASE("how far the wall clock is ahead is the same each time that it is read") {
    const weir::Duration first = unix_ahead();
    for (int i = 0; i < 1000; ++i) {
        CHECK(std::chrono::abs(unix_ahead() - first) < std::chrono::milliseconds(5));
    }
    const weir::Duration now_by_both = now().time_since_epoch() + first;
    CHECK(std::chrono::abs(unix_time() - now_by_both) < std::chrono::seconds(1));
}

TEST_CASE("the clock stands still within a turn, next_turn() lets it go on") {
    Running running;
    start(*running.loop, [&]() -> Task<void> {
        const auto before = running.loop->now();
        while (running.loop->now() == before) {
            co_await running.loop->next_turn();
        }
        CHECK(running.loop->now() > before);
    });
    running.run();
}

TEST_CASE("what was ready in time is served before anything is found late") {
    Running running;
    struct Deadline final : TimerEntry {
        ~Deadline() override = default;
        void expired() override { then(); }
        std::function<void()> then;
    } deadline;
    struct Ready final : EventSink {
        void on_events(std::uint32_t) override { then(); }
        std::function<void()> then;
    } ready;
    constexpr std::size_t kSockets = 5 * EventLoop::kEventsPerTurn / 2;
    const auto due = running.loop->now() + 2 * TimerWheel::kTick;
    std::size_t served = 0;
    std::size_t served_in_time = 0;
    ready.then = [&] {
        // The process was held up: the deadline passes before the next turn begins.
        while (served == 0 && weir::net::now() < due + 2 * TimerWheel::kTick) {
            continue;
        }
        ++served;
    };
    deadline.then = [&] {
        served_in_time = served;
        running.loop->stop();
    };
    std::vector<FileDescriptor> sockets;
    for (std::size_t i = 0; i < kSockets; ++i) {
        sockets.emplace_back(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
        REQUIRE(running.loop->add(sockets.back().get(), EPOLLIN, ready).has_value());
    }
    running.loop->timers().arm(deadline, due);
    running.run();
    CHECK(served_in_time == kSockets);
}

TEST_CASE("timers get their turn though events never end") {
    Running running;
    struct Deadline final : TimerEntry {
        explicit Deadline(EventLoop& stopped) : loop(stopped) {}
        ~Deadline() override = default;
        void expired() override { loop.stop(); }
        EventLoop& loop;
    } deadline(*running.loop);
    std::vector<FileDescriptor> sockets;
    struct Endless final : EventSink {
        void on_events(std::uint32_t) override {
            // Edge triggered: readable once more.
            const std::uint64_t one = 1;
            CHECK(::write(descriptor, &one, sizeof(one)) == sizeof(one));
        }
        int descriptor = -1;
    };
    std::vector<Endless> endless(2 * EventLoop::kEventsPerTurn);
    for (auto& sink : endless) {
        sockets.emplace_back(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
        sink.descriptor = sockets.back().get();
        REQUIRE(running.loop->add(sink.descriptor, EPOLLIN, sink).has_value());
    }
    running.loop->timers().arm(deadline, running.loop->now());
    running.run();
}

TEST_CASE("a wait ends with readiness, at the deadline or by an interruption") {
    Running running;
    auto& loop = *running.loop;
    Pair pair(loop);
    std::array<char, 16> buffer{};
    start(loop, [&]() -> Task<void> {
        CHECK(pair.stream.read(buffer).status == IoStatus::would_block);
        const auto begin = loop.now();
        CHECK(co_await Wait(loop, begin + 50ms, {&pair.stream, Stream::kRead}) ==
              WaitResult::timed_out);
        CHECK(loop.now() - begin >= 50ms);

        Wait interrupted(loop, loop.now() + 20s, {&pair.stream, Stream::kRead});
        loop.post([&] { interrupted.interrupt(); });
        CHECK(co_await interrupted == WaitResult::interrupted);

        pair.send("hello");
        CHECK(co_await Wait(loop, loop.now() + 20s, {&pair.stream, Stream::kRead}) ==
              WaitResult::ready);
        const auto got = pair.stream.read(buffer);
        CHECK(std::string_view(buffer.data(), got.bytes) == "hello");
        CHECK(!pair.stream.maybe_readable());
        CHECK(!pair.stream.has_input());
    });
    running.run();
}

TEST_CASE("bytes with an end behind them are read, then the end is seen") {
    Running running;
    auto& loop = *running.loop;
    Pair pair(loop);
    pair.send("last");
    pair.other.reset();
    start(loop, [&]() -> Task<void> {
        std::array<char, 16> buffer{};
        CHECK(co_await Wait(loop, loop.now() + 20s, {&pair.stream, Stream::kRead}) ==
              WaitResult::ready);
        CHECK(pair.stream.read(buffer).bytes == 4);
        CHECK(co_await Wait(loop, loop.now() + 20s, {&pair.stream, Stream::kRead}) ==
              WaitResult::ready);
        CHECK(pair.stream.read(buffer).status == IoStatus::end);
        CHECK(pair.stream.other_side_ended());
        std::array pieces{iovec{.iov_base = buffer.data(), .iov_len = 4}};
        CHECK(pair.stream.write(pieces).status == IoStatus::failed);
    });
    running.run();
}

TEST_CASE("a full socket makes a writer wait until the other side reads") {
    Running running;
    auto& loop = *running.loop;
    Pair pair(loop);
    std::string data(1 << 20, 'x');
    start(loop, [&]() -> Task<void> {
        std::array pieces{iovec{.iov_base = data.data(), .iov_len = data.size()}};
        CHECK(co_await Wait(loop, loop.now() + 20s, {&pair.stream, Stream::kWrite}) ==
              WaitResult::ready);
        const auto first = pair.stream.write(pieces);
        CHECK(first.status == IoStatus::ok);
        CHECK(first.bytes < data.size());
        CHECK(pair.stream.write(pieces).status == IoStatus::would_block);
        CHECK(co_await Wait(loop, loop.now() + 30ms, {&pair.stream, Stream::kWrite}) ==
              WaitResult::timed_out);
        std::string sink(first.bytes, '\0');
        while (::recv(pair.other.get(), sink.data(), sink.size(), 0) > 0) {
        }
        CHECK(co_await Wait(loop, loop.now() + 20s, {&pair.stream, Stream::kWrite}) ==
              WaitResult::ready);
        CHECK(pair.stream.write(pieces).bytes > 0);
    });
    running.run();
}

TEST_CASE("one wait for two streams; closing one in the other's event is safe") {
    Running running;
    auto& loop = *running.loop;
    Pair first(loop);
    Pair second(loop);
    start(loop, [&]() -> Task<void> {
        second.send("x");
        CHECK(co_await Wait(loop, loop.now() + 20s, {&first.stream, Stream::kRead},
                            {&second.stream, Stream::kRead}) == WaitResult::ready);
        CHECK(second.stream.maybe_readable());
        // Both become ready in the same turn; the first to be told closes the other.
        first.send("y");
        second.send("y");
        std::array<char, 4> buffer{};
        (void)second.stream.read(buffer);
        CHECK(co_await Wait(loop, loop.now() + 20s, {&first.stream, Stream::kRead}) ==
              WaitResult::ready);
        second.stream.close();
        co_await loop.next_turn();
        CHECK(!second.stream.is_open());
    });
    running.run();
}

TEST_CASE("connecting: accepted, refused, and what a listener counts") {
    Running running;
    auto& loop = *running.loop;
    auto listening = listen_on(resolve({.host = "127.0.0.1", .port = 0, .path = {}})->front());
    REQUIRE(listening.has_value());
    const auto address = *local_address(listening->get());
    int accepted = 0;
    bool may_accept = false;
    Listener listener(
        loop, std::move(*listening), [&] { return may_accept; }, [] {},
        [&](FileDescriptor, const weir::Endpoint& client) {
            CHECK(client.is_v4());
            ++accepted;
        });
    REQUIRE(listener.start().has_value());
    start(loop, [&]() -> Task<void> {
        Stream stream;
        auto status = stream.connect(loop, address);
        if (status == IoStatus::would_block) {
            CHECK(co_await Wait(loop, loop.now() + 20s, {&stream, Stream::kWrite}) ==
                  WaitResult::ready);
            CHECK(stream.finish_connect());
        }
        // It may not accept yet, and tries again by itself.
        CHECK(accepted == 0);
        may_accept = true;
        while (accepted == 0) {
            co_await loop.next_turn();
        }
        CHECK(listener.counters().accepted == 1);
        listener.stop();

        Stream refused;
        status = refused.connect(loop, address);
        if (status == IoStatus::would_block) {
            CHECK(co_await Wait(loop, loop.now() + 20s, {&refused, Stream::kWrite}) ==
                  WaitResult::ready);
            CHECK(!refused.finish_connect());
        } else {
            CHECK(status == IoStatus::failed);
        }
    });
    running.run();
}

TEST_CASE("a listener asks for room only when somebody waits") {
    Running running;
    auto& loop = *running.loop;
    auto listening = listen_on(resolve({.host = "127.0.0.1", .port = 0, .path = {}})->front());
    REQUIRE(listening.has_value());
    const auto address = *local_address(listening->get());
    int accepted = 0;
    int refused = 0;
    bool room = true;
    Listener listener(
        loop, std::move(*listening),
        [&] {
            if (!room) {
                ++refused;
            }
            return room;
        },
        [] {},
        [&](FileDescriptor, const weir::Endpoint&) {
            ++accepted;
            room = false;
        });
    REQUIRE(listener.start().has_value());
    start(loop, [&]() -> Task<void> {
        Stream first;
        (void)first.connect(loop, address);
        while (accepted == 0) {
            co_await loop.next_turn();
        }
        const auto later = loop.now() + 3 * Listener::kPause;
        while (loop.now() < later) {
            co_await loop.next_turn();
        }
        CHECK(refused == 0);
        {
            Stream second;
            (void)second.connect(loop, address);
            while (refused == 0) {
                co_await loop.next_turn();
            }
            CHECK(accepted == 1);
            room = true;
            while (accepted == 1) {
                co_await loop.next_turn();
            }
        }
        const int before = refused;
        const auto end = loop.now() + 3 * Listener::kPause;
        while (loop.now() < end) {
            co_await loop.next_turn();
        }
        CHECK(refused == before);
        listener.stop();
    });
    running.run();
}

TEST_CASE("a unix socket's path that nobody listens on is taken over, one in use is not") {
    const std::string path = "/tmp/weir-listener-" + std::to_string(::getpid());
    const auto address = to_unix_socket_address(path);
    {
        const auto first = listen_on(address);
        REQUIRE(first.has_value());
        CHECK(!listen_on(address).has_value());
    }
    CHECK(listen_on(address).has_value());
    ::unlink(path.c_str());
}

TEST_CASE("a file that is no socket stays, and cannot be listened on") {
    const std::string path = "/tmp/weir-no-socket-" + std::to_string(::getpid());
    const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    REQUIRE(file >= 0);
    ::close(file);
    CHECK(!listen_on(to_unix_socket_address(path)).has_value());
    CHECK(::access(path.c_str(), F_OK) == 0);
    ::unlink(path.c_str());
}

TEST_CASE("tasks give values back and may be nested") {
    Running running;
    struct Sum {
        static Task<int> of(EventLoop& loop, int depth) {
            if (depth == 0) {
                co_return 0;
            }
            co_await loop.next_turn();
            co_return 1 + co_await of(loop, depth - 1);
        }
    };
    start(*running.loop, [&]() -> Task<void> { CHECK(co_await Sum::of(*running.loop, 50) == 50); });
    running.run();
}

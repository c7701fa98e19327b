// Clients in numbers: what slow ones cost in memory, descriptors and the time of others. Numbers
// are those of the list of faults in docs/proxy.md.

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net/listener.h"
#include "net/resolve.h"
#include "proxy/fixture.h"
#include "tools/poller.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

using Clock = std::chrono::steady_clock;

/// Sanitizers keep shadows of all memory.
#ifdef WEIR_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// More than the kernel takes for a reader that stands still.
constexpr std::size_t kLarge = 1'000'000;
constexpr const char* kGet = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
constexpr const char* kGetLarge = "GET /large HTTP/1.1\r\nHost: a.test\r\n\r\n";

/// An upstream for any number of connections on one thread: a large answer to /large, none to PUT,
/// else "ok". Keeps little per connection, so that what the process grows by is the proxy's.
class Origin {
  public:
    Origin() {
        const weir::net::Address any{.host = "127.0.0.1", .port = 0, .path = {}};
        auto listening = weir::net::listen_on(weir::net::resolve(any)->front());
        if (!listening) {
            throw std::runtime_error(listening.error().message);
        }
        acceptor_ = std::make_unique<Acceptor>(*this, std::move(*listening));
        thread_ = std::thread([this] {
            while (!stopping_) {
                poller_.turn(10'000'000);
            }
        });
    }
    ~Origin() {
        stopping_ = true;
        thread_.join();
    }
    Origin(const Origin&) = delete;
    Origin& operator=(const Origin&) = delete;

    [[nodiscard]] weir::net::SocketAddress address() const { return acceptor_->address(); }
    [[nodiscard]] int open() const { return open_; }

  private:
    class Connection final : public weir::tools::EventHandler {
      public:
        Connection(Origin& origin, weir::net::FileDescriptor descriptor)
            : origin_(origin), descriptor_(std::move(descriptor)) {
            const int bytes = 16 * 1024;
            ::setsockopt(descriptor_.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
            origin_.poller_.add(descriptor_.get(), EPOLLIN, this);
        }
        void on_events(std::uint32_t events) override {
            if (!read() || ((events & EPOLLOUT) != 0 && !write())) {
                origin_.close(descriptor_.get());
            }
        }

      private:
        /// False at the end of the connection.
        bool read() {
            std::array<char, 4096> chunk;
            const auto count = ::recv(descriptor_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
            if (count <= 0) {
                return count < 0 && errno == EAGAIN;
            }
            in_.append(chunk.data(), static_cast<std::size_t>(count));
            if (in_.starts_with("PUT") || in_.find("\r\n\r\n") == std::string::npos) {
                return true;
            }
            out_ = "HTTP/1.1 200 OK\r\nContent-Length: ";
            if (in_.starts_with("GET /large")) {
                out_ += std::to_string(kLarge) + "\r\n\r\n";
                unsent_ = kLarge;
            } else {
                out_ += "2\r\n\r\nok";
            }
            in_.clear();
            return write();
        }
        bool write() {
            static const std::string kBody(kLarge, 'b');
            while (!out_.empty() || unsent_ > 0) {
                const std::string_view part =
                    out_.empty() ? std::string_view(kBody).substr(0, unsent_) : out_;
                const auto count = ::send(descriptor_.get(), part.data(), part.size(),
                                          MSG_DONTWAIT | MSG_NOSIGNAL);
                if (count < 0) {
                    if (errno != EAGAIN) {
                        return false;
                    }
                    origin_.poller_.change(descriptor_.get(), EPOLLIN | EPOLLOUT, this);
                    return true;
                }
                const auto sent = static_cast<std::size_t>(count);
                if (out_.empty()) {
                    unsent_ -= sent;
                } else {
                    out_.erase(0, sent);
                }
            }
            origin_.poller_.change(descriptor_.get(), EPOLLIN, this);
            return true;
        }

        Origin& origin_;
        weir::net::FileDescriptor descriptor_;
        std::string in_;
        std::string out_;
        std::size_t unsent_ = 0;
    };

    class Acceptor final : public weir::tools::EventHandler {
      public:
        Acceptor(Origin& origin, weir::net::FileDescriptor descriptor)
            : origin_(origin), descriptor_(std::move(descriptor)) {
            origin_.poller_.add(descriptor_.get(), EPOLLIN, this);
        }
        void on_events(std::uint32_t /*events*/) override {
            weir::net::FileDescriptor accepted(
                ::accept4(descriptor_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!accepted.is_open()) {
                return;
            }
            const int number = accepted.get();
            origin_.connections_[number] =
                std::make_unique<Connection>(origin_, std::move(accepted));
            ++origin_.open_;
        }
        [[nodiscard]] weir::net::SocketAddress address() const {
            return *weir::net::local_address(descriptor_.get());
        }

      private:
        Origin& origin_;
        weir::net::FileDescriptor descriptor_;
    };

    void close(int descriptor) {
        poller_.remove(descriptor);
        auto node = connections_.extract(descriptor);
        poller_.retire(std::move(node.mapped()));
        --open_;
    }

    weir::tools::Poller poller_;
    std::map<int, std::unique_ptr<Connection>> connections_;
    std::unique_ptr<Acceptor> acceptor_;
    std::atomic<int> open_ = 0;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

Fixture::Options behind(const Origin& origin) {
    Fixture::Options options;
    options.upstream = {origin.address()};
    return options;
}

/// A client that asks for much and reads nothing. Small segments and windows, or the kernel would
/// take megabytes for it on loopback.
SocketIo stalled_reader(const Fixture& proxy) {
    const auto address = weir::net::resolve(proxy.server->listening())->front();
    weir::net::FileDescriptor descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int window = 4096;
    const int segment = 1000;
    ::setsockopt(descriptor.get(), SOL_SOCKET, SO_RCVBUF, &window, sizeof(window));
    ::setsockopt(descriptor.get(), IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
    REQUIRE(::connect(descriptor.get(), address.get(), address.length) == 0);
    SocketIo client(std::move(descriptor));
    client.send(kGetLarge);
    return client;
}

/// Bytes of answers that the proxy has read and its clients' sockets have not taken.
std::uint64_t held(const Fixture& proxy) {
    const auto statistics = proxy.statistics();
    const auto in = statistics[Event::upstream_bytes_in];
    const auto out = statistics[Event::client_bytes_out];
    return in > out ? in - out : 0;
}

/// Waits until nothing moves any more.
void settle(const Fixture& proxy) {
    std::uint64_t before = 0;
    CHECK(eventually([&] {
        std::this_thread::sleep_for(200ms);
        const auto now = proxy.statistics()[Event::upstream_bytes_in];
        return now > 0 && now == std::exchange(before, now);
    }));
}

std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t size = 0;
    std::size_t resident = 0;
    file >> size >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    // One of them is the directory's.
    return static_cast<std::size_t>(std::distance(begin(files), end(files))) - 1;
}

}  // namespace

TEST_CASE("14: a connection whose reader stands still takes less than 100 KiB" *
          doctest::skip(kSanitized)) {
    constexpr std::size_t kReaders = 500;
    const Origin origin;
    Fixture proxy(behind(origin));
    for (int i = 0; i < 10; ++i) {
        CHECK(proxy.get("/").status() == 200);
    }
    std::vector<SocketIo> readers;
    readers.reserve(kReaders);
    const auto before = resident_bytes();
    for (std::size_t i = 0; i < kReaders; ++i) {
        readers.push_back(stalled_reader(proxy));
    }
    REQUIRE(eventually([&] { return proxy.statistics().inflight_requests() == kReaders; }));
    // They do stand still. With how much is the kernel's: in what pieces it hands over what comes.
    CHECK(eventually([&] { return held(proxy) > kReaders * 4 * 1024; }));
    settle(proxy);
    const auto waiting = held(proxy);
    const auto growth = resident_bytes() - before;
    MESSAGE("for each " << growth / kReaders << " bytes, payload " << waiting / kReaders);
    CHECK(growth > waiting / 2);  // it is this memory that was measured
    CHECK(growth < kReaders * 100 * 1024);
}

TEST_CASE("35: at the bound of connections the spare descriptors are free") {
    constexpr std::size_t kDescriptors = 300;
    constexpr std::size_t kSpare = 32;
    constexpr std::size_t kReaders = 200;
    const Origin origin;
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit tight = before;
    tight.rlim_cur = kDescriptors;
    const auto mine = open_descriptors();
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
    auto options = behind(origin);
    options.server.spare_descriptors = kSpare;
    Fixture proxy(std::move(options));
    // The clients and the origin are in this process, too; the proxy has made up its mind.
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    std::vector<SocketIo> readers;
    for (std::size_t i = 0; i < kReaders; ++i) {
        readers.push_back(stalled_reader(proxy));
    }
    REQUIRE(eventually([&] { return proxy[Event::accept_paused_connections] > 0; }));
    settle(proxy);
    const auto used =
        open_descriptors() - mine - kReaders - static_cast<std::size_t>(origin.open());
    MESSAGE("the proxy uses " << used << " of " << kDescriptors << " descriptors");
    CHECK(proxy.statistics().client_connections() < kReaders);
    CHECK(proxy.statistics().client_connections() > 100);
    CHECK(used >= 2 * proxy.statistics().client_connections());
    CHECK(used + kSpare <= kDescriptors);
    // Who waited has its turn as others leave.
    for (std::size_t i = 0; i + 1 < kReaders; ++i) {
        readers[i].reset();
    }
    CHECK(readers.back().take_until("\r\n\r\n"));
}

namespace {

/// The p99 of 1,000 requests by four clients; each of them must be served.
Clock::duration p99_of_a_round(const Fixture& proxy) {
    constexpr std::size_t kClients = 4;
    constexpr std::size_t kRequests = 250;
    std::vector<Clock::duration> times(kClients * kRequests);
    std::atomic<int> failed = 0;
    {
        std::vector<std::jthread> threads;
        for (std::size_t number = 0; number < kClients; ++number) {
            threads.emplace_back([&, number] {
                auto client = proxy.connect();
                for (std::size_t i = 0; i < kRequests; ++i) {
                    const auto begin = Clock::now();
                    client.send(kGet);
                    const auto answer = read_response(client);
                    if (!answer || answer->status() != 200) {
                        ++failed;
                    }
                    times[number * kRequests + i] = Clock::now() - begin;
                }
            });
        }
    }
    CHECK(failed == 0);
    const auto place = times.begin() + static_cast<std::ptrdiff_t>(times.size() * 99 / 100);
    std::nth_element(times.begin(), place, times.end());
    return *place;
}

double milliseconds(Clock::duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

namespace {

/// Clients that have sent the beginnings of heads and send no more.
std::vector<SocketIo> half_heads(Fixture& proxy, std::size_t count) {
    std::vector<SocketIo> heads;
    for (std::size_t i = 0; i < count; ++i) {
        heads.push_back(proxy.connect());
        heads.back().send(i % 2 == 0 ? "GET / HT" : "PUT / HTTP/1.1\r\nHost: a\r\nContent-Le");
    }
    return heads;
}

}  // namespace

TEST_CASE("17: 1,000 slow heads, bodies and readers: others see no error and are no slower") {
    constexpr std::size_t kEach = 333;
    constexpr std::size_t kHeads = 1000 - 2 * kEach;
    /// What a busy machine adds to the slowest of a hundred by chance.
    constexpr auto kFloor = 5ms;
    const Origin origin;
    auto options = behind(origin);
    // None of the slow ones is to end while the others are timed, however slow the machine is.
    options.snapshot.timeouts.request_head = options.snapshot.timeouts.body_idle = 1h;
    Fixture proxy(std::move(options));
    const Fixture quiet(behind(origin));  // one without slow clients, to compare with

    std::vector<SocketIo> slow;
    for (std::size_t i = 0; i < kEach; ++i) {
        slow.push_back(stalled_reader(proxy));
        slow.push_back(proxy.connect());
        slow.back().send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhello");
    }
    REQUIRE(eventually([&] { return proxy.statistics().inflight_requests() == 2 * kEach; }));
    settle(proxy);
    const std::vector<SocketIo> heads = half_heads(proxy, kHeads);
    // Other processes may hold all of a short round up, or slow all of them down: so each is judged
    // by one beside it, and ten over two seconds would all have to be held up.
    bool no_slower = false;
    for (int i = 0; i < 10 && !no_slower; ++i) {
        if (i > 0) {
            std::this_thread::sleep_for(200ms);
        }
        const auto alone = p99_of_a_round(quiet);
        const auto beside = p99_of_a_round(proxy);
        no_slower = beside <= 2 * alone + kFloor;
        MESSAGE("p99 " << milliseconds(alone) << " ms without the slow ones, "
                       << milliseconds(beside) << " with them");
    }
    CHECK(no_slower);
    // The last request of a round may be counted for a moment after its client has the answer.
    CHECK(eventually([&] { return proxy.statistics().inflight_requests() == 2 * kEach; }));
    CHECK(proxy.statistics()[Ending::rejected_head_timeout] == 0);
}

TEST_CASE("17: hundreds of half heads get 408 when their time is over, and others are served") {
    constexpr std::size_t kHeads = 334;
    constexpr auto kHeadTime = 2s;
    const Origin origin;
    auto options = behind(origin);
    options.snapshot.timeouts.request_head = kHeadTime;
    Fixture proxy(std::move(options));
    const auto begin = Clock::now();
    std::vector<SocketIo> heads = half_heads(proxy, kHeads);
    for (auto& client : heads) {
        CHECK(client.closed_within(kHeadTime + kPatience));
        CHECK(client.buffered().find(" 408 ") != std::string::npos);
        CHECK(Clock::now() - begin >= kHeadTime - 1ms);
    }
    CHECK(eventually([&] { return proxy.statistics()[Ending::rejected_head_timeout] == kHeads; }));
    (void)p99_of_a_round(proxy);
}

#include "proxy/server.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "limiter/limiter.h"
#include "net/clock.h"
#include "net/resolve.h"
#include "proxy/worker.h"

namespace weir::proxy {
namespace {

static_assert(Server::kMaxWorkers == limiter::Limiter::kMaxThreads);

/// The descriptors that each worker needs beside connections: epoll, wake-up, two listeners.
constexpr std::size_t kDescriptorsPerWorker = 4;
/// The descriptors of standard streams and libraries.
constexpr std::size_t kDescriptorsOfProcess = 16;

/// The cores that this process may use. std::thread::hardware_concurrency() also counts cores that
/// a container's cpuset or taskset forbids; it is asked only if the machine has more cores than a
/// cpu_set_t holds.
unsigned usable_cores() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    const bool known = ::sched_getaffinity(0, sizeof(cores), &cores) == 0;
    const unsigned count =
        known ? static_cast<unsigned>(CPU_COUNT(&cores)) : std::thread::hardware_concurrency();
    return std::clamp(count, 1U, Server::kMaxWorkers);
}

/// The most client connections for which there are descriptors: each client may need an upstream
/// connection as well, and the rest of the process needs some.
std::size_t connections_by_descriptors(const ServerSettings& settings, unsigned workers) {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) {
        return std::numeric_limits<std::size_t>::max();
    }
    const std::size_t others =
        settings.spare_descriptors + kDescriptorsOfProcess + kDescriptorsPerWorker * workers;
    const auto all = static_cast<std::size_t>(files.rlim_cur);
    return all > others + 2 ? (all - others) / 2 : 1;
}

}  // namespace

class Server::Implementation {
  public:
    Implementation(const ServerSettings& settings, limiter::Limiter& limiter,
                   std::shared_ptr<const Snapshot> snapshot)
        : shared_{.settings = settings, .limiter = limiter},
          snapshot_(std::move(snapshot)),
          random_(settings.seed) {}

    ~Implementation() {
        if (!threads_.empty()) {
            stop_now();
            join();
        }
    }

    Result<void> start() {
        const unsigned count =
            shared_.settings.workers > 0 ? shared_.settings.workers : usable_cores();
        if (count > kMaxWorkers) {
            return error(ErrorCode::invalid_argument,
                         "workers: at most " + std::to_string(kMaxWorkers));
        }
        shared_.max_upstream_connections = connections_by_descriptors(shared_.settings, count);
        shared_.max_connections =
            std::min(shared_.settings.connections, shared_.max_upstream_connections);
        shared_.workers = count;
        auto done = make_workers(count);
        if (!done) {
            workers_.clear();
            return done;
        }
        running_ = count;
        for (auto& worker : workers_) {
            threads_.emplace_back([this, &worker] { run(*worker); });
        }
        return {};
    }

    void replace(const std::shared_ptr<const Snapshot>& snapshot) {
        for (auto& worker : workers_) {
            worker->replace(snapshot);
        }
    }

    void shed(bool on) { shared_.shedding.store(on, std::memory_order_relaxed); }

    void bound_buffers(std::size_t bytes) {
        shared_.buffer_bytes.store(bytes, std::memory_order_relaxed);
    }

    void drain() {
        const std::lock_guard lock(mutex_);
        if (draining_since_) {
            return;
        }
        draining_since_ = net::now();
        shared_.draining.store(true, std::memory_order_relaxed);
    }

    void stop(std::function<void()> stopped) {
        drain();
        {
            const std::lock_guard lock(mutex_);
            if (stopping_) {
                return;
            }
            stopping_ = true;
            stopped_ = std::move(stopped);
        }
        const auto& drain = shared_.settings.drain;
        const auto accept_until = std::max(*draining_since_ + drain.keep_accepting, net::now());
        for (auto& worker : workers_) {
            worker->finish(accept_until, drain.grace);
        }
    }

    void stop_now() {
        drain();
        for (auto& worker : workers_) {
            worker->abort();
        }
    }

    void join() {
        for (auto& thread : threads_) {
            if (thread.joinable()) {
                thread.join();
            }
        }
    }

    [[nodiscard]] const net::Address& listening() const { return listening_; }
    [[nodiscard]] const net::Address& checking() const { return checking_; }
    [[nodiscard]] unsigned workers() const { return static_cast<unsigned>(workers_.size()); }
    [[nodiscard]] std::size_t most_connections() const { return shared_.max_connections; }

    [[nodiscard]] ProxyStatistics statistics() const {
        ProxyStatistics sum;
        for (const auto& worker : workers_) {
            worker->counters().add_to(sum);
        }
        return sum;
    }

    [[nodiscard]] std::vector<std::string> take_unknown_names() {
        std::vector<std::string> all;
        for (auto& worker : workers_) {
            for (auto& name : worker->unknown_names().take()) {
                all.push_back(std::move(name));
            }
        }
        return all;
    }

  private:
    /// One address that all workers listen on.
    struct Port {
        net::Address asked;
        net::SocketAddress address{};
        net::Address bound{};
        net::FileDescriptor unix_listener{};
    };

    static Result<void> resolve(Port& port) {
        auto resolved = net::resolve(port.asked);
        if (!resolved) {
            return resolved.error();
        }
        port.address = resolved->front();
        port.bound = port.asked;
        if (!net::in_use(port.address)) {
            return {};
        }
        return error(ErrorCode::conflict, to_string(port.asked) + " is in use");
    }

    static Result<net::FileDescriptor> listen(Port& port) {
        if (port.address.is_unix()) {
            return listen_unix(port);
        }
        auto listener = net::listen_on(port.address);
        if (!listener) {
            return listener;
        }
        // If the kernel chose the port for the first listener, the others use the same.
        auto bound = net::local_address(listener->get());
        if (!bound) {
            return bound.error();
        }
        port.address = *bound;
        port.bound = net::Address::from(net::to_endpoint(*bound));
        return listener;
    }

    /// Binds a unix socket once; all workers share its descriptor.
    static Result<net::FileDescriptor> listen_unix(Port& port) {
        if (!port.unix_listener.is_open()) {
            auto listener = net::listen_on(port.address);
            if (!listener) {
                return listener;
            }
            port.unix_listener = std::move(*listener);
        }
        net::FileDescriptor copy(::dup(port.unix_listener.get()));
        if (!copy.is_open()) {
            return net::system_error("dup", errno);
        }
        return copy;
    }

    Result<void> make_workers(unsigned count) {
        Port traffic{.asked = shared_.settings.listen};
        Port check{.asked = shared_.settings.check.value_or(net::Address{})};
        const bool checks = shared_.settings.check.has_value();
        if (auto done = resolve(traffic); !done) {
            return done;
        }
        if (auto done = checks ? resolve(check) : Result<void>{}; !done) {
            return error(done.error().code, "check.listen: " + done.error().message);
        }
        for (unsigned i = 0; i < count; ++i) {
            Worker::Sockets sockets;
            auto listener = listen(traffic);
            if (!listener) {
                return listener.error();
            }
            sockets.traffic = std::move(*listener);
            if (checks) {
                listener = listen(check);
                if (!listener) {
                    return error(listener.error().code,
                                 "check.listen: " + listener.error().message);
                }
                sockets.check = std::move(*listener);
            }
            if (auto made = make_worker(std::move(sockets)); !made) {
                return made;
            }
        }
        listening_ = traffic.bound;
        checking_ = check.bound;
        return {};
    }

    Result<void> make_worker(Worker::Sockets sockets) {
        auto loop = net::EventLoop::create();
        if (!loop) {
            return loop.error();
        }
        workers_.push_back(std::make_unique<Worker>(shared_, std::move(*loop), std::move(sockets),
                                                    *snapshot_, random_.next()));
        return workers_.back()->start();
    }

    void run(Worker& worker) {
        worker.run();
        if (running_.fetch_sub(1) != 1) {
            return;
        }
        std::function<void()> stopped;
        {
            const std::lock_guard lock(mutex_);
            stopped.swap(stopped_);
        }
        if (stopped) {
            stopped();
        }
    }

    SharedState shared_;
    std::shared_ptr<const Snapshot> snapshot_;
    Random random_;
    net::Address listening_;
    net::Address checking_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::thread> threads_;
    std::atomic<unsigned> running_ = 0;

    std::mutex mutex_;  ///< guards the members below
    std::optional<Instant> draining_since_;
    bool stopping_ = false;
    std::function<void()> stopped_;
};

Server::Server(const ServerSettings& settings, limiter::Limiter& limiter,
               std::shared_ptr<const Snapshot> snapshot)
    : implementation_(std::make_unique<Implementation>(settings, limiter, std::move(snapshot))) {}
Server::~Server() = default;

Result<void> Server::start() { return implementation_->start(); }
void Server::replace(std::shared_ptr<const Snapshot> snapshot) {
    implementation_->replace(snapshot);
}
void Server::shed(bool on) { implementation_->shed(on); }

void Server::bound_buffers(std::size_t bytes) { implementation_->bound_buffers(bytes); }
void Server::drain() { implementation_->drain(); }
void Server::stop(std::function<void()> stopped) { implementation_->stop(std::move(stopped)); }
void Server::stop_now() { implementation_->stop_now(); }
void Server::join() { implementation_->join(); }
const net::Address& Server::listening() const { return implementation_->listening(); }
const net::Address& Server::checking() const { return implementation_->checking(); }
unsigned Server::workers() const { return implementation_->workers(); }
std::size_t Server::most_connections() const { return implementation_->most_connections(); }
ProxyStatistics Server::statistics() const { return implementation_->statistics(); }
std::vector<std::string> Server::take_unknown_names() {
    return implementation_->take_unknown_names();
}

}  // namespace weir::proxy

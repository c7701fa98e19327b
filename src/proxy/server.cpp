#include "proxy/server.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "net/clock.h"
#include "net/resolve.h"
#include "proxy/worker.h"

namespace weir::proxy {
namespace {

/// Descriptors that each worker needs beside connections: epoll, wake-up, listener.
constexpr std::size_t kDescriptorsPerWorker = 3;
/// Standard streams, libraries.
constexpr std::size_t kDescriptorsOfProcess = 16;

unsigned usable_cores() { return std::max(1U, std::thread::hardware_concurrency()); }

/// Each client may need a connection to the upstream, and some descriptors belong to others.
std::size_t connection_limit(const ServerSettings& settings, unsigned workers) {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) {
        return settings.connections;
    }
    const std::size_t others =
        settings.spare_descriptors + kDescriptorsOfProcess + kDescriptorsPerWorker * workers;
    const auto all = static_cast<std::size_t>(files.rlim_cur);
    return std::min(settings.connections, all > others + 2 ? (all - others) / 2 : 1);
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
        shared_.max_connections = connection_limit(shared_.settings, count);
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
        for (auto& worker : workers_) worker->replace(snapshot);
    }

    void drain() {
        const std::lock_guard lock(mutex_);
        if (draining_since_) return;
        draining_since_ = net::now();
        shared_.draining.store(true, std::memory_order_relaxed);
    }

    void stop(std::function<void()> stopped) {
        drain();
        {
            const std::lock_guard lock(mutex_);
            if (stopping_) return;
            stopping_ = true;
            stopped_ = std::move(stopped);
        }
        const auto& drain = shared_.settings.drain;
        const auto accept_until = std::max(*draining_since_ + drain.keep_accepting, net::now());
        for (auto& worker : workers_) worker->finish(accept_until, drain.grace);
    }

    void stop_now() {
        drain();
        for (auto& worker : workers_) worker->abort();
    }

    void join() {
        for (auto& thread : threads_) {
            if (thread.joinable()) thread.join();
        }
    }

    [[nodiscard]] bool draining() const { return shared_.draining; }
    [[nodiscard]] const net::Address& listening() const { return listening_; }
    [[nodiscard]] unsigned workers() const { return static_cast<unsigned>(workers_.size()); }

    [[nodiscard]] Statistics statistics() const {
        Statistics sum;
        for (const auto& worker : workers_) worker->counters().add_to(sum);
        return sum;
    }

  private:
    Result<void> make_workers(unsigned count) {
        auto resolved = net::resolve(shared_.settings.listen);
        if (!resolved) return resolved.error();
        auto address = resolved->front();
        if (net::in_use(address)) {
            return error(ErrorCode::conflict, to_string(shared_.settings.listen) + " is in use");
        }
        listening_ = shared_.settings.listen;
        for (unsigned i = 0; i < count; ++i) {
            auto listener = make_listener(address);
            if (!listener) return listener.error();
            if (!address.is_unix()) {
                // The first one's port, if the kernel was to choose, is everybody's.
                auto bound = net::local_address(listener->get());
                if (!bound) return bound.error();
                address = *bound;
                listening_ = net::Address::from(net::to_endpoint(address));
            }
            auto loop = net::EventLoop::create();
            if (!loop) return loop.error();
            workers_.push_back(std::make_unique<Worker>(
                shared_, std::move(*loop), std::move(*listener), snapshot_, random_.next()));
            auto started = workers_.back()->start();
            if (!started) return started;
        }
        unix_listener_.reset();  // the workers have copies
        return {};
    }

    /// A unix socket is bound once and shared.
    Result<net::FileDescriptor> make_listener(const net::SocketAddress& address) {
        if (!address.is_unix()) return net::listen_on(address);
        if (!unix_listener_.is_open()) {
            auto listener = net::listen_on(address);
            if (!listener) return listener.error();
            unix_listener_ = std::move(*listener);
        }
        net::FileDescriptor copy(::dup(unix_listener_.get()));
        if (!copy.is_open()) return net::system_error("dup", errno);
        return copy;
    }

    void run(Worker& worker) {
        worker.run();
        if (running_.fetch_sub(1) != 1) return;
        std::function<void()> stopped;
        {
            const std::lock_guard lock(mutex_);
            stopped.swap(stopped_);
        }
        if (stopped) stopped();
    }

    SharedState shared_;
    std::shared_ptr<const Snapshot> snapshot_;
    Random random_;
    net::Address listening_;
    net::FileDescriptor unix_listener_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::thread> threads_;
    std::atomic<unsigned> running_ = 0;

    std::mutex mutex_;  ///< guards what follows
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
void Server::drain() { implementation_->drain(); }
void Server::stop(std::function<void()> stopped) { implementation_->stop(std::move(stopped)); }
void Server::stop_now() { implementation_->stop_now(); }
void Server::join() { implementation_->join(); }
bool Server::draining() const { return implementation_->draining(); }
const net::Address& Server::listening() const { return implementation_->listening(); }
unsigned Server::workers() const { return implementation_->workers(); }
Statistics Server::statistics() const { return implementation_->statistics(); }

}  // namespace weir::proxy

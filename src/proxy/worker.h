#pragma once
// One event loop on one thread with everything that its connections share: upstream pool, buffers,
// counters, generator, the limiter's thread context and the snapshot in force.
//
// Thread-safety: replace(), drain(), finish(), abort() and counters() from any thread; the rest
// from the loop's thread. Ownership: the Server owns workers; a worker owns its connections.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "http/forwarded_head.h"
#include "http/response_head.h"
#include "net/event_loop.h"
#include "net/listener.h"
#include "net/stream.h"
#include "proxy/active_snapshot.h"
#include "proxy/address_memory.h"
#include "proxy/buffer.h"
#include "proxy/check_question.h"
#include "proxy/counters.h"
#include "proxy/idle_list.h"
#include "proxy/settings.h"
#include "proxy/upstream_pool.h"
#include "routing/router.h"

namespace weir::limiter {
class Limiter;
class ThreadContext;
}  // namespace weir::limiter

namespace weir::proxy {

class ClientConnection;

/// What a client's connection is for: requests to be forwarded, or questions about requests.
enum class Role : std::uint8_t { traffic, check };

class Worker;

/// What the workers of one server have in common.
struct SharedState {
    ServerSettings settings;
    limiter::Limiter& limiter;
    /// Open client connections of all workers, and how many there may be.
    std::atomic<std::size_t> connections = 0;
    std::size_t max_connections = 0;
    /// Connections to the upstream of all workers, in use or idle, and how many the process can
    /// have descriptors for.
    std::atomic<std::size_t> upstream_connections = 0;
    std::size_t max_upstream_connections = 0;
    /// The worker that is at the bound of connections and has no idle one: another that has may
    /// close one of its own, and then says so by clearing this.
    std::atomic<const Worker*> wants_eviction = nullptr;
    /// Memory is short: requests get 503.
    std::atomic<bool> shedding = false;
    /// What all workers' buffers may take before new ones are small.
    std::atomic<std::size_t> buffer_bytes = std::numeric_limits<std::size_t>::max();
    unsigned workers = 1;
    std::atomic<bool> draining = false;
};

class Worker {
  public:
    static constexpr Duration kSweepInterval = std::chrono::seconds(1);

    struct Sockets {
        net::FileDescriptor traffic;
        net::FileDescriptor check;  ///< not open: nobody may ask
    };
    Worker(SharedState& shared, std::unique_ptr<net::EventLoop> loop, Sockets sockets,
           std::shared_ptr<const Snapshot> snapshot, std::uint64_t seed);
    ~Worker();

    [[nodiscard]] Result<void> start();
    /// The thread's body; returns when the worker has finished.
    void run();

    void replace(std::shared_ptr<const Snapshot> snapshot);
    /// Accepts until then, closes idle connections, aborts what is left after `grace` more.
    void finish(Instant accept_until, Duration grace);
    void abort();
    [[nodiscard]] const Counters& counters() const { return counters_; }

    // For the connections, on the loop's thread.
    [[nodiscard]] net::EventLoop& loop() { return *loop_; }
    [[nodiscard]] BufferPool& buffers() { return buffers_; }
    /// The size of a relay buffer that is taken now.
    [[nodiscard]] std::size_t relay_size();
    [[nodiscard]] Counters& mutable_counters() { return counters_; }
    [[nodiscard]] UpstreamPool& upstreams() { return upstreams_; }
    [[nodiscard]] Random& random() { return random_; }
    [[nodiscard]] limiter::Limiter& limiter() { return shared_.limiter; }
    [[nodiscard]] limiter::ThreadContext& limiter_context() { return *limiter_context_; }
    [[nodiscard]] AccessLog* access_log() const { return shared_.settings.access_log; }
    [[nodiscard]] const SnapshotReference& snapshot() const { return snapshot_; }
    // Work space for the time between two waits.
    [[nodiscard]] http::ForwardedHead& forwarded_head() { return forwarded_head_; }
    [[nodiscard]] http::ResponseHead& response_head() { return response_head_; }
    [[nodiscard]] routing::Scratch& routing_scratch() { return routing_scratch_; }
    [[nodiscard]] CheckReader& check_reader() { return check_reader_; }
    [[nodiscard]] std::string& text() { return text_; }
    /// For the Date field of our own answers, at most a second old.
    [[nodiscard]] std::string_view date();
    /// One of several: idle connections may be what another one lacks.
    [[nodiscard]] bool shares_upstreams() const { return shared_.workers > 1; }
    /// limits.upstream_connections, as far as there are descriptors.
    [[nodiscard]] std::size_t most_upstreams(std::size_t configured) const {
        return std::min(configured, shared_.max_upstream_connections);
    }
    [[nodiscard]] AddressMemory& address_memory() { return address_memory_; }
    [[nodiscard]] IdleList& idle_connections() { return idle_connections_; }
    [[nodiscard]] bool shedding() const { return shared_.shedding.load(std::memory_order_relaxed); }
    [[nodiscard]] bool draining() const { return shared_.draining.load(std::memory_order_relaxed); }
    /// No further request is to be waited for.
    [[nodiscard]] bool finishing() const { return closing_idle_; }
    [[nodiscard]] bool aborting() const { return aborting_; }
    /// True once in kDecisionSampling calls.
    [[nodiscard]] bool sample_decision() { return ++decisions_ % kDecisionSampling == 0; }
    void add(ClientConnection& connection);
    void remove(ClientConnection& connection);

  private:
    class Alarm;
    void take_over(std::shared_ptr<const Snapshot> snapshot);
    [[nodiscard]] std::unique_ptr<net::Listener> make_listener(net::FileDescriptor descriptor,
                                                               Role role);
    [[nodiscard]] bool may_accept();
    void accept(Role role, net::FileDescriptor descriptor, const Endpoint& client);
    /// Closes the longest idle connection; false if there is none.
    bool evict();
    /// Evicts for another worker that asks for it.
    void help_others();
    void end_turn();
    void set_buffers();
    void close_listeners();
    void publish_listener_counters();
    void sweep();
    void stop_accepting();
    void abort_now();
    void stop_if_done();
    void wake_connections();

    SharedState& shared_;
    std::unique_ptr<net::EventLoop> loop_;
    BufferPool buffers_;
    Counters counters_;
    UpstreamPool upstreams_;
    Random random_;
    limiter::ThreadContext* limiter_context_ = nullptr;
    SnapshotReference snapshot_;
    http::ForwardedHead forwarded_head_;
    http::ResponseHead response_head_;
    routing::Scratch routing_scratch_;
    CheckReader check_reader_;
    std::string text_;
    std::string date_;
    Instant date_read_{};
    std::vector<std::unique_ptr<net::Listener>> listeners_;
    net::Listener::Counters published_;
    std::vector<ClientConnection*> connections_;
    IdleList idle_connections_;
    AddressMemory address_memory_;
    std::uint64_t decisions_ = 0;
    bool economising_ = false;
    bool finishing_ = false;
    bool closing_idle_ = false;
    bool aborting_ = false;
    Duration grace_{};
    std::unique_ptr<Alarm> sweep_alarm_;
    std::unique_ptr<Alarm> finish_alarm_;
};

}  // namespace weir::proxy

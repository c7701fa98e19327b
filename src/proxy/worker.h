#pragma once
// One event loop on one thread, with everything that its connections share: upstream pool, buffers,
// counters, random generator, the limiter's thread context and the snapshot in force.
//
// Thread-safety: replace(), finish(), abort(), counters() and unknown_names().take() may be called
// from any thread, everything else from the loop's thread. Ownership: the Server owns workers; a
// worker owns its connections.

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
#include "limiter/wait_queues.h"
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
#include "proxy/unknown_names.h"
#include "proxy/upstream_pool.h"
#include "proxy/wall_clock.h"
#include "routing/router.h"

namespace weir::limiter {
class Limiter;
class ThreadContext;
}  // namespace weir::limiter

namespace weir::proxy {

class ClientConnection;

/// What a connection carries: requests to be forwarded (`traffic`), or questions of other proxies
/// about requests (`check`).
enum class Role : std::uint8_t { traffic, check };

class Worker;

/// What the workers of one server share. Atomic members are used by all threads; the others do not
/// change once the threads run.
struct SharedState {
    ServerSettings settings;
    limiter::Limiter& limiter;
    /// Open client connections of all workers, and the most that there may be.
    std::atomic<std::size_t> connections = 0;
    std::size_t max_connections = 0;
    /// Connections of all workers to the upstream, in use or idle, and the most for which the
    /// process has descriptors.
    std::atomic<std::size_t> upstream_connections = 0;
    std::size_t max_upstream_connections = 0;
    /// Requests of all workers that wait for an upstream that refuses connections.
    std::atomic<std::size_t> waiting = 0;
    /// A worker that wants to accept at the bound of connections and has no idle connection to
    /// close. Another worker that has one closes it and sets this to nullptr.
    std::atomic<const Worker*> wants_eviction = nullptr;
    /// Whether requests are answered with 503, because memory is short.
    std::atomic<bool> shedding = false;
    /// The bytes that the buffers of all workers may take; beyond them new buffers are small.
    std::atomic<std::size_t> buffer_bytes = std::numeric_limits<std::size_t>::max();
    unsigned workers = 1;
    std::atomic<bool> draining = false;
};

class Worker {
  public:
    static constexpr Duration kSweepInterval = std::chrono::seconds(1);

    struct Sockets {
        net::FileDescriptor traffic;
        net::FileDescriptor check;  ///< not open if there is no check listener
    };
    Worker(SharedState& shared, std::unique_ptr<net::EventLoop> loop, Sockets sockets,
           const Snapshot& snapshot, std::uint64_t seed);
    ~Worker();

    [[nodiscard]] Result<void> start();
    /// Runs the loop on the calling thread. Returns when the worker has finished.
    void run();

    void replace(std::shared_ptr<const Snapshot> snapshot);
    /// Accepts until `accept_until`, then closes idle connections, and aborts the others when
    /// `grace` more has passed.
    void finish(Instant accept_until, Duration grace);
    void abort();
    [[nodiscard]] const ProxyCounters& counters() const { return counters_; }

    // Used by the connections, on the loop's thread.
    [[nodiscard]] net::EventLoop& loop() { return *loop_; }
    [[nodiscard]] BufferPool& buffers() { return buffers_; }
    /// The size of the next relay buffer.
    [[nodiscard]] std::size_t relay_size();
    [[nodiscard]] ProxyCounters& mutable_counters() { return counters_; }
    [[nodiscard]] UpstreamPool& upstreams() { return upstreams_; }
    [[nodiscard]] Random& random() { return random_; }
    [[nodiscard]] limiter::Limiter& limiter() { return shared_.limiter; }
    [[nodiscard]] limiter::ThreadContext& limiter_context() { return *limiter_context_; }
    [[nodiscard]] AccessLog* access_log() const { return shared_.settings.access_log; }
    [[nodiscard]] const SnapshotReference& snapshot() const { return snapshot_; }
    // Objects that any connection may use, and whose contents last only until it waits.
    [[nodiscard]] http::ForwardedHead& forwarded_head() { return forwarded_head_; }
    [[nodiscard]] http::ResponseHead& response_head() { return response_head_; }
    [[nodiscard]] routing::Scratch& routing_scratch() { return routing_scratch_; }
    [[nodiscard]] CheckReader& check_reader() { return check_reader_; }
    [[nodiscard]] UnknownNames& unknown_names() { return unknown_names_; }
    [[nodiscard]] std::string& text() { return text_; }
    /// The value of Date for weir's own answers.
    [[nodiscard]] std::string_view date();
    /// The wall clock, as time since 1970.
    [[nodiscard]] Duration wall_clock();
    /// Whether there are other workers, which may need the upstream connections that are idle here.
    [[nodiscard]] bool shares_upstreams() const { return shared_.workers > 1; }
    /// limits.upstream_connections, or fewer if there are not as many descriptors.
    [[nodiscard]] std::size_t most_upstreams(std::size_t configured) const {
        return std::min(configured, shared_.max_upstream_connections);
    }
    /// Takes a place among the `most` requests that may wait for the upstream. False: there is
    /// none.
    [[nodiscard]] bool begin_waiting(std::size_t most) {
        const bool room = shared_.waiting.fetch_add(1, std::memory_order_relaxed) < most;
        if (!room) {
            end_waiting();
        }
        return room;
    }
    void end_waiting() { shared_.waiting.fetch_sub(1, std::memory_order_relaxed); }
    [[nodiscard]] AddressMemory& address_memory() { return address_memory_; }
    [[nodiscard]] limiter::WaitQueues& wait_queues() { return wait_queues_; }
    /// Has the queues served with the next tick, and on while somebody is in them.
    void serve_queues_soon();
    /// When requests that are served will be cut off, because the server stops; else never.
    [[nodiscard]] Instant cut_off_at() const { return cut_off_at_; }
    [[nodiscard]] IdleList& idle_connections() { return idle_connections_; }
    /// Those that have sent part of a head, the one that is nearest to the head's timeout first.
    [[nodiscard]] IdleList& half_heads() { return half_heads_; }
    /// For so long a new connection, or the head that it has begun, is not closed to make room.
    [[nodiscard]] Duration patience() const;
    [[nodiscard]] bool shedding() const { return shared_.shedding.load(std::memory_order_relaxed); }
    [[nodiscard]] bool draining() const { return shared_.draining.load(std::memory_order_relaxed); }
    /// Whether connections no longer wait for a further request.
    [[nodiscard]] bool finishing() const { return closing_idle_; }
    [[nodiscard]] bool aborting() const { return aborting_; }
    /// True for one in kDecisionSampling calls.
    [[nodiscard]] bool sample_decision() { return ++decisions_ % kDecisionSampling == 0; }
    void add(ClientConnection& connection);
    void remove(ClientConnection& connection);

  private:
    class Alarm;
    void take_over(const Snapshot& snapshot);
    [[nodiscard]] std::unique_ptr<net::Listener> make_listener(net::FileDescriptor descriptor,
                                                               Role role);
    [[nodiscard]] bool may_accept();
    void accept(Role role, net::FileDescriptor descriptor, const Endpoint& client);
    /// The connection to be closed to make room: that which has been idle for longest, else that
    /// which is nearest to its head's timeout; nullptr if none may be closed.
    [[nodiscard]] ClientConnection* closable() const;
    void evict();
    /// Closes an idle connection for another worker that asks for it.
    void help_others();
    void end_turn();
    void set_buffers();
    /// Of connections that are accepted from now on.
    void bound_socket_buffers();
    void close_listeners();
    void publish_listener_counters();
    void sweep();
    void serve_queues();
    void stop_accepting();
    void abort_now();
    void stop_if_done();
    void wake_connections();

    SharedState& shared_;
    std::unique_ptr<net::EventLoop> loop_;
    BufferPool buffers_;
    ProxyCounters counters_;
    UpstreamPool upstreams_;
    Random random_;
    limiter::ThreadContext* limiter_context_ = nullptr;
    SnapshotReference snapshot_;
    http::ForwardedHead forwarded_head_;
    http::ResponseHead response_head_;
    routing::Scratch routing_scratch_;
    CheckReader check_reader_;
    UnknownNames unknown_names_;
    std::string text_;
    WallClock wall_clock_;
    std::vector<std::unique_ptr<net::Listener>> listeners_;
    net::Listener::Counters published_;
    std::vector<ClientConnection*> connections_;
    IdleList idle_connections_;
    IdleList half_heads_;
    AddressMemory address_memory_;
    std::uint64_t decisions_ = 0;
    bool economising_ = false;
    bool finishing_ = false;
    bool closing_idle_ = false;
    bool aborting_ = false;
    Duration grace_{};
    Instant cut_off_at_ = Instant::max();
    limiter::WaitQueues wait_queues_;
    std::unique_ptr<Alarm> queue_alarm_;
    std::unique_ptr<Alarm> sweep_alarm_;
    std::unique_ptr<Alarm> finish_alarm_;
};

}  // namespace weir::proxy

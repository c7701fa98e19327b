#include "proxy/worker.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "limiter/limiter.h"
#include "net/clock.h"
#include "proxy/client_connection.h"

namespace weir::proxy {
namespace {

/// The most free buffers of each size that a worker keeps; of large ones at most 2 MiB.
constexpr std::size_t kKeptBuffers = 64;
/// So many clients that send nothing, or half a head, are gone through within the time of one head,
/// however few connections there may be.
constexpr Duration::rep kCrowd = 2048;
constexpr Duration kShortestPatience = std::chrono::milliseconds(10);
constexpr Duration kLongestPatience = std::chrono::seconds(1);

}  // namespace

class Worker::Alarm final : public net::TimerEntry {
  public:
    explicit Alarm(std::function<void()> action) : action_(std::move(action)) {}
    ~Alarm() override = default;

  private:
    void expired() override { action_(); }
    std::function<void()> action_;
};

Worker::Worker(SharedState& shared, std::unique_ptr<net::EventLoop> loop, Sockets sockets,
               const Snapshot& snapshot, std::uint64_t seed)
    : shared_(shared),
      loop_(std::move(loop)),
      buffers_(snapshot.limits.buffer + kHeadRoom, kKeptBuffers),
      upstreams_(counters_, shared.upstream_connections),
      random_(seed),
      snapshot_(std::make_shared<const ActiveSnapshot>(snapshot, 0)),
      queue_alarm_(std::make_unique<Alarm>([this] { serve_queues(); })),
      sweep_alarm_(std::make_unique<Alarm>([this] { sweep(); })),
      finish_alarm_(std::make_unique<Alarm>([this] {
          if (!closing_idle_) {
              stop_accepting();
          } else {
              abort_now();
          }
      })) {
    listeners_.push_back(make_listener(std::move(sockets.traffic), Role::traffic));
    if (sockets.check.is_open()) {
        listeners_.push_back(make_listener(std::move(sockets.check), Role::check));
    }
    bound_socket_buffers();
}

Worker::~Worker() { upstreams_.retire_all(snapshot_->upstream_version); }

Result<void> Worker::start() {
    // This is done here, one worker after the other, because on their threads the workers would
    // register at the same time.
    limiter_context_ = &shared_.limiter.register_thread(random_.next());
    for (auto& listener : listeners_) {
        if (auto started = listener->start(); !started) {
            return started;
        }
    }
    return {};
}

void Worker::run() {
    loop_->timers().arm(*sweep_alarm_, loop_->now() + kSweepInterval);
    loop_->run([this] { end_turn(); });
}

void Worker::replace(std::shared_ptr<const Snapshot> snapshot) {
    loop_->post([this, snapshot = std::move(snapshot)] { take_over(*snapshot); });
}

void Worker::take_over(const Snapshot& snapshot) {
    const auto same = [](const net::SocketAddress& left, const net::SocketAddress& right) {
        return left.length == right.length &&
               std::memcmp(&left.storage, &right.storage, left.length) == 0;
    };
    const bool same_upstream =
        std::ranges::equal(snapshot.upstream, snapshot_->settings.upstream, same);
    const auto version = snapshot_->upstream_version + (same_upstream ? 0 : 1);
    if (!same_upstream) {
        upstreams_.retire_all(version);
    }
    snapshot_ = std::make_shared<const ActiveSnapshot>(snapshot, version);
    set_buffers();
    bound_socket_buffers();
    counters_.count(Event::reloads);
}

void Worker::set_buffers() {
    buffers_.set_large(economising_ ? kEconomicBuffer
                                    : snapshot_->settings.limits.buffer + kHeadRoom);
}

void Worker::bound_socket_buffers() {
    for (auto& listener : listeners_) {
        listener->bound_buffers(snapshot_->settings.limits.socket_buffer);
    }
}

std::size_t Worker::relay_size() {
    const auto size = buffers_.relay_size();
    if (size < buffers_.large()) {
        counters_.count(Event::buffers_reduced);
    }
    return size;
}

void Worker::end_turn() {
    shared_.limiter.quiescent(*limiter_context_);
    if (shedding() != economising_) {
        economising_ = !economising_;
        set_buffers();
    }
    buffers_.set_bound(shared_.buffer_bytes.load(std::memory_order_relaxed) / shared_.workers);
    if (shared_.wants_eviction.load(std::memory_order_relaxed) != nullptr) {
        help_others();
    }
}

void Worker::help_others() {
    const auto* other = shared_.wants_eviction.load(std::memory_order_relaxed);
    if (other == this || closable() == nullptr) {
        return;
    }
    // There may be room by now: the other worker may have asked just before a connection was
    // closed.
    if (shared_.connections.load() < shared_.max_connections) {
        return;
    }
    if (other != nullptr && shared_.wants_eviction.compare_exchange_strong(other, nullptr)) {
        evict();
    }
}

bool Worker::may_accept() {
    if (shared_.connections.load(std::memory_order_relaxed) < shared_.max_connections) {
        return true;
    }
    if (closable() != nullptr) {
        return true;
    }
    shared_.wants_eviction.store(this, std::memory_order_relaxed);
    counters_.count(Event::accept_paused_connections);
    return false;
}

void Worker::accept(Role role, net::FileDescriptor descriptor, const Endpoint& client) {
    if (shared_.connections.load(std::memory_order_relaxed) >= shared_.max_connections) {
        evict();
    }
    const Worker* asked = this;
    if (shared_.wants_eviction.load(std::memory_order_relaxed) == this) {
        shared_.wants_eviction.compare_exchange_strong(asked, nullptr);
    }
    ClientConnection::start(*this, role, std::move(descriptor), client);
}

Duration Worker::patience() const {
    const auto most = std::min<std::size_t>(shared_.max_connections, kCrowd);
    const auto places = static_cast<Duration::rep>(most);
    const Duration share = snapshot_->settings.timeouts.request_head / kCrowd * places;
    return std::clamp(share, kShortestPatience, kLongestPatience);
}

ClientConnection* Worker::closable() const {
    const auto now = loop_->now();
    auto* const idle = idle_connections_.closable(now);
    return static_cast<ClientConnection*>(idle != nullptr ? idle : half_heads_.closable(now));
}

void Worker::evict() {
    if (auto* const connection = closable()) {
        connection->evict();
    }
}

std::unique_ptr<net::Listener> Worker::make_listener(net::FileDescriptor descriptor, Role role) {
    return std::make_unique<net::Listener>(
        *loop_, std::move(descriptor), [this] { return may_accept(); }, [this] { evict(); },
        [this, role](net::FileDescriptor accepted, const Endpoint& client) {
            accept(role, std::move(accepted), client);
        });
}

void Worker::add(ClientConnection& connection) {
    counters_.count(Event::client_accepted);
    shared_.connections.fetch_add(1, std::memory_order_relaxed);
    connection.index = connections_.size();
    connections_.push_back(&connection);
}

void Worker::remove(ClientConnection& connection) {
    counters_.count(Event::client_closed);
    shared_.connections.fetch_sub(1, std::memory_order_relaxed);
    connections_.back()->index = connection.index;
    connections_[connection.index] = connections_.back();
    connections_.pop_back();
    stop_if_done();
}

void Worker::publish_listener_counters() {
    net::Listener::Counters now;
    for (const auto& listener : listeners_) {
        now.errors += listener->counters().errors;
        now.paused_descriptors += listener->counters().paused_descriptors;
    }
    counters_.add(Event::accept_errors, now.errors - published_.errors);
    counters_.add(Event::accept_paused_descriptors,
                  now.paused_descriptors - published_.paused_descriptors);
    published_ = now;
}

void Worker::sweep() {
    publish_listener_counters();
    upstreams_.sweep(loop_->now(), snapshot_->settings.timeouts.upstream_idle);
    loop_->timers().arm(*sweep_alarm_, loop_->now() + kSweepInterval);
}

void Worker::serve_queues() {
    // Between two passes other connections have their turn.
    const bool more = wait_queues_.serve(loop_->now());
    if (more && !wait_queues_.empty() && !queue_alarm_->armed()) {
        loop_->timers().arm(*queue_alarm_, loop_->now());
    }
    if (!wait_queues_.empty()) {
        serve_queues_soon();
    }
}

void Worker::serve_queues_soon() {
    if (!queue_alarm_->armed()) {
        loop_->timers().arm(*queue_alarm_, loop_->now() + limiter::WaitQueues::kShortestRest);
    }
}

std::string_view Worker::date() { return wall_clock_.date(loop_->now()); }
Duration Worker::wall_clock() { return wall_clock_.at(loop_->now()); }

void Worker::finish(Instant accept_until, Duration grace) {
    loop_->post([this, accept_until, grace] {
        if (finishing_) {
            return;
        }
        finishing_ = true;
        grace_ = grace;
        loop_->timers().arm(*finish_alarm_, accept_until);
    });
}

void Worker::stop_accepting() {
    for (auto& listener : listeners_) {
        listener->accept_rest();
    }
    close_listeners();
    closing_idle_ = true;
    cut_off_at_ = loop_->now() + grace_;
    loop_->timers().arm(*finish_alarm_, cut_off_at_);
    wake_connections();
    stop_if_done();
}

void Worker::abort() {
    loop_->post([this] { abort_now(); });
}

void Worker::close_listeners() {
    for (auto& listener : listeners_) {
        listener->stop();
    }
}

void Worker::abort_now() {
    close_listeners();
    finishing_ = closing_idle_ = aborting_ = true;
    wake_connections();
    stop_if_done();
}

void Worker::wake_connections() {
    // From the last one down: a connection that ends removes itself and moves the last one to its
    // place.
    for (std::size_t i = connections_.size(); i-- > 0;) {
        if (i < connections_.size()) {
            connections_[i]->wake();
        }
    }
}

void Worker::stop_if_done() {
    if (!closing_idle_ || !connections_.empty()) {
        return;
    }
    loop_->timers().cancel(*finish_alarm_);
    loop_->timers().cancel(*sweep_alarm_);
    loop_->timers().cancel(*queue_alarm_);
    upstreams_.retire_all(snapshot_->upstream_version);
    publish_listener_counters();
    loop_->stop();
}

}  // namespace weir::proxy

#include "proxy/worker.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include "limiter/limiter.h"
#include "net/clock.h"
#include "proxy/client_connection.h"

namespace weir::proxy {
namespace {

/// Free buffers of each size kept by a worker: 2 MiB of large ones.
constexpr std::size_t kKeptBuffers = 64;

/// RFC 9110, 5.6.7, in English whatever the locale.
std::string imf_fixdate(Duration since_1970) {
    static constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed",
                                                         "Thu", "Fri", "Sat"};
    static constexpr std::array<const char*, 12> kMonths = {
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_1970).count();
    const std::time_t time = static_cast<std::time_t>(seconds);
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    std::array<char, 40> text{};
    const int size = std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                   kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                                   kMonths[static_cast<std::size_t>(parts.tm_mon)],
                                   parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
    return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace

class Worker::Alarm final : public net::TimerEntry {
  public:
    explicit Alarm(std::function<void()> action) : action_(std::move(action)) {}
    ~Alarm() override = default;

  private:
    void expired() override { action_(); }
    std::function<void()> action_;
};

Worker::Worker(SharedState& shared, std::unique_ptr<net::EventLoop> loop,
               net::FileDescriptor listener, std::shared_ptr<const Snapshot> snapshot,
               std::uint64_t seed)
    : shared_(shared),
      loop_(std::move(loop)),
      buffers_(snapshot->limits.buffer, kKeptBuffers),
      upstreams_(counters_, shared.upstream_connections),
      random_(seed),
      snapshot_(std::make_shared<const ActiveSnapshot>(*snapshot, 0)),
      listener_(
          *loop_, std::move(listener), [this] { return may_accept(); },
          [this](net::FileDescriptor descriptor, const Endpoint& client) {
              accept(std::move(descriptor), client);
          }),
      sweep_alarm_(std::make_unique<Alarm>([this] { sweep(); })),
      finish_alarm_(std::make_unique<Alarm>([this] {
          if (listener_.is_open()) {
              stop_accepting();
          } else {
              abort_now();
          }
      })) {}

Worker::~Worker() { upstreams_.retire_all(snapshot_->upstream_version); }

Result<void> Worker::start() {
    // Here and not on the worker's thread: workers would register at the same time.
    limiter_context_ = &shared_.limiter.register_thread(random_.next());
    return listener_.start();
}

void Worker::run() {
    loop_->timers().arm(*sweep_alarm_, loop_->now() + kSweepInterval);
    loop_->run([this] { shared_.limiter.quiescent(*limiter_context_); });
}

void Worker::replace(std::shared_ptr<const Snapshot> snapshot) {
    loop_->post([this, snapshot = std::move(snapshot)]() mutable { take_over(snapshot); });
}

void Worker::take_over(std::shared_ptr<const Snapshot> snapshot) {
    const auto same = [](const net::SocketAddress& left, const net::SocketAddress& right) {
        return left.length == right.length &&
               std::memcmp(&left.storage, &right.storage, left.length) == 0;
    };
    const bool same_upstream =
        std::ranges::equal(snapshot->upstream, snapshot_->settings.upstream, same);
    const auto version = snapshot_->upstream_version + (same_upstream ? 0 : 1);
    if (!same_upstream) upstreams_.retire_all(version);
    buffers_.set_large(snapshot->limits.buffer);
    snapshot_ = std::make_shared<const ActiveSnapshot>(*snapshot, version);
    counters_.count(Event::reloads);
}

bool Worker::may_accept() {
    if (shared_.connections.load(std::memory_order_relaxed) < shared_.max_connections) return true;
    counters_.count(Event::accept_paused_connections);
    return false;
}

void Worker::accept(net::FileDescriptor descriptor, const Endpoint& client) {
    ClientConnection::start(*this, std::move(descriptor), client);
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
    const auto& now = listener_.counters();
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

std::string_view Worker::date() {
    if (date_.empty() || loop_->now() - date_read_ >= std::chrono::seconds(1)) {
        date_ = imf_fixdate(net::unix_time());
        date_read_ = loop_->now();
    }
    return date_;
}

void Worker::finish(Instant accept_until, Duration grace) {
    loop_->post([this, accept_until, grace] {
        if (finishing_) return;
        finishing_ = true;
        grace_ = grace;
        loop_->timers().arm(*finish_alarm_, accept_until);
    });
}

void Worker::stop_accepting() {
    listener_.accept_rest();
    listener_.stop();
    closing_idle_ = true;
    loop_->timers().arm(*finish_alarm_, loop_->now() + grace_);
    wake_connections();
    stop_if_done();
}

void Worker::abort() {
    loop_->post([this] { abort_now(); });
}

void Worker::abort_now() {
    listener_.stop();
    finishing_ = closing_idle_ = aborting_ = true;
    wake_connections();
    stop_if_done();
}

void Worker::wake_connections() {
    // Whoever ends takes itself out and moves the last one into its place: go downwards.
    for (std::size_t i = connections_.size(); i-- > 0;) {
        if (i < connections_.size()) connections_[i]->wake();
    }
}

void Worker::stop_if_done() {
    if (!closing_idle_ || !connections_.empty()) return;
    loop_->timers().cancel(*finish_alarm_);
    loop_->timers().cancel(*sweep_alarm_);
    upstreams_.retire_all(snapshot_->upstream_version);
    publish_listener_counters();
    loop_->stop();
}

}  // namespace weir::proxy

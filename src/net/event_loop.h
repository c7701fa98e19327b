#pragma once
// The event loop of one worker thread, on epoll. A descriptor is registered once, edge triggered,
// so that waiting for it later costs no system call. Decision 0007 says why workers run this loop
// and not an io_context. One turn of the loop waits, reads the clock once, serves events, posted
// work and timers, and then calls the turn hook.
//
// Thread-safety: post() and stop() may be called from any thread, everything else from the thread
// that runs the loop, or before it runs. Ownership: the loop borrows descriptors and sinks, which
// must be removed before it is destroyed.

#include <array>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "net/file_descriptor.h"
#include "net/timer_wheel.h"

struct epoll_event;

namespace weir::net {

/// An object that is told of the events of a descriptor. In on_events() it may remove and destroy
/// itself and any other sink.
class EventSink {
  public:
    virtual void on_events(std::uint32_t epoll_events) = 0;

  protected:
    ~EventSink() = default;
};

class EventLoop {
  public:
    /// A turn without events or timers ends after this time, so that the hook runs.
    static constexpr Duration kLongestTurn = std::chrono::milliseconds(500);
    static constexpr std::size_t kEventsPerTurn = 128;
    /// While turns are full (kEventsPerTurn events each), timers wait for at most this many turns.
    /// So, after the process was stopped for a while, bytes that came in time are read before a
    /// timeout ends their connection.
    static constexpr int kTurnsBeforeTimers = 64;

    [[nodiscard]] static Result<std::unique_ptr<EventLoop>> create();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;
    ~EventLoop();

    /// Runs until stop() is called. Calls `turn_hook` at the end of each turn.
    void run(const std::function<void()>& turn_hook);
    void stop();
    /// Has the loop's thread run `work` in its next turn.
    void post(std::function<void()> work);

    /// The monotonic time at the beginning of this turn.
    [[nodiscard]] Instant now() const { return now_; }
    [[nodiscard]] TimerWheel& timers() { return timers_; }

    /// Registers the descriptor, edge triggered, for these epoll events, until remove(). Fails with
    /// `io` when the system refuses.
    [[nodiscard]] Result<void> add(int descriptor, std::uint32_t epoll_events, EventSink& sink);
    /// Events of this turn that the sink has not been told of are dropped.
    void remove(int descriptor, EventSink& sink);

    /// For co_await: the coroutine goes on in the next turn, after the events of other connections.
    [[nodiscard]] auto next_turn() {
        struct Awaiter {
            EventLoop& loop;
            [[nodiscard]] bool await_ready() const { return false; }
            void await_suspend(std::coroutine_handle<> handle) const {
                loop.deferred_.push_back(handle);
            }
            void await_resume() const {}
        };
        return Awaiter{*this};
    }

  private:
    struct Waker;
    struct Events;
    explicit EventLoop(FileDescriptor epoll, FileDescriptor waker);
    void serve_events(int count);
    void advance_timers(int count);
    void run_posted();
    void run_deferred();

    FileDescriptor epoll_;
    FileDescriptor wake_descriptor_;
    Instant now_;
    TimerWheel timers_;
    int turns_before_timers_ = 0;
    std::unique_ptr<Events> events_;
    std::unique_ptr<Waker> waker_;
    std::vector<std::coroutine_handle<>> deferred_;
    std::vector<std::coroutine_handle<>> resuming_;

    std::mutex mutex_;  ///< guards posted_
    std::vector<std::function<void()>> posted_;
    std::atomic<bool> has_posted_ = false;
    std::atomic<bool> stopped_ = false;
};

}  // namespace weir::net

#pragma once
// One thread's event loop on epoll, for the data path: descriptors are registered once, edge
// triggered, and nothing is added per wait. docs/decisions/ says why the workers run this instead
// of an io_context. One turn: wait, read the clock once, serve events, posted work and timers,
// then the turn hook.
//
// Thread-safety: post() and stop() from any thread, everything else from the thread that runs the
// loop (or before it runs). Descriptors must be removed before the loop is destroyed.

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

/// Something with a descriptor that wants to hear of events. May remove and destroy itself, or
/// any other, in on_events().
class EventSink {
  public:
    virtual void on_events(std::uint32_t epoll_events) = 0;

  protected:
    ~EventSink() = default;
};

class EventLoop {
  public:
    /// A turn lasts at most this long without events or timers, so that the hook runs.
    static constexpr Duration kLongestTurn = std::chrono::milliseconds(500);
    static constexpr std::size_t kEventsPerTurn = 128;
    /// Timers wait while a turn takes all the events it can: after a stop of the process what came
    /// in time is served before anything is found late. At most this many turns in a row.
    static constexpr int kTurnsBeforeTimers = 64;

    [[nodiscard]] static Result<std::unique_ptr<EventLoop>> create();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;
    ~EventLoop();

    /// Until stop(). `turn_hook` ends each turn.
    void run(const std::function<void()>& turn_hook);
    void stop();
    void post(std::function<void()> work);

    /// The clock as read at the beginning of this turn.
    [[nodiscard]] Instant now() const { return now_; }
    [[nodiscard]] TimerWheel& timers() { return timers_; }

    /// Edge triggered for the epoll events given, until remove().
    [[nodiscard]] Result<void> add(int descriptor, std::uint32_t epoll_events, EventSink& sink);
    /// Also forgets events of this turn that were not delivered yet.
    void remove(int descriptor, EventSink& sink);

    /// Awaitable: goes on in the next turn, after the others had theirs.
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

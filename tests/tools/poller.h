#pragma once
// A simple epoll loop for the test tools: level-triggered descriptors with one handler each, and
// waits with time-outs in nanoseconds (epoll_pwait2). Single-threaded. The poller does not own
// handlers. A handler that is to be destroyed while the same turn may have more events for it is
// given to retire(), which keeps it until the end of the turn and delivers no further event to it.

#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

namespace weir::tools {

class EventHandler {
  public:
    virtual ~EventHandler() = default;
    /// `events` is epoll's mask (EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR).
    virtual void on_events(std::uint32_t events) = 0;
};

class Poller {
  public:
    Poller();
    ~Poller();
    Poller(const Poller&) = delete;
    Poller& operator=(const Poller&) = delete;

    void add(int descriptor, std::uint32_t events, EventHandler* handler);
    void change(int descriptor, std::uint32_t events, EventHandler* handler);
    void remove(int descriptor);
    void retire(std::unique_ptr<EventHandler> handler);

    /// Waits at most `timeout_ns` (below 0: without end) and calls the handlers that are ready.
    void turn(std::int64_t timeout_ns);

  private:
    int epoll_;
    std::vector<std::unique_ptr<EventHandler>> retired_;
    std::unordered_set<EventHandler*> retired_addresses_;
};

}  // namespace weir::tools

#pragma once
// The events of a virtual world in the order of their time. Events of the same instant come in the
// order in which they were scheduled, so that a run is repeatable. Not thread-safe. It owns the
// events until they are taken.

#include <cstdint>
#include <queue>
#include <vector>

#include "base/instant.h"

namespace weir::sim {

enum class EventKind : std::uint8_t { tick, datagram, arrival, action, end };

struct ScheduledEvent {
    Instant at;
    std::uint64_t order = 0;
    EventKind kind{};
    std::uint32_t subject = 0;  // a sidecar, a datagram, an action, or a request
    std::uint32_t epoch = 0;    // of the sidecar's process: events for an ended process are void
};

class EventQueue {
  public:
    void push(Instant at, EventKind kind, std::uint32_t subject, std::uint32_t epoch) {
        queue_.push({at, order_++, kind, subject, epoch});
    }
    [[nodiscard]] bool empty() const { return queue_.empty(); }
    [[nodiscard]] const ScheduledEvent& next() const { return queue_.top(); }
    ScheduledEvent pop() {
        const ScheduledEvent event = queue_.top();
        queue_.pop();
        return event;
    }

  private:
    struct Later {
        bool operator()(const ScheduledEvent& one, const ScheduledEvent& other) const {
            return one.at != other.at ? one.at > other.at : one.order > other.order;
        }
    };
    std::priority_queue<ScheduledEvent, std::vector<ScheduledEvent>, Later> queue_;
    std::uint64_t order_ = 0;
};

}  // namespace weir::sim

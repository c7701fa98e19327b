#pragma once
// Notices that the process was stopped (SIGSTOP, a paused container, no processor time): its tick
// is late by more than a threshold. The datagrams that waited in the socket meanwhile are out of
// date, so for a moment all datagrams are discarded. Only afterwards are the peers asked, because
// their answers would be discarded as well. A state machine without a clock; not thread-safe.

#include "base/instant.h"

namespace weir::engine {

class StopDetector {
  public:
    /// A tick is expected every `interval`; one that is late by more than `threshold` means a stop.
    StopDetector(Duration interval, Duration threshold)
        : interval_(interval), threshold_(threshold) {}

    void start(Instant now) { last_tick_ = now; }
    [[nodiscard]] Instant next_tick() const { return last_tick_ + interval_; }
    /// Whether a datagram that is read now may have waited while the process was stopped.
    [[nodiscard]] bool discards(Instant now) const { return is_late(now) || discarding(now); }
    /// Notes a tick. True when it is late, which means that a stop has just ended.
    [[nodiscard]] bool tick(Instant now) {
        const bool late = is_late(now);
        last_tick_ = now;
        return late;
    }
    /// From now on datagrams are discarded, for as long as reading those that waited takes.
    void begin_discarding(Instant now) {
        stopped_ = true;
        discard_until_ = now + kDiscardTime;
    }
    [[nodiscard]] bool discarding(Instant now) const { return now < discard_until_; }
    /// True once after each stop, as soon as datagrams are not discarded any more.
    [[nodiscard]] bool take_recovered(Instant now) {
        if (!stopped_ || discarding(now)) {
            return false;
        }
        stopped_ = false;
        return true;
    }

  private:
    /// Within this time after a stop all datagrams that waited in the socket are read.
    static constexpr Duration kDiscardTime = std::chrono::milliseconds(30);

    [[nodiscard]] bool is_late(Instant now) const {
        return now - last_tick_ > threshold_ + interval_;
    }

    Duration interval_;
    Duration threshold_;
    Instant last_tick_{};
    Instant discard_until_{};
    bool stopped_ = false;
};

}  // namespace weir::engine

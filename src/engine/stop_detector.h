#pragma once
// Notices that the process had been stopped (SIGSTOP, a paused container, a starved processor): its
// tick is late by more than a threshold. What waited in the socket meanwhile was true when it was
// written, so it is discarded for a moment; nobody is asked before, since the answers would be
// thrown away too. Plain state machine; not thread-safe.

#include "base/instant.h"

namespace weir::engine {

class StopDetector {
  public:
    /// A tick is expected every `interval`; one that is late by more than `threshold` means a stop.
    StopDetector(Duration interval, Duration threshold)
        : interval_(interval), threshold_(threshold) {}

    void start(Instant now) { last_tick_ = now; }
    [[nodiscard]] Instant next_tick() const { return last_tick_ + interval_; }
    /// Whether a datagram that is read now waited while the process was stopped.
    [[nodiscard]] bool discards(Instant now) const { return is_late(now) || discarding(now); }
    /// True when this tick is late: a stop has just ended.
    [[nodiscard]] bool tick(Instant now) {
        const bool late = is_late(now);
        last_tick_ = now;
        return late;
    }
    /// From here on what waited is discarded, for as long as reading it takes.
    void begin_discarding(Instant now) {
        stopped_ = true;
        discard_until_ = now + kDiscardTime;
    }
    [[nodiscard]] bool discarding(Instant now) const { return now < discard_until_; }
    /// True once after a stop, as soon as nothing is discarded any more.
    [[nodiscard]] bool take_recovered(Instant now) {
        if (!stopped_ || discarding(now)) {
            return false;
        }
        stopped_ = false;
        return true;
    }

  private:
    /// After a stop, what waited in the socket is read in this time.
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

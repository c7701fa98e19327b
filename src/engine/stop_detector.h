#pragma once
// Notices that the process was stopped (SIGSTOP, a paused container, no processor time): its tick
// is late by more than a threshold. The datagrams that waited in the socket meanwhile are out of
// date, so for a moment all datagrams are discarded. Only afterwards are the peers asked, because
// their answers would be discarded as well.
//
// When a whole machine is paused its monotonic clock may stand still, and no tick is late. Then the
// members' clocks in the datagrams that waited tell how far the own clock is behind. While these
// are read only their clocks count. Then whoever owns the clock moves it forward, which makes the
// next tick late. A state machine without a clock; not thread-safe.

#include <optional>
#include <utility>

#include "base/instant.h"

namespace weir::engine {

class StopDetector {
  public:
    /// A tick that is late by more than `threshold` means a stop.
    explicit StopDetector(Duration threshold) : threshold_(threshold) {}

    /// Says when the next tick is expected.
    void expect(Instant due) { due_ = due; }
    /// Whether a tick at this instant is late, which means that a stop has just ended.
    [[nodiscard]] bool is_late(Instant now) const { return now - due_ > threshold_; }
    /// Whether a datagram that is read now may have waited while the process was stopped.
    [[nodiscard]] bool discards(Instant now) const { return is_late(now) || discarding(now); }
    /// Notes by how much the own clock is behind, as the members say after each datagram; zero if
    /// they do not say so. True while only the clocks in datagrams count.
    [[nodiscard]] bool lags(Duration behind, Instant now) {
        if (behind > Duration::zero() && !lag_read_at_) {
            lag_read_at_ = now + kDiscardTime;
        }
        // The later datagrams know more of the pause.
        behind_ = behind > Duration::zero() ? behind : behind_;
        return lag_read_at_.has_value();
    }
    /// By how much the clock has to be moved forward; zero: not at all, or not yet.
    [[nodiscard]] Duration take_lag(Instant now) {
        if (!lag_read_at_ || now < *lag_read_at_) {
            return {};
        }
        lag_read_at_.reset();
        return std::exchange(behind_, Duration::zero());
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

    Duration threshold_;
    Instant due_{};
    Instant discard_until_{};
    std::optional<Instant> lag_read_at_;  // when the datagrams that waited have been read
    Duration behind_{};
    bool stopped_ = false;
};

}  // namespace weir::engine

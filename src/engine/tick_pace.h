#pragma once
// Says when the engine's next tick is due: every 10 ms while there is something to do, and every 50
// ms while there is nothing, because ticks are most of what an idle sidecar costs. It also counts
// the ticks. A value that owns nothing; not thread-safe.
//
// Invariants: a tick that ends a rest of 50 ms has a number that is a multiple of kRestTicks. So
// work that is done at multiples of such a number is not left out, and comes no more seldom.

#include <cstdint>

#include "base/instant.h"

namespace weir::engine {

class TickPace {
  public:
    static constexpr Duration kInterval = std::chrono::milliseconds(10);
    static constexpr std::uint64_t kRestTicks = 5;
    static constexpr Duration kRestInterval = kRestTicks * kInterval;
    /// The engine rests when it had nothing to do for so long.
    static constexpr Duration kRestAfter = std::chrono::seconds(1);

    void start(Instant now) { last_tick_ = worked_ = now; }
    /// Counts a tick.
    void tick(Instant now) {
        const bool rested = rests() && now - last_tick_ >= kRestInterval;
        number_ += rested ? kRestTicks - number_ % kRestTicks : 1;
        last_tick_ = now;
        hurries_ = false;
    }
    /// If there was something to do, there may soon be more.
    void note_work(bool any, Instant now) { worked_ = any ? now : worked_; }
    /// Makes the next tick come after kInterval, if it must. The ticks after it are not affected.
    void hurry(bool must) { hurries_ = hurries_ || must; }
    [[nodiscard]] std::uint64_t number() const { return number_; }
    [[nodiscard]] bool is_tenth() const { return number_ % 10 == 0; }
    [[nodiscard]] Instant next() const {
        return last_tick_ + (rests() ? kRestInterval : kInterval);
    }

  private:
    [[nodiscard]] bool rests() const { return !hurries_ && last_tick_ - worked_ >= kRestAfter; }

    Instant last_tick_{};
    Instant worked_{};
    std::uint64_t number_ = 0;
    bool hurries_ = false;
};

}  // namespace weir::engine

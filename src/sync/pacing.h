#pragma once
// How much slower an overloaded owner asks its origins to be, in tenths by which their keep-alive
// and error budget grow. A leaky bucket over the load lets a short jump pass and reacts to a load
// that stays. Not thread-safe; belongs to the control thread.

#include <algorithm>
#include <cstdint>

#include "base/assert.h"
#include "sync/settings.h"

namespace weir::sync {

class Pacing {
  public:
    /// To be called once a second with the load of that second: the share that was used of what may
    /// be sent or received.
    void note_second(const SyncSettings& settings, double load) {
        WEIR_ASSERT(load >= 0);
        excess_ = std::clamp(excess_ + load - kBusy, 0.0, kPatience + 1);
        if (load > kBusy && excess_ > kPatience) {
            tenths_ = std::min<std::uint8_t>(settings.largest_pace, tenths_ + kStep);
        }
        if (tenths_ > 0 && load * (10 + tenths_) / (9 + tenths_) < kCalm) {
            --tenths_;
        }
        WEIR_ASSERT(tenths_ <= settings.largest_pace);
    }
    [[nodiscard]] std::uint8_t tenths() const { return tenths_; }

  private:
    /// Shares of what may be sent or received in a second. The pace is reduced by a tenth if the
    /// load stays below kCalm even then.
    static constexpr double kBusy = 0.8;
    static constexpr double kCalm = 0.7;
    /// How much load above kBusy passes, in seconds of the bound. A tenfold jump in a fleet of
    /// 1,000 takes 2.5 seconds' worth; if origins were slowed down during it, every member would be
    /// left with the rates in the middle of the jump.
    static constexpr double kPatience = 4;
    static constexpr std::uint8_t kStep = 5;

    double excess_ = 0;
    std::uint8_t tenths_ = 0;
};

}  // namespace weir::sync

#pragma once
// How far an owner under pressure slows its origins down: tenths on top of their keep-alive and
// error budget. A leaky bucket of its own: what a jump of the load costs once is let pass, a load
// that stays is answered. Plain value, not thread-safe.

#include <algorithm>
#include <cstdint>

#include "sync/settings.h"

namespace weir::sync {

class Pacing {
  public:
    /// Once a second: the datagrams of that second, of the direction with more of them.
    void note_second(const SyncSettings& settings, std::uint64_t datagrams) {
        const double load =
            static_cast<double>(datagrams) / static_cast<double>(settings.datagrams_per_second);
        excess_ = std::clamp(excess_ + load - kBusy, 0.0, kPatience + 1);
        if (load > kBusy && excess_ > kPatience) {
            tenths_ = std::min<std::uint8_t>(settings.largest_pace, tenths_ + kStep);
        }
        if (tenths_ > 0 && load * (10 + tenths_) / (9 + tenths_) < kCalm) {
            --tenths_;
        }
    }
    [[nodiscard]] std::uint8_t tenths() const { return tenths_; }

  private:
    /// Shares of the bound of datagrams a second. Calm is what stays so with one tenth less.
    static constexpr double kBusy = 0.8;
    static constexpr double kCalm = 0.7;
    /// Seconds' worth of that bound above kBusy that pass: a tenfold jump in a fleet of 1,000 takes
    /// 2.5, and slowing origins down then leaves everybody with the rates of the jump's middle.
    static constexpr double kPatience = 4;
    static constexpr std::uint8_t kStep = 5;

    double excess_ = 0;
    std::uint8_t tenths_ = 0;
};

}  // namespace weir::sync

#pragma once
// A token bucket of bytes for one lane of outgoing datagrams. Plain value, not thread-safe.

#include "base/instant.h"

namespace weir::gossip {

struct BudgetSettings {
    double bytes_per_second = 0;
    double burst = 0;
};

class Budget {
  public:
    explicit Budget(const BudgetSettings& settings) : settings_(settings), left_(settings.burst) {}

    /// Takes the bytes if they are there, and so many more that it leaves to what is more urgent.
    [[nodiscard]] bool take(std::size_t bytes, Instant now, double reserve);
    [[nodiscard]] bool take(std::size_t bytes, Instant now) { return take(bytes, now, 0); }
    /// Another rate and burst from now on; what is there stays.
    void resize(const BudgetSettings& settings) { settings_ = settings; }
    [[nodiscard]] double burst() const { return settings_.burst; }

  private:
    BudgetSettings settings_;
    double left_;
    Instant last_{};
};

}  // namespace weir::gossip

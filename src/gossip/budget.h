#pragma once
// A token bucket of bytes for one lane of outgoing datagrams. Plain value, not thread-safe.

#include "base/instant.h"

namespace weir::gossip {

struct BudgetSettings {
    double bytes_per_second = 0;
    double burst = 0;
};

/// A bucket that holds at most `burst` bytes, is filled at the rate, and is full at first.
class Budget {
  public:
    explicit Budget(const BudgetSettings& settings) : settings_(settings), left_(settings.burst) {}

    /// Takes the bytes, if `reserve` bytes remain afterwards for more urgent datagrams. False if
    /// not; then nothing is taken.
    [[nodiscard]] bool take(std::size_t bytes, Instant now, double reserve);
    [[nodiscard]] bool take(std::size_t bytes, Instant now) { return take(bytes, now, 0); }
    /// Sets another rate and burst from now on. The bytes in the bucket stay.
    void resize(const BudgetSettings& settings) { settings_ = settings; }
    /// Adds bytes, and room for them, once.
    void grant(double bytes) {
        settings_.burst += bytes;
        left_ += bytes;
    }
    /// How many bytes could be taken now.
    [[nodiscard]] double left(Instant now) const;
    [[nodiscard]] double burst() const { return settings_.burst; }

  private:
    BudgetSettings settings_;
    double left_;
    Instant last_{};
};

}  // namespace weir::gossip

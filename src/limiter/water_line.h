#pragma once
// The water line of a parent that sheds fairly: max-min fairness with shares. A child whose offered
// rate is d passes min(d, line*share), so that children below the line lose nothing to those above
// it, and what the children leave of the parent's limit is divided among those above in proportion
// to their shares. docs/limiter.md says what this does to a load.
//
// Pure values. As thread-safe as any.

#include <cstdint>
#include <span>
#include <vector>

namespace weir::limiter {

/// The weight per second that one child of a parent is offered, after what its own limits and the
/// others of its chain refuse.
struct ChildRate {
    std::uint64_t child = 0;  // by which hash the caller likes
    double rate = 0;
    double share = 1;
    /// The water line at which the child would begin to lose.
    [[nodiscard]] double line() const { return rate / share; }
    friend bool operator==(const ChildRate&, const ChildRate&) = default;
};

/// So many children of a parent are known by their rates, at most: those that are offered most,
/// each divided by its share.
inline constexpr std::size_t kKnownChildren = 1024;

/// What is known of a parent's children.
struct ChildRates {
    double total = 0;  // what all children are offered, known or not
    /// Children that are not among the known ones are offered at most this, times their share.
    double rest = 0;
    /// Whether there were more children above `rest` than can be known. The others are then treated
    /// alike, as if each were offered `rest`.
    bool full = false;
    std::vector<ChildRate> children;
    friend bool operator==(const ChildRates&, const ChildRates&) = default;
};

/// Keeps the kKnownChildren children with the highest lines, highest first, and of these the ones
/// whose line is at least `least`. Sets `rest` and `full`.
void keep_highest(ChildRates& rates, double least);

/// The line as a function of the share of all offered weight that the parent lets through.
class WaterLine {
  public:
    explicit WaterLine(const ChildRates& rates);
    /// The line at which the children together pass this share of what they are offered. At 1 it is
    /// the highest line of a child. 0 when no child is known.
    [[nodiscard]] double at(double passing) const;

  private:
    struct Corner {
        double line = 0;
        double passed = 0;  // weight per second that passes at this line
    };
    std::vector<Corner> corners_;
    double total_ = 0;
};

}  // namespace weir::limiter

#pragma once
// The load generator's schedule: when requests are due and at which target. It is made from a seed
// and does not depend on how fast targets answer. Times are seconds since the start of the run.
// Reads no clock; not thread-safe.

#include <cstddef>
#include <optional>
#include <vector>

#include "base/random.h"

namespace weir::tools {

/// A rate that holds from `at_s` until the next step.
struct RateStep {
    double at_s = 0;
    double per_second = 0;
};

/// A stream of arrival times with a rate that changes in steps.
class Arrivals {
  public:
    enum class Kind { constant, poisson };

    /// `steps` are ordered by time, and the first one is at 0.
    Arrivals(Kind kind, std::vector<RateStep> steps, Random random);

    /// The time of the next arrival; infinite when there is none any more.
    [[nodiscard]] double next_s() const { return next_s_; }
    void advance();
    /// Sets the rate from now on, in place of the remaining steps.
    void set_rate(double now_s, double per_second);

  private:
    Kind kind_;
    std::vector<RateStep> steps_;
    std::size_t step_ = 0;
    Random random_;
    double next_s_ = 0;
};

struct ShareStep {
    double at_s = 0;
    std::vector<double> shares;
};

/// Distributes a stream's arrivals over targets, either in turns (smooth weighted round robin) or
/// at random.
class Spread {
  public:
    enum class Kind { turns, random };

    Spread(Kind kind, std::vector<ShareStep> steps, Random random);

    /// The target of the next arrival; none when every target with a share is paused. The share of
    /// a paused target goes to the others, as with a load balancer that has removed it.
    [[nodiscard]] std::optional<std::size_t> pick(double now_s, const std::vector<bool>& paused);

  private:
    [[nodiscard]] std::size_t in_turn(const std::vector<double>& weights, double sum);
    [[nodiscard]] std::size_t by_lot(const std::vector<double>& weights, double sum);

    Kind kind_;
    std::vector<ShareStep> steps_;
    std::size_t step_ = 0;
    Random random_;
    std::vector<double> credit_;
    std::vector<double> weights_;
};

}  // namespace weir::tools

#pragma once
// When requests are due, and at which target: the generator's schedule, made from a seed and
// independent of how quickly anything answers. Times are seconds since the run's start. Pure.

#include <cstddef>
#include <optional>
#include <vector>

#include "base/random.h"

namespace weir::tools {

/// From `at_s` on, until the next step.
struct RateStep {
    double at_s = 0;
    double per_second = 0;
};

/// A stream of arrival times with a rate that changes in steps.
class Arrivals {
  public:
    enum class Kind { constant, poisson };

    /// `steps` in order of time, the first at 0.
    Arrivals(Kind kind, std::vector<RateStep> steps, Random random);

    /// The next arrival; infinite when there is none any more.
    [[nodiscard]] double next_s() const { return next_s_; }
    void advance();
    /// From now on this rate, instead of the steps still to come.
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

/// Spreads a stream's arrivals over targets: in turns (smooth weighted round robin) or by lot.
class Spread {
  public:
    enum class Kind { turns, random };

    Spread(Kind kind, std::vector<ShareStep> steps, Random random);

    /// The target of an arrival; none when every target with a share is paused. A paused target's
    /// share goes to the others, as behind a balancer that took it out.
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

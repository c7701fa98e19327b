#pragma once
// Measures what a story did with its limits of windows and of requests in flight: how much was
// admitted in each window, and how many requests were in flight. It is told of the run as a checker
// is, and objects to nothing. Not thread-safe; it owns what it measures (checker.h).

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/checkers/checker.h"
#include "sim/in_flight_count.h"

namespace weir::sim {

/// What a run did with one limit of windows or of requests in flight, while the load was steady.
struct CountedFigure {
    std::string quota;
    bool windows = false;  // else the limit is one of requests in flight
    double limit = 0;      // how much it admits in a window, or at once
    /// Of windows: how many began and ended in this time, and how much was admitted in those with
    /// least and most. Of requests in flight: how many were in flight on average and at most.
    std::size_t count = 0;
    double least = 0;
    double most = 0;
    double mean = 0;
};

class CountedFigures final : public Checker {
  public:
    CountedFigures(std::size_t sidecars, const FleetLimits& fleet);

    /// Between which times of the story the load is steady. To be called before the story begins.
    void measure(double from, double to) {
        from_ = from;
        to_ = to;
    }
    /// One figure for each such limit, in the order of the limits.
    [[nodiscard]] std::vector<CountedFigure> figures() const;

    [[nodiscard]] std::string_view name() const override { return "figures"; }
    void request(const RequestFact& request) override;
    void finished(const RequestFact& request) override;
    void sample(const Facts& facts, Findings& findings) override;
    void ending(const Facts& facts, const ProcessFact& process, Findings& findings) override;

  private:
    void advance(double at);
    [[nodiscard]] CountedFigure figure_of_windows(LimitIndex limit) const;

    std::vector<LimitFact> limits_;
    InFlightCount in_flight_;
    double from_ = 0;
    double to_ = std::numeric_limits<double>::infinity();
    double at_ = 0;
    std::vector<double> areas_;  // requests in flight times seconds, by limit
    std::vector<double> most_;   // in flight, by limit
    /// What was admitted in each window, by limit and the window's end in seconds of the story.
    std::map<std::pair<LimitIndex, double>, double> windows_;
};

}  // namespace weir::sim

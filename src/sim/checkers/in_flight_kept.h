#pragma once
// Checks that no more requests are in flight than a limit says: at any instant at most n and one
// for each sidecar, as each may begin with one more than its part. A process that has just been
// started begins with an equal part, before it is taken from the others; so for kFresh seconds it
// may have half of n more, which is what it takes for its part while it knows of one other. When a
// fault keeps sidecars from hearing each other, and for kHealed seconds after it, both sides
// together may have twice n: the larger one takes what the smaller one still uses. When all
// requests have ended, every sidecar counts none. Not thread-safe; it owns what it counts
// (checker.h).

#include <vector>

#include "sim/checkers/checker.h"
#include "sim/in_flight_count.h"

namespace weir::sim {

class InFlightKept final : public Checker {
  public:
    static constexpr double kHealed = 15;
    static constexpr double kFresh = 6;

    InFlightKept(std::size_t sidecars, const FleetLimits& fleet);

    [[nodiscard]] std::string_view name() const override { return "requests in flight"; }
    void request(const RequestFact& request) override;
    void finished(const RequestFact& request) override { count_.finish(request); }
    void sample(const Facts& facts, Findings& findings) override;
    void ending(const Facts& facts, const ProcessFact& process, Findings& findings) override;
    void settled(const Facts& facts, Findings& findings) override;

  private:
    [[nodiscard]] static double allowed(const Facts& facts, double limit);

    InFlightCount count_;
    std::vector<double> most_;  // in flight since the last sample, by limit
    std::size_t members_;       // the most since the last sample
};

}  // namespace weir::sim

#pragma once
// Checks that nobody is starved, by two rules for every ten seconds.
//
// First, the fleet admits most of the requests that one central bucket admits of the same arrivals:
// no quota is ever closed, whatever happens to the fleet and whatever one peer says. Of `central`
// requests that the bucket admits, the fleet may lack the sum of three numbers:
// - What it pays back. When the load jumps, the fleet admits more than the limit allows before any
//   member knows it. The level is then at the ceiling at most. The fleet admits less until the
//   level has drained to `low`, where nothing is refused. That takes (ceiling - low) / rate seconds
//   of the ten; the limit of the chain with the longest time counts.
// - What is reserved. When a sidecar falls silent, its part of the limit stays reserved for it for
//   a while: that of one of n sidecars, in a window with a fault and in the next one.
// - Chance. The fleet and the bucket choose at random, and differently, which requests they refuse.
//   Three standard deviations are 3 sqrt(central).
//
// Where a quota shares a limit with others, the sum above is no bound, since the others may take
// what it lacks for a while. It must get at least kShareOfShared of what the bucket lets through,
// or of an equal part of what it lets through for all of them: the bucket refuses the children of a
// parent all alike, while a parent that sheds fairly gives those that ask for most a smaller part.
//
// Second, of what it is offered under a quota, each sidecar admits at least kShareOfFleet times the
// share that the whole fleet admits: no client is refused more because of the sidecar that it uses.
// This rule does not hold for a sidecar that was stopped or cut off in that time, so it is applied
// only to ten seconds without a fault.
//
// Neither is applied to quotas under limits of windows or of requests in flight, which have
// checkers of their own (windows_kept.h, in_flight_used.h). Both are applied only where enough
// requests are expected that chance cannot explain a breach. Not thread-safe; it owns what it
// counts (checker.h).

#include <vector>

#include "sim/checkers/checker.h"
#include "sim/fleet_limits.h"

namespace weir::sim {

class NobodyStarved final : public Checker {
  public:
    static constexpr double kWindow = 10;
    static constexpr double kEnough = 50;
    static constexpr double kDeviations = 3;
    static constexpr double kShareOfFleet = 0.4;
    /// The least share of the central bucket's admissions for a quota that shares a limit with
    /// others. It is lower, because no figure of a single limit says how a flood divides that
    /// limit's rate among them at first.
    static constexpr double kShareOfShared = 0.3;

    NobodyStarved(std::size_t sidecars, const FleetLimits& fleet);

    [[nodiscard]] std::string_view name() const override { return "nobody starved"; }
    void request(const RequestFact& request) override;
    void sample(const Facts& facts, Findings& findings) override;

  private:
    struct Counts {
        double offered = 0;
        double admitted = 0;
        double central = 0;
    };
    void judge(const Facts& facts, Findings& findings) const;

    [[nodiscard]] double least_admitted(std::size_t quota, double central, bool disturbed) const;
    [[nodiscard]] double equal_part(std::size_t quota) const;

    std::size_t sidecars_;
    std::vector<bool> counted_;      // by quota: under a limit of windows or of requests in flight
    std::vector<double> paid_back_;  // seconds of paying back, by quota
    std::vector<bool> shared_;       // by quota: it has a limit that other quotas have, too
    /// By quota: the quotas that have one of its limits, too, one list for each of these limits.
    std::vector<std::vector<std::vector<std::size_t>>> beside_;
    std::vector<Counts> fleet_;    // by quota
    std::vector<Counts> sidecar_;  // by quota and sidecar
    double began_ = 0;
};

}  // namespace weir::sim

#pragma once
// Checks that limits of requests in flight are used, and by all sidecars, by two rules for every
// ten seconds. First, where the limit refuses at least half of the requests, and one central limit
// would do so, at least kUsed of it was in flight on average, less one request. Second, each
// sidecar admits at least kShareOfFleet times the fleet's share of what it is offered under such a
// limit, or times an equal part of all that is admitted, if that is less: owners divide by sidecar.
// Neither is asked within kHandedOut seconds of a fault: so long a part may be kept for a sidecar
// that cannot be heard. Not thread-safe; it owns what it counts (checker.h).

#include <vector>

#include "sim/checkers/checker.h"
#include "sim/in_flight_count.h"

namespace weir::sim {

class InFlightUsed final : public Checker {
  public:
    static constexpr double kWindow = 10;
    static constexpr double kRefused = 0.5;
    static constexpr double kUsed = 0.9;
    static constexpr double kShareOfFleet = 0.4;
    /// The second rule is applied only where so many requests are expected that chance cannot
    /// explain a breach.
    static constexpr double kEnough = 50;
    static constexpr double kHandedOut = 25;

    InFlightUsed(std::size_t sidecars, const FleetLimits& fleet);

    [[nodiscard]] std::string_view name() const override { return "requests in flight used"; }
    void request(const RequestFact& request) override;
    void finished(const RequestFact& request) override;
    void sample(const Facts& facts, Findings& findings) override;
    void ending(const Facts& facts, const ProcessFact& process, Findings& findings) override;

  private:
    struct Counts {
        double offered = 0;
        double admitted = 0;
    };
    void advance(double at);
    void judge_use(const Facts& facts, Findings& findings) const;
    void judge_shares(const Facts& facts, Findings& findings) const;

    std::size_t sidecars_;
    InFlightCount count_;
    std::vector<double> offered_;          // by limit
    std::vector<double> refused_;          // by limit
    std::vector<double> central_refused_;  // by limit
    std::vector<double> areas_;            // by limit: requests in flight times seconds
    std::vector<Counts> fleet_;            // by leaf
    std::vector<Counts> sidecar_;          // by leaf and sidecar
    double at_ = 0;
    double began_ = 0;
};

}  // namespace weir::sim

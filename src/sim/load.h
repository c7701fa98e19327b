#pragma once
// The load on a simulated fleet: how many requests per second there are, under which quotas, and to
// which sidecars. Requests arrive whether or not earlier ones were admitted. Plain values and a
// seeded generator; not thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/random.h"

namespace weir::sim {

/// A part of the load: from `from` (seconds of the story) on, the fleet gets `rate` requests per
/// second in all.
struct LoadPhase {
    double from = 0;
    double rate = 0;
    std::vector<double> shares = {};  // of each leaf; empty: those of the plan
};

struct LoadPlan {
    std::vector<LoadPhase> phases;    // in order of time; before the first one nothing is offered
    std::vector<std::string> quotas;  // the leaves (lists_of_names.h)
    std::vector<double> shares;       // of each leaf; empty: all the same
    bool constant_rate = false;       // requests at equal intervals; otherwise Poisson arrivals
    double skew = 0;                  // the share of the last sidecar; 0: the same for all
    /// The share of each leaf's load that one sidecar gets, another one for each leaf; 0: none.
    double home = 0;
    std::optional<std::uint32_t> idle;  // a sidecar that gets no requests
    /// Seconds for which one sidecar gets all load before the next one does; 0: never.
    double move_every = 0;
    /// Seconds for which an admitted request is in flight, times 0.5 to 1.5; 0: no time.
    double takes = 0;
};

struct Arrival {
    double at = 0;  // seconds of the story
    std::uint32_t sidecar = 0;
    std::uint32_t quota = 0;
};

class Load {
  public:
    Load(const LoadPlan& plan, std::uint32_t sidecars, Random random);
    /// The next arrival. Its time is infinite when nothing more is offered.
    [[nodiscard]] Arrival next();
    /// A sidecar for a request whose own sidecar does not run.
    [[nodiscard]] std::uint32_t any_sidecar();

  private:
    [[nodiscard]] const LoadPhase* phase_at(double at) const;
    [[nodiscard]] double rate_at(double at) const;
    [[nodiscard]] double next_phase(double at) const;
    [[nodiscard]] std::uint32_t pick_sidecar(double at);
    [[nodiscard]] std::uint32_t pick_quota(double at);

    LoadPlan plan_;
    std::uint32_t sidecars_;
    Random random_;
    double at_ = 0;
};

}  // namespace weir::sim

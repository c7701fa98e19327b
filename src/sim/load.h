#pragma once
// Open-loop load on a simulated fleet: how many requests a second, of which quotas, to which
// sidecars. Plain values and a seeded generator; not thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/random.h"

namespace weir::sim {

/// From `from` (seconds of the story) on, so many requests a second in all.
struct Phase {
    double from = 0;
    double rate = 0;
    std::vector<double> shares = {};  // of each leaf from here on; empty: the plan's
};

struct LoadPlan {
    std::vector<Phase> phases;          // in order of time; nothing before the first
    std::vector<std::string> quotas;    // leaves
    std::vector<double> shares;         // of each leaf; empty: even
    bool constant_rate = false;         // else Poisson
    double skew = 0;                    // share of the last sidecar; 0: even
    std::optional<std::uint32_t> idle;  // a sidecar that gets nothing
    double move_every = 0;  // all load on one sidecar, another one every so many seconds
};

struct Arrival {
    double at = 0;  // seconds of the story
    std::uint32_t sidecar = 0;
    std::uint32_t quota = 0;
};

class Load {
  public:
    Load(const LoadPlan& plan, std::uint32_t sidecars, Random random);
    /// The next arrival after the former one; nothing is offered past the end of time.
    [[nodiscard]] Arrival next();
    /// Another sidecar for a request whose own does not run.
    [[nodiscard]] std::uint32_t any_sidecar();

  private:
    [[nodiscard]] const Phase* phase_at(double at) const;
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

#pragma once
// Runs all checkers of a story. The watch records what really happens, reads the state of the fleet
// once a second, and passes both to every checker. It does not change the run. Not thread-safe;
// must outlive the run of its World.

#include <memory>
#include <string>
#include <vector>

#include "sim/central_bucket.h"
#include "sim/checkers/checker.h"
#include "sim/counted_figures.h"
#include "sim/told_weight.h"
#include "sim/window_watch.h"
#include "sim/world.h"

namespace weir::sim {

class Watch final : public Watcher {
  public:
    explicit Watch(const WorldPlan& plan);
    ~Watch() override;

    void started(World& world, std::uint32_t sidecar) override;
    void ending(World& world, std::uint32_t sidecar) override;
    void offered(World& world, std::uint32_t sidecar, const DecidedRequest& request,
                 double takes) override;
    void finished(World& world, std::uint32_t sidecar, std::uint32_t quota) override;
    void second(World& world) override;
    /// Lets the fleet settle until every sidecar believes all others alive, for at least
    /// `least_seconds` and at most `most_seconds`. Then asks all checkers for the last time.
    void settle(World& world, double least_seconds, double most_seconds);
    /// Tells the central bucket that a definition was edited at this time of the story.
    void edited(const limiter::QuotaDefinition& definition, double at);

    [[nodiscard]] const Findings& findings() const { return findings_; }
    /// How many requests the central bucket refused.
    [[nodiscard]] double central_refused() const { return central_refused_; }
    /// What owners did with all weight that they were told, summed over all of them.
    [[nodiscard]] const ToldWeight& told() const { return told_; }
    /// What became of limits of windows and of requests in flight while the load was steady.
    [[nodiscard]] CountedFigures& figures() { return *figures_; }

  private:
    [[nodiscard]] RequestFact fact_of(World& world, std::uint32_t sidecar,
                                      const DecidedRequest& request);
    void look(World& world, bool closely);
    void follow(const ProcessFact& process);
    [[nodiscard]] bool all_met() const;

    Facts facts_;
    CentralBucket central_;
    std::vector<std::unique_ptr<Checker>> checkers_;
    Findings findings_;
    std::vector<std::vector<LimitIndex>> chains_;  // limits by index of the leaf
    std::vector<std::size_t> process_of_;          // index in Facts::ever, by sidecar
    std::vector<std::uint64_t> incarnations_;      // last seen, by process
    bool counts_ = false;  // some limit is one of windows or of requests in flight
    std::unique_ptr<WindowWatch> windows_;
    CountedFigures* figures_ = nullptr;  // one of the checkers
    double central_refused_ = 0;
    ToldWeight told_;
};

}  // namespace weir::sim

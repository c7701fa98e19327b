#pragma once
// All checkers of a story together: keeps the true record of what happened, reads the state of the
// fleet once a second, and asks every checker. Nothing that it does changes the run.
// Knows quotas by their exact names, not templates. Not thread-safe; outlives the World's run.

#include <memory>
#include <string>
#include <vector>

#include "sim/central_bucket.h"
#include "sim/checkers/checker.h"
#include "sim/world.h"

namespace weir::sim {

class Watch final : public Watcher {
  public:
    explicit Watch(const WorldPlan& plan);
    ~Watch() override;

    void started(World& world, std::uint32_t sidecar) override;
    void ending(World& world, std::uint32_t sidecar) override;
    void offered(World& world, std::uint32_t sidecar, std::uint32_t quota, bool admitted) override;
    void second(World& world) override;
    /// Lets the fleet settle, for as long as it takes until everybody takes everybody for alive
    /// within these bounds, and judges what is left then.
    void settle(World& world, double least_seconds, double most_seconds);
    /// A definition was edited: from now on the central bucket goes by it, too.
    void edited(const limiter::QuotaDefinition& definition, double at);

    [[nodiscard]] const Findings& findings() const { return findings_; }
    /// Requests that the central bucket refused.
    [[nodiscard]] double central_refused() const { return central_refused_; }
    /// What became of all that was told, over the lives of all owners.
    [[nodiscard]] const sync::ToldWeight& told() const { return told_; }

  private:
    void look(World& world, bool closely);
    void follow(const ProcessFact& process);
    [[nodiscard]] bool all_met() const;
    void find_chains(const WorldPlan& plan);

    Facts facts_;
    CentralBucket central_;
    std::vector<std::unique_ptr<Checker>> checkers_;
    Findings findings_;
    std::vector<std::vector<LimitIndex>> chains_;  // limits by leaf
    std::vector<std::size_t> process_of_;          // by sidecar, in Facts::ever
    std::vector<std::uint64_t> incarnations_;      // by process, as seen last
    double central_refused_ = 0;
    sync::ToldWeight told_;
};

}  // namespace weir::sim

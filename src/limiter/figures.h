#pragma once
// Figures: the numbers that the limiter shows of each definition and of single limits. Counters are
// kept by each thread and summed here. Gauges (levels, chances of refusing) are read from the live
// instances: if there are few of them, from all when the figures are asked for, else from some in
// each call of survey().
//
// Thread-safety: for the control thread. statistics_of() takes the creation lock.
// Ownership: it owns the slots in which a definition's figures are counted, and the gauges of the
// last round through all instances. The counters belong to the ThreadContexts.
// Invariants: slot 0 is shared by all definitions beyond LimiterOptions::max_statistics. A slot
// that is given to another definition counts from 0 for it.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "limiter/bucket.h"
#include "limiter/compiled_definitions.h"
#include "limiter/fair_shedding.h"
#include "limiter/instance_store.h"
#include "limiter/instances.h"
#include "limiter/limiter_options.h"
#include "limiter/statistics.h"
#include "limiter/thread_contexts.h"
#include "limiter/windows.h"

namespace weir::limiter {

class Figures {
  public:
    Figures(InstanceStore& store, const CompiledDefinitions& definitions,
            const Instances& instances, const ThreadContexts& threads, const FairShedding& fair,
            const Windows& windows, const LimiterOptions& options)
        : store_(store),
          definitions_(definitions),
          instances_(instances),
          threads_(threads),
          fair_(fair),
          windows_(windows),
          options_(options) {}

    // --- slots, for edits of definitions ---------------------------------------------------------
    /// Takes a slot, whose figures count from 0. Returns 0, the shared slot, when all are in use.
    [[nodiscard]] std::uint32_t take_slot();
    /// Gives the slot to the definition at this index.
    void set_owner(std::uint32_t slot, std::uint32_t definition);
    void free_slot(std::uint32_t slot);

    // --- as Limiter says it ----------------------------------------------------------------------
    [[nodiscard]] std::vector<LimitStatus> inspect(std::string_view quota, Instant now);
    void for_each_statistics(Instant now,
                             const std::function<void(const DefinitionStatistics&)>& visit);
    [[nodiscard]] std::optional<DefinitionStatistics> statistics_of(std::string_view definition,
                                                                    Instant now);

    /// Reads the gauges of the next part of all instances, if there are too many of them to be read
    /// at once when the figures are asked for.
    void survey(Instant now);
    /// How many records have been read for gauges so far.
    [[nodiscard]] std::uint64_t gauged() const { return gauged_; }

  private:
    /// The counters of one slot, summed over all threads.
    struct Sums {
        double offered = 0;
        double admitted = 0;
        double refused = 0;
        double shadow_refused = 0;
        double refunded = 0;
        std::uint64_t overflowed = 0;
        std::uint64_t waited = 0;
        void add(const DefinitionFigures& figures);
        void subtract(const Sums& other);
    };
    /// The gauges of one definition, gathered while its instances are visited.
    struct Gauges {
        double weight = 0;  // sum of the offered rates
        double p_sum = 0;   // of the chances of refusing, weighted by the offered rates
        double p_max = 0;
        std::array<CountedHere, kMaxLimitsPerQuota> counts{};
        double ratio_sum = 0;  // of level/low, weighted by the offered rates
        double ratio_max = 0;
        std::uint32_t instances = 0;
        double p_plain = 0;  // unweighted sum, for when nothing is offered
        double ratio_plain = 0;
        void add(double p, double ratio, double offered);
        void fill(DefinitionStatistics& statistics) const;
    };

    [[nodiscard]] Sums sum(std::uint32_t slot) const;
    [[nodiscard]] std::size_t slots_in_use() const;
    void gauge(std::uint32_t id, const CompiledDefinition& definition, std::int64_t now,
               Gauges& gauges);
    [[nodiscard]] static std::optional<double> ratio_at_rest(const LimitRecord& head,
                                                             const CompiledDefinition& definition,
                                                             std::int64_t now);
    void gauge_records(std::uint32_t from, std::uint32_t to, Instant now,
                       std::vector<Gauges>& gauges);
    std::uint32_t gauge_members(std::uint32_t definition, Instant now, Gauges& gauges);
    [[nodiscard]] DefinitionStatistics to_statistics(std::uint32_t slot, std::string_view name,
                                                     const CompiledDefinition* definition,
                                                     const Gauges& gauges) const;
    [[nodiscard]] Reading reading_of(const Bucket& bucket, std::int64_t now) const;
    [[nodiscard]] LimitStatus status_of(std::uint32_t id, const CompiledLimit& limit,
                                        std::int64_t now);

    InstanceStore& store_;
    const CompiledDefinitions& definitions_;
    const Instances& instances_;
    const ThreadContexts& threads_;
    const FairShedding& fair_;
    const Windows& windows_;
    const LimiterOptions& options_;
    std::vector<std::uint32_t> free_slots_;
    std::uint32_t slots_used_ = 1;       // slots that were ever taken, and slot 0
    std::vector<std::uint32_t> owners_;  // index of each slot's definition; 0 = none
    std::vector<Sums> bases_;            // what the former owners of each slot have counted
    std::uint64_t gauged_ = 0;
    std::uint32_t survey_hand_ = 0;  // the last record that this round has looked at
    std::vector<Gauges> surveying_;  // of the round that is under way, by slot
    std::vector<Gauges> surveyed_;   // of the last round that is complete, by slot
};

}  // namespace weir::limiter

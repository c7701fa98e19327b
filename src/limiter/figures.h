#pragma once
// Figures: what the limiter shows of each definition and of single limits. Counters are kept by
// each thread and summed here. Gauges (levels, chances of refusing) are read by looking at the live
// instances: at all of them if they are few, else at some in each upkeep.
//
// Thread-safety: for the control thread. statistics_of() takes the creation lock.
// Ownership: it owns the slots in which a definition's figures are counted, and the gauges of the
// last round. The counters belong to the ThreadContexts.
// Invariants: slot 0 is shared by all definitions beyond LimiterOptions::max_statistics. A slot
// that is given to another definition counts from 0 for it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "limiter/compiled_definitions.h"
#include "limiter/instance_store.h"
#include "limiter/instances.h"
#include "limiter/limiter_options.h"
#include "limiter/statistics.h"
#include "limiter/thread_contexts.h"

namespace weir::limiter {

class Figures {
  public:
    Figures(InstanceStore& store, const CompiledDefinitions& definitions,
            const Instances& instances, const ThreadContexts& threads,
            const LimiterOptions& options)
        : store_(store),
          definitions_(definitions),
          instances_(instances),
          threads_(threads),
          options_(options) {}

    // --- slots, for edits of definitions ---------------------------------------------------------
    /// A slot that counts from 0; 0 when all are used.
    [[nodiscard]] std::uint32_t take_slot();
    /// The slot belongs to the definition at this index.
    void set_owner(std::uint32_t slot, std::uint32_t definition);
    void free_slot(std::uint32_t slot);

    // --- as Limiter says it ----------------------------------------------------------------------
    [[nodiscard]] std::vector<LimitStatus> inspect(std::string_view quota, Instant now);
    void for_each_statistics(Instant now,
                             const std::function<void(const DefinitionStatistics&)>& visit);
    [[nodiscard]] std::optional<DefinitionStatistics> statistics_of(std::string_view definition,
                                                                    Instant now);

    /// Reads the gauges of the next part of all instances, if they are too many to be read in one
    /// go when somebody asks.
    void survey(Instant now);
    /// How many records have been looked at for gauges so far.
    [[nodiscard]] std::uint64_t gauged() const { return gauged_; }

  private:
    /// Counters of one slot over all threads.
    struct Sums {
        double offered = 0;
        double admitted = 0;
        double refused = 0;
        double shadow_refused = 0;
        double refunded = 0;
        std::uint64_t overflowed = 0;
        void add(const DefinitionFigures& figures);
        void subtract(const Sums& other);
    };
    /// Gauges of one definition while its instances are visited.
    struct Gauges {
        double weight = 0;  // offered rates
        double p_sum = 0;   // of chances of refusing, weighted by the offered rates
        double p_max = 0;
        double ratio_sum = 0;  // of level/low, weighted by the offered rates
        double ratio_max = 0;
        std::uint32_t instances = 0;
        double p_plain = 0;  // unweighted, for when nothing is offered
        double ratio_plain = 0;
        void add(double p, double ratio, double offered);
        void fill(DefinitionStatistics& statistics) const;
    };

    [[nodiscard]] Sums sum(std::uint32_t slot) const;
    [[nodiscard]] std::size_t slots_in_use() const;
    void gauge(std::uint32_t id, const CompiledDefinition& definition, std::int64_t now,
               Gauges& gauges);
    void gauge_records(std::uint32_t from, std::uint32_t to, Instant now,
                       std::vector<Gauges>& gauges);
    std::uint32_t gauge_members(std::uint32_t definition, Instant now, Gauges& gauges);
    [[nodiscard]] DefinitionStatistics to_statistics(std::uint32_t slot, std::string_view name,
                                                     const CompiledDefinition* definition,
                                                     const Gauges& gauges) const;
    [[nodiscard]] LimitStatus status_of(LimitRecord& record, const CompiledLimit& limit,
                                        std::int64_t now);

    InstanceStore& store_;
    const CompiledDefinitions& definitions_;
    const Instances& instances_;
    const ThreadContexts& threads_;
    const LimiterOptions& options_;
    std::vector<std::uint32_t> free_slots_;
    std::uint32_t slots_used_ = 1;       // ever; slot 0 is everybody else's
    std::vector<std::uint32_t> owners_;  // the definition, by slot; 0 = none
    std::vector<Sums> bases_;            // what the former owners of a slot have counted
    std::uint64_t gauged_ = 0;
    std::uint32_t survey_hand_ = 0;  // the last record that this round has looked at
    std::vector<Gauges> surveying_;  // of this round, by slot
    std::vector<Gauges> surveyed_;   // of the last whole round
};

}  // namespace weir::limiter

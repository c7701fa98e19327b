#pragma once
// The parts of a Limiter and how they hang together; see limiter.h for the rules of threads.
// Split by subject: check.cpp (decide), quick_check.cpp (decide the usual case), settle.cpp
// (refund, correct), instances.cpp (find, make, drop), room.cpp (replace), definition_set.cpp
// (apply and edit), adoption.cpp (parents and records after an edit), synchronise.cpp (the engine's
// side), figures.cpp.

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "limiter/bucket.h"
#include "limiter/compiled_definition.h"
#include "limiter/id_queue.h"
#include "limiter/instance_store.h"
#include "limiter/limiter.h"
#include "limiter/name_hash.h"
#include "limiter/size_ranks.h"
#include "limiter/template_index.h"
#include "limiter/thread_context.h"

namespace weir::limiter {

/// Gauges of one definition while its instances are visited.
struct Gauges {
    double weight = 0;  // offered rates
    double p_sum = 0;
    double p_max = 0;
    double ratio_sum = 0;
    double ratio_max = 0;
    std::uint32_t instances = 0;
    double p_plain = 0;  // unweighted, for when nothing is offered
    double ratio_plain = 0;
};

/// Figures of one definition over all threads.
struct DefinitionFigureSums {
    double offered = 0;
    double admitted = 0;
    double refused = 0;
    double shadow_refused = 0;
    double refunded = 0;
    std::uint64_t overflowed = 0;
};

/// The weight that limits of this unit are charged.
[[nodiscard]] inline double weight_of(Unit unit, const Weights& weights, double response_bytes) {
    switch (unit) {
        case Unit::requests:
            return weights.requests;
        case Unit::request_bytes:
            return weights.request_bytes;
        case Unit::response_bytes:
            return response_bytes;
        case Unit::cost:
            return weights.cost;
    }
    return 0;
}

/// What a quota's figures count: the unit of its first limit.
[[nodiscard]] inline Unit figure_unit(const CompiledDefinition& definition) {
    return definition.limits.empty() ? Unit::requests : definition.limits[0].unit;
}

struct Levels;
struct QuickChain;

class Limiter::Implementation {
  public:
    explicit Implementation(const LimiterOptions& options);

    // definition_set.cpp
    std::vector<DefinitionError> change(std::span<const DefinitionChange> changes, Instant now);
    [[nodiscard]] std::vector<QuotaDefinition> definitions() const;
    [[nodiscard]] const CompiledDefinition* definition_for(std::string_view name) const;

    // instances.cpp
    ThreadContext& register_thread(std::uint64_t seed);
    LeafId find(ThreadContext& thread, std::string_view name, Instant now);
    void maintain(Instant now);

    // check.cpp
    Decision check(ThreadContext& thread, LeafId leaf, const Weights& weights, Instant now,
                   CheckMode mode, const RequestFields* fields);

    // settle.cpp
    void refund(ThreadContext& thread, const Charge& charge, Instant now);
    std::uint32_t hold(const Charge& charge);
    void unhold(std::uint32_t instance) { store_.unhold(instance); }
    void correct(ThreadContext& thread, Charge& charge, Unit unit, double actual, Instant now,
                 bool last);

    // synchronise.cpp
    void drain_active(const std::function<void(LimitRef)>& visit);
    std::optional<LocalCounts> read(LimitRef limit, Instant now);
    bool install(LimitRef limit, const FleetView& view, Instant now);
    void uninstall(LimitRef limit, Instant now);
    bool isolate(LimitRef limit, bool isolated, Instant now);
    [[nodiscard]] IsolationMode isolation_of(std::string_view quota) const;
    void release(LimitRef limit, Instant now);
    [[nodiscard]] std::optional<LimitIdentity> identity(LimitRef limit) const;
    [[nodiscard]] std::optional<LimitRef> lookup(std::string_view quota, Unit unit,
                                                 Duration period) const;
    [[nodiscard]] std::optional<LimitParameters> resolve_parameters(std::string_view quota,
                                                                    Unit unit,
                                                                    Duration period) const;

    // figures.cpp
    [[nodiscard]] std::vector<LimitStatus> inspect(std::string_view quota, Instant now);
    [[nodiscard]] Memory memory() const;
    [[nodiscard]] LimiterCounters counters() const;
    void for_each_statistics(Instant now,
                             const std::function<void(const DefinitionStatistics&)>& visit);
    [[nodiscard]] std::optional<DefinitionStatistics> statistics_of(std::string_view definition,
                                                                    Instant now);

    void leave(ThreadContext& thread) { Epochs::leave(thread.epoch); }
    [[nodiscard]] std::string_view name(std::uint32_t instance) const {
        return store_.name(instance);
    }
    [[nodiscard]] const QuotaOptions* options(std::uint32_t instance) const {
        const CompiledDefinition* definition = definition_of(store_.record(instance));
        return definition == nullptr ? nullptr : &*definition->source.options;
    }

  private:
    /// Records whose gauges are read in one go.
    static constexpr std::uint32_t kGaugedAtOnce = 16'384;
    static constexpr std::string_view kOverflowSuffix = "#overflow";

    [[nodiscard]] std::uint64_t hash(std::string_view name) const {
        return name_hash(name, hash_key_);
    }
    [[nodiscard]] const CompiledDefinition* definition_of(const LimitRecord& head) const {
        return table_.get(head.definition.load(std::memory_order_acquire));
    }

    // --- quick_check.cpp
    bool check_quickly(ThreadContext& thread, LeafId leaf, std::int64_t now, Decision& decision);
    bool look_at_chain(LeafId leaf, const Weights& weights, std::int64_t now, QuickChain& chain);
    void tell_engine(ThreadContext& thread, const QuickChain& chain, std::int64_t now,
                     bool tracking);

    // --- check.cpp
    void collect(ThreadContext& thread, LeafId leaf, const Weights& weights, std::int64_t now,
                 Levels& levels);
    void collect_instance(std::uint32_t head, const Weights& weights, std::int64_t now,
                          Levels& levels);
    void note_active(ThreadContext& thread, std::uint32_t id, LimitRecord& record);
    bool charge_levels(Levels& levels, CheckMode mode, std::int64_t now, std::size_t& failed);
    void settle_shadow(ThreadContext& thread, Levels& levels, Decision& decision);
    void report_offered(const Levels& levels, bool admitted, std::int64_t now);
    void count_figures(ThreadContext& thread, const Levels& levels, const Decision& decision,
                       std::size_t named);
    Weights clamp(ThreadContext& thread, const Weights& weights) const;
    [[nodiscard]] bool enforces_key(const CompiledDefinition& definition,
                                    const Levels& levels) const;

    // --- settle.cpp
    template <class VisitQuota, class VisitLimit>
    void for_each_charged(const Charge& charge, VisitQuota visit_quota, VisitLimit visit_limit);
    static void correct_limit(const Bucket& bucket, double before, double actual, bool last,
                              std::int64_t now);

    // --- instances.cpp; all under store_.lock
    LeafId leaf_of(NameEntry entry) const;
    LeafId ensure(std::string_view name, std::uint64_t hash, Instant now);
    /// The levels of a name's chain that do not live yet, the lowest first.
    struct Chain {
        struct Level {
            std::uint32_t definition = 0;
            std::uint64_t hash = 0;
            std::string_view name;
            std::string parent;  // holds the next one's name
        };
        std::array<Level, kMaxChainDepth + 1> levels;
        std::size_t size = 0;
        LeafId above;  // the first that lives, if any
    };
    void plan(std::string_view name, std::uint64_t hash, Chain& chain) const;
    LeafId create(const Chain& chain, Instant now);
    LeafId create_level(const Chain::Level& level, LeafId parent, Instant now);
    void pin(std::uint32_t id, int change);
    std::uint32_t build(std::uint32_t definition, std::string_view name, LeafId parent,
                        Instant now);
    LeafId overflow(std::uint32_t definition, LeafId parent, Instant now);
    LeafId above_parent(std::uint32_t overflow, LeafId parent) const;
    LeafId overflow_without_lock(std::string_view name, std::uint64_t hash, Instant now);
    LeafId ensure_waiting(std::string_view name, std::uint64_t hash, Instant now);
    std::uint32_t overflow_instance(std::uint32_t definition, Instant now);
    LeafId overflow_parent(const CompiledDefinition& definition, Instant now);
    void drop(std::uint32_t id);
    void rank(std::uint32_t definition);
    void join(std::uint32_t definition, std::uint32_t id);
    void part(std::uint32_t definition, std::uint32_t id);
    bool add_missing_records(std::uint32_t id, const CompiledDefinition& definition, Instant now);
    bool take_former_records(std::uint32_t id, const CompiledDefinition& definition, Instant now);
    void set_parent(std::uint32_t id, LeafId parent);
    [[nodiscard]] std::optional<std::uint32_t> match(std::string_view name,
                                                     std::uint64_t hash) const;
    void sweep(std::int64_t now, std::uint32_t records);
    void reclaim();

    // --- room.cpp; all under store_.lock
    struct Idleness {
        /// An instance that is no fuller counts as empty: a level that drains ends at 0, one that
        /// is reckoned only comes near. With its instance a millionth of `low` may be forgotten,
        /// once in idle_after.
        static constexpr double kEmpty = 1e-6;
        double fullness = 0;       // level/low of the fullest limit
        std::int64_t touched = 0;  // when last used
    };
    struct Search;
    [[nodiscard]] Idleness idleness(std::uint32_t id, std::int64_t now);
    [[nodiscard]] bool replaceable(const Idleness& idle, double fullest, std::int64_t now) const;
    std::optional<Idleness> branch_idleness(std::uint32_t leaf, const Search& search,
                                            std::int64_t now);
    std::uint32_t find_idle(const Search& search, std::int64_t now);
    std::uint32_t replace(std::uint32_t id);
    bool make_room(const Search& search, Instant now);
    bool make_room_for_level(const Chain& chain, std::size_t level, std::uint32_t parent,
                             Instant now);
    std::uint32_t take_from(const Search& search, std::uint32_t places, std::uint32_t least_live,
                            Instant now);
    std::uint32_t take_from_anyone(std::uint32_t definition, std::uint32_t places,
                                   std::uint32_t least_live, Instant now);
    bool fits_own_caps(const Chain& chain, std::size_t level, Instant now);
    bool fits_bound(const Chain& chain, std::size_t lowest, std::size_t end, Instant now);
    std::size_t make_room_for(const Chain& chain, Instant now);

    // --- adoption.cpp; under store_.lock, but for the last
    bool adopt(std::uint32_t id, Instant now);
    void adopt_overflow(std::uint32_t id, const CompiledDefinition& definition, Instant now);
    void complete_overflow_chain(std::uint32_t overflow, Instant now);
    void adopt_or_wait(std::uint32_t id, Instant now);
    [[nodiscard]] bool find_room_for(std::uint32_t id, Instant now);
    void give_room(Instant now);

    // --- definition_set.cpp
    /// What an edit touched: decides which instances must be looked at again.
    struct Touched {
        bool templates = false;
        std::vector<std::string> exact;
        std::vector<std::uint32_t> parents;  // definitions with another parent than before
    };
    [[nodiscard]] bool would_be_own_ancestor(const QuotaDefinition& definition) const;
    /// Why it cannot be had, if it cannot.
    std::vector<DefinitionError> put_one(const QuotaDefinition& definition, Instant now,
                                         Touched& touched);
    [[nodiscard]] bool is_removed(std::uint32_t definition) const {
        return !removed_index_.empty() && removed_index_.contains(definition);
    }
    void put(const QuotaDefinition& definition, Instant now, Touched& touched);
    void take_away(const std::string& name, Touched& touched);
    void finish(const Touched& touched, Instant now);
    std::uint32_t place(std::uint32_t index, std::unique_ptr<CompiledDefinition> fresh,
                        Instant now);
    void leave_overflow_instance(std::uint32_t definition, Instant now);
    void remove(std::uint32_t index);
    void rebuild_templates();
    void make_overflow_instances(Instant now);
    template <class Visit>
    void for_each_member(std::uint32_t index, Visit visit);
    template <class Visit>
    void for_each_instance(Visit visit);
    template <class Visit>
    void settle_each(const std::vector<std::uint32_t>& instances, Visit visit);
    void settle(std::uint32_t id, const CompiledDefinition& definition, Instant now);
    void clear(std::uint32_t record_id, Instant now);
    void clear_reused(std::uint32_t id, const CompiledDefinition& definition, Instant now);
    void renumber(std::uint32_t id, const CompiledDefinition* from, const CompiledDefinition& to,
                  Instant now);
    /// True when it fell under another definition. Numbers of limits change before the definition
    /// does, and a request that is being decided at that moment may read the one with the other: it
    /// passes without the limit in question, or, where the new number is that of another limit of
    /// the old definition, is judged by and charged to that one, once. No order of stores would
    /// help, since a request reads the definition, and later the numbers; and most limits keep
    /// their number (compile()), of those that do not most meet no other one.
    bool reassign(std::uint32_t id, Instant now);
    void drop_orphans();
    std::uint32_t take_statistics();
    [[nodiscard]] DefinitionFigureSums sum_figures(std::uint32_t index) const;

    // --- figures.cpp
    void gauge(std::uint32_t id, const CompiledDefinition& definition, Instant now, Gauges& gauges);
    void gauge_records(std::uint32_t from, std::uint32_t to, Instant now,
                       std::vector<Gauges>& gauges);
    void survey(Instant now);
    [[nodiscard]] std::size_t figures_in_use() const {
        return statistics_used_ - 1 - free_statistics_.size();
    }
    [[nodiscard]] DefinitionStatistics to_statistics(std::uint32_t index, std::string_view name,
                                                     const CompiledDefinition* definition,
                                                     const Gauges& gauges) const;

    // --- synchronise.cpp
    struct Found {
        LimitRecord* record = nullptr;
        const CompiledLimit* limit = nullptr;
        const CompiledDefinition* definition = nullptr;
    };
    [[nodiscard]] Found resolve(LimitRef limit) const;
    bool with_view(std::uint32_t id, Instant now);
    [[nodiscard]] std::optional<LimitRef> reference(std::uint32_t record) const;

    LimiterOptions options_;
    NameKey hash_key_;
    InstanceStore store_;
    DefinitionTable table_;
    NameTable exact_{1024};  // hash of an exact name -> its definition
    std::atomic<const TemplateIndex*> templates_{nullptr};
    std::shared_ptr<const TemplateIndex> templates_owner_;
    std::atomic<std::uint32_t> version_{1};                    // of the definitions
    std::vector<Members> members_;                             // by definition; under store_.lock
    SizeRanks ranks_{members_};                                // the same
    std::unordered_map<std::string, std::uint32_t> registry_;  // control thread only
    std::vector<std::uint32_t> removed_;                       // waiting for finish()
    std::unordered_set<std::uint32_t> removed_index_;          // the same
    std::unordered_set<std::uint32_t> template_definitions_;
    std::vector<std::uint32_t> free_statistics_;
    std::uint32_t statistics_used_ = 1;               // 0 is everybody else's
    std::vector<std::uint32_t> figure_owners_;        // the definition, by index of figures
    std::vector<DefinitionFigureSums> figures_base_;  // what former users of an index counted

    std::array<std::unique_ptr<ThreadContext>, kMaxThreads> threads_;
    std::atomic<std::uint32_t> thread_count_{0};
    std::atomic<bool> tracking_{false};     // an engine drains the active lists
    std::uint32_t overflow_instances_ = 0;  // live; under store_.lock
    IdQueue awaiting_room_;                 // control thread only
    std::uint32_t sweep_hand_ = 0;
    std::atomic<std::uint64_t> created_{0};
    std::atomic<std::uint64_t> replaced_{0};
    std::atomic<std::uint64_t> searched_{0};
    std::uint64_t dropped_idle_ = 0;
    std::uint64_t cleared_records_ = 0;
    std::uint64_t swept_ = 0;
    std::uint64_t gauged_ = 0;
    std::uint32_t survey_hand_ = 0;  // the last record that this round has looked at
    std::vector<Gauges> surveying_;  // of this round, by index of figures
    std::vector<Gauges> surveyed_;   // of the last whole round
    std::uint64_t bad_views_ = 0;
};

}  // namespace weir::limiter

#pragma once
// The parts of a Limiter and how they hang together; see limiter.h for the rules of threads.
// Split by subject: check.cpp (decide), instances.cpp (find, make, replace, drop),
// definition_set.cpp (apply and edit), synchronise.cpp (the engine's side), figures.cpp.

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "limiter/bucket.h"
#include "limiter/compiled.h"
#include "limiter/instance_store.h"
#include "limiter/limiter.h"
#include "limiter/name_hash.h"
#include "limiter/template_index.h"
#include "limiter/thread_context.h"

namespace weir::limiter {

/// The live instances of one definition: a ring, and a hand that goes round looking for room.
struct Members {
    std::uint32_t hand = 0;  // any member; 0 = none
    std::uint32_t live = 0;
    std::uint32_t overflow_definition = 0;  // of a template
    std::uint32_t overflow_instance = 0;    // made when first needed
};

/// Figures of one definition over all threads.
struct DefinitionFigureSums {
    double offered = 0;
    double admitted = 0;
    double refused = 0;
    double shadow_refused = 0;
    std::uint64_t overflowed = 0;
};

struct Levels;

class Limiter::Implementation {
  public:
    explicit Implementation(const LimiterOptions& options);

    // definition_set.cpp
    std::vector<DefinitionError> apply(std::span<const QuotaDefinition> definitions, Instant now);
    std::vector<DefinitionError> upsert(const QuotaDefinition& definition, Instant now);
    std::vector<DefinitionError> erase(std::string_view name, Instant now);
    [[nodiscard]] std::vector<QuotaDefinition> definitions() const;
    [[nodiscard]] const CompiledDefinition* definition_for(std::string_view name) const;

    // instances.cpp
    ThreadContext& register_thread(std::uint64_t seed);
    LeafId find(ThreadContext& thread, std::string_view name, Instant now);
    void maintain(Instant now);

    // check.cpp
    Decision check(ThreadContext& thread, LeafId leaf, const Weights& weights, Instant now,
                   CheckMode mode);
    void refund(ThreadContext& thread, const Charge& charge, Instant now);
    void correct(ThreadContext& thread, Charge& charge, Unit unit, double actual, Instant now);

    // synchronise.cpp
    void drain_active(const std::function<void(LimitRef)>& visit);
    std::optional<LocalCounts> read(LimitRef limit, Instant now);
    bool install(LimitRef limit, const FleetView& view, Instant now);
    void uninstall(LimitRef limit, Instant now);
    void release(LimitRef limit, Instant now);
    [[nodiscard]] std::optional<LimitIdentity> identity(LimitRef limit) const;
    [[nodiscard]] std::optional<LimitRef> lookup(std::string_view quota, Unit unit,
                                                 Duration period) const;
    [[nodiscard]] std::optional<LimitParameters> resolve_parameters(std::string_view quota,
                                                                    Unit unit,
                                                                    Duration period) const;
    [[nodiscard]] std::vector<RateLimit> limits_for(std::string_view quota) const;

    // figures.cpp
    [[nodiscard]] std::vector<LimitStatus> inspect(std::string_view quota, Instant now);
    [[nodiscard]] Memory memory() const;
    [[nodiscard]] LimiterCounters counters() const;
    void for_each_statistics(Instant now,
                             const std::function<void(const DefinitionStatistics&)>& visit);

    void leave(ThreadContext& thread) { Epochs::leave(thread.epoch); }
    [[nodiscard]] std::string_view name(std::uint32_t instance) const {
        return store_.name(instance);
    }

  private:
    static constexpr std::string_view kOverflowSuffix = "#overflow";

    [[nodiscard]] std::uint64_t hash(std::string_view name) const {
        return name_hash(name, hash_key_);
    }
    [[nodiscard]] const CompiledDefinition* definition_of(const LimitRecord& head) const {
        return table_.get(head.definition.load(std::memory_order_acquire));
    }

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
    template <class Visit>
    void for_each_charged(const Charge& charge, Visit visit);

    // --- instances.cpp; all under store_.lock
    LeafId leaf_of(NameEntry entry) const;
    LeafId ensure(std::string_view name, std::uint64_t hash, Instant now);
    LeafId create(std::uint32_t definition, std::string_view name, std::uint64_t hash, Instant now);
    std::uint32_t build(std::uint32_t definition, std::string_view name, LeafId parent,
                        Instant now);
    LeafId overflow(std::uint32_t definition, LeafId parent, Instant now);
    LeafId above_parent(std::uint32_t overflow, LeafId parent) const;
    LeafId overflow_without_lock(std::string_view name, std::uint64_t hash, Instant now);
    LeafId ensure_waiting(std::string_view name, std::uint64_t hash, Instant now);
    std::uint32_t overflow_instance(std::uint32_t definition, Instant now);
    LeafId ensure_parent(const CompiledDefinition& definition, std::string_view name, Instant now);
    bool make_room(std::uint32_t definition, std::uint32_t parent, Instant now);
    void drop(std::uint32_t id);
    void join(std::uint32_t definition, std::uint32_t id);
    void part(std::uint32_t definition, std::uint32_t id);
    bool add_missing_records(std::uint32_t id, const CompiledDefinition& definition, Instant now);
    void set_parent(std::uint32_t id, LeafId parent);
    [[nodiscard]] std::optional<std::uint32_t> match(std::string_view name,
                                                     std::uint64_t hash) const;
    struct Idleness {
        double fullness = 0;       // level/low of the fullest limit
        std::int64_t touched = 0;  // when last used
    };
    [[nodiscard]] Idleness idleness(std::uint32_t id, std::int64_t now);
    void sweep(std::int64_t now, std::uint32_t records);
    void reclaim();

    // --- definition_set.cpp
    std::vector<DefinitionError> validate_change(const QuotaDefinition& definition) const;
    [[nodiscard]] bool has_child_definitions(std::uint32_t index) const;
    /// What an edit touched: decides which instances must be looked at again.
    struct Touched {
        bool templates = false;
        std::vector<std::string> exact;
    };
    void put(const QuotaDefinition& definition, Instant now, Touched& touched);
    void take_away(const std::string& name, Touched& touched);
    void finish(const Touched& touched, Instant now);
    std::uint32_t place(std::uint32_t index, std::unique_ptr<CompiledDefinition> fresh,
                        Instant now);
    void remove(std::uint32_t index);
    void rebuild_templates();
    void make_overflow_instances(Instant now);
    void count_child(const std::optional<std::string>& parent, int change);
    template <class Visit>
    void for_each_member(std::uint32_t index, Visit visit);
    template <class Visit>
    void for_each_instance(Visit visit);
    void settle(std::uint32_t id, const CompiledDefinition& definition, Instant now);
    void reassign(std::uint32_t id, Instant now);
    void adopt(std::uint32_t id, Instant now);
    void drop_orphans();
    std::uint32_t take_statistics();
    [[nodiscard]] DefinitionFigureSums sum_figures(std::uint32_t index) const;

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
    IdentityTable identities_;
    NameTable exact_{1024};  // hash of an exact name -> its definition
    std::atomic<const TemplateIndex*> templates_{nullptr};
    std::shared_ptr<const TemplateIndex> templates_owner_;
    std::atomic<std::uint32_t> version_{1};                    // of the definitions
    std::vector<Members> members_;                             // by definition; under store_.lock
    std::unordered_map<std::string, std::uint32_t> registry_;  // control thread only
    /// How many definitions name this text as their parent; control thread only.
    std::unordered_map<std::string, std::uint32_t> children_;
    std::vector<std::uint32_t> removed_;  // waiting for finish()
    std::vector<std::uint32_t> free_statistics_;
    std::uint32_t statistics_used_ = 1;               // 0 is everybody else's
    std::vector<DefinitionFigureSums> figures_base_;  // what former users of an index counted

    std::array<std::unique_ptr<ThreadContext>, kMaxThreads> threads_;
    std::atomic<std::uint32_t> thread_count_{0};
    std::atomic<bool> tracking_{false};     // an engine drains the active lists
    std::uint32_t overflow_instances_ = 0;  // live; under store_.lock
    std::uint32_t sweep_hand_ = 0;
    std::atomic<std::uint64_t> created_{0};
    std::atomic<std::uint64_t> replaced_{0};
    std::uint64_t dropped_idle_ = 0;
    std::uint64_t bad_views_ = 0;
};

}  // namespace weir::limiter

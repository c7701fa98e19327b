#pragma once
// Admission: the decision about one request, and what becomes of its charge afterwards. Every limit
// of the request's chains is read once. One lot is drawn for all limits that enforce; the request
// is admitted with the product of their chances to admit it. The figures of the answer come from
// the same readings. check.cpp has the whole decision, outcome.cpp counts and describes its result,
// quick_check.cpp is a shorter way through both for the usual case of one chain, obtain.cpp grants
// a part of what is wanted, and settle.cpp has refunds and corrections.
//
// Thread-safety: any number of workers, each with its own ThreadContext. Nothing here takes a lock,
// allocates memory or makes a system call.
// Ownership: it owns nothing; it refers to the parts below it.
// Invariants: a refused request is charged to no level, an admitted one to every level that
// enforces and to every level that shadows and would have admitted it. check_quickly() either
// decides exactly as the whole decision would, or leaves the request to it.

#include <cstddef>
#include <cstdint>
#include <span>

#include "limiter/bucket.h"
#include "limiter/compiled_definitions.h"
#include "limiter/decision.h"
#include "limiter/fair_shedding.h"
#include "limiter/fleet_port.h"
#include "limiter/instance_store.h"
#include "limiter/thread_context.h"
#include "limiter/windows.h"

namespace weir::limiter {

struct Level;
struct Levels;
struct QuickChain;

class Admission {
  public:
    Admission(InstanceStore& store, const CompiledDefinitions& definitions, FleetPort& fleet,
              FairShedding& fair, Windows& windows, double max_weight)
        : arrays_(store.arrays()),
          store_(store),
          definitions_(definitions),
          fleet_(fleet),
          fair_(fair),
          windows_(windows),
          max_weight_(max_weight) {}

    // limiter.h says what these functions do.
    [[nodiscard]] Decision check(ThreadContext& thread, LeafId leaf, const Weights& weights,
                                 Instant now, CheckMode mode, const RequestFields* fields);
    [[nodiscard]] Decision check_all(ThreadContext& thread, const Leaves& leaves,
                                     const Weights& weights, Instant now, CheckMode mode,
                                     const RequestFields* fields);
    [[nodiscard]] Grant obtain(ThreadContext& thread, LeafId leaf, const Wish& wish, Instant now,
                               CheckMode mode, const RequestFields* fields);
    void give_up(ThreadContext& thread, const Decision& decision);
    void return_unused(ThreadContext& thread, Charge& charge, double units, Instant now);
    void refund(ThreadContext& thread, const Charge& charge, Instant now);
    void finish(ThreadContext& thread, Charge& charge);
    void correct(ThreadContext& thread, Charge& charge, Unit unit, double actual, Instant now,
                 bool last);
    void add(ThreadContext& thread, const Charge& charge, Unit unit, double weight, Instant now);
    [[nodiscard]] Held hold(const Charge& charge);

  private:
    // --- check.cpp
    [[nodiscard]] Weights bounded(ThreadContext& thread, const Weights& weights) const;
    Weights clamp(ThreadContext& thread, const Weights& weights) const;
    void decide_whole(ThreadContext& thread, std::span<const LeafId> leaves, std::int64_t now,
                      CheckMode mode, const RequestFields* fields, Decision& decision);
    void note_active(ThreadContext& thread, const Levels& levels);
    template <bool kFirst>
    void collect(const LeafId& leaf, const Weights& weights, std::int64_t now, Levels& levels);
    /// collect<true>() for obtain.cpp.
    void collect_chain(const LeafId& leaf, const Weights& weights, std::int64_t now,
                       Levels& levels);
    void collect_others(std::span<const LeafId> leaves, const Weights& weights, std::int64_t now,
                        Levels& levels);
    void collect_instance(std::uint32_t head, std::uint32_t below, const Weights& weights,
                          std::int64_t now, Levels& levels);
    void open_window(Level& level, Levels& levels, std::int64_t now);
    void shed_fairly(Levels& levels, Level& level, std::uint32_t below, std::int64_t now) const;
    [[nodiscard]] double divide_below(Levels& levels, std::uint32_t branch, double p,
                                      std::int64_t now) const;
    void count_instance(std::uint32_t head, Levels& levels) const;
    [[nodiscard]] bool enforces_key(const CompiledDefinition& definition,
                                    const Levels& levels) const;
    void settle_shadow(ThreadContext& thread, Levels& levels, Decision& decision);
    static bool charge_levels(Levels& levels, CheckMode mode, std::int64_t now,
                              std::size_t& failed);

    // --- outcome.cpp
    void tell_engine(ThreadContext& thread, std::uint32_t id, const Bucket& bucket);
    void report_offered(const Levels& levels, bool admitted, std::int64_t now);
    static void count_figures(ThreadContext& thread, const Levels& levels, const Decision& decision,
                              CheckMode mode, std::size_t named);
    void tell_refused(const Levels& levels, std::size_t named, Decision& decision) const;
    void note_places(const Levels& levels, Charge& charge) const;
    void tell_admitted(const Levels& levels, std::span<const LeafId> leaves,
                       Decision& decision) const;

    // --- obtain.cpp
    /// Grants a part of the wish, on the levels as they are now. False: other threads have charged
    /// these levels meanwhile, so that it would have been too much; nothing is charged then.
    bool try_to_grant(ThreadContext& thread, LeafId leaf, const Wish& wish, std::int64_t now,
                      CheckMode mode, const RequestFields* fields, bool last, Grant& grant);
    void report_grant(const Levels& levels, std::span<const double> offers,
                      std::span<const double> charged, std::int64_t now);
    static void ask_for_room(const Level& level, double units);
    void describe_grant(Levels& levels, LeafId leaf, const Wish& wish, std::size_t impossible,
                        std::size_t named, Grant& grant) const;
    static void count_grant(ThreadContext& thread, const Levels& levels, const Wish& wish,
                            const Grant& grant, std::span<const double> units, std::size_t named);

    // --- quick_check.cpp
    /// Decides about the request if it is of the usual kind. False: nothing has changed, and the
    /// whole decision must be made.
    bool check_quickly(ThreadContext& thread, LeafId leaf, std::int64_t now, Decision& decision);
    bool look_at_chain(LeafId leaf, const Weights& weights, std::int64_t now, QuickChain& chain);
    static void tell_engine(ThreadContext& thread, const QuickChain& chain, std::int64_t now,
                            bool listening);

    // --- settle.cpp
    [[nodiscard]] bool counts_still(const Charge& charge, const Bucket& bucket,
                                    std::int64_t now) const;
    void give_places_back(const Places& places, double weight);
    [[nodiscard]] std::uint32_t charged_of(const LeafId& leaf, const Levels& levels) const;
    [[nodiscard]] std::uint32_t hold_chain(const LeafId& leaf);
    template <class VisitQuota, class VisitLimit>
    void for_each_of_chain(const LeafId& leaf, VisitQuota visit_quota,
                           VisitLimit visit_limit) const;
    template <class VisitQuota, class VisitLimit>
    void for_each_charged(const Charge& charge, VisitQuota visit_quota, VisitLimit visit_limit);

    const RecordArrays arrays_;  // of store_
    InstanceStore& store_;
    const CompiledDefinitions& definitions_;
    FleetPort& fleet_;
    FairShedding& fair_;
    Windows& windows_;
    const double max_weight_;
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

/// The unit in which a quota's figures are counted: that of its first limit.
[[nodiscard]] inline Unit figure_unit(const CompiledDefinition& definition) {
    return definition.limits.empty() ? Unit::requests : definition.limits[0].unit;
}

}  // namespace weir::limiter

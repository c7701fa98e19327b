#pragma once
// The limiter: a tree of quotas, each a set of leaky buckets, and one decision per request.
// It does no I/O and reads no clock: callers pass `now`, which may not run backwards by much.
//
// This class is the façade of parts that have a header each; every part knows only those before it:
//
//     InstanceStore (instance_store.h)              memory: records, names, views, reclamation
//     CompiledDefinitions (compiled_definitions.h)  which definition does a name fall under?
//     InstanceRecords (instance_records.h)          the records of one instance
//     Instances (instances.h)                       the table of instances
//     Eviction, Creation, Adoption                  make room, make, give room after an edit
//     Figures (figures.h)                           what is shown to people
//     DefinitionEdit (definition_edit.h)            one edit while requests go on
//     FleetPort (fleet_port.h)                      the engine's side: views and active limits
//     Waiting (waiting.h)                           how many requests wait for an instance
//     Admission (admission.h)                       the decision, refunds and corrections
//
// Thread-safety. One control thread calls everything under "control thread". Any number of workers
// (at most kMaxThreads), each with its own ThreadContext, call find, check, refund, correct and
// quiescent at the same time. check() takes no lock, allocates nothing and makes no system call,
// and neither does find() of a name that has an instance. Making an instance on first use is
// serialised by a lock, which a worker tries a bounded number of times. A worker that does not get
// it uses overflow instances in place of those that the name has not got, and above them the name's
// own parents as far as they live. The overflow instance is made with its template, so there always
// is one. It does not judge the first such request of a name (LeafId::unjudged_depth), unless a
// limit is 0 or there was no room for the template's latest name; it judges later ones. The first
// request of an exact name waits for the lock instead, which happens once in the life of the
// definition.
//
// Ownership. The limiter owns its ThreadContexts and all names that it returns. A LeafId and the
// name in a Decision are valid until the thread's next quiescent(). A Charge may be kept for as
// long as the request takes: it carries a generation, so that refunding to an instance that is gone
// does nothing. hold() keeps an instance that must not go in the meantime.
//
// Invariants. A refused request is charged to no level. An admitted one is charged to every level
// that enforces, and to every level that shadows and would have admitted it, except the overflow
// instances that do not judge it. Live instances of templates never exceed
// LimiterOptions::max_instances and the caps of their templates and parents. Those of exact names
// and of their parents come on top, because the definitions bound their number.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "limiter/decision.h"
#include "limiter/definition.h"
#include "limiter/fleet_values.h"
#include "limiter/laws.h"
#include "limiter/limiter_options.h"
#include "limiter/statistics.h"

namespace weir::limiter {

class ThreadContext;

class Limiter {
  public:
    static constexpr std::size_t kMaxThreads = limiter::kMaxThreads;

    explicit Limiter(const LimiterOptions& options);
    ~Limiter();
    Limiter(const Limiter&) = delete;
    Limiter& operator=(const Limiter&) = delete;

    // --- control thread: definitions -------------------------------------------------------------
    /// Edits the definitions in force: adds, replaces and takes away quotas, in this order. The
    /// caller has validated the resulting set (definitions/rules.h) and orders the changes so that
    /// parents come before their children. The cost depends on the changes and not on what is in
    /// force. A change that cannot be made (there are too many quotas, or one would be its own
    /// ancestor) is left out. Returns how many were left out; `refused` receives which ones and
    /// why.
    std::size_t change(std::span<const DefinitionChange> changes, Instant now,
                       std::vector<RefusedChange>* refused = nullptr);
    /// Copies of all definitions in force, in the order of their names.
    [[nodiscard]] std::vector<QuotaDefinition> definitions() const;
    /// The definition, exact or template, that a name falls under; nothing if there is none.
    [[nodiscard]] std::optional<QuotaDefinition> definition_for(std::string_view name) const;

    // --- control thread: upkeep ------------------------------------------------------------------
    /// Sets the wall clock by which windows begin and end: how much later the time since 1970 is
    /// than the monotonic time line of `now`. To be set before the first request, and whenever it
    /// changes: windows that have begun keep their ends.
    void set_wall_clock(Duration ahead);
    /// The second since 1970 by that clock.
    [[nodiscard]] std::int64_t wall_second(Instant now) const;
    /// Regular upkeep, a bounded part of it in each call. It makes memory reusable that no thread
    /// can see any more, gives room to instances for which an edit found none, drops idle empty
    /// instances, grows the name table and reads gauges. To be called every 10 ms to 1 s.
    void maintain(Instant now);
    [[nodiscard]] Memory memory() const;
    [[nodiscard]] LimiterCounters counters() const;
    /// The limits of the live instance of this name; empty if there is none.
    [[nodiscard]] std::vector<LimitStatus> inspect(std::string_view quota, Instant now) const;
    /// How many requests wait for the live instance of this name.
    [[nodiscard]] std::uint32_t waiting(std::string_view quota) const;
    /// Visits the figures of every definition. Counters are current. Gauges are current, too, while
    /// there are at most 16,384 records. With more records they come from the last complete round
    /// of maintain(), which takes ten calls, or more where that would be over 16,384 records a
    /// call.
    void for_each_statistics(Instant now,
                             const std::function<void(const DefinitionStatistics&)>& visit) const;
    /// The figures of one definition, or nothing if there is none of that name. Looks at its own
    /// instances only. The gauges of a template with more than 10,000 instances come from 10,000 of
    /// them.
    [[nodiscard]] std::optional<DefinitionStatistics> statistics_of(std::string_view definition,
                                                                    Instant now) const;

    // --- workers ---------------------------------------------------------------------------------
    /// A new context for one thread, owned by the limiter. There are at most kMaxThreads. The seed
    /// drives the lots of its requests.
    [[nodiscard]] ThreadContext& register_thread(std::uint64_t seed);
    /// Says that the thread holds no LeafId and no name any more. To be called once in every turn
    /// of the event loop.
    void quiescent(ThreadContext& thread);
    /// Begins to look a name up: its place in the table of names is being fetched from memory while
    /// the caller does other work. The name must live until find() has been called, which has to be
    /// before the thread's next quiescent().
    [[nodiscard]] AskedName ask(ThreadContext& thread, std::string_view name) const;
    /// The instance of this name, made on first use; a LeafId that is false if no definition
    /// matches the name.
    [[nodiscard]] LeafId find(ThreadContext& thread, const AskedName& asked, Instant now);
    [[nodiscard]] LeafId find(ThreadContext& thread, std::string_view name, Instant now) {
        return find(thread, ask(thread, name), now);
    }
    /// Finds the instance of this name in the same way and adds it to those of the request. They do
    /// not make room for it. False if no definition matches the name.
    bool find(ThreadContext& thread, const AskedName& asked, Instant now, Leaves& leaves);
    /// The same with the first of these names that is that of a quota. A name that only a catch-all
    /// fits counts after all others, because a catch-all fits every name. The first of the names
    /// has been asked for. False if none of them is that of a quota.
    template <class Names>
    bool find_first(ThreadContext& thread, const AskedName& first, const Names& names, Instant now,
                    Leaves& leaves);
    /// Decides about one request. `fields` are for quotas with enforced_by; without them the name
    /// of the leaf is the key.
    [[nodiscard]] Decision check(ThreadContext& thread, LeafId leaf, const Weights& weights,
                                 Instant now, CheckMode mode,
                                 const RequestFields* fields = nullptr);
    /// Decides about one request to which the chains of several quotas apply. Every quota of them
    /// counts once, also where they meet. The request is admitted with the product of the chances
    /// of all limits, and charged to all or none of them. The lot is that of the first chain. The
    /// key of a quota that is enforced in part is the name of the leaf of the first chain that has
    /// this quota.
    [[nodiscard]] Decision check(ThreadContext& thread, const Leaves& leaves,
                                 const Weights& weights, Instant now, CheckMode mode,
                                 const RequestFields* fields = nullptr);
    /// Grants as many of the wanted units as every limit of the chain has free, all or nothing
    /// below the minimum, and charges them once on all levels. It is as if single requests of one
    /// unit each came at this moment: up to `low` each unit is granted, above it the share that a
    /// limit does not shed. A part of what is wanted is a whole number. Limits of response bytes
    /// are charged nothing; correct() may charge them later.
    [[nodiscard]] Grant obtain(ThreadContext& thread, LeafId leaf, const Wish& wish, Instant now,
                               CheckMode mode, const RequestFields* fields = nullptr);
    /// Counts the refusal of a request that could have waited, or has waited in vain. To be called
    /// before the thread's next quiescent() after that decision.
    void give_up(ThreadContext& thread, const Decision& decision);
    /// Takes a place in the queue of the quota that refused, if it has room (WaitForm::queue, of
    /// all threads together). Until the place is given back, other requests do not overtake and the
    /// instance stays. Before the thread's next quiescent() after the decision.
    [[nodiscard]] WaitPlace begin_waiting(const Decision& decision);
    void end_waiting(const WaitPlace& place);
    /// Gives back units that were obtained and not used, at most all that the charge still has.
    void give_back(ThreadContext& thread, Charge& charge, double units, Instant now);
    /// Gives back all that was charged, because the request never reached its service. Places of
    /// requests in flight are given back by finish() alone.
    void refund(ThreadContext& thread, const Charge& charge, Instant now);
    /// The request has ended: limits of requests in flight do not count it any more. To be called
    /// once for every charge, on any thread. Clears the charge's places, so that a second call does
    /// nothing.
    void finish(ThreadContext& thread, Charge& charge);
    /// Corrects a charge when the true weight in one unit becomes known (response bytes, or a cost
    /// that the application stated). Charges or gives back the difference and keeps the true weight
    /// in the charge. With `last`, `actual` is the whole weight and also updates the running mean;
    /// without it more weight may follow, as in a long response.
    void correct(ThreadContext& thread, Charge& charge, Unit unit, double actual, Instant now,
                 bool last = true);
    /// Charges more weight in one unit to the limits that were charged, as what passes in a tunnel.
    /// It counts as a weight of its own: the charge does not keep it, a refund does not give it
    /// back, and it does not update the running mean.
    void add(ThreadContext& thread, const Charge& charge, Unit unit, double weight, Instant now);

    /// Keeps the instances that were charged from being dropped as idle, for a charge that may be
    /// corrected after minutes. The result, which is false if there is nothing to hold, is for
    /// unhold().
    [[nodiscard]] Held hold(const Charge& charge);
    void unhold(const Held& held);

    /// The name of the quota that a decision describes, also of an admitted request. Valid as long
    /// as the decision's `quota` is.
    [[nodiscard]] std::string_view quota_name(const Decision& decision) const;
    /// The options of that quota for answers; valid as long as its name is. Null when the decision
    /// describes no quota.
    [[nodiscard]] const QuotaOptions* options(const Decision& decision) const;

    // --- control thread: the engine's side -------------------------------------------------------
    /// Visits the limits of fleet scope that were used since the last call. The cost depends on
    /// their number only. Limits that only count are left for the two functions that follow.
    void drain_active(const std::function<void(LimitRef)>& visit);
    /// Visits the limits of requests in flight that the calls of drain_active() met since the last
    /// call of this function; up to 65,536 of them.
    void drain_in_flight(const std::function<void(LimitRef)>& visit);
    /// What is in flight here under a limit, and how many found no room since the last call.
    /// Nothing if the reference is stale.
    [[nodiscard]] std::optional<InFlightCounts> take_in_flight(LimitRef limit);
    /// Sets how many requests of such a limit may be in flight in this process; without an
    /// allowance its equal part (set_members()). Requests that are in flight already stay. False if
    /// the reference is stale or the limit is this process's alone.
    bool allow_in_flight(LimitRef limit, std::optional<double> allowance);
    /// Says with which allowance such a limit of a quota begins when an instance is made; nothing:
    /// with its equal part. `quota` is this hash of the instance's name, always the same one.
    void foretell_in_flight(std::uint64_t quota, std::optional<double> allowance,
                            std::uint64_t (*hash)(std::string_view name));
    /// The same for limits of windows.
    void drain_windows(const std::function<void(LimitRef)>& visit);
    /// What was admitted here in the present window of a limit. Nothing if the reference is stale.
    [[nodiscard]] std::optional<WindowCounts> take_window(LimitRef limit, Instant now);
    /// Sets how much this process may admit in a window. It begins that window if there is none
    /// now, and if its own window would end later, that one ends with this one. False if the
    /// reference is stale or the limit is this process's alone.
    bool allow_in_window(LimitRef limit, const WindowAllowance& allowance, Instant now);
    /// Notes the same for a limit that has no record here yet. Limits are known by the number that
    /// `naming` returns, which is always the same function.
    void foretell_window(std::uint64_t limit, const WindowAllowance& allowance, LimitNaming naming);
    /// Notes the level that a rate had at a time, for a record that is made later. Limits are
    /// known by the number that `naming` returns, which is always the same function. The record
    /// begins with what is left of it. What the engine reads as this process's own counts and level
    /// does not contain it.
    void foretell_level(std::uint64_t limit, const ToldLevel& told, LimitNaming naming);
    /// Whether the bucket of this rate of fleet scope takes longer than that to drain when it is
    /// full. False if the reference is stale.
    [[nodiscard]] bool drains_slowly(LimitRef limit, Duration longer) const;
    /// Visits the rates of fleet scope with a level above 0, among `most` records from `from` on,
    /// which is 1 at first. Returns where the next call goes on, or 0 after the last record.
    std::uint32_t read_levels(
        std::uint32_t from, std::uint32_t most, Instant now,
        const std::function<void(const LimitIdentity& limit, double level)>& visit) const;
    /// Says how many members share the limits of windows, this one included, and since which second
    /// this process has been one of them (Windows::set_members()).
    void share_windows(std::uint32_t members, std::int64_t since);
    /// Says how many members share the limits of the fleet, this one included. Each may have an
    /// equal part of a limit of requests in flight and one more, as long as nobody tells it its
    /// allowance. New limits begin with that; others follow when allow_in_flight() says so.
    void set_members(std::uint32_t members);
    /// Brings the limit to `now` and reads it; nothing if the reference is stale.
    [[nodiscard]] std::optional<LocalCounts> read(LimitRef limit, Instant now);
    /// Reads the limit without giving it a view, which costs memory, and takes what was counted
    /// since the last call. Nothing if the reference is stale or the limit has a view.
    [[nodiscard]] std::optional<UnviewedCounts> take_unviewed(LimitRef limit, Instant now);
    /// Makes the view the one that decisions use. False if the reference is stale or a value is out
    /// of range; the latter is counted.
    bool install(LimitRef limit, const FleetView& view, Instant now);
    /// Removes the view: from now on decisions use only what this process has admitted and is
    /// offered.
    void uninstall(LimitRef limit, Instant now);
    /// Tells the limiter whether the members that own the limit cannot be heard. While they cannot,
    /// the limit does what IsolationMode says. False if the reference is stale.
    bool isolate(LimitRef limit, bool isolated, Instant now);
    /// Ends the synchronisation of an idle limit. Its counts begin at 0 when it is used again.
    void release(LimitRef limit, Instant now);
    /// What the limit is called in the fleet; nothing if the reference is stale.
    [[nodiscard]] std::optional<LimitIdentity> identity(LimitRef limit) const;
    /// The limit of a live instance by name, without making one.
    [[nodiscard]] std::optional<LimitRef> lookup(std::string_view quota, Unit unit, Duration period,
                                                 LimitKind kind = LimitKind::rate) const;
    /// The parameters that a rate limit of this name has or would have, for owners that never use
    /// it. Nothing if there is no such limit or its scope is not the fleet.
    [[nodiscard]] std::optional<LimitParameters> resolve_parameters(std::string_view quota,
                                                                    Unit unit,
                                                                    Duration period) const;
    /// What the definition that this name falls under says of isolation; the default if there is
    /// none.
    [[nodiscard]] Isolation isolation_of(std::string_view quota) const;

    // --- control thread: fair shedding -----------------------------------------------------------
    /// Visits the limits of parents that have shed fairly in the last second, with what their
    /// children were offered here. `hash` makes the number by which a child is known from its name.
    void read_shedding(Instant now, std::uint64_t (*hash)(std::string_view name),
                       const std::function<void(SheddingParent&)>& visit);
    /// Tells what all children of the parent are offered by the whole fleet, and of this what other
    /// processes are offered. Holds for three seconds. Only for parents that the last
    /// read_shedding() visited.
    void tell_children(LimitRef parent, const ChildRates& all, const ChildRates& others,
                       Instant now);

  private:
    [[nodiscard]] bool have_catch_all(ThreadContext& thread) const;
    [[nodiscard]] bool falls_to_catch_all(ThreadContext& thread, const AskedName& asked) const;
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

template <class Names>
bool Limiter::find_first(ThreadContext& thread, const AskedName& first, const Names& names,
                         Instant now, Leaves& leaves) {
    const auto asked = [&](std::size_t i) { return i == 0 ? first : ask(thread, names[i]); };
    if (names.size() > 1 && have_catch_all(thread)) [[unlikely]] {
        for (std::size_t i = 0; i < names.size(); ++i) {
            const AskedName one = asked(i);
            if (!falls_to_catch_all(thread, one) && find(thread, one, now, leaves)) {
                return true;
            }
        }
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (find(thread, asked(i), now, leaves)) {
            return true;
        }
    }
    return false;
}

}  // namespace weir::limiter

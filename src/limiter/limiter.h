#pragma once
// The limiter: a tree of quotas, each a set of leaky buckets, and one decision per request.
// It does no I/O and reads no clock: callers pass `now`, which may not run backwards by much.
//
// Threads. ONE control thread calls everything under "control thread". Any number of workers (up
// to kMaxThreads), each with its own ThreadContext, call find, check, refund, correct and
// quiescent at the same time as that. check() takes no lock, allocates nothing and makes no system
// call; find() of a known quota neither. Making an instance on first use is serialised by a lock
// that is tried a bounded number of times; who does not get it uses the template's overflow
// instance this once, with the name's own parents as far as they live. It is made with its
// template, so that there always is one. The first request of an exact name waits for the lock:
// once in the definition's life, and never does a request pass without its limits.
//
// Lifetime. A LeafId and the name in a Decision stay valid until the thread's next quiescent().
// A Charge may be kept for as long as the request takes: it carries a generation, and refunding
// to an instance that is gone does nothing. hold() keeps one that must not go meanwhile.
//
// Invariants. A refused request is charged to no level, an admitted one to every enforcing level
// and to every shadowing one that would have admitted it.
// Live instances of templates never exceed Options::max_instances (and the caps of templates and
// parents). Those of exact names and of their parents come on top: the definitions bound them.

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
#include "limiter/laws.h"
#include "limiter/limiter_options.h"
#include "limiter/statistics.h"
#include "limiter/sync.h"

namespace weir::limiter {

class ThreadContext;

class Limiter {
  public:
    static constexpr std::size_t kMaxThreads = 64;

    explicit Limiter(const LimiterOptions& options);
    ~Limiter();
    Limiter(const Limiter&) = delete;
    Limiter& operator=(const Limiter&) = delete;

    // --- control thread: definitions -----------------------------------------------------------
    /// Edits the definitions in force: adds, replaces and takes away quotas, in this order. The
    /// caller has validated the set that comes out of it (validate()) and puts parents before their
    /// children. The cost depends on the changes and not on what is in force. A change that cannot
    /// be made (there are too many quotas, or one would be its own ancestor) is left out. Returns
    /// how many were left out; `refused` receives which ones and why.
    std::size_t change(std::span<const DefinitionChange> changes, Instant now,
                       std::vector<DefinitionError>* refused = nullptr);
    [[nodiscard]] std::vector<QuotaDefinition> definitions() const;
    /// The definition that a name falls under (exact or template), or none.
    [[nodiscard]] std::optional<QuotaDefinition> definition_for(std::string_view name) const;

    // --- control thread: upkeep ----------------------------------------------------------------
    /// Drops idle empty instances (a bounded part of the table each call), reuses what no thread
    /// can see any more, gives room to those that an edit found none for, grows the name table,
    /// reads gauges. Call it every 10 ms to 1 s.
    void maintain(Instant now);
    [[nodiscard]] Memory memory() const;
    [[nodiscard]] LimiterCounters counters() const;
    /// The limits of a live instance; empty if there is none of that name.
    [[nodiscard]] std::vector<LimitStatus> inspect(std::string_view quota, Instant now) const;
    /// Visits the figures of every definition. Counters are of this moment, and so are gauges while
    /// there are few instances; of more than 16,384 records they are those of the last round that
    /// maintain() made, 16,384 records a call.
    void for_each_statistics(Instant now,
                             const std::function<void(const DefinitionStatistics&)>& visit) const;
    /// The figures of one definition; looks at its own instances only, at 10,000 of them at most:
    /// of a template with more, gauges are those of so many of them.
    [[nodiscard]] std::optional<DefinitionStatistics> statistics_of(std::string_view definition,
                                                                    Instant now) const;

    // --- workers -------------------------------------------------------------------------------
    /// One per thread, owned by the limiter; at most kMaxThreads. The seed drives its lots.
    [[nodiscard]] ThreadContext& register_thread(std::uint64_t seed);
    /// The thread holds no LeafId and no name any more; call once per event-loop turn.
    void quiescent(ThreadContext& thread);
    /// The instance of this name, made on first use; falsy if no definition matches.
    [[nodiscard]] LeafId find(ThreadContext& thread, std::string_view name, Instant now);
    /// `fields`: for quotas with enforced_by; without them the leaf's name is the key.
    [[nodiscard]] Decision check(ThreadContext& thread, LeafId leaf, const Weights& weights,
                                 Instant now, CheckMode mode,
                                 const RequestFields* fields = nullptr);
    /// Gives everything back (the request never reached its service).
    void refund(ThreadContext& thread, const Charge& charge, Instant now);
    /// The true weight of a unit is known now (response bytes, a cost stated by the app): charges
    /// or gives back the difference and remembers the true weight in the charge. With `last` it is
    /// the whole and moves the running mean; without, more may follow (a long response).
    void correct(ThreadContext& thread, Charge& charge, Unit unit, double actual, Instant now,
                 bool last = true);

    /// Keeps the instances that were charged from being dropped as idle, until unhold() of the
    /// result: for a charge that may be corrected after minutes. 0: nothing to hold.
    [[nodiscard]] std::uint32_t hold(const Charge& charge);
    void unhold(std::uint32_t held);

    /// The instance that a decision describes, also of an admitted request; valid as its quota is.
    [[nodiscard]] std::string_view quota_name(const Decision& decision) const;
    /// What that quota says about answers; valid as its name is. nullptr: nothing is described.
    [[nodiscard]] const QuotaOptions* options(const Decision& decision) const;

    // --- control thread: the engine's side -------------------------------------------------------
    /// Visits the fleet-scoped limits touched since the last drain; costs by their number.
    void drain_active(const std::function<void(LimitRef)>& visit);
    /// Brings the limit to `now` and reads it; nothing if the reference is stale.
    [[nodiscard]] std::optional<LocalCounts> read(LimitRef limit, Instant now);
    /// Values out of range are refused (false, counted), as is a stale reference.
    bool install(LimitRef limit, const FleetView& view, Instant now);
    /// Alone again: the local level counts, lambda = own rate.
    void uninstall(LimitRef limit, Instant now);
    /// Whether the limit's owners cannot be heard: then what the definition says for that holds,
    /// for as long as the engine does not take it back. False if the reference is stale.
    bool isolate(LimitRef limit, bool isolated, Instant now);
    /// The engine is done with an idle limit; its counts begin at 0 when it is touched again.
    void release(LimitRef limit, Instant now);
    [[nodiscard]] std::optional<LimitIdentity> identity(LimitRef limit) const;
    /// The limit of a live instance by name, without making one.
    [[nodiscard]] std::optional<LimitRef> lookup(std::string_view quota, Unit unit,
                                                 Duration period) const;
    /// Parameters that a limit of this name has or would have; for owners that never use it.
    [[nodiscard]] std::optional<LimitParameters> resolve_parameters(std::string_view quota,
                                                                    Unit unit,
                                                                    Duration period) const;
    /// What the definition that this name falls under says for isolation; safe without one.
    [[nodiscard]] IsolationMode isolation_of(std::string_view quota) const;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace weir::limiter

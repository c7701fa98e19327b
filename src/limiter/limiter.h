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
#include "limiter/definition.h"
#include "limiter/laws.h"
#include "limiter/sync.h"

namespace weir::limiter {

class ThreadContext;

/// What one request weighs, per unit. Anything not finite counts as the maximum, anything below 0
/// as 0. Response bytes are not given: the running mean stands for them until correct().
struct Weights {
    double requests = 1;
    double request_bytes = 0;
    double cost = 1;
};

/// The quota that a request was routed to. Falsy = no quota of that name.
struct LeafId {
    std::uint32_t instance = 0;
    std::uint32_t generation = 0;
    std::uint32_t resume = 0;             // first ancestor that is not an overflow instance
    std::uint16_t resume_generation = 0;  // of it
    std::uint16_t overflow_depth = 0;     // overflow instances at the bottom of the chain
    explicit operator bool() const { return instance != 0; }
    friend bool operator==(const LeafId&, const LeafId&) = default;
};

/// The fields of a request, for quotas that are enforced for a share of a field's values only.
/// Asked within check() at most.
class RequestFields {
  public:
    /// The value of the field; empty if there is none. Valid until check() returns.
    [[nodiscard]] virtual std::string_view value(std::string_view field) const = 0;

  protected:
    ~RequestFields() = default;
};

enum class CheckMode : std::uint8_t {
    charge,                  // decide; charge if admitted
    peek,                    // decide; charge nothing; a refusal still counts as offered
    charge_without_judging,  // a tier in front has decided by peeking
};

enum class Reason : std::uint8_t {
    none,      // admitted
    no_quota,  // admitted: there is no such quota
    limit,     // refused by the law
    zero,      // refused: the limit is 0
    isolated,  // refused: the limit's owners cannot be heard (IsolationMode::pessimistic)
};

/// What was charged, to give it back or correct it later.
struct Charge {
    LeafId leaf;
    std::uint32_t charged = 0;  // bit i = i-th limit of the chain
    std::uint32_t version = 0;  // of the definitions when it was charged
    float response_bytes = 0;   // the mean that stood for them
    Weights weights;
    explicit operator bool() const { return charged != 0; }
};

/// Everything from one evaluation. `quota`, `amount`, `remaining` ... describe the level that
/// refused (the one with the largest p), or of an admitted request the level nearest to refusing.
struct Decision {
    bool admitted = true;
    bool shadow_refused = false;  // a quota would have refused it that only shadows its key
    bool hide_headers = false;    // this quota must not be named
    Reason reason = Reason::none;
    Unit unit = Unit::requests;
    std::string_view quota;          // who refused, valid until quiescent(); empty if admitted
    std::uint32_t instance = 0;      // see Limiter::quota_name
    double amount = 0;               // of the limit, as defined, per ...
    Duration period{};               // ... this period
    double remaining = 0;            // whole units left below low, after this request
    Duration reset{};                // until the level is back at low (0 if it is not above)
    Duration retry_after{};          // max(1 s, reset); the answer adds jitter
    double discard_probability = 0;  // of the whole chain, for this request
    Charge charge;
};

/// Figures per definition (never per instance), for metrics. Counters are in the weight of the
/// definition's first limit and only grow while the definition exists.
struct DefinitionStatistics {
    std::string_view quota;  // the configured name or template; "__other__" beyond the bound
    double offered = 0;      // everything that arrived, whatever other levels did with it
    double admitted = 0;
    double refused = 0;            // refused with this quota named
    double shadow_refused = 0;     // would have been refused, had it been enforced for this key
    double refunded = 0;           // admitted, but given back since
    std::uint64_t overflowed = 0;  // requests that used the overflow instance
    std::uint32_t live_instances = 0;
    double discard_probability_mean = 0;  // offered-weighted over live instances
    double discard_probability_max = 0;
    double level_ratio_mean = 0;  // level/low of the fullest limit, offered-weighted
    double level_ratio_max = 0;
    Mode mode = Mode::enforce;
    std::span<const RateLimit> limits;
};

struct Memory {
    std::size_t instances = 0;  // live, overflow instances of templates apart
    std::size_t records = 0;    // limits of live instances
    std::size_t bytes = 0;      // touched by instances, tables and views, names apart
    std::size_t name_bytes = 0;
    std::size_t views = 0;  // limits that the engine synchronises
    std::size_t definitions = 0;
    /// Live instances that an edit left without a record for a limit, or without the parent that it
    /// named, for want of room; maintain() gives it to them.
    std::size_t awaiting_room = 0;
};

struct LimiterCounters {
    std::uint64_t created = 0;
    std::uint64_t replaced = 0;  // made room for another
    std::uint64_t dropped_idle = 0;
    std::uint64_t searched = 0;        // instances looked at to make room
    std::uint64_t swept = 0;           // records that maintain() looked at
    std::uint64_t gauged = 0;          // records whose gauges were read for the figures
    std::uint64_t overflowed = 0;      // requests on overflow instances
    std::uint64_t contended = 0;       // of these because another thread was making an instance
    std::uint64_t active_dropped = 0;  // active-list entries lost to a full list (retried)
    std::uint64_t clamped_weights = 0;
    std::uint64_t bad_views = 0;  // views with values out of range, refused
    /// Records that an edit gave to another limit of their instance: references to them (LimitRef)
    /// mean that one now.
    std::uint64_t cleared = 0;
};

struct LimiterOptions {
    std::uint32_t max_instances = 1'000'000;  // at most 12,000,000
    std::uint64_t seed = 0;                   // for the secret hash key; threads have their own
    double max_weight = 1e12;
    Duration idle_after = std::chrono::seconds(60);  // idle and empty for this long: dropped
    Duration busy_for = std::chrono::seconds(1);     // touched this recently: not replaced
    std::uint32_t max_instances_per_template = 0;    // 0 = max_instances
    std::uint32_t max_children_per_parent = 0;       // 0 = max_instances
    std::uint32_t max_statistics = 4096;             // definitions with figures of their own
    std::uint32_t max_views = 1'000'000;             // limits that carry a view
    /// How often a worker tries the lock for making an instance before it uses the overflow
    /// instance. Making one takes a microsecond or two; with 0 (tests) it never gets the lock.
    std::uint32_t creation_tries = 4096;
};

/// One limit of a live instance as it stands, for people: admin API and dashboard.
struct LimitStatus {
    RateLimit limit;
    LimitParameters parameters;
    double level = 0;
    double offered_rate = 0;        // own, per second
    double fleet_offered_rate = 0;  // lambda of the view; own without one
    double discard_probability = 0;
    bool has_view = false;
    bool shedding = false;
    bool isolated = false;  // its owners cannot be heard
};

class Limiter {
  public:
    static constexpr std::size_t kMaxThreads = 64;

    explicit Limiter(const LimiterOptions& options);
    ~Limiter();
    Limiter(const Limiter&) = delete;
    Limiter& operator=(const Limiter&) = delete;

    // --- control thread: definitions -----------------------------------------------------------
    /// Replaces the whole set. Refused whole, with what is in force kept, if validate() objects.
    [[nodiscard]] std::vector<DefinitionError> apply(std::span<const QuotaDefinition> definitions,
                                                     Instant now);
    /// Adds or edits one / takes one away, as apply() of the set so changed.
    [[nodiscard]] std::vector<DefinitionError> upsert(const QuotaDefinition& definition,
                                                      Instant now);
    [[nodiscard]] std::vector<DefinitionError> erase(std::string_view name, Instant now);
    /// Many at once, in this order, by a caller that has validated what comes out of them and puts
    /// parents before their children; costs by the changes and not by what is in force. What
    /// cannot be done (no room, a cycle) is left out; how many were, and which if one asks.
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
    /// Whether the limit exists and is fleet-scoped is told by resolve_parameters; this lists every
    /// fleet-scoped limit of the definition that a name falls under.
    [[nodiscard]] std::vector<RateLimit> limits_for(std::string_view quota) const;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace weir::limiter

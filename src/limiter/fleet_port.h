#pragma once
// The port to the fleet: the side of the limiter that the engine uses to synchronise limits between
// processes. The engine learns which limits are in use (from the active lists), reads what this
// process did with them, and installs views of what the fleet does.
//
// Thread-safety: is_listening() and note_active() are for workers; everything else is for the
// control thread.
// Ownership: it owns nothing but the flag whether an engine listens; view records belong to the
// InstanceStore.
// Invariants: every reference (LimitRef) is checked before it is used, so that a stale one does
// nothing. A record is in at most one active list; its kQueued bit says whether it is in one.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/relaxed.h"
#include "limiter/bucket.h"
#include "limiter/compiled_definitions.h"
#include "limiter/fleet_values.h"
#include "limiter/instance_records.h"
#include "limiter/instance_store.h"
#include "limiter/instances.h"
#include "limiter/thread_contexts.h"
#include "limiter/windows.h"

namespace weir::limiter {

class FleetPort {
  public:
    FleetPort(InstanceStore& store, const CompiledDefinitions& definitions,
              InstanceRecords& records, const Instances& instances, const ThreadContexts& threads,
              Windows& windows)
        : store_(store),
          definitions_(definitions),
          records_(records),
          instances_(instances),
          threads_(threads),
          windows_(windows) {}

    // --- workers ---------------------------------------------------------------------------------
    /// Whether an engine drains the active lists.
    [[nodiscard]] bool is_listening() const { return listening_.load(std::memory_order_relaxed); }
    /// Puts the limit into the thread's active list, unless it is in an active list already.
    static void note_active(ThreadContext& thread, std::uint32_t id, LimitRecord& record);

    // --- control thread: as Limiter says it ------------------------------------------------------
    void drain_active(const std::function<void(LimitRef)>& visit);
    void drain_in_flight(const std::function<void(LimitRef)>& visit);
    [[nodiscard]] std::optional<InFlightCounts> take_in_flight(LimitRef limit);
    bool allow_in_flight(LimitRef limit, std::optional<double> allowance);
    void foretell_in_flight(std::uint64_t quota, std::optional<double> allowance,
                            std::uint64_t (*hash)(std::string_view name));
    void set_members(std::uint32_t members) { records_.set_members(members); }
    void drain_windows(const std::function<void(LimitRef)>& visit);
    [[nodiscard]] std::optional<WindowCounts> take_window(LimitRef limit, Instant now);
    bool allow_in_window(LimitRef limit, const WindowAllowance& allowance, Instant now);
    [[nodiscard]] std::optional<LocalCounts> read(LimitRef limit, Instant now);
    [[nodiscard]] std::optional<UnviewedCounts> take_unviewed(LimitRef limit, Instant now);
    bool install(LimitRef limit, const FleetView& view, Instant now);
    void uninstall(LimitRef limit, Instant now);
    bool isolate(LimitRef limit, bool isolated, Instant now);
    void release(LimitRef limit, Instant now);
    [[nodiscard]] std::optional<LimitIdentity> identity(LimitRef limit) const;
    [[nodiscard]] std::optional<LimitRef> lookup(std::string_view quota, Unit unit, Duration period,
                                                 LimitKind kind) const;
    [[nodiscard]] std::optional<LimitParameters> resolve_parameters(std::string_view quota,
                                                                    Unit unit,
                                                                    Duration period) const;
    [[nodiscard]] Isolation isolation_of(std::string_view quota) const;
    void foretell_level(std::uint64_t limit, const ToldLevel& told, LimitNaming naming);
    [[nodiscard]] bool drains_slowly(LimitRef limit, Duration longer) const;
    std::uint32_t read_levels(
        std::uint32_t from, std::uint32_t most, Instant now,
        const std::function<void(const LimitIdentity& limit, double level)>& visit) const;
    /// A reference to the limit that has this record; nothing if its instance is gone.
    [[nodiscard]] std::optional<LimitRef> reference(std::uint32_t record) const;
    /// Whether all sidecars share the limit; false if the reference is stale.
    [[nodiscard]] bool is_of_fleet(LimitRef limit) const;

    /// How many views were refused because a value was out of range.
    [[nodiscard]] std::uint64_t bad_views() const { return bad_views_; }

  private:
    /// What a reference leads to now; `limit` is null when the reference is stale or an edit took
    /// the limit away.
    struct Found {
        LimitRecord* record = nullptr;
        const CompiledLimit* limit = nullptr;
        const CompiledDefinition* definition = nullptr;
    };
    [[nodiscard]] Found resolve(LimitRef limit) const;
    [[nodiscard]] std::vector<LimitRef>* met_of(LimitRef limit);
    [[nodiscard]] Bucket bucket_of(const Found& found) const;
    [[nodiscard]] double begun_with(LimitRef limit, const Found& found, Instant now);
    [[nodiscard]] std::optional<std::uint32_t> definition_of(std::string_view quota) const;
    bool ensure_view(std::uint32_t id, const Found& found, Instant now);
    static void take_over_pending(LimitRecord& record, ViewRecord& view, std::int64_t now);
    static void set_isolated(const Found& found, const Bucket& bucket, bool isolated,
                             double renewed);

    InstanceStore& store_;
    const CompiledDefinitions& definitions_;
    InstanceRecords& records_;
    const Instances& instances_;
    const ThreadContexts& threads_;
    Windows& windows_;
    std::atomic<bool> listening_{false};
    std::vector<LimitRef> in_flight_;    // met by drain_active(), for drain_in_flight()
    std::vector<LimitRef> windows_met_;  // the same, for drain_windows()
    std::uint64_t bad_views_ = 0;
};

inline void FleetPort::note_active(ThreadContext& thread, std::uint32_t id, LimitRecord& record) {
    if ((record.control.load(kRelaxed) & kQueued) != 0 ||
        (record.control.fetch_or(kQueued, kRelaxed) & kQueued) != 0) {
        return;
    }
    if (!thread.active.push(id)) {
        record.control.fetch_and(~kQueued, kRelaxed);  // the next request tries again
        thread.active_dropped.add(1);
    }
}

}  // namespace weir::limiter

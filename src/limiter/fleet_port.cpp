#include "limiter/fleet_port.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>

#include "base/assert.h"
#include "base/relaxed.h"
#include "limiter/in_flight.h"

namespace weir::limiter {
namespace {

/// Levels and rates of the fleet that are larger than this are not believed.
constexpr double kMostPlausible = 1e18;

/// So many limits of one kind that only count are met at once; those beyond it are met when they
/// are used again.
constexpr std::size_t kMostMet = std::size_t{1} << 16;

/// The record's lock bit, held while in scope. For the control thread.
class RecordLock {
  public:
    explicit RecordLock(LimitRecord& record) : record_(record) { lock_waiting(record_); }
    ~RecordLock() { unlock(record_); }
    RecordLock(const RecordLock&) = delete;
    RecordLock& operator=(const RecordLock&) = delete;

  private:
    LimitRecord& record_;
};

bool plausible(double value) {
    return value >= 0 && value <= kMostPlausible;  // false for what is not a number
}

bool plausible(const FleetView& view) {
    return std::isfinite(view.level) && view.level <= kMostPlausible &&
           std::isfinite(view.admitted_at) && plausible(view.offered_rate) &&
           plausible(view.others_rate) && plausible(view.heaviest) &&
           view.round_trip >= Duration::zero();
}

}  // namespace

// --- references ----------------------------------------------------------------------------------

std::optional<LimitRef> FleetPort::reference(std::uint32_t record) const {
    WEIR_ASSERT(record != 0 && record <= store_.high_water());
    const LimitRecord& found = store_.record(record);
    const std::uint32_t head = store_.live_head(record) ? record : found.owner.load(kRelaxed);
    if (!store_.live_head(head)) {
        return std::nullopt;
    }
    return LimitRef{head, record, store_.long_generation(head)};
}

bool FleetPort::is_of_fleet(LimitRef limit) const {
    const Found found = resolve(limit);
    return found.limit != nullptr && found.limit->fleet;
}

FleetPort::Found FleetPort::resolve(LimitRef limit) const {
    if (limit.instance == 0 || limit.instance > store_.high_water() ||
        limit.record > store_.high_water() || !store_.live_head(limit.instance) ||
        store_.long_generation(limit.instance) != limit.generation) {
        return {};
    }
    Found found;
    found.definition = definitions_.of(store_.record(limit.instance));
    found.record = &store_.record(limit.record);
    if (found.definition == nullptr ||
        (limit.record != limit.instance && found.record->owner.load(kRelaxed) != limit.instance)) {
        return {};
    }
    found.limit = found.definition->find(found.record->identity(), 0);
    return found;
}

Bucket FleetPort::bucket_of(const Found& found) const {
    WEIR_ASSERT(found.record != nullptr && found.limit != nullptr);
    return {*found.record, store_.view_of(*found.record), in_force(*found.limit, *found.record)};
}

std::optional<LimitIdentity> FleetPort::identity(LimitRef limit) const {
    const Found found = resolve(limit);
    if (found.limit == nullptr) {
        return std::nullopt;
    }
    return LimitIdentity{store_.name(limit.instance),
                         found.limit->unit,
                         found.limit->period,
                         found.limit->parameters,
                         found.definition->source.isolation(),
                         found.limit->safe != nullptr};
}

std::optional<LimitRef> FleetPort::lookup(std::string_view quota, Unit unit, Duration period,
                                          LimitKind kind) const {
    const auto entry = store_.names.find(definitions_.hash(quota));
    if (!entry) {
        return std::nullopt;
    }
    const std::uint32_t head = Instances::leaf_of(*entry).instance;
    WEIR_ASSERT(head != 0 && head <= store_.high_water());
    const CompiledDefinition* definition = definitions_.of(store_.record(head));
    const CompiledLimit* wanted =
        definition == nullptr ? nullptr : definition->find(kind, unit, period);
    for (std::uint32_t id = head; id != 0 && wanted != nullptr; id = store_.record(id).next()) {
        if (store_.record(id).identity() == wanted->identity) {
            return reference(id);
        }
    }
    return std::nullopt;
}

// --- which limits are in use ---------------------------------------------------------------------

void FleetPort::drain_active(const std::function<void(LimitRef)>& visit) {
    listening_.store(true, kRelaxed);
    threads_.for_each([&](ThreadContext& thread) {
        // At most as many as the list holds, because workers go on filling it.
        for (std::uint32_t left = ActiveList::kCapacity; left > 0; --left) {
            const std::uint32_t record = thread.active.pop();
            if (record == 0) {
                break;
            }
            store_.record(record).control.fetch_and(~kQueued, kRelaxed);
            const auto limit = reference(record);
            if (!limit) {
                continue;
            }
            if (std::vector<LimitRef>* const met = met_of(*limit); met == nullptr) {
                visit(*limit);
            } else if (met->size() < kMostMet) {
                met->push_back(*limit);
            }
        }
    });
}

/// The list for limits of this kind that only count; null for a rate.
std::vector<LimitRef>* FleetPort::met_of(LimitRef limit) {
    const Found found = resolve(limit);
    if (found.limit == nullptr || !found.limit->parameters.only_counts()) {
        return nullptr;
    }
    return found.limit->parameters.window ? &windows_met_ : &in_flight_;
}

// --- requests in flight --------------------------------------------------------------------------

void FleetPort::drain_in_flight(const std::function<void(LimitRef)>& visit) {
    for (const LimitRef limit : in_flight_) {
        visit(limit);
    }
    in_flight_.clear();
}

std::optional<InFlightCounts> FleetPort::take_in_flight(LimitRef limit) {
    const Found found = resolve(limit);
    if (found.limit == nullptr || !found.limit->parameters.in_flight) {
        return std::nullopt;
    }
    WEIR_ASSERT(found.record != nullptr && in_flight_here(*found.record) >= 0);
    return InFlightCounts{.most = found.limit->parameters.low,
                          .allowance = allowance_of(*found.record, found.limit->parameters),
                          .in_flight = in_flight_here(*found.record),
                          .no_room = take_no_room(*found.record)};
}

bool FleetPort::allow_in_flight(LimitRef limit, std::optional<double> allowance) {
    const Found found = resolve(limit);
    if (found.limit == nullptr || !found.limit->parameters.in_flight || !found.limit->fleet) {
        return false;
    }
    WEIR_ASSERT(!allowance || *allowance >= 0);
    WEIR_ASSERT(found.record != nullptr);
    if (allowance) {
        set_allowance(*found.record, *allowance);
    } else {
        records_.set_equal_part(*found.record, *found.limit);
    }
    return true;
}

void FleetPort::drain_windows(const std::function<void(LimitRef)>& visit) {
    for (const LimitRef limit : windows_met_) {
        visit(limit);
    }
    windows_met_.clear();
}

std::optional<WindowCounts> FleetPort::take_window(LimitRef limit, Instant now) {
    const Found found = resolve(limit);
    if (found.limit == nullptr || !found.limit->parameters.window || !found.limit->fleet) {
        return std::nullopt;
    }
    WindowCounts counts;
    counts.most = found.limit->parameters.low;
    counts.lacking = take_window_lack(*found.record);
    counts.typical = typical_of(*found.record);
    if (windows_.is_open(*found.record, *found.limit, nanoseconds(now))) {
        counts.allowance = window_allowance(*found.record, found.limit->parameters);
        counts.end = window_end(*found.record);
        counts.admitted = admitted_in_window(*found.record);
    }
    return counts;
}

bool FleetPort::allow_in_window(LimitRef limit, const WindowAllowance& allowance, Instant now) {
    WEIR_ASSERT(allowance.allowance >= 0 && allowance.admitted >= 0);
    const Found found = resolve(limit);
    if (found.limit == nullptr || !found.limit->parameters.window || !found.limit->fleet) {
        return false;
    }
    LimitRecord& record = *found.record;
    const double before = record.level.load(kRelaxed);
    const RecordLock locked(record);
    const std::int64_t second = windows_.second(nanoseconds(now));
    if (!window_contains(allowance.end, second, found.limit->windows->longest())) {
        return true;  // it has ended meanwhile, or is far ahead
    }
    if (!windows_.is_open(record, *found.limit, nanoseconds(now))) {
        set_window_allowance(record, allowance.allowance);
        begin_window(record, allowance.end, before, allowance.admitted);
        return true;
    }
    if (window_end(record) > allowance.end) {
        // Others began the same window before this process did.
        record.anchor.store(-allowance.end, std::memory_order_release);
    } else if (window_end(record) < allowance.end) {
        return true;  // this process is still in an earlier window
    }
    const double missing = allowance.admitted - admitted_in_window(record);
    if (missing > 0) {
        add(record.level, missing);
    }
    set_window_allowance(record, allowance.allowance);
    return true;
}

void FleetPort::foretell_in_flight(std::uint64_t quota, std::optional<double> allowance,
                                   std::uint64_t (*hash)(std::string_view name)) {
    const std::lock_guard held(store_.lock);
    records_.foretell(quota, allowance, hash);
}

// --- views ---------------------------------------------------------------------------------------

/// Moves what was counted in the record to the view.
void FleetPort::take_over_pending(LimitRecord& record, ViewRecord& view, std::int64_t now) {
    const Pending pending = unpack_pending(record.pending.load(kRelaxed));
    // How much weight was offered before is not known, but at least as much as was admitted.
    view.offered.store(std::max(0.0, static_cast<double>(pending.admitted - pending.offered)),
                       kRelaxed);
    view.last_offered.store(touched_at(record, now), kRelaxed);
    view.last_weight.store(static_cast<float>(typical_of(record)), kRelaxed);
}

/// Gives the limit a view if it has none; false when there are no more.
bool FleetPort::ensure_view(std::uint32_t id, const Found& found, Instant now) {
    WEIR_ASSERT(id != 0 && id <= store_.high_water());
    LimitRecord& record = store_.record(id);
    if (store_.view_of(record) != nullptr) {
        return true;
    }
    const RecordLock locked(record);
    // Without a view the line holds for ever, so its anchor may be old, and the level at it far
    // above that of now. It is renewed, so that the line of the view begins at `now`.
    const Bucket bucket = bucket_of(found);
    (void)renew(bucket, nanoseconds(now));
    ViewRecord* view = nullptr;
    {
        const std::lock_guard held(store_.lock);
        view = store_.attach_view(id, -bucket.limit.parameters.rate);
    }
    if (view != nullptr) {
        take_over_pending(record, *view, nanoseconds(now));
    }
    return view != nullptr;
}

std::optional<LocalCounts> FleetPort::read(LimitRef limit, Instant now) {
    const Found found = resolve(limit);
    if (found.limit == nullptr || !ensure_view(limit.record, found, now)) {
        return std::nullopt;
    }
    const Bucket bucket = bucket_of(found);
    if (bucket.view == nullptr) {  // a worker has replaced the instance meanwhile
        return std::nullopt;
    }
    const double begun = begun_with(limit, found, now);
    const RecordLock locked(*found.record);
    renew(bucket, nanoseconds(now));
    LocalCounts counts = local_counts(bucket, nanoseconds(now));
    counts.local_level = std::max(std::min(0.0, counts.local_level), counts.local_level - begun);
    return counts;
}

std::optional<UnviewedCounts> FleetPort::take_unviewed(LimitRef limit, Instant now) {
    const Found found = resolve(limit);
    if (found.limit == nullptr || !found.limit->fleet) {
        return std::nullopt;
    }
    const Bucket bucket = bucket_of(found);
    if (bucket.view != nullptr) {
        return std::nullopt;
    }
    LimitRecord& record = bucket.record;
    UnviewedCounts counts;
    counts.admitted =
        static_cast<double>(unpack_pending(record.pending.exchange(0, kRelaxed)).admitted);
    counts.offered_rate = own_offered_rate(record, nanoseconds(now));
    counts.level =
        std::max(0.0, look_at(bucket, nanoseconds(now)).level - begun_with(limit, found, now));
    counts.typical = typical_of(record);
    return counts;
}

bool FleetPort::install(LimitRef limit, const FleetView& view, Instant now) {
    if (!plausible(view)) {
        ++bad_views_;
        return false;
    }
    const Found found = resolve(limit);
    if (found.limit == nullptr || !found.limit->fleet || !ensure_view(limit.record, found, now)) {
        return false;
    }
    const Bucket bucket = bucket_of(found);
    if (bucket.view == nullptr) {  // a worker has replaced the instance meanwhile
        return false;
    }
    WEIR_ASSERT(bucket.limit.fleet);
    const RecordLock locked(*found.record);
    install_view(bucket, view, renew(bucket, nanoseconds(now)));
    return true;
}

void FleetPort::uninstall(LimitRef limit, Instant now) {
    const Found found = resolve(limit);
    if (found.limit == nullptr) {
        return;
    }
    const Bucket bucket = bucket_of(found);
    if (bucket.view == nullptr || !bucket.view->installed.load(kRelaxed)) {
        return;
    }
    const RecordLock locked(*found.record);
    remove_view(bucket, renew(bucket, nanoseconds(now)));
}

/// Sets or clears the flag of isolation. The caller holds the record's lock bit and has renewed it
/// to the level `renewed`.
void FleetPort::set_isolated(const Found& found, const Bucket& bucket, bool isolated,
                             double renewed) {
    WEIR_ASSERT(bucket.view != nullptr);
    if (found.limit->safe != nullptr) {
        // The bucket of the safe capacity has another size. The same share of it is filled at
        // first.
        const double rate = found.limit->parameters.rate;
        const double share = rate > 0 ? found.limit->safe->parameters.rate / rate : 0;
        if (isolated) {
            remove_view(bucket, renewed);
        }
        const double level = found.record->level.load(kRelaxed);
        scale_level(bucket, level, isolated || !(share > 0) ? share : 1 / share);
    }
    if (isolated) {
        found.record->control.fetch_or(kIsolated, kRelaxed);
    } else {
        found.record->control.fetch_and(~kIsolated, kRelaxed);
    }
}

bool FleetPort::isolate(LimitRef limit, bool isolated, Instant now) {
    const Found found = resolve(limit);
    if (found.limit == nullptr || !found.limit->fleet || !ensure_view(limit.record, found, now)) {
        return false;
    }
    if (is_isolated(*found.record) == isolated) {
        return true;
    }
    const Bucket bucket = bucket_of(found);
    if (bucket.view == nullptr) {  // a worker has replaced the instance meanwhile
        return false;
    }
    const RecordLock locked(*found.record);
    set_isolated(found, bucket, isolated, renew(bucket, nanoseconds(now)));
    return true;
}

void FleetPort::release(LimitRef limit, Instant now) {
    uninstall(limit, now);
    isolate(limit, false, now);
    const Found found = resolve(limit);
    if (found.record == nullptr) {
        return;
    }
    const RecordLock locked(*found.record);
    const std::lock_guard held(store_.lock);
    store_.detach_view(limit.record);
}

// --- levels that outlive a process ---------------------------------------------------------------

void FleetPort::foretell_level(std::uint64_t limit, const ToldLevel& told, LimitNaming naming) {
    const std::lock_guard held(store_.lock);
    records_.told_levels().tell(limit, told, naming);
}

/// How much of the level was there when the limit was first used here.
double FleetPort::begun_with(LimitRef limit, const Found& found, Instant now) {
    ToldLevels& told = records_.told_levels();
    if (told.holds_none()) [[likely]] {
        return 0;
    }
    WEIR_ASSERT(found.limit != nullptr && limit.record != 0);
    const std::lock_guard held(store_.lock);
    return told.left(limit.record, limit.generation, found.limit->parameters.rate, now);
}

bool FleetPort::drains_slowly(LimitRef limit, Duration longer) const {
    const Found found = resolve(limit);
    return found.limit != nullptr && found.limit->fleet &&
           limiter::drains_slowly(found.limit->parameters, to_seconds(longer));
}

/// Workers may drop or reuse a record meanwhile. Then its level is that of the one or the other
/// limit, as at any question from the control thread.
std::uint32_t FleetPort::read_levels(
    std::uint32_t from, std::uint32_t most, Instant now,
    const std::function<void(const LimitIdentity& limit, double level)>& visit) const {
    WEIR_ASSERT(from > 0 && most > 0);
    const std::uint32_t end = std::min(store_.high_water() + 1, from + most);
    for (std::uint32_t id = from; id < end; ++id) {
        const auto limit = reference(id);
        const Found found = limit ? resolve(*limit) : Found{};
        if (found.limit == nullptr || !found.limit->fleet ||
            found.limit->parameters.only_counts()) {
            continue;
        }
        const double level = look_at(bucket_of(found), nanoseconds(now)).level;
        if (const auto named = level > 0 ? identity(*limit) : std::nullopt) {
            visit(*named, level);
        }
    }
    return end > store_.high_water() ? 0 : end;
}

// --- what the definitions say --------------------------------------------------------------------

Isolation FleetPort::isolation_of(std::string_view quota) const {
    const CompiledDefinition* definition = definitions_.definition_for(quota);
    return definition == nullptr ? Isolation{} : definition->source.isolation();
}

/// The definition that a name falls under. An overflow instance has the name of its template.
std::optional<std::uint32_t> FleetPort::definition_of(std::string_view quota) const {
    if (quota.ends_with(kOverflowSuffix)) {
        const std::string name(quota.substr(0, quota.size() - kOverflowSuffix.size()));
        const std::uint32_t index = definitions_.index_of(name);
        if (index != 0 && is_template(name)) {
            return instances_.members(index).overflow_definition;
        }
    }
    return definitions_.match(quota, definitions_.hash(quota));
}

std::optional<LimitParameters> FleetPort::resolve_parameters(std::string_view quota, Unit unit,
                                                             Duration period) const {
    const auto index = definition_of(quota);
    if (!index) {
        return std::nullopt;
    }
    const CompiledDefinition* definition = definitions_.get(*index);
    // Only rates have levels that owners add up, whatever a peer asks for.
    const CompiledLimit* limit =
        definition == nullptr ? nullptr : definition->find(LimitKind::rate, unit, period);
    if (limit == nullptr || !limit->fleet) {
        return std::nullopt;
    }
    return limit->parameters;
}

}  // namespace weir::limiter

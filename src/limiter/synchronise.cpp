#include <cmath>

#include "limiter/implementation.h"

// The engine's side: which limits are in use, what we did with them, what the fleet is doing.

namespace weir::limiter {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::int64_t nanoseconds(Instant now) { return now.time_since_epoch().count(); }

bool plausible(double value) {
    constexpr double kMost = 1e18;
    return value >= 0 && value <= kMost;  // false for what is not a number
}

bool plausible(const FleetView& view) {
    return std::isfinite(view.level) && view.level <= 1e18 && std::isfinite(view.admitted_at) &&
           plausible(view.offered_rate) && plausible(view.others_rate) &&
           plausible(view.heaviest) && view.round_trip >= Duration::zero();
}

}  // namespace

std::optional<LimitRef> Limiter::Implementation::reference(std::uint32_t record) const {
    const LimitRecord& found = store_.record(record);
    const std::uint32_t head = store_.live_head(record) ? record : found.owner.load(kRelaxed);
    if (!store_.live_head(head)) {
        return std::nullopt;
    }
    return LimitRef{head, record, store_.long_generation(head)};
}

void Limiter::Implementation::drain_active(const std::function<void(LimitRef)>& visit) {
    tracking_.store(true, kRelaxed);
    const std::uint32_t count = thread_count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
        ActiveList& active = threads_[i]->active;
        // No more than fit at once: others go on filling it.
        for (std::uint32_t left = ActiveList::kCapacity; left > 0; --left) {
            const std::uint32_t record = active.pop();
            if (record == 0) {
                break;
            }
            store_.record(record).control.fetch_and(~kQueued, kRelaxed);
            if (const auto limit = reference(record)) {
                visit(*limit);
            }
        }
    }
}

Limiter::Implementation::Found Limiter::Implementation::resolve(LimitRef limit) const {
    if (limit.instance == 0 || limit.instance > store_.high_water() ||
        limit.record > store_.high_water() || !store_.live_head(limit.instance) ||
        store_.long_generation(limit.instance) != limit.generation) {
        return {};
    }
    Found found;
    found.definition = definition_of(store_.record(limit.instance));
    found.record = const_cast<LimitRecord*>(&store_.record(limit.record));
    if (found.definition == nullptr ||
        (limit.record != limit.instance && found.record->owner.load(kRelaxed) != limit.instance)) {
        return {};
    }
    found.limit = found.definition->find(found.record->identity(), 0);
    return found;
}

std::optional<LocalCounts> Limiter::Implementation::read(LimitRef limit, Instant now) {
    const Found found = resolve(limit);
    if (found.limit == nullptr) {
        return std::nullopt;
    }
    if (!with_view(limit.record, now)) {
        return std::nullopt;
    }
    const Bucket bucket{*found.record, store_.view_of(*found.record),
                        in_force(*found.limit, *found.record)};
    if (bucket.view == nullptr) {
        return std::nullopt;
    }
    lock_waiting(*found.record);
    renew(bucket, nanoseconds(now));
    const LocalCounts counts = local_counts(bucket, nanoseconds(now));
    unlock(*found.record);
    return counts;
}

/// Gives the limit a view if it has none; false when there are no more.
bool Limiter::Implementation::with_view(std::uint32_t id, Instant now) {
    LimitRecord& record = store_.record(id);
    if (store_.view_of(record) != nullptr) {
        return true;
    }
    lock_waiting(record);
    store_.lock.lock();
    ViewRecord* view = store_.attach_view(id);
    store_.lock.unlock();
    if (view != nullptr) {
        const Pending pending = unpack_pending(record.pending.load(kRelaxed));
        // Offered before now was not kept; what was admitted was certainly offered.
        view->offered.store(std::max(0.0, static_cast<double>(pending.admitted - pending.offered)),
                            kRelaxed);
        view->last_offered.store(touched_at(record, nanoseconds(now)), kRelaxed);
        view->last_weight.store(static_cast<float>(typical_of(record)), kRelaxed);
    }
    unlock(record);
    return view != nullptr;
}

bool Limiter::Implementation::install(LimitRef limit, const FleetView& view, Instant now) {
    if (!plausible(view)) {
        ++bad_views_;
        return false;
    }
    const Found found = resolve(limit);
    if (found.limit == nullptr || !found.limit->fleet || !with_view(limit.record, now)) {
        return false;
    }
    const Bucket bucket{*found.record, store_.view_of(*found.record),
                        in_force(*found.limit, *found.record)};
    if (bucket.view == nullptr) {
        return false;
    }
    lock_waiting(*found.record);
    install_view(bucket, view, renew(bucket, nanoseconds(now)));
    unlock(*found.record);
    return true;
}

void Limiter::Implementation::uninstall(LimitRef limit, Instant now) {
    const Found found = resolve(limit);
    ViewRecord* view = found.limit == nullptr ? nullptr : store_.view_of(*found.record);
    if (view == nullptr || !view->installed.load(kRelaxed)) {
        return;
    }
    const Bucket bucket{*found.record, view, in_force(*found.limit, *found.record)};
    lock_waiting(*found.record);
    remove_view(bucket, renew(bucket, nanoseconds(now)));
    unlock(*found.record);
}

bool Limiter::Implementation::isolate(LimitRef limit, bool isolated, Instant now) {
    const Found found = resolve(limit);
    if (found.limit == nullptr || !found.limit->fleet || !with_view(limit.record, now)) {
        return false;
    }
    if (is_isolated(*found.record) == isolated) {
        return true;
    }
    const Bucket bucket{*found.record, store_.view_of(*found.record),
                        in_force(*found.limit, *found.record)};
    lock_waiting(*found.record);
    const double renewed = renew(bucket, nanoseconds(now));
    if (found.limit->safe != nullptr) {
        // A bucket of another size begins as full as the one before.
        const double share = found.limit->safe->parameters.rate / found.limit->parameters.rate;
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
    unlock(*found.record);
    return true;
}

IsolationMode Limiter::Implementation::isolation_of(std::string_view quota) const {
    const CompiledDefinition* definition = definition_for(quota);
    return definition == nullptr ? IsolationMode::safe : definition->source.when_isolated;
}

void Limiter::Implementation::release(LimitRef limit, Instant now) {
    uninstall(limit, now);
    isolate(limit, false, now);
    const Found found = resolve(limit);
    if (found.record == nullptr) {
        return;
    }
    lock_waiting(*found.record);
    store_.lock.lock();
    store_.detach_view(limit.record);
    store_.lock.unlock();
    unlock(*found.record);
}

std::optional<LimitIdentity> Limiter::Implementation::identity(LimitRef limit) const {
    const Found found = resolve(limit);
    if (found.limit == nullptr) {
        return std::nullopt;
    }
    return LimitIdentity{store_.name(limit.instance),
                         found.limit->unit,
                         found.limit->period,
                         found.limit->parameters,
                         found.definition->source.when_isolated,
                         found.limit->safe != nullptr};
}

std::optional<LimitRef> Limiter::Implementation::lookup(std::string_view quota, Unit unit,
                                                        Duration period) const {
    const auto entry = store_.names.find(hash(quota));
    if (!entry) {
        return std::nullopt;
    }
    const std::uint32_t head = leaf_of(*entry).instance;
    const CompiledDefinition* definition = definition_of(store_.record(head));
    const CompiledLimit* wanted = definition == nullptr ? nullptr : definition->find(unit, period);
    for (std::uint32_t id = head; id != 0 && wanted != nullptr; id = store_.record(id).next()) {
        if (store_.record(id).identity() == wanted->identity) {
            return reference(id);
        }
    }
    return std::nullopt;
}

std::optional<LimitParameters> Limiter::Implementation::resolve_parameters(std::string_view quota,
                                                                           Unit unit,
                                                                           Duration period) const {
    auto index = match(quota, hash(quota));
    if (quota.ends_with(kOverflowSuffix)) {
        // The overflow instance of a template is called after it.
        const std::string name(quota.substr(0, quota.size() - kOverflowSuffix.size()));
        if (const auto known = registry_.find(name);
            known != registry_.end() && is_template(name)) {
            index = members_[known->second].overflow_definition;
        }
    }
    if (!index) {
        return std::nullopt;
    }
    const CompiledDefinition* definition = table_.get(*index);
    const CompiledLimit* limit = definition == nullptr ? nullptr : definition->find(unit, period);
    if (limit == nullptr || !limit->fleet) {
        return std::nullopt;
    }
    return limit->parameters;
}

}  // namespace weir::limiter

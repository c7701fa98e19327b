#include <algorithm>
#include <array>
#include <span>

#include "base/assert.h"
#include "limiter/implementation.h"

// Definitions put in force, edited and taken away while requests go on. Levels stay with their
// identity (quota name, unit, period); an instance that now falls under another definition moves
// there as it is.

namespace weir::limiter {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
/// Instances handled while workers wait for the lock.
constexpr std::uint32_t kHold = 64;

std::int64_t nanoseconds(Instant now) { return now.time_since_epoch().count(); }

std::vector<DefinitionError> one_error(std::string_view quota, std::string message) {
    return {{0, std::string(quota), "", std::move(message), ""}};
}

std::vector<DefinitionError> too_many_quotas(std::string_view quota) {
    return one_error(quota, "there are " + std::to_string(kMaxDefinitions) + " quotas already");
}

}  // namespace

/// Visits the instances of a definition, giving the lock back in between.
template <class Visit>
void Limiter::Implementation::for_each_member(std::uint32_t index, Visit visit) {
    const std::uint32_t end = store_.high_water();
    store_.lock.lock();
    if (members_[index].live <= kHold) {
        // Noted first: a visit may make a parent, for which another of them may have to go.
        std::array<std::uint32_t, kHold> ids;
        const std::uint32_t live = members_[index].live;
        for (std::uint32_t i = 0, id = members_[index].hand; i < live; ++i) {
            ids[i] = id;
            id = store_.info(id).next;
        }
        for (const std::uint32_t id : std::span(ids).first(live)) {
            if (store_.live_head(id)) {
                visit(id);
            }
        }
        store_.lock.unlock();
        return;
    }
    store_.lock.unlock();
    for (std::uint32_t begin = 1; begin <= end; begin += kHold) {
        store_.lock.lock();
        for (std::uint32_t id = begin; id < std::min(begin + kHold, end + 1); ++id) {
            if (store_.live_head(id) && store_.record(id).definition.load(kRelaxed) == index) {
                visit(id);
            }
        }
        store_.lock.unlock();
    }
}

/// Visits those of the instances that still live.
template <class Visit>
void Limiter::Implementation::settle_each(const std::vector<std::uint32_t>& instances,
                                          Visit visit) {
    for (std::size_t begin = 0; begin < instances.size(); begin += kHold) {
        store_.lock.lock();
        for (std::size_t i = begin; i < std::min(begin + kHold, instances.size()); ++i) {
            if (store_.live_head(instances[i])) {
                visit(instances[i]);
            }
        }
        store_.lock.unlock();
    }
}

template <class Visit>
void Limiter::Implementation::for_each_instance(Visit visit) {
    const std::uint32_t end = store_.high_water();
    for (std::uint32_t begin = 1; begin <= end; begin += kHold) {
        store_.lock.lock();
        for (std::uint32_t id = begin; id < std::min(begin + kHold, end + 1); ++id) {
            if (store_.live_head(id)) {
                visit(id);
            }
        }
        store_.lock.unlock();
    }
}

/// Brings an instance's limits to `now` by this definition: drained so far, clamped.
void Limiter::Implementation::settle(std::uint32_t id, const CompiledDefinition& definition,
                                     Instant now) {
    for (std::uint32_t i = id; i != 0; i = store_.record(i).next()) {
        LimitRecord& record = store_.record(i);
        if (const CompiledLimit* limit = definition.find(record.identity(), 0)) {
            lock_waiting(record);
            renew({record, store_.view_of(record), *limit}, nanoseconds(now));
            unlock(record);
        }
    }
}

/// Makes the record anybody's: nothing of its limit is left in it.
void Limiter::Implementation::clear(std::uint32_t record_id, Instant now) {
    LimitRecord& record = store_.record(record_id);
    lock_waiting(record);
    record.link.store((record.next() << 8) | kNoIdentity, std::memory_order_release);
    store_.detach_view(record_id);
    store_.clear_record(record_id, nanoseconds(now));
    record.control.fetch_and(~(kShedding | kIsolated), kRelaxed);
    unlock(record);
    ++cleared_records_;
}

/// What was kept under numbers that the definition gives to other limits than before goes, and what
/// it does not know any more: an instance has records for its limits and the former ones only.
void Limiter::Implementation::clear_reused(std::uint32_t id, const CompiledDefinition& definition,
                                           Instant now) {
    for (std::uint32_t i = id; i != 0; i = store_.record(i).next()) {
        const std::uint8_t identity = store_.record(i).identity();
        const CompiledLimit* limit = definition.find(identity, 0);
        const bool unknown =
            limit == nullptr && identity != kNoIdentity && !definition.was_former(identity);
        if (unknown || (limit != nullptr && limit->fresh)) {
            clear(i, now);
        }
    }
}

/// Of an instance that moves to another definition: that one's numbers. What it has no limit for
/// goes, since nobody would know later what its number meant.
void Limiter::Implementation::renumber(std::uint32_t id, const CompiledDefinition* from,
                                       const CompiledDefinition& to, Instant now) {
    for (std::uint32_t i = id; i != 0; i = store_.record(i).next()) {
        LimitRecord& record = store_.record(i);
        const CompiledLimit* before = from == nullptr ? nullptr : from->find(record.identity(), 0);
        const CompiledLimit* after =
            before == nullptr ? nullptr : to.find(before->unit, before->period);
        if (after == nullptr) {
            clear(i, now);
        } else if (after->identity != record.identity()) {
            record.link.store((record.next() << 8) | after->identity, std::memory_order_release);
        }
    }
}

/// Puts a compiled definition at an index that may be in use.
std::uint32_t Limiter::Implementation::place(std::uint32_t index,
                                             std::unique_ptr<CompiledDefinition> fresh,
                                             Instant now) {
    const CompiledDefinition* old = index != 0 ? table_.get(index) : nullptr;
    if (index == 0) {
        const auto allocated = table_.allocate();
        WEIR_ASSERT(allocated.has_value());  // validate() bounds the set
        index = *allocated;
        store_.lock.lock();
        members_.resize(std::max<std::size_t>(members_.size(), std::size_t{index} + 1));
        store_.lock.unlock();
    }
    const CompiledDefinition& definition = *fresh;
    // Up to now by the old rate; records for new limits before anybody looks for them.
    for_each_member(index, [&](std::uint32_t id) {
        if (old != nullptr) {
            settle(id, *old, now);
        }
        clear_reused(id, definition, now);
        (void)add_missing_records(id, definition, now);
    });
    std::shared_ptr<const CompiledDefinition> replaced = table_.exchange(index, std::move(fresh));
    // Once more, for those that were made meanwhile, and for those that found no record free:
    // former limits' are not looked for any more.
    for_each_member(index, [&](std::uint32_t id) {
        if (!add_missing_records(id, definition, now) &&
            !take_former_records(id, definition, now)) {
            awaiting_room_.push(id);
        }
        settle(id, definition, now);
    });
    if (replaced != nullptr) {
        store_.lock.lock();
        store_.retire_other(replaced);
        store_.lock.unlock();
    }
    return index;
}

std::uint32_t Limiter::Implementation::take_statistics() {
    std::uint32_t index = 0;
    if (!free_statistics_.empty()) {
        index = free_statistics_.back();
        free_statistics_.pop_back();
    } else if (statistics_used_ <= options_.max_statistics) {
        index = statistics_used_++;
    }
    if (index != 0) {
        figures_base_.resize(std::max<std::size_t>(figures_base_.size(), std::size_t{index} + 1));
        figures_base_[index] = {};
        figures_base_[index] = sum_figures(index);
        figure_owners_.resize(figures_base_.size());
        for (std::vector<Gauges>* gauges : {&surveying_, &surveyed_}) {
            if (index < gauges->size()) {
                (*gauges)[index] = {};
            }
        }
    }
    return index;
}

void Limiter::Implementation::put(const QuotaDefinition& definition, Instant now,
                                  Touched& touched) {
    const auto known = registry_.find(definition.name);
    const std::uint32_t index = known == registry_.end() ? 0 : known->second;
    if (index != 0 && table_.get(index)->source == definition) {
        return;
    }
    auto fresh = compile(definition, index != 0 ? table_.get(index) : nullptr, false);
    const bool has_captures = fresh->has_captures;
    if (index != 0) {
        const CompiledDefinition& old = *table_.get(index);
        if (old.source.parent != definition.parent) {
            touched.parents.push_back(index);
        }
        fresh->overflow_instance.store(old.overflow_instance.load(kRelaxed), kRelaxed);
    }
    const std::uint32_t statistics = index != 0 ? table_.get(index)->statistics : take_statistics();
    fresh->statistics = statistics;
    const std::uint32_t placed = place(index, std::move(fresh), now);
    if (statistics != 0) {
        figure_owners_[statistics] = placed;
    }
    if (has_captures) {
        const std::uint32_t overflow_index = members_[placed].overflow_definition;
        auto overflow =
            compile(definition, overflow_index != 0 ? table_.get(overflow_index) : nullptr, true);
        overflow->statistics = statistics;
        members_[placed].overflow_definition = place(overflow_index, std::move(overflow), now);
    }
    if (index != 0) {
        return;
    }
    registry_.emplace(definition.name, placed);
    if (has_captures) {
        template_definitions_.insert(placed);
        touched.templates = true;
        return;
    }
    touched.exact.push_back(definition.name);
    store_.lock.lock();
    if (exact_.load() > 0.6) {
        store_.retire_slots(exact_.grow());
    }
    exact_.insert(hash(definition.name), {placed, 0});
    store_.lock.unlock();
}

void Limiter::Implementation::take_away(const std::string& name, Touched& touched) {
    const auto known = registry_.find(name);
    if (table_.get(known->second)->has_captures) {
        template_definitions_.erase(known->second);
        touched.templates = true;
    } else {
        touched.exact.push_back(name);
        store_.lock.lock();
        exact_.erase(hash(name));
        store_.lock.unlock();
    }
    removed_.push_back(known->second);
    removed_index_.insert(known->second);
    registry_.erase(known);
}

void Limiter::Implementation::rebuild_templates() {
    auto index = std::make_shared<TemplateIndex>();
    for (const std::uint32_t definition : template_definitions_) {
        index->add(table_.get(definition)->pattern, definition);
    }
    store_.lock.lock();
    if (templates_owner_ != nullptr) {
        store_.retire_other(templates_owner_);
    }
    templates_owner_ = index;
    templates_.store(index.get(), std::memory_order_release);
    store_.lock.unlock();
}

/// For workers that meet a new name while another thread makes an instance.
void Limiter::Implementation::make_overflow_instances(Instant now) {
    for (const std::uint32_t index : template_definitions_) {
        store_.lock.lock();
        // One that was there may lie below another template now.
        if (const std::uint32_t id = overflow_instance(index, now)) {
            (void)adopt(id, now);
        }
        store_.lock.unlock();
    }
}

/// Moves an instance to the definition that its name falls under now; to 0 if there is none.
bool Limiter::Implementation::reassign(std::uint32_t id, Instant now) {
    LimitRecord& record = store_.record(id);
    const std::uint32_t old = record.definition.load(kRelaxed);
    if (old != 0 && table_.get(old)->overflow) {
        return false;  // goes with its template
    }
    if (old != 0 && !table_.get(old)->has_captures && !is_removed(old)) {
        return false;  // no template beats an exact name
    }
    const std::string_view name = store_.name(id);
    const std::uint32_t fresh = match(name, hash(name)).value_or(0);
    if (fresh == old) {
        return false;
    }
    if (old != 0) {
        settle(id, *table_.get(old), now);
    }
    part(old, id);
    join(fresh, id);
    if (fresh != 0) {
        renumber(id, old != 0 ? table_.get(old) : nullptr, *table_.get(fresh), now);
        if (!add_missing_records(id, *table_.get(fresh), now)) {
            awaiting_room_.push(id);
        }
        settle(id, *table_.get(fresh), now);
    }
    record.definition.store(fresh, std::memory_order_release);
    return true;
}

/// Instances without a definition; their children have found other parents or are among them.
void Limiter::Implementation::drop_orphans() {
    store_.lock.lock();
    while (members_[0].hand != 0) {
        const std::uint32_t id = members_[0].hand;
        const std::uint32_t among = store_.info(id).children > 0 ? members_[0].live : 0;
        for (std::uint32_t child = members_[0].hand, left = among; left > 0; --left) {
            if (store_.record(child).owner.load(kRelaxed) == id) {
                set_parent(child, {});
            }
            child = store_.info(child).next;
        }
        drop(id);
    }
    store_.lock.unlock();
}

/// What hangs on the overflow instance of a template that goes away finds another parent.
void Limiter::Implementation::leave_overflow_instance(std::uint32_t definition, Instant now) {
    store_.lock.lock();
    const std::uint32_t overflow = members_[definition].overflow_instance;
    const bool any = overflow != 0 && store_.info(overflow).children > 0;
    store_.lock.unlock();
    if (any) {
        for_each_instance([&](std::uint32_t id) {
            if (store_.record(id).owner.load(kRelaxed) == overflow) {
                adopt_or_wait(id, now);
            }
        });
    }
}

void Limiter::Implementation::remove(std::uint32_t index) {
    store_.lock.lock();
    Members& members = members_[index];
    const std::uint32_t overflow = members.overflow_definition;
    if (members.overflow_instance != 0) {
        drop(members.overflow_instance);
        --overflow_instances_;
    }
    const std::uint32_t statistics = table_.get(index)->statistics;
    ranks_.move(index, SizeRanks::kNone);
    members = {};
    for (const std::uint32_t gone : {index, overflow}) {
        if (gone != 0) {
            store_.retire_other(std::shared_ptr<const void>(table_.exchange(gone, nullptr)));
            table_.free(gone);
        }
    }
    store_.lock.unlock();
    if (statistics != 0) {
        free_statistics_.push_back(statistics);
        figure_owners_[statistics] = 0;
    }
}

void Limiter::Implementation::finish(const Touched& touched, Instant now) {
    if (touched.templates) {
        rebuild_templates();
    }
    version_.fetch_add(1, std::memory_order_acq_rel);
    // Parents are looked for again where the definition is another one now; everywhere only when an
    // instance with children lost its definition.
    std::vector<std::uint32_t> moved;
    bool lost_parents = false;
    const auto move = [&](std::uint32_t id) {
        if (reassign(id, now)) {
            moved.push_back(id);
            lost_parents = lost_parents || (store_.record(id).definition.load(kRelaxed) == 0 &&
                                            store_.info(id).children > 0);
        }
    };
    const auto settle_parent = [&](std::uint32_t id) {
        if (store_.record(id).definition.load(kRelaxed) != 0) {
            adopt_or_wait(id, now);
        }
    };
    if (touched.templates) {
        for_each_instance(move);
        if (lost_parents) {
            for_each_instance(settle_parent);
        } else {
            settle_each(moved, settle_parent);
        }
    }
    for (const std::string& name : touched.exact) {
        store_.lock.lock();
        // Also beside new templates: one of them may be the parent of a name that was used already.
        if (const auto entry = store_.names.find(hash(name))) {
            const std::uint32_t id = leaf_of(*entry).instance;
            move(id);
            settle_parent(id);
        }
        store_.lock.unlock();
    }
    // Not before: a new parent may be one of the new templates.
    for (const std::uint32_t index : touched.parents) {
        for_each_member(index, settle_parent);
        if (const std::uint32_t overflow = members_[index].overflow_definition; overflow != 0) {
            for_each_member(overflow, settle_parent);
        }
    }
    if (touched.templates) {
        make_overflow_instances(now);
    }
    drop_orphans();
    for (const std::uint32_t index : removed_) {
        leave_overflow_instance(index, now);
        remove(index);
    }
    removed_.clear();
    removed_index_.clear();
}

/// Whether the definition's parents lead back to it.
bool Limiter::Implementation::would_be_own_ancestor(const QuotaDefinition& definition) const {
    const std::string* parent = definition.parent ? &*definition.parent : nullptr;
    for (std::size_t depth = 0; parent != nullptr && depth <= kMaxChainDepth; ++depth) {
        const auto above = match(*parent, hash(*parent));
        if (!above) {
            return false;
        }
        const QuotaDefinition& source = table_.get(*above)->source;
        if (source.name == definition.name) {
            return true;
        }
        parent = source.parent ? &*source.parent : nullptr;
    }
    return parent != nullptr;
}

std::vector<DefinitionError> Limiter::Implementation::put_one(const QuotaDefinition& definition,
                                                              Instant now, Touched& touched) {
    if (registry_.size() >= kMaxDefinitions && !registry_.contains(definition.name)) {
        return too_many_quotas(definition.name);
    }
    if (would_be_own_ancestor(definition)) {
        return {{0, definition.name, "parent", "is its own ancestor", ""}};
    }
    put(definition, now, touched);
    return {};
}

std::vector<DefinitionError> Limiter::Implementation::change(
    std::span<const DefinitionChange> changes, Instant now) {
    Touched touched;
    std::vector<DefinitionError> refused;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const DefinitionChange& change = changes[i];
        if (change.definition) {
            for (DefinitionError& error : put_one(*change.definition, now, touched)) {
                refused.push_back(std::move(error));
                refused.back().index = i;
            }
        } else if (registry_.contains(change.name)) {
            take_away(change.name, touched);
        }
    }
    finish(touched, now);
    return refused;
}

std::vector<QuotaDefinition> Limiter::Implementation::definitions() const {
    std::vector<QuotaDefinition> all;
    all.reserve(registry_.size());
    for (const auto& [name, index] : registry_) {
        all.push_back(table_.get(index)->source);
    }
    std::sort(all.begin(), all.end(),
              [](const auto& left, const auto& right) { return left.name < right.name; });
    return all;
}

const CompiledDefinition* Limiter::Implementation::definition_for(std::string_view name) const {
    const auto index = match(name, hash(name));
    return index ? table_.get(*index) : nullptr;
}

}  // namespace weir::limiter

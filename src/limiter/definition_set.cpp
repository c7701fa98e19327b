#include <algorithm>

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

}  // namespace

/// Visits the instances of a definition, giving the lock back in between.
template <class Visit>
void Limiter::Implementation::for_each_member(std::uint32_t index, Visit visit) {
    const std::uint32_t end = store_.high_water();
    store_.lock.lock();
    if (members_[index].live <= kHold) {
        std::uint32_t id = members_[index].hand;
        for (std::uint32_t left = members_[index].live; left > 0; --left) {
            const std::uint32_t next = store_.info(id).next;
            visit(id);
            id = next;
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
        (void)add_missing_records(id, definition, now);
    });
    std::shared_ptr<const CompiledDefinition> replaced = table_.exchange(index, std::move(fresh));
    for_each_member(index, [&](std::uint32_t id) { settle(id, definition, now); });
    if (replaced != nullptr) {
        const bool moved = replaced->source.parent != definition.source.parent;
        store_.lock.lock();
        store_.retire_other(replaced);
        store_.lock.unlock();
        if (moved) {
            for_each_member(index, [&](std::uint32_t id) { adopt(id, now); });
        }
    }
    return index;
}

/// Gives an instance the parent that its definition says.
void Limiter::Implementation::adopt(std::uint32_t id, Instant now) {
    const CompiledDefinition& definition = *definition_of(store_.record(id));
    if (definition.overflow) {
        return;
    }
    set_parent(id, ensure_parent(definition, std::string(store_.name(id)), now));
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
    auto fresh = compile(definition, identities_, false);
    const bool has_captures = fresh->has_captures;
    if (index != 0) {
        const CompiledDefinition& old = *table_.get(index);
        count_child(old.source.parent, -1);
        fresh->overflow_instance.store(old.overflow_instance.load(kRelaxed), kRelaxed);
    }
    count_child(definition.parent, 1);
    const std::uint32_t statistics = index != 0 ? table_.get(index)->statistics : take_statistics();
    fresh->statistics = statistics;
    const std::uint32_t placed = place(index, std::move(fresh), now);
    if (has_captures) {
        auto overflow = compile(definition, identities_, true);
        overflow->statistics = statistics;
        const std::uint32_t overflow_index = members_[placed].overflow_definition;
        members_[placed].overflow_definition = place(overflow_index, std::move(overflow), now);
    }
    if (index != 0) {
        return;
    }
    registry_.emplace(definition.name, placed);
    if (has_captures) {
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
        touched.templates = true;
    } else {
        touched.exact.push_back(name);
        store_.lock.lock();
        exact_.erase(hash(name));
        store_.lock.unlock();
    }
    count_child(table_.get(known->second)->source.parent, -1);
    removed_.push_back(known->second);
    registry_.erase(known);
}

void Limiter::Implementation::rebuild_templates() {
    auto index = std::make_shared<TemplateIndex>();
    for (const auto& [name, definition] : registry_) {
        const CompiledDefinition& compiled = *table_.get(definition);
        if (compiled.has_captures) {
            index->add(compiled.pattern, definition);
        }
    }
    store_.lock.lock();
    if (templates_owner_ != nullptr) {
        store_.retire_other(templates_owner_);
    }
    templates_owner_ = index;
    templates_.store(index.get(), std::memory_order_release);
    store_.lock.unlock();
}

void Limiter::Implementation::count_child(const std::optional<std::string>& parent, int change) {
    if (!parent) {
        return;
    }
    const auto place = children_.try_emplace(*parent, 0).first;
    place->second += static_cast<std::uint32_t>(change);
    if (place->second == 0) {
        children_.erase(place);
    }
}

/// For workers that meet a new name while another thread makes an instance.
void Limiter::Implementation::make_overflow_instances(Instant now) {
    for (const auto& [name, index] : registry_) {
        if (table_.get(index)->has_captures) {
            store_.lock.lock();
            (void)overflow_instance(index, now);
            store_.lock.unlock();
        }
    }
}

/// Moves an instance to the definition that its name falls under now; to 0 if there is none.
void Limiter::Implementation::reassign(std::uint32_t id, Instant now) {
    LimitRecord& record = store_.record(id);
    const std::uint32_t old = record.definition.load(kRelaxed);
    if (old != 0 && table_.get(old)->overflow) {
        return;  // goes with its template
    }
    const std::string_view name = store_.name(id);
    const std::uint32_t fresh = match(name, hash(name)).value_or(0);
    if (fresh == old) {
        return;
    }
    if (old != 0) {
        settle(id, *table_.get(old), now);
    }
    part(old, id);
    join(fresh, id);
    if (fresh != 0) {
        (void)add_missing_records(id, *table_.get(fresh), now);
        settle(id, *table_.get(fresh), now);
    }
    record.definition.store(fresh, std::memory_order_release);
}

/// Instances without a definition; their children have found other parents or are among them.
void Limiter::Implementation::drop_orphans() {
    store_.lock.lock();
    while (members_[0].hand != 0) {
        const std::uint32_t id = members_[0].hand;
        for (std::uint32_t child = members_[0].hand, left = members_[0].live; left > 0; --left) {
            if (store_.record(child).owner.load(kRelaxed) == id) {
                set_parent(child, {});
            }
            child = store_.info(child).next;
        }
        drop(id);
    }
    store_.lock.unlock();
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
    }
}

void Limiter::Implementation::finish(const Touched& touched, Instant now) {
    if (touched.templates) {
        rebuild_templates();
    }
    version_.fetch_add(1, std::memory_order_acq_rel);
    const auto move = [&](std::uint32_t id) { reassign(id, now); };
    const auto settle_parent = [&](std::uint32_t id) {
        if (store_.record(id).definition.load(kRelaxed) != 0) {
            adopt(id, now);
        }
    };
    if (touched.templates) {
        for_each_instance(move);
        for_each_instance(settle_parent);
    }
    for (const std::string& name : touched.exact) {
        store_.lock.lock();
        if (const auto entry = store_.names.find(hash(name)); entry && !touched.templates) {
            const std::uint32_t id = leaf_of(*entry).instance;
            move(id);
            settle_parent(id);
        }
        store_.lock.unlock();
    }
    drop_orphans();
    for (const std::uint32_t index : removed_) {
        remove(index);
    }
    removed_.clear();
    if (touched.templates) {
        make_overflow_instances(now);
    }
}

std::vector<DefinitionError> Limiter::Implementation::apply(
    std::span<const QuotaDefinition> definitions, Instant now) {
    std::vector<DefinitionError> errors = validate(definitions);
    if (!errors.empty()) {
        return errors;
    }
    for (std::size_t i = 0; i < definitions.size(); ++i) {
        for (const RateLimit& limit : definitions[i].limits) {
            if (!identities_.intern(limit.unit, limit.period)) {
                errors.push_back({i, definitions[i].name, "limits",
                                  "too many different periods in one process", ""});
                return errors;
            }
        }
    }
    std::unordered_map<std::string_view, const QuotaDefinition*> wanted;
    for (const QuotaDefinition& definition : definitions) {
        wanted.emplace(definition.name, &definition);
    }
    Touched touched;
    std::vector<std::string> gone;
    for (const auto& [name, index] : registry_) {
        if (!wanted.contains(name)) {
            gone.push_back(name);
        }
    }
    for (const QuotaDefinition& definition : definitions) {
        put(definition, now, touched);
    }
    for (const std::string& name : gone) {
        take_away(name, touched);
    }
    finish(touched, now);
    return {};
}

bool Limiter::Implementation::has_child_definitions(std::uint32_t index) const {
    const CompiledDefinition& definition = *table_.get(index);
    if (!definition.has_captures) {
        return children_.contains(definition.source.name);
    }
    // Texts of many kinds may fall under a template; such changes look at all instances anyway.
    return std::any_of(children_.begin(), children_.end(), [&](const auto& entry) {
        return match(entry.first, hash(entry.first)) == index;
    });
}

/// The definition with those above it; with the whole set if its children may object.
std::vector<DefinitionError> Limiter::Implementation::validate_change(
    const QuotaDefinition& definition) const {
    std::vector<QuotaDefinition> set{definition};
    const auto known = registry_.find(definition.name);
    // What a child's chain may object to: another parent above, or more limits in it.
    const auto concerns_children = [&] {
        const QuotaDefinition& old = table_.get(known->second)->source;
        return (old.parent != definition.parent || definition.limits.size() > old.limits.size()) &&
               has_child_definitions(known->second);
    };
    if (known != registry_.end() && concerns_children()) {
        for (const auto& [name, index] : registry_) {
            if (name != definition.name) {
                set.push_back(table_.get(index)->source);
            }
        }
        return validate(set);
    }
    std::optional<std::string> parent = definition.parent;
    while (parent && set.size() <= kMaxChainDepth + 1) {
        const auto above = match(*parent, hash(*parent));
        if (!above || table_.get(*above)->source.name == definition.name) {
            break;
        }
        set.push_back(table_.get(*above)->source);
        parent = set.back().parent;
    }
    return validate(set);
}

std::vector<DefinitionError> Limiter::Implementation::upsert(const QuotaDefinition& definition,
                                                             Instant now) {
    std::vector<DefinitionError> errors = validate_change(definition);
    if (!errors.empty()) {
        return errors;
    }
    if (registry_.size() >= kMaxDefinitions && !registry_.contains(definition.name)) {
        return one_error(definition.name, "too many quotas");
    }
    for (const RateLimit& limit : definition.limits) {
        if (!identities_.intern(limit.unit, limit.period)) {
            return one_error(definition.name, "too many different periods in one process");
        }
    }
    Touched touched;
    put(definition, now, touched);
    finish(touched, now);
    return {};
}

std::vector<DefinitionError> Limiter::Implementation::erase(std::string_view name, Instant now) {
    const auto known = registry_.find(std::string(name));
    if (known == registry_.end()) {
        return one_error(name, "there is no such quota");
    }
    if (has_child_definitions(known->second)) {
        std::vector<QuotaDefinition> rest = definitions();
        std::erase_if(rest, [&](const QuotaDefinition& other) { return other.name == name; });
        std::vector<DefinitionError> errors = validate(rest);
        if (!errors.empty()) {
            return errors;
        }
    }
    Touched touched;
    take_away(std::string(name), touched);
    finish(touched, now);
    return {};
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

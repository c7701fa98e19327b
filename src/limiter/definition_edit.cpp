#include "limiter/definition_edit.h"

#include <mutex>
#include <utility>

#include "base/assert.h"
#include "base/relaxed.h"

namespace weir::limiter {

/// Frees the object when no thread can see it any more. Does nothing for null. Workers retire what
/// they replace into the same store, so this takes the creation lock, which the caller must not
/// hold; who holds it calls retire_other() itself. The object must be out of reach for new readers
/// already, as what add_name() and rebuild_templates() return is.
void DefinitionEdit::retire(Replaced object) {
    if (object != nullptr) {
        const std::lock_guard held(parts_.store.lock);
        parts_.store.retire_other(std::move(object));
    }
}

// --- definitions ---------------------------------------------------------------------------------

void DefinitionEdit::put(const QuotaDefinition& definition) {
    const std::uint32_t index = parts_.definitions.index_of(definition.name);
    if (index != 0 && parts_.definitions.get(index)->definition() == definition) {
        return;
    }
    std::unique_ptr<CompiledDefinition> fresh = compiled(definition, index);
    const bool has_captures = fresh->has_captures;
    const std::uint32_t slot = fresh->statistics;
    const std::uint32_t placed = place(index, std::move(fresh));
    parts_.figures.set_owner(slot, placed);
    if (has_captures) {
        place_overflow(placed, definition, slot);
    }
    if (index == 0) {
        add_name(definition.name, placed);
    }
}

/// Compiles the definition for this index (0 = it has no index yet) and gives it its slot of
/// figures.
std::unique_ptr<CompiledDefinition> DefinitionEdit::compiled(const QuotaDefinition& definition,
                                                             std::uint32_t index) {
    const CompiledDefinition* const old = index != 0 ? parts_.definitions.get(index) : nullptr;
    WEIR_ASSERT((old != nullptr) == (index != 0));
    std::unique_ptr<CompiledDefinition> fresh = parts_.definitions.compiled(definition, old, false);
    if (old == nullptr) {
        fresh->statistics = parts_.figures.take_slot();
        return fresh;
    }
    if (old->parent.view() != definition.parent.value_or("")) {
        touched_parents_.push_back(index);
    }
    fresh->overflow_instance.store(old->overflow_instance.load(kRelaxed), kRelaxed);
    fresh->full.store(old->full.load(kRelaxed), kRelaxed);
    fresh->parents_templates.store(old->parents_templates.load(kRelaxed), kRelaxed);
    fresh->statistics = old->statistics;
    return fresh;
}

/// Makes or changes the definition of the template's overflow instance.
void DefinitionEdit::place_overflow(std::uint32_t index, const QuotaDefinition& definition,
                                    std::uint32_t slot) {
    const std::uint32_t overflow = parts_.instances.members(index).overflow_definition;
    auto fresh = parts_.definitions.compiled(
        definition, overflow != 0 ? parts_.definitions.get(overflow) : nullptr, true);
    WEIR_ASSERT(fresh->overflow && fresh->has_captures);
    fresh->statistics = slot;
    const std::uint32_t placed = place(overflow, std::move(fresh));
    WEIR_ASSERT(placed != index);
    parts_.instances.members(index).overflow_definition = placed;
}

/// Puts a compiled definition at this index, which may be in use, or at a new index if it is 0.
/// Returns the index.
std::uint32_t DefinitionEdit::place(std::uint32_t index,
                                    std::unique_ptr<CompiledDefinition> fresh) {
    const CompiledDefinition* const old = index != 0 ? parts_.definitions.get(index) : nullptr;
    if (index == 0) {
        index = parts_.definitions.allocate();
        parts_.instances.ensure_definition(index);
    }
    const CompiledDefinition& definition = *fresh;
    prepare_records(index, old, definition);
    Replaced replaced = parts_.definitions.replace(index, std::move(fresh));
    WEIR_ASSERT(replaced.get() == old);
    complete_records(index, definition);
    retire(std::move(replaced));
    return index;
}

/// Advances all levels to now at the old rate, and makes records for new limits before a request
/// looks for them.
void DefinitionEdit::prepare_records(std::uint32_t index, const CompiledDefinition* old,
                                     const CompiledDefinition& fresh) {
    parts_.instances.for_each_member(index, [&](std::uint32_t id) {
        if (old != nullptr) {
            parts_.records.bring_to_now(id, *old, now_);
        }
        parts_.records.clear_reused(id, old, fresh, now_);
        (void)parts_.records.add_missing(id, fresh, now_);
    });
}

/// Makes missing records once more, now that the records of former limits can be used: for
/// instances that were made meanwhile, and for those for which no record was free.
void DefinitionEdit::complete_records(std::uint32_t index, const CompiledDefinition& fresh) {
    parts_.instances.for_each_member(index, [&](std::uint32_t id) {
        if (!parts_.records.add_missing(id, fresh, now_) &&
            !parts_.records.take_former(id, fresh, now_)) {
            parts_.adoption.wait_for_records(id);
        }
        parts_.records.bring_to_now(id, fresh, now_);
    });
}

void DefinitionEdit::add_name(const std::string& name, std::uint32_t index) {
    if (parts_.definitions.get(index)->has_captures) {
        touched_templates_ = true;
    } else {
        touched_exact_.push_back(name);
    }
    retire(parts_.definitions.add_name(name, index));
}

void DefinitionEdit::take_away(const std::string& name) {
    const std::uint32_t index = parts_.definitions.index_of(name);
    if (index == 0) {
        return;
    }
    if (parts_.definitions.get(index)->has_captures) {
        touched_templates_ = true;
    } else {
        touched_exact_.push_back(name);
    }
    {
        const std::lock_guard held(parts_.store.lock);
        parts_.definitions.remove_name(name);
    }
    removed_.push_back(index);
    const bool fresh = is_removed_.insert(index).second;
    WEIR_ASSERT(fresh);
}

// --- instances follow ----------------------------------------------------------------------------

bool DefinitionEdit::is_removed(std::uint32_t definition) const {
    return !is_removed_.empty() && is_removed_.contains(definition);
}

/// Moves an instance to the definition that its name falls under now; to 0 if there is none. True
/// when it fell under another definition.
///
/// The identities of limits change before the definition does. A request that is decided at that
/// moment may read the old definition with the new identities. Then it passes without the limit
/// concerned or, if the new identity is that of another limit of the old definition, is judged by
/// that limit and charged to it. This happens once. No order of stores would prevent it, because a
/// request reads the definition first and the identities later. Most limits keep their identity
/// (compile_terms()), and most of the others get one that no other limit had.
bool DefinitionEdit::reassign(std::uint32_t id) {
    const CompiledDefinitions& definitions = parts_.definitions;
    LimitRecord& record = parts_.store.record(id);
    const std::uint32_t old = record.definition.load(kRelaxed);
    const CompiledDefinition* const before = old != 0 ? definitions.get(old) : nullptr;
    WEIR_ASSERT((before != nullptr) == (old != 0));
    if (before != nullptr && before->overflow) {
        return false;  // it is removed with its template
    }
    if (before != nullptr && !before->has_captures && !is_removed(old)) {
        return false;  // exact names have precedence over templates
    }
    const std::string_view name = parts_.store.name(id);
    const std::uint32_t fresh = definitions.match(name, definitions.hash(name)).value_or(0);
    if (fresh == old) {
        return false;
    }
    if (before != nullptr) {
        parts_.records.bring_to_now(id, *before, now_);
    }
    parts_.instances.move_to(id, fresh);
    if (fresh != 0) {
        const CompiledDefinition* const after = definitions.get(fresh);
        WEIR_ASSERT(after != nullptr && !after->overflow);
        parts_.records.renumber(id, before, *after, now_);
        if (!parts_.records.add_missing(id, *after, now_)) {
            parts_.adoption.wait_for_records(id);
        }
        parts_.records.bring_to_now(id, *after, now_);
    }
    record.definition.store(fresh, std::memory_order_release);
    return true;
}

void DefinitionEdit::move(std::uint32_t id) {
    WEIR_ASSERT(parts_.store.live_head(id));
    if (reassign(id)) {
        moved_.push_back(id);
        lost_parents_ = lost_parents_ || (parts_.store.record(id).definition.load(kRelaxed) == 0 &&
                                          parts_.store.info(id).children > 0);
    }
}

void DefinitionEdit::settle_parent(std::uint32_t id) {
    if (parts_.store.record(id).definition.load(kRelaxed) != 0) {
        parts_.adoption.adopt_or_wait(id, now_);
    }
}

/// Finds the parents of all instances whose definition has changed. If an instance with children
/// has lost its definition, finds the parents of all instances.
void DefinitionEdit::follow_templates() {
    parts_.instances.for_each([&](std::uint32_t id) { move(id); });
    const auto settle = [&](std::uint32_t id) { settle_parent(id); };
    if (lost_parents_) {
        parts_.instances.for_each(settle);
    } else {
        parts_.instances.for_each_of(moved_, settle);
    }
}

/// Makes the instance of the name fall under its definition of now. This is needed even if there
/// are new templates, because one of them may be the parent of a name that is in use already.
void DefinitionEdit::follow_exact(const std::string& name) {
    const std::lock_guard held(parts_.store.lock);
    if (const auto entry = parts_.store.names.find(parts_.definitions.hash(name))) {
        const std::uint32_t id = Instances::leaf_of(*entry).instance;
        WEIR_ASSERT(parts_.store.live_head(id));
        move(id);
        settle_parent(id);
    }
}

void DefinitionEdit::follow_parents(std::uint32_t index) {
    const auto settle = [&](std::uint32_t id) { settle_parent(id); };
    parts_.instances.for_each_member(index, settle);
    const std::uint32_t overflow =
        std::as_const(parts_.instances).members(index).overflow_definition;
    if (overflow != 0) {
        parts_.instances.for_each_member(overflow, settle);
    }
}

/// Makes the overflow instances of all templates in advance, for workers that have a new name while
/// another thread holds the lock.
void DefinitionEdit::make_overflow_instances() {
    for (const std::uint32_t index : parts_.definitions.templates()) {
        const std::lock_guard held(parts_.store.lock);
        // An overflow instance that existed may have another parent now.
        if (const std::uint32_t id = parts_.creation.overflow_instance(index, now_)) {
            parts_.adoption.adopt_overflow(id, now_);
        }
    }
}

/// Drops the instances without a definition. Their children have found other parents or are
/// dropped, too.
void DefinitionEdit::drop_orphans() {
    const std::lock_guard held(parts_.store.lock);
    while (parts_.instances.members(0).hand != 0) {
        const std::uint32_t id = parts_.instances.members(0).hand;
        parts_.instances.release_children(id);
        parts_.instances.drop(id);
    }
    WEIR_ASSERT(parts_.instances.members(0).live == 0);
}

/// Finds other parents for the instances below the overflow instance of a template that is removed.
void DefinitionEdit::leave_overflow_instance(std::uint32_t definition) {
    std::uint32_t overflow = 0;
    {
        const std::lock_guard held(parts_.store.lock);
        overflow = std::as_const(parts_.instances).members(definition).overflow_instance;
        if (overflow == 0 || parts_.store.info(overflow).children == 0) {
            return;
        }
    }
    parts_.instances.for_each([&](std::uint32_t id) {
        if (parts_.store.record(id).owner.load(kRelaxed) == overflow) {
            parts_.adoption.adopt_or_wait(id, now_);
        }
    });
}

void DefinitionEdit::remove(std::uint32_t index) {
    WEIR_ASSERT(parts_.definitions.get(index) != nullptr);
    const std::uint32_t slot = parts_.definitions.get(index)->statistics;
    {
        const std::lock_guard held(parts_.store.lock);
        const Members& members = std::as_const(parts_.instances).members(index);
        const std::uint32_t overflow = members.overflow_definition;
        if (members.overflow_instance != 0) {
            parts_.instances.release_children(members.overflow_instance);
            parts_.instances.drop_overflow_instance(members.overflow_instance);
        }
        parts_.instances.forget_definition(index);
        parts_.store.retire_other(parts_.definitions.free(index));
        if (overflow != 0) {
            parts_.store.retire_other(parts_.definitions.free(overflow));
        }
    }
    parts_.figures.free_slot(slot);
}

void DefinitionEdit::finish() {
    if (touched_templates_) {
        retire(parts_.definitions.rebuild_templates());
    }
    if (touched_templates_ || !touched_exact_.empty() || !touched_parents_.empty()) {
        parts_.definitions.mark_parents_of_templates();
    }
    parts_.definitions.next_version();
    if (touched_templates_) {
        follow_templates();
    }
    for (const std::string& name : touched_exact_) {
        follow_exact(name);
    }
    // This is done last, because a new parent may be one of the new templates.
    for (const std::uint32_t index : touched_parents_) {
        follow_parents(index);
    }
    if (touched_templates_) {
        make_overflow_instances();
    }
    drop_orphans();
    for (const std::uint32_t index : removed_) {
        leave_overflow_instance(index);
        remove(index);
    }
}

}  // namespace weir::limiter

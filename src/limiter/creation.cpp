#include "limiter/creation.h"

#include <mutex>
#include <string>

#include "base/assert.h"
#include "base/relaxed.h"
#include "limiter/bucket.h"

namespace weir::limiter {
namespace {

void prefetch(const LimitRecord& record) { __builtin_prefetch(&record, 1, 3); }

}  // namespace

AskedName Creation::ask(ThreadContext& thread, std::string_view name) const {
    store_.epochs.enter(thread.epoch);
    const AskedName asked{name, definitions_.hash(name)};
    store_.names.prefetch(asked.hash);
    return asked;
}

LeafId Creation::find(ThreadContext& thread, const AskedName& asked, Instant now) {
    InstanceStore& store = store_;
    store.epochs.enter(thread.epoch);
    const std::string_view name = asked.name;
    const std::uint64_t key = asked.hash;
    if (const auto entry = store.names.find(key)) {
        const LeafId leaf = Instances::leaf_of(*entry);
        prefetch(store.record(leaf.instance));
        prefetch(store.record(entry->extra));
        return leaf;
    }
    const std::uint32_t version = definitions_.version(std::memory_order_acquire);
    if (thread.misses.contains(key, version)) {
        return {};
    }
    if (!definitions_.match(name, key)) {
        thread.misses.insert(key, version);
        return {};
    }
    if (store.lock.try_lock(options_.creation_tries)) {
        // The lock is given back even when no memory is left, because an embedding program may go
        // on.
        const std::lock_guard held(store.lock, std::adopt_lock);
        return ensure(name, key, now);
    }
    thread.contended.add(1);
    return overflow_without_lock(thread, name, key, now);
}

bool Creation::find(ThreadContext& thread, const AskedName& asked, Instant now, Leaves& leaves) {
    if (!leaves.empty() && !store_.names.find(asked.hash)) {
        // An instance may have to be made. Those of the same request count as used just now, so
        // that they do not make room for it.
        for (const LeafId& leaf : leaves) {
            note_offered(store_.record(leaf.instance), 0, nanoseconds(now));
            if (leaf.resume != 0) {
                note_offered(store_.record(leaf.resume), 0, nanoseconds(now));
            }
        }
    }
    const LeafId found = find(thread, asked, now);
    leaves.add(found);
    return static_cast<bool>(found);
}

bool Creation::have_catch_all(ThreadContext& thread) const {
    store_.epochs.enter(thread.epoch);
    return definitions_.have_catch_all();
}

bool Creation::falls_to_catch_all(ThreadContext& thread, const AskedName& asked) const {
    store_.epochs.enter(thread.epoch);
    const CompiledDefinition* definition = nullptr;
    if (const auto entry = store_.names.find(asked.hash)) {
        definition = definitions_.of(store_.record(Instances::leaf_of(*entry).instance));
    } else if (const auto index = definitions_.match(asked.name, asked.hash)) {
        definition = definitions_.get(*index);
    }
    return definition != nullptr && definition->has_captures &&
           definition->patterns->name.has_catch_all();
}

LeafId Creation::ensure(std::string_view name, Instant now) {
    return ensure(name, definitions_.hash(name), now);
}

LeafId Creation::ensure(std::string_view name, std::uint64_t hash, Instant now) {
    NameChain chain;
    plan(name, hash, chain);
    return chain.size == 0 ? chain.above : create(chain, now);
}

/// Collects the levels of the chain that have no instance, up to the first one that has. (Another
/// thread may have made some.)
void Creation::plan(std::string_view name, std::uint64_t hash, NameChain& chain) const {
    while (chain.size < chain.levels.size()) {
        if (const auto entry = store_.names.find(hash)) {
            chain.above = Instances::leaf_of(*entry);
            return;
        }
        const auto definition = definitions_.match(name, hash);
        if (!definition) {
            return;
        }
        const CompiledDefinition* const compiled = definitions_.get(*definition);
        WEIR_ASSERT(compiled != nullptr);
        NameChain::Link& level = chain.levels[chain.size++];
        level = {*definition, hash, name, {}};
        if (compiled->parent.empty()) {
            return;
        }
        level.parent = compiled->parent_of(name);
        name = level.parent;
        hash = definitions_.hash(name);
    }
}

/// Makes the chain from the top down. Overflow instances stand for the levels for which there is no
/// room.
LeafId Creation::create(const NameChain& chain, Instant now) {
    WEIR_ASSERT(chain.size > 0 && chain.size <= chain.levels.size());
    std::size_t lowest = 0;
    {
        // The instance above the chain must not make room for it.
        const Instances::Pin pin(instances_, chain.above.instance);
        lowest = eviction_.make_room_for(chain, now);
    }
    WEIR_ASSERT(lowest <= chain.size);
    LeafId leaf = chain.above;
    for (std::size_t i = chain.size; i > lowest; --i) {
        const LeafId made = create_level(chain.levels[i - 1], leaf, now);
        if (!made) {  // no free record is left
            lowest = i;
            break;
        }
        leaf = made;
    }
    for (std::size_t i = 0; i < chain.size; ++i) {
        const NameChain::Link& level = chain.levels[i];
        if (level.name.size() <= kMaxNameBytes) {  // for longer names there never is room
            definitions_.get(level.definition)->full.store(i < lowest, kRelaxed);
        }
    }
    for (std::size_t i = lowest; i > 0; --i) {
        leaf = overflow(chain.levels[i - 1].definition, leaf, now);
    }
    return leaf;
}

/// Makes one level of a chain whose upper levels exist.
LeafId Creation::create_level(const NameChain::Link& level, LeafId parent, Instant now) {
    const std::uint32_t id = build(level.definition, level.name, parent, now);
    if (id == 0) {
        return {};
    }
    created_.fetch_add(1, kRelaxed);
    return instances_.publish(id, level.hash, parent);
}

/// An instance with a record for each of its limits; 0 when not enough records are left.
std::uint32_t Creation::build(std::uint32_t definition, std::string_view name, LeafId parent,
                              Instant now) {
    const std::uint32_t id = instances_.make(definition, name, parent, now);
    if (id != 0 && !records_.add_missing(id, *definitions_.get(definition), now)) {
        instances_.drop(id);
        return 0;
    }
    return id;
}

// --- overflow instances --------------------------------------------------------------------------

LeafId Creation::overflow_parent(const CompiledDefinition& definition, Instant now) {
    LeafId parent;
    if (!definition.parent.empty()) {
        // The text of a template, taken as a name, falls under that template.
        const std::string_view text = definition.parent.view();
        const auto above = definitions_.match(text, definitions_.hash(text));
        if (above && definitions_.get(*above)->has_captures) {
            parent.instance = overflow_instance(*above, now);
        }
    }
    return parent;
}

std::uint32_t Creation::overflow_instance(std::uint32_t definition, Instant now) {
    const Members& members = instances_.members(definition);
    if (members.overflow_instance != 0 || members.overflow_definition == 0) {
        return members.overflow_instance;
    }
    const std::uint32_t overflow_definition = members.overflow_definition;
    const CompiledDefinition* const compiled = definitions_.get(overflow_definition);
    WEIR_ASSERT(compiled != nullptr && compiled->overflow);
    const LeafId parent = overflow_parent(*compiled, now);
    const std::string name = std::string(compiled->name()) + std::string(kOverflowSuffix);
    const std::uint32_t id = build(overflow_definition, name, parent, now);
    instances_.members(definition).overflow_instance = id;
    if (id != 0) {
        instances_.count_overflow_instance();
    }
    definitions_.get(definition)->overflow_instance.store(id, std::memory_order_release);
    return id;
}

LeafId Creation::overflow(std::uint32_t definition, LeafId parent, Instant now) {
    const std::uint32_t instance = overflow_instance(definition, now);
    WEIR_ASSERT(instance == 0 || store_.live_head(instance));
    // There is no room for an exact name, or no record at all. The quotas above it still count.
    return instance == 0 ? parent : above_parent(instance, parent);
}

/// A LeafId of the overflow instance whose chain goes on with `parent`.
LeafId Creation::above_parent(std::uint32_t overflow, LeafId parent) const {
    WEIR_ASSERT(overflow != 0);
    LeafId leaf;
    leaf.instance = overflow;
    leaf.generation = store_.generation(leaf.instance);
    leaf.overflow_depth = static_cast<std::uint8_t>(parent.overflow_depth + 1);
    const bool above = parent.overflow_depth > 0;
    leaf.resume = above ? parent.resume : parent.instance;
    leaf.resume_generation =
        above ? parent.resume_generation : static_cast<std::uint16_t>(parent.generation);
    return leaf;
}

/// Whether the request, for which there is no time to make an instance of this name, passes the
/// name's limits unjudged. The first one does, unless there is no room for the name or its limit is
/// 0. Later ones do not, so that few names cannot pass again and again while the lock is taken.
bool Creation::passes_unjudged(ThreadContext& thread, const CompiledDefinition& definition,
                               std::string_view name, std::uint64_t hash) const {
    const std::uint32_t version = definitions_.version(std::memory_order_acquire);
    const bool first = !thread.contended_names.contains(hash, version);
    thread.contended_names.insert(hash, version);
    return first && !definition.refuses_all && !definition.full.load(kRelaxed) &&
           name.size() <= kMaxNameBytes;
}

/// Finds an instance when another thread holds the lock and may have been preempted. The result is
/// the template's overflow instance and, above it, the parents that exist or their overflow
/// instances.
LeafId Creation::overflow_without_lock(ThreadContext& thread, std::string_view name,
                                       std::uint64_t hash, Instant now) {
    if (const auto entry = store_.names.find(hash)) {
        return Instances::leaf_of(*entry);
    }
    const auto definition = definitions_.match(name, hash);
    const CompiledDefinition* compiled = definition ? definitions_.get(*definition) : nullptr;
    if (compiled == nullptr) {
        return {};
    }
    const std::uint32_t instance = compiled->overflow_instance.load(std::memory_order_acquire);
    if (instance == 0) {
        return ensure_waiting(name, hash, now);
    }
    LeafId parent;
    if (!compiled->parent.empty()) {
        const std::string above = compiled->parent_of(name);
        parent = overflow_without_lock(thread, above, definitions_.hash(above), now);
    }
    LeafId leaf = above_parent(instance, parent);
    if (passes_unjudged(thread, *compiled, name, hash)) {
        leaf.unjudged_depth = static_cast<std::uint8_t>(parent.unjudged_depth + 1);
    }
    return leaf;
}

/// Waits for the lock, for an exact name, which has no overflow instance. This happens once for
/// each definition, and every holder of the lock gives it back after a bounded amount of work.
LeafId Creation::ensure_waiting(std::string_view name, std::uint64_t hash, Instant now) {
    const std::lock_guard held(store_.lock);
    return ensure(name, hash, now);
}

}  // namespace weir::limiter

#include "limiter/instances.h"

#include "base/assert.h"
#include "base/relaxed.h"

namespace weir::limiter {
namespace {

/// The name table grows before it is fuller than this; maintain() does so earlier.
constexpr double kFullLoad = 0.85;

/// What the name table keeps: 24 bits of the id, the low byte of its generation, and the parent.
TableEntry entry_of(std::uint32_t id, std::uint32_t generation, std::uint32_t parent) {
    return {id | generation << 24, parent};
}

}  // namespace

Instances::Instances(InstanceStore& store, const CompiledDefinitions& definitions)
    : store_(store), definitions_(definitions) {
    members_.reach(0);
}

std::uint32_t Instances::make(std::uint32_t definition, std::string_view name, LeafId parent,
                              Instant now) {
    WEIR_ASSERT(definitions_.get(definition) != nullptr);
    const std::uint32_t id = store_.allocate_record(nanoseconds(now));
    if (id == 0) {
        return 0;
    }
    store_.record(id).definition.store(definition, kRelaxed);
    store_.make_instance(id, name);
    join(definition, id);
    if (parent) {
        WEIR_ASSERT(store_.live_head(parent.instance));
        store_.record(id).owner.store(parent.instance, std::memory_order_release);
        ++store_.info(parent.instance).children;
    }
    return id;
}

LeafId Instances::publish(std::uint32_t id, std::uint64_t hash, LeafId parent) {
    WEIR_ASSERT(store_.live_head(id));
    if (store_.names.load() > kFullLoad) {
        store_.retire_slots(store_.names.grow());
    }
    const TableEntry entry = entry_of(id, store_.generation(id), parent.instance);
    store_.names.insert(hash, entry);
    return leaf_of(entry);
}

/// Whether the name leads to this instance. A client may send a name like that of an overflow
/// instance, so it is not enough to compare the names.
bool Instances::name_leads_to(std::uint64_t key, std::uint32_t id) const {
    const auto entry = store_.names.find(key);
    return entry && (entry->value & kIdMask) == id;
}

void Instances::drop(std::uint32_t id) {
    WEIR_ASSERT(store_.live_head(id) && store_.info(id).children == 0);
    LimitRecord& record = store_.record(id);
    const std::uint32_t parent = record.owner.load(kRelaxed);
    part(record.definition.load(kRelaxed), id);
    if (parent != 0) {
        WEIR_ASSERT(store_.info(parent).children > 0);
        --store_.info(parent).children;
    }
    if (const std::uint64_t key = key_of(id); name_leads_to(key, id)) {
        store_.names.erase(key);
    }
    store_.retire_instance(id);
}

void Instances::set_parent(std::uint32_t id, LeafId parent) {
    WEIR_ASSERT(store_.live_head(id));
    LimitRecord& record = store_.record(id);
    const std::uint32_t old = record.owner.load(kRelaxed);
    if (old == parent.instance) {
        return;
    }
    if (parent) {
        ++store_.info(parent.instance).children;
    }
    record.owner.store(parent.instance, std::memory_order_release);
    if (old != 0) {
        WEIR_ASSERT(store_.info(old).children > 0);
        --store_.info(old).children;
    }
    if (const std::uint64_t key = key_of(id); name_leads_to(key, id)) {
        store_.names.update(key, entry_of(id, store_.generation(id), parent.instance));
    }
}

void Instances::release_children(std::uint32_t id) {
    const auto release = [&](std::uint32_t child) {
        if (store_.record(child).owner.load(kRelaxed) == id) {
            set_parent(child, {});
        }
    };
    const std::uint32_t orphans = store_.info(id).children > 0 ? members_[0].live : 0;
    for (std::uint32_t child = members_[0].hand, left = orphans; left > 0; --left) {
        release(child);
        child = store_.info(child).next;
    }
    if (store_.info(id).children == 0) {
        return;
    }
    // The set of definitions was not validated: a quota was removed whose children still name it.
    for (std::uint32_t child = 1; child <= store_.high_water(); ++child) {
        if (store_.live_head(child)) {
            release(child);
        }
    }
    WEIR_ASSERT(store_.info(id).children == 0);
}

void Instances::pin(std::uint32_t id) {
    if (id != 0) {
        WEIR_ASSERT(store_.live_head(id));
        ++store_.info(id).children;
    }
}

void Instances::unpin(std::uint32_t id) {
    if (id != 0) {
        WEIR_ASSERT(store_.info(id).children > 0);
        --store_.info(id).children;
    }
}

void Instances::move_to(std::uint32_t id, std::uint32_t definition) {
    const std::uint32_t former = store_.record(id).definition.load(kRelaxed);
    WEIR_ASSERT(former != definition);
    part(former, id);
    join(definition, id);
}

void Instances::ensure_definition(std::uint32_t definition) {
    const std::lock_guard held(store_.lock);
    members_.reach(definition);
    WEIR_ASSERT(std::as_const(members_)[definition].live == 0);
}

void Instances::forget_definition(std::uint32_t definition) {
    const Members& ring = std::as_const(members_)[definition];
    WEIR_ASSERT(definition != 0 && ring.live == 0);
    if (ring.rank != SizeRanks::kNone || ring.overflow_definition != 0) {
        ranks_.move(definition, SizeRanks::kNone);
        members(definition) = {};
    }
}

void Instances::drop_overflow_instance(std::uint32_t id) {
    WEIR_ASSERT(overflow_instances_ > 0);
    drop(id);
    --overflow_instances_;
}

/// Puts the definition into the rank of those with as many instances. Overflow instances are never
/// replaced, so their definitions have no rank.
void Instances::rank(std::uint32_t definition) {
    const CompiledDefinition* compiled = definition == 0 ? nullptr : definitions_.get(definition);
    const std::uint32_t live = members(definition).live;
    if (compiled == nullptr || compiled->overflow || live == 0) {
        ranks_.move(definition, SizeRanks::kNone);
    } else {
        ranks_.move(definition,
                    compiled->has_captures ? SizeRanks::of_template(live) : SizeRanks::kExact);
    }
}

void Instances::join(std::uint32_t definition, std::uint32_t id) {
    Members& ring = members(definition);
    InstanceInfo& info = store_.info(id);
    ++ring.live;
    rank(definition);
    if (ring.hand == 0) {
        WEIR_ASSERT(ring.live == 1);
        ring.hand = id;
        info.previous = info.next = id;
        return;
    }
    // Inserted just before the hand, so that a search comes to it last.
    InstanceInfo& hand = store_.info(ring.hand);
    info.next = ring.hand;
    info.previous = hand.previous;
    store_.info(hand.previous).next = id;
    hand.previous = id;
}

void Instances::part(std::uint32_t definition, std::uint32_t id) {
    Members& ring = members(definition);
    InstanceInfo& info = store_.info(id);
    WEIR_ASSERT(ring.live > 0 && ring.hand != 0);
    WEIR_ASSERT(store_.info(info.previous).next == id && store_.info(info.next).previous == id);
    --ring.live;
    rank(definition);
    store_.info(info.previous).next = info.next;
    store_.info(info.next).previous = info.previous;
    if (ring.hand == id) {
        ring.hand = info.next == id ? 0 : info.next;
    }
    WEIR_ASSERT((ring.hand == 0) == (ring.live == 0));
}

}  // namespace weir::limiter

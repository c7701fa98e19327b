#include <algorithm>
#include <mutex>

#include "base/assert.h"
#include "limiter/implementation.h"

// Instances: finding them, making them on first use (room.cpp makes room for them), dropping them.

namespace weir::limiter {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr std::uint32_t kIdMask = (1U << 24) - 1;

/// Records looked at by one maintain().
constexpr std::uint32_t kSweepStep = 1024;
/// Of these at most this many while workers wait for the lock.
constexpr std::uint32_t kSweepHold = 32;
constexpr double kGrowLoad = 0.6;
constexpr double kFullLoad = 0.85;

std::int64_t nanoseconds(Instant now) { return now.time_since_epoch().count(); }

void prefetch(const LimitRecord& record) { __builtin_prefetch(&record, 1, 3); }

/// Whether the name leads to this instance. An overflow instance is not found by its name, which
/// may be a client's.
bool leads_to(const NameTable& names, std::uint64_t key, std::uint32_t id) {
    const auto entry = names.find(key);
    return entry && (entry->value & kIdMask) == id;
}

}  // namespace

ThreadContext& Limiter::Implementation::register_thread(std::uint64_t seed) {
    const std::uint32_t index = thread_count_.load(kRelaxed);
    WEIR_ASSERT(index < kMaxThreads);
    threads_[index] = std::make_unique<ThreadContext>(seed, options_.max_statistics + 1);
    thread_count_.store(index + 1, std::memory_order_release);
    return *threads_[index];
}

LeafId Limiter::Implementation::leaf_of(NameEntry entry) const {
    LeafId leaf;
    leaf.instance = entry.value & kIdMask;
    leaf.generation = entry.value >> 24;
    return leaf;
}

LeafId Limiter::Implementation::find(ThreadContext& thread, std::string_view name, Instant now) {
    store_.epochs.enter(thread.epoch);
    const std::uint64_t key = hash(name);
    if (const auto entry = store_.names.find(key)) {
        const LeafId leaf = leaf_of(*entry);
        prefetch(store_.record(leaf.instance));
        prefetch(store_.record(entry->extra));
        return leaf;
    }
    const std::uint32_t version = version_.load(std::memory_order_acquire);
    if (thread.misses.contains(key, version)) {
        return {};
    }
    if (!match(name, key)) {
        thread.misses.insert(key, version);
        return {};
    }
    if (store_.lock.try_lock(options_.creation_tries)) {
        // Given back even when there is no memory left: a program that embeds us may live on.
        const std::lock_guard held(store_.lock, std::adopt_lock);
        return ensure(name, key, now);
    }
    thread.contended.add(1);
    return overflow_without_lock(name, key, now);
}

std::optional<std::uint32_t> Limiter::Implementation::match(std::string_view name,
                                                            std::uint64_t hash) const {
    if (const auto exact = exact_.find(hash)) {
        return exact->value;
    }
    const TemplateIndex* templates = templates_.load(std::memory_order_acquire);
    return templates == nullptr ? std::nullopt : templates->find(name);
}

LeafId Limiter::Implementation::ensure(std::string_view name, std::uint64_t hash, Instant now) {
    Chain chain;
    plan(name, hash, chain);
    return chain.size == 0 ? chain.above : create(chain, now);
}

/// Collects the levels that do not live, up to the first that does (another thread was quicker).
void Limiter::Implementation::plan(std::string_view name, std::uint64_t hash, Chain& chain) const {
    while (chain.size < chain.levels.size()) {
        if (const auto entry = store_.names.find(hash)) {
            chain.above = leaf_of(*entry);
            return;
        }
        const auto definition = match(name, hash);
        if (!definition) {
            return;
        }
        const CompiledDefinition& compiled = *table_.get(*definition);
        Chain::Level& level = chain.levels[chain.size++];
        level = {*definition, hash, name, {}};
        if (!compiled.parent) {
            return;
        }
        const auto captures = compiled.pattern.match(name);
        level.parent = compiled.parent->expand(captures ? *captures : Captures{});
        name = level.parent;
        hash = this->hash(name);
    }
}

/// Makes the chain from the top down; what there is no room for is the templates' overflow.
LeafId Limiter::Implementation::create(const Chain& chain, Instant now) {
    // Room is not made out of what the chain hangs on.
    const std::uint32_t above = chain.above.instance;
    pin(above, 1);
    std::size_t lowest = make_room_for(chain, now);
    pin(above, -1);
    LeafId leaf = chain.above;
    for (std::size_t i = chain.size; i > lowest; --i) {
        const LeafId made = create_level(chain.levels[i - 1], leaf, now);
        if (!made) {  // no record is left
            lowest = i;
            break;
        }
        leaf = made;
    }
    for (std::size_t i = lowest; i > 0; --i) {
        leaf = overflow(chain.levels[i - 1].definition, leaf, now);
    }
    return leaf;
}

/// A level of a chain whose upper ones live.
LeafId Limiter::Implementation::create_level(const Chain::Level& level, LeafId parent,
                                             Instant now) {
    if (store_.names.load() > kFullLoad) {
        store_.retire_slots(store_.names.grow());
    }
    const std::uint32_t id = build(level.definition, level.name, parent, now);
    if (id == 0) {
        return {};
    }
    const NameEntry entry{id | store_.generation(id) << 24, parent.instance};
    store_.names.insert(level.hash, entry);
    created_.fetch_add(1, kRelaxed);
    return leaf_of(entry);
}

/// Keeps an instance from being replaced, as a child would.
void Limiter::Implementation::pin(std::uint32_t id, int change) {
    if (id != 0) {
        store_.info(id).children += static_cast<std::uint32_t>(change);
    }
}

std::uint32_t Limiter::Implementation::build(std::uint32_t definition, std::string_view name,
                                             LeafId parent, Instant now) {
    const std::uint32_t id = store_.allocate_record(nanoseconds(now));
    if (id == 0) {
        return 0;
    }
    store_.record(id).definition.store(definition, kRelaxed);
    store_.make_instance(id, name);
    join(definition, id);
    if (parent) {
        store_.record(id).owner.store(parent.instance, std::memory_order_release);
        ++store_.info(parent.instance).children;
    }
    if (!add_missing_records(id, *table_.get(definition), now)) {
        drop(id);
        return 0;
    }
    return id;
}

/// Finds a record for each limit of the definition that the instance has none for yet: one that
/// is nobody's, or another at the end.
bool Limiter::Implementation::add_missing_records(std::uint32_t id,
                                                  const CompiledDefinition& definition,
                                                  Instant now) {
    for (const CompiledLimit& limit : definition.limits) {
        std::uint32_t last = id;
        std::uint32_t unused = 0;
        bool found = false;
        for (std::uint32_t i = id; i != 0 && !found; i = store_.record(i).next()) {
            const std::uint8_t identity = store_.record(i).identity();
            found = identity == limit.identity;
            unused = identity == kNoIdentity && unused == 0 ? i : unused;
            last = i;
        }
        if (found) {
            continue;
        }
        if (unused != 0) {
            LimitRecord& record = store_.record(unused);
            record.link.store((record.next() << 8) | limit.identity, std::memory_order_release);
            continue;
        }
        const std::uint32_t added = store_.allocate_record(nanoseconds(now));
        if (added == 0) {
            return false;
        }
        store_.record(added).link.store(limit.identity, kRelaxed);
        store_.record(added).owner.store(id, kRelaxed);
        LimitRecord& before = store_.record(last);
        before.link.store((added << 8) | before.identity(), std::memory_order_release);
    }
    return true;
}

/// With no record free anywhere, limits that hold take the records of those that did: they are
/// enforced, and a former one that comes back begins anew. False if there are not enough of them.
bool Limiter::Implementation::take_former_records(std::uint32_t id,
                                                  const CompiledDefinition& definition,
                                                  Instant now) {
    for (std::uint32_t i = id; i != 0; i = store_.record(i).next()) {
        if (definition.find(store_.record(i).identity(), 0) == nullptr) {
            clear(i, now);
        }
    }
    return add_missing_records(id, definition, now);
}

void Limiter::Implementation::set_parent(std::uint32_t id, LeafId parent) {
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
        --store_.info(old).children;
    }
    const std::uint64_t key = hash(store_.name(id));
    if (leads_to(store_.names, key, id)) {
        store_.names.update(key, {id | store_.generation(id) << 24, parent.instance});
    }
}

/// Puts the definition among those with as many instances; overflow instances are never replaced.
void Limiter::Implementation::rank(std::uint32_t definition) {
    const CompiledDefinition* compiled = definition == 0 ? nullptr : table_.get(definition);
    const std::uint32_t live = members_[definition].live;
    if (compiled == nullptr || compiled->overflow || live == 0) {
        ranks_.move(definition, SizeRanks::kNone);
    } else {
        ranks_.move(definition,
                    compiled->has_captures ? SizeRanks::of_template(live) : SizeRanks::kExact);
    }
}

void Limiter::Implementation::join(std::uint32_t definition, std::uint32_t id) {
    Members& members = members_[definition];
    InstanceInfo& info = store_.info(id);
    ++members.live;
    rank(definition);
    if (members.hand == 0) {
        members.hand = id;
        info.previous = info.next = id;
        return;
    }
    // Behind the hand: the longest there come first.
    InstanceInfo& hand = store_.info(members.hand);
    info.next = members.hand;
    info.previous = hand.previous;
    store_.info(hand.previous).next = id;
    hand.previous = id;
}

void Limiter::Implementation::part(std::uint32_t definition, std::uint32_t id) {
    Members& members = members_[definition];
    InstanceInfo& info = store_.info(id);
    --members.live;
    rank(definition);
    store_.info(info.previous).next = info.next;
    store_.info(info.next).previous = info.previous;
    if (members.hand == id) {
        members.hand = info.next == id ? 0 : info.next;
    }
}

void Limiter::Implementation::drop(std::uint32_t id) {
    LimitRecord& record = store_.record(id);
    const std::uint32_t parent = record.owner.load(kRelaxed);
    part(record.definition.load(kRelaxed), id);
    if (parent != 0) {
        --store_.info(parent).children;
    }
    const std::uint64_t key = hash(store_.name(id));
    if (leads_to(store_.names, key, id)) {
        store_.names.erase(key);
    }
    store_.retire_instance(id);
}

/// Above an overflow instance lies that of a parent that is a template; any other parent is named
/// by the LeafId that leads there.
LeafId Limiter::Implementation::overflow_parent(const CompiledDefinition& definition, Instant now) {
    LeafId parent;
    if (definition.parent) {
        // A template's own text falls under it.
        const std::string& text = *definition.source.parent;
        const auto above = match(text, hash(text));
        if (above && table_.get(*above)->has_captures) {
            parent.instance = overflow_instance(*above, now);
        }
    }
    return parent;
}

std::uint32_t Limiter::Implementation::overflow_instance(std::uint32_t definition, Instant now) {
    Members& members = members_[definition];
    if (members.overflow_instance != 0 || members.overflow_definition == 0) {
        return members.overflow_instance;
    }
    const CompiledDefinition& compiled = *table_.get(members.overflow_definition);
    const LeafId parent = overflow_parent(compiled, now);
    const std::string name = compiled.source.name + std::string(kOverflowSuffix);
    const std::uint32_t id = build(members.overflow_definition, name, parent, now);
    members_[definition].overflow_instance = id;
    overflow_instances_ += id != 0 ? 1 : 0;
    table_.get(definition)->overflow_instance.store(id, std::memory_order_release);
    return id;
}

LeafId Limiter::Implementation::overflow(std::uint32_t definition, LeafId parent, Instant now) {
    const std::uint32_t instance = overflow_instance(definition, now);
    // An exact name without room, or no record at all: its parents still count.
    return instance == 0 ? parent : above_parent(instance, parent);
}

LeafId Limiter::Implementation::above_parent(std::uint32_t overflow, LeafId parent) const {
    LeafId leaf;
    leaf.instance = overflow;
    leaf.generation = store_.generation(leaf.instance);
    leaf.overflow_depth = static_cast<std::uint16_t>(parent.overflow_depth + 1);
    const bool above = parent.overflow_depth > 0;
    leaf.resume = above ? parent.resume : parent.instance;
    leaf.resume_generation =
        above ? parent.resume_generation : static_cast<std::uint16_t>(parent.generation);
    return leaf;
}

/// Another thread holds the lock and may have been preempted: the template's overflow instance,
/// and above it what lives already or the parents' overflow instances.
LeafId Limiter::Implementation::overflow_without_lock(std::string_view name, std::uint64_t hash,
                                                      Instant now) {
    if (const auto entry = store_.names.find(hash)) {
        return leaf_of(*entry);
    }
    const auto definition = match(name, hash);
    const CompiledDefinition* compiled = definition ? table_.get(*definition) : nullptr;
    if (compiled == nullptr) {
        return {};
    }
    const std::uint32_t instance = compiled->overflow_instance.load(std::memory_order_acquire);
    if (instance == 0) {
        return ensure_waiting(name, hash, now);
    }
    LeafId parent;
    if (compiled->parent) {
        const auto captures = compiled->pattern.match(name);
        const std::string above = compiled->parent->expand(captures ? *captures : Captures{});
        parent = overflow_without_lock(above, this->hash(above), now);
    }
    return above_parent(instance, parent);
}

/// For an exact name, which has no overflow instance: waits for the lock. Happens once in the life
/// of a definition; whoever holds the lock gives it back after a bounded piece of work.
LeafId Limiter::Implementation::ensure_waiting(std::string_view name, std::uint64_t hash,
                                               Instant now) {
    const std::lock_guard held(store_.lock);
    return ensure(name, hash, now);
}

void Limiter::Implementation::maintain(Instant now) {
    {
        const std::lock_guard held(store_.lock);
        reclaim();
        if (store_.names.load() > kGrowLoad) {
            store_.retire_slots(store_.names.grow());
        }
    }
    give_room(now);
    const std::uint32_t steps = std::min(kSweepStep, store_.high_water());
    for (std::uint32_t done = 0; done < steps; done += kSweepHold) {
        const std::lock_guard held(store_.lock);
        sweep(nanoseconds(now), std::min(kSweepHold, steps - done));
    }
    survey(now);
}

void Limiter::Implementation::reclaim() {
    std::array<const Epochs::Slot*, kMaxThreads> slots{};
    const std::uint32_t count = thread_count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
        slots[i] = &threads_[i]->epoch;
    }
    store_.reclaim(store_.epochs.oldest(std::span(slots).first(count)));
}

void Limiter::Implementation::sweep(std::int64_t now, std::uint32_t records) {
    const std::uint32_t end = store_.high_water();
    swept_ += records;
    for (std::uint32_t i = 0; i < records; ++i) {
        sweep_hand_ = sweep_hand_ >= end ? 1 : sweep_hand_ + 1;
        const std::uint32_t id = sweep_hand_;
        if (!store_.live_head(id) || store_.info(id).children > 0 ||
            definition_of(store_.record(id))->overflow) {
            continue;
        }
        const Idleness idle = idleness(id, now);
        if (now - idle.touched >= options_.idle_after.count() &&
            idle.fullness <= Idleness::kEmpty) {
            drop(id);
            ++dropped_idle_;
        }
    }
}

}  // namespace weir::limiter

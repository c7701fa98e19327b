#include <algorithm>
#include <mutex>

#include "limiter/implementation.h"

// What an edit asks of instances that live already, and there may be no room for: the parent that
// it names, records for limits that it adds. Who does not get it waits (awaiting_room_), below the
// parent's overflow instance or without the limit, and is given it by the upkeep.

namespace weir::limiter {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
/// At one upkeep so many are given room at most, and so many may find none.
constexpr std::uint32_t kGiven = 1024;
constexpr std::uint32_t kRefused = 16;
/// Of these, while workers wait for the lock: each may look at a few hundred others for room.
constexpr std::uint32_t kHold = 4;

}  // namespace

/// Gives an instance the parent that its definition says; false if there was no room for that one.
bool Limiter::Implementation::adopt(std::uint32_t id, Instant now) {
    const CompiledDefinition& definition = *definition_of(store_.record(id));
    if (definition.overflow) {
        adopt_overflow(id, definition, now);
        return true;
    }
    if (!definition.parent) {
        set_parent(id, {});
        return true;
    }
    const auto captures = definition.pattern.match(store_.name(id));
    const std::string name = definition.parent->expand(captures ? *captures : Captures{});
    pin(id, 1);  // no room for its parent out of itself
    const LeafId parent = ensure(name, hash(name), now);
    pin(id, -1);
    set_parent(id, parent);
    if (parent.overflow_depth > 0) {
        complete_overflow_chain(parent.instance, now);
    }
    const bool is_own = parent && store_.name(parent.instance) == name;
    return is_own || name.size() > kMaxNameBytes || !match(name, hash(name));
}

void Limiter::Implementation::adopt_overflow(std::uint32_t id, const CompiledDefinition& definition,
                                             Instant now) {
    const LeafId parent = overflow_parent(definition, now);
    const std::uint32_t old = store_.record(id).owner.load(kRelaxed);
    const bool has_exact_one = !parent && old != 0 && definition.parent &&
                               definition_of(store_.record(old)) != nullptr &&
                               store_.name(old) == *definition.source.parent;
    if (!has_exact_one) {
        set_parent(id, parent);
    }
}

/// A LeafId that leads to an overflow instance says what lies above; who hangs there for want of
/// room goes by the records, and shall be charged to the exact names above like everybody.
void Limiter::Implementation::complete_overflow_chain(std::uint32_t overflow, Instant now) {
    // While a set is taken in, definition by definition, two may be each other's parent.
    for (std::size_t depth = 0; depth < kMaxChainDepth; ++depth) {
        const std::uint32_t above = store_.record(overflow).owner.load(kRelaxed);
        if (above == 0) {
            break;
        }
        overflow = above;
    }
    const CompiledDefinition* const definition = definition_of(store_.record(overflow));
    if (definition == nullptr || !definition->overflow || !definition->parent) {
        return;
    }
    const std::string& name = *definition->source.parent;
    const auto parent = match(name, hash(name));
    if (parent && !table_.get(*parent)->has_captures) {
        set_parent(overflow, ensure(name, hash(name), now));
    }
}

void Limiter::Implementation::adopt_or_wait(std::uint32_t id, Instant now) {
    if (!adopt(id, now)) {
        awaiting_room_.push(id);
    }
}

/// Whether the instance lacks nothing now; or it is gone, and somebody else may have its id.
bool Limiter::Implementation::find_room_for(std::uint32_t id, Instant now) {
    const CompiledDefinition* definition =
        store_.live_head(id) ? definition_of(store_.record(id)) : nullptr;
    if (definition == nullptr) {
        return true;
    }
    const bool whole = add_missing_records(id, *definition, now);
    return adopt(id, now) && whole;
}

void Limiter::Implementation::give_room(Instant now) {
    std::uint32_t given = 0;
    std::uint32_t refused = 0;
    while (awaiting_room_.size() > 0 && given < kGiven && refused < kRefused) {
        const std::lock_guard held(store_.lock);
        const auto turns = std::min<std::size_t>(kHold, awaiting_room_.size());
        for (std::size_t i = 0; i < turns; ++i) {
            const std::uint32_t id = awaiting_room_.pop();
            const bool found = find_room_for(id, now);
            ++(found ? given : refused);
            if (!found) {
                awaiting_room_.push(id);
            }
        }
    }
}

}  // namespace weir::limiter

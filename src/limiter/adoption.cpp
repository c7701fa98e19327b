#include "limiter/adoption.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "base/assert.h"
#include "base/relaxed.h"

namespace weir::limiter {
namespace {

/// The largest number of instances that get room in one upkeep, and of those that are tried in
/// vain.
constexpr std::uint32_t kGiven = 1024;
constexpr std::uint32_t kRefused = 16;
/// How many are tried before the lock is given back to workers. Each may look at a few hundred
/// others.
constexpr std::uint32_t kHold = 4;

}  // namespace

/// Gives the instance the parent that it lacks. False if there was no room for the parent.
bool Adoption::adopt(std::uint32_t id, Instant now) {
    WEIR_ASSERT(store_.live_head(id));
    const CompiledDefinition* const definition = definitions_.of(store_.record(id));
    WEIR_ASSERT(definition != nullptr);
    if (definition->overflow) {
        adopt_overflow(id, now);
        return true;
    }
    if (definition->parent.empty()) {
        instances_.set_parent(id, {});
        return true;
    }
    const std::string name = definition->parent_of(store_.name(id));
    LeafId parent;
    {
        const Instances::Pin pin(instances_,
                                 id);  // the instance itself must not make room for its parent
        parent = creation_.ensure(name, now);
    }
    instances_.set_parent(id, parent);
    if (parent.overflow_depth > 0) {
        complete_overflow_chain(parent.instance, now);
    }
    const bool is_own = parent && store_.name(parent.instance) == name;
    return is_own || name.size() > kMaxNameBytes ||
           !definitions_.match(name, definitions_.hash(name));
}

void Adoption::adopt_overflow(std::uint32_t id, Instant now) {
    const CompiledDefinition* const definition = definitions_.of(store_.record(id));
    WEIR_ASSERT(definition != nullptr && definition->overflow);
    const LeafId parent = creation_.overflow_parent(*definition, now);
    const std::uint32_t old = store_.record(id).owner.load(kRelaxed);
    const bool has_exact_one = !parent && old != 0 && !definition->parent.empty() &&
                               definitions_.of(store_.record(old)) != nullptr &&
                               store_.name(old) == definition->parent.view();
    if (!has_exact_one) {
        instances_.set_parent(id, parent);
    }
}

/// A LeafId that leads to an overflow instance says which instances are above it. An instance that
/// is below an overflow instance because there was no room for its parent follows the parents in
/// the records instead. So those records must lead on to the exact names above, which are charged,
/// too.
void Adoption::complete_overflow_chain(std::uint32_t overflow, Instant now) {
    WEIR_ASSERT(overflow != 0);
    // While a set is installed definition by definition, two definitions may be each other's
    // parent.
    for (std::size_t depth = 0; depth < kMaxChainDepth; ++depth) {
        const std::uint32_t above = store_.record(overflow).owner.load(kRelaxed);
        if (above == 0) {
            break;
        }
        overflow = above;
    }
    const CompiledDefinition* const definition = definitions_.of(store_.record(overflow));
    if (definition == nullptr || !definition->overflow || definition->parent.empty()) {
        return;
    }
    const std::string_view name = definition->parent.view();
    const auto parent = definitions_.match(name, definitions_.hash(name));
    if (parent && !definitions_.get(*parent)->has_captures) {
        instances_.set_parent(overflow, creation_.ensure(name, now));
    }
}

void Adoption::adopt_or_wait(std::uint32_t id, Instant now) {
    if (!adopt(id, now)) {
        waiting_.push(id);
    }
}

void Adoption::wait_for_records(std::uint32_t id) {
    WEIR_ASSERT(store_.live_head(id));
    waiting_.push(id);
}

/// Gives the instance what it lacks. True if it lacks nothing now. The instance may be gone
/// meanwhile, and another one may have its id.
bool Adoption::find_room_for(std::uint32_t id, Instant now) {
    const CompiledDefinition* definition =
        store_.live_head(id) ? definitions_.of(store_.record(id)) : nullptr;
    if (definition == nullptr) {
        return true;
    }
    const bool whole = records_.add_missing(id, *definition, now);
    return adopt(id, now) && whole;
}

void Adoption::give_room(Instant now) {
    std::uint32_t given = 0;
    std::uint32_t refused = 0;
    while (waiting_.size() > 0 && given < kGiven && refused < kRefused) {
        const std::lock_guard held(store_.lock);
        const auto turns = std::min<std::size_t>(kHold, waiting_.size());
        for (std::size_t i = 0; i < turns; ++i) {
            const std::uint32_t id = waiting_.pop();
            const bool found = find_room_for(id, now);
            ++(found ? given : refused);
            if (!found) {
                waiting_.push(id);
            }
        }
    }
}

}  // namespace weir::limiter

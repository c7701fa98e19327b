#include "limiter/idle_search.h"

#include <algorithm>

#include "base/assert.h"
#include "base/relaxed.h"
#include "limiter/bucket.h"

namespace weir::limiter {
IdleSearch::Idleness IdleSearch::idleness(std::uint32_t id, std::int64_t now) {
    WEIR_ASSERT(store_.live_head(id));
    Idleness result;
    // An instance that somebody holds (InstanceStore::hold()) counts as used just now.
    result.touched = store_.held(id) ? now : 0;
    const CompiledDefinition* definition = definitions_.of(store_.record(id));
    for (std::uint32_t i = id; i != 0; i = store_.record(i).next()) {
        LimitRecord& record = store_.record(i);
        ViewRecord* view = store_.view_of(record);
        result.touched = std::max(result.touched, touched_at(record, now));
        const CompiledLimit* limit =
            definition == nullptr ? nullptr : definition->find(record.identity(), 0);
        if (limit != nullptr && limit->parameters.low > 0) {
            const Bucket bucket{record, view, *limit};
            if (limit->parameters.only_counts()) {
                // Requests in flight must find it when they end, and what was admitted in a window
                // counts until that ends.
                const bool counts =
                    record.level.load(kRelaxed) > 0 &&
                    (limit->parameters.in_flight || windows_.is_open(record, *limit, now));
                result.touched = counts ? now : result.touched;
                continue;
            }
            const double level = std::max(0.0, look_at(bucket, now).level);
            result.fullness = std::max(result.fullness, level * limit->inverse_low);
            // A new instance would not know that the fleet sheds, and would admit a request.
            if (sheds(bucket)) {
                result.fullness = std::max(result.fullness, 1.0);
            }
        }
    }
    return result;
}

bool IdleSearch::replaceable(const Idleness& idle, double fullest, std::int64_t now) const {
    return now - idle.touched >= options_.busy_for.count() && idle.fullness <= fullest;
}

/// Whether the topmost instance of a branch has the definition and the parent that the search
/// wants. Without ancestors true: then the topmost instance is the leaf, whose definition is the
/// one searched and whose parent branch_idleness() compares.
bool IdleSearch::is_wanted_top(std::uint32_t id, const Target& target) const {
    WEIR_ASSERT(store_.live_head(id));
    const LimitRecord& top = store_.record(id);
    return target.above == 0 || (top.definition.load(kRelaxed) == target.top_definition &&
                                 (target.parent == 0 || top.owner.load(kRelaxed) == target.parent));
}

bool IdleSearch::is_overflow(std::uint32_t id) const {
    const CompiledDefinition* definition = definitions_.of(store_.record(id));
    return definition != nullptr && definition->overflow;
}

/// How idle the branch is that would be dropped with this leaf: as full as its fullest instance and
/// used when one of them was used last. Nothing if the branch may not be dropped.
std::optional<IdleSearch::Idleness> IdleSearch::branch_idleness(std::uint32_t leaf,
                                                                const Target& target,
                                                                std::int64_t now) {
    if (target.above == 0 && target.parent != 0 &&
        store_.record(leaf).owner.load(kRelaxed) != target.parent) {
        return std::nullopt;
    }
    Idleness worst;
    std::uint32_t id = leaf;
    for (std::uint32_t level = 0;; ++level) {
        if (store_.info(id).children > (level == 0 ? 0U : 1U)) {
            return std::nullopt;
        }
        const Idleness idle = idleness(id, now);
        if (!replaceable(idle, target.fullest, now)) {
            return std::nullopt;
        }
        worst.fullness = std::max(worst.fullness, idle.fullness);
        worst.touched = std::max(worst.touched, idle.touched);
        if (level == target.above) {
            return is_wanted_top(id, target) ? std::optional(worst) : std::nullopt;
        }
        id = store_.record(id).owner.load(kRelaxed);
        // An overflow instance is not dropped with its child, because many names share it.
        if (id == 0 || is_overflow(id)) {
            return std::nullopt;
        }
    }
}

std::uint32_t IdleSearch::find(const Target& target, std::int64_t now) {
    Members& members = instances_.members(target.definition);
    std::uint32_t best = 0;
    Idleness best_idleness;
    const std::uint32_t looks = std::min(members.live, target.looks);
    searched_.fetch_add(looks, kRelaxed);
    for (std::uint32_t i = 0; i < looks; ++i) {
        const std::uint32_t id = members.hand;
        WEIR_ASSERT(id != 0);
        members.hand = store_.info(id).next;
        const auto idle = branch_idleness(id, target, now);
        if (idle &&
            (best == 0 || idle->fullness < best_idleness.fullness ||
             (idle->fullness == best_idleness.fullness && idle->touched < best_idleness.touched))) {
            best = id;
            best_idleness = *idle;
        }
    }
    return best;
}

bool IdleSearch::ancestor_may_go(std::uint32_t id, std::uint32_t least_live, std::int64_t now) {
    WEIR_ASSERT(store_.live_head(id));
    if (store_.info(id).children > 0) {
        return false;
    }
    const CompiledDefinition* definition = definitions_.of(store_.record(id));
    if (definition == nullptr || definition->overflow) {
        return false;
    }
    const bool exact = !definition->has_captures;
    const std::uint32_t live = instances_.members(store_.record(id).definition.load(kRelaxed)).live;
    return (exact || live >= least_live) &&
           replaceable(idleness(id, now), exact ? kEmptyFullness : kReplaceableFullness, now);
}

bool IdleSearch::is_idle_for_long(std::uint32_t id, std::int64_t now) {
    if (!store_.live_head(id) || store_.info(id).children > 0) {
        return false;
    }
    const CompiledDefinition* const definition = definitions_.of(store_.record(id));
    // An edit drops instances without a definition before it ends.
    WEIR_ASSERT(definition != nullptr);
    if (definition->overflow) {
        return false;
    }
    const Idleness idle = idleness(id, now);
    return now - idle.touched >= options_.idle_after.count() && idle.fullness <= kEmptyFullness;
}

}  // namespace weir::limiter

#include "limiter/eviction.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "limiter/bucket.h"

namespace weir::limiter {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
/// An instance fuller than this is never replaced: nobody shall empty a bucket by inventing names.
constexpr double kReplaceableFullness = 0.5;
/// An instance that is no fuller than this counts as empty. A level that drains ends at 0, but one
/// that is reckoned only comes near. With its instance a millionth of `low` may be forgotten, once
/// in LimiterOptions::idle_after.
constexpr double kEmpty = 1e-6;
/// How many instances are looked at to find the emptiest, longest idle one.
constexpr std::uint32_t kCandidates = 128;
/// So many of these looks are kept for a name's own definition, and so many for exact names.
constexpr std::uint32_t kKept = 32;
/// Definitions that are asked, or passed over, for one place.
constexpr std::uint32_t kAsked = 16;
/// More than one instance may have to go: erasing an exact name moves its instance under the
/// template, and exact names are made beyond the bound.
constexpr std::uint32_t kMostBeyond = 3;

/// The first bound that is given: the definition's own, else the default, else that of all.
std::uint32_t bound_of(std::uint32_t own, std::uint32_t usual, std::uint32_t all) {
    return own != 0 ? own : usual != 0 ? usual : all;
}

}  // namespace

/// Who asks for places under the bound of all instances.
struct Eviction::Wish {
    std::uint32_t definition = 0;  // the asking one
    std::uint32_t places = 0;
    std::uint32_t least_live = 0;  // only templates with so many instances give way
    std::int64_t now = 0;
};

// --- who may go ----------------------------------------------------------------------------------

Eviction::Idleness Eviction::idleness(std::uint32_t id, std::int64_t now) {
    WEIR_ASSERT(store_.live_head(id));
    Idleness result;
    result.touched = store_.held(id) ? now : 0;
    const CompiledDefinition* definition = definitions_.of(store_.record(id));
    for (std::uint32_t i = id; i != 0; i = store_.record(i).next()) {
        LimitRecord& record = store_.record(i);
        ViewRecord* view = store_.view_of(record);
        result.touched = std::max(result.touched, touched_at(record, now));
        const CompiledLimit* limit =
            definition == nullptr ? nullptr : definition->find(record.identity(), 0);
        if (limit != nullptr && limit->parameters.low > 0) {
            const Reading reading = look_at({record, view, *limit}, now);
            result.fullness =
                std::max(result.fullness, std::max(0.0, reading.level) * limit->inverse_low);
        }
    }
    return result;
}

bool Eviction::replaceable(const Idleness& idle, double fullest, std::int64_t now) const {
    return now - idle.touched >= options_.busy_for.count() && idle.fullness <= fullest;
}

/// Whether the topmost instance of a branch is of the definition, and below the parent, that the
/// search is for.
bool Eviction::is_wanted_top(std::uint32_t id, const Search& search) const {
    WEIR_ASSERT(store_.live_head(id));
    const LimitRecord& top = store_.record(id);
    return search.above == 0 || (top.definition.load(kRelaxed) == search.top_definition &&
                                 (search.parent == 0 || top.owner.load(kRelaxed) == search.parent));
}

/// How idle the branch is that would go with this leaf; nothing if it may not go.
std::optional<Eviction::Idleness> Eviction::branch_idleness(std::uint32_t leaf,
                                                            const Search& search,
                                                            std::int64_t now) {
    if (search.above == 0 && search.parent != 0 &&
        store_.record(leaf).owner.load(kRelaxed) != search.parent) {
        return std::nullopt;
    }
    Idleness worst;
    std::uint32_t id = leaf;
    for (std::uint32_t level = 0;; ++level) {
        if (store_.info(id).children > (level == 0 ? 0U : 1U)) {
            return std::nullopt;
        }
        const Idleness idle = idleness(id, now);
        if (!replaceable(idle, search.fullest, now)) {
            return std::nullopt;
        }
        worst.fullness = std::max(worst.fullness, idle.fullness);
        worst.touched = std::max(worst.touched, idle.touched);
        if (level == search.above) {
            return is_wanted_top(id, search) ? std::optional(worst) : std::nullopt;
        }
        id = store_.record(id).owner.load(kRelaxed);
        // An overflow instance stays for all that share it.
        if (id == 0 || is_overflow(id)) {
            return std::nullopt;
        }
    }
}

bool Eviction::is_overflow(std::uint32_t id) const {
    const CompiledDefinition* definition = definitions_.of(store_.record(id));
    return definition != nullptr && definition->overflow;
}

/// The leaf whose branch is the emptiest, longest idle one of those looked at; 0 = none.
std::uint32_t Eviction::find_idle(const Search& search, std::int64_t now) {
    Members& members = instances_.members(search.definition);
    std::uint32_t best = 0;
    Idleness best_idleness;
    const std::uint32_t looks = std::min(members.live, search.looks);
    searched_.fetch_add(looks, kRelaxed);
    for (std::uint32_t i = 0; i < looks; ++i) {
        const std::uint32_t id = members.hand;
        WEIR_ASSERT(id != 0);
        members.hand = store_.info(id).next;
        const auto idle = branch_idleness(id, search, now);
        if (idle &&
            (best == 0 || idle->fullness < best_idleness.fullness ||
             (idle->fullness == best_idleness.fullness && idle->touched < best_idleness.touched))) {
            best = id;
            best_idleness = *idle;
        }
    }
    return best;
}

/// Drops the instance and says who its parent was.
std::uint32_t Eviction::replace(std::uint32_t id) {
    WEIR_ASSERT(store_.info(id).children == 0);
    const std::uint32_t parent = store_.record(id).owner.load(kRelaxed);
    instances_.drop(id);
    replaced_.fetch_add(1, kRelaxed);
    return parent;
}

// --- room under the caps of a template and of a parent -------------------------------------------

/// Drops the best branch that is found.
bool Eviction::make_room(const Search& search, std::int64_t now) {
    std::uint32_t id = find_idle(search, now);
    if (id == 0) {
        return false;
    }
    for (std::uint32_t level = 0; level <= search.above; ++level) {
        WEIR_ASSERT(id != 0);
        id = replace(id);
    }
    return true;
}

/// Room in the template (or below the parent) for a level of the chain. An instance like it goes,
/// which has no children, or has none but idle ones of the chain's lower levels, which go with it.
bool Eviction::make_room_for_level(const NameChain& chain, std::size_t level, std::uint32_t parent,
                                   std::int64_t now) {
    WEIR_ASSERT(level < chain.size);
    const auto lower = static_cast<std::uint32_t>(level);
    for (std::uint32_t above = 0; above <= lower; ++above) {
        const Search search{.definition = chain.levels[level - above].definition,
                            .looks = kCandidates / (lower + 1),
                            .fullest = kReplaceableFullness,
                            .above = above,
                            .top_definition = chain.levels[level].definition,
                            .parent = parent};
        if (make_room(search, now)) {
            return true;
        }
    }
    return false;
}

/// Whether the template's own cap lets this level of the chain be made.
bool Eviction::fits_template(const NameChain& chain, std::size_t level, std::int64_t now) {
    const std::uint32_t definition = chain.levels[level].definition;
    const CompiledDefinition* const compiled = definitions_.get(definition);
    WEIR_ASSERT(compiled != nullptr);
    const std::uint32_t cap = bound_of(compiled->source.max_instances,
                                       options_.max_instances_per_template, options_.max_instances);
    const auto full = [&] { return instances_.members(definition).live >= cap; };
    for (std::uint32_t i = 0; i <= kMostBeyond && full(); ++i) {
        if (!make_room_for_level(chain, level, 0, now)) {
            break;
        }
    }
    return !full();
}

/// Whether the cap of its parent's children lets this level of the chain be made.
bool Eviction::fits_parent(const NameChain& chain, std::size_t level, std::int64_t now) {
    const std::uint32_t parent = level + 1 == chain.size ? chain.above.instance : 0;
    if (parent == 0) {
        return true;  // or its parent is as new as itself and has no children
    }
    const CompiledDefinition* const above = definitions_.of(store_.record(parent));
    WEIR_ASSERT(above != nullptr);
    const std::uint32_t most = bound_of(above->source.max_children,
                                        options_.max_children_per_parent, options_.max_instances);
    const std::uint32_t pinned_children = store_.info(parent).children;
    WEIR_ASSERT(pinned_children > 0);  // whoever makes the chain has pinned it
    return pinned_children - 1 < most || make_room_for_level(chain, level, parent, now);
}

// --- room under the bound of all instances -------------------------------------------------------

/// Whether an ancestor that has just lost its only child may go as well.
bool Eviction::ancestor_may_go(std::uint32_t id, std::uint32_t least_live, std::int64_t now) {
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
           replaceable(idleness(id, now), exact ? kEmpty : kReplaceableFullness, now);
}

/// Drops the best that is found in one definition and, while more places are wanted, its ancestors
/// as far as they have no other children and may go too. Returns how many went.
std::uint32_t Eviction::take_from(const Search& search, const Wish& wish) {
    std::uint32_t id = find_idle(search, wish.now);
    std::uint32_t taken = 0;
    while (id != 0) {
        id = replace(id);
        ++taken;
        if (taken >= wish.places || id == 0 || !ancestor_may_go(id, wish.least_live, wish.now)) {
            break;
        }
    }
    return taken;
}

/// From templates with at least as many instances as the asking definition, the largest first.
/// Uses up `looks` as far as `kept`. Returns how many instances went.
std::uint32_t Eviction::take_from_larger(const Wish& wish, std::uint32_t& looks,
                                         std::uint32_t kept) {
    SizeRanks& ranks = instances_.ranks();
    std::uint32_t asked = 0;
    const std::uint32_t lowest = std::max(1U, SizeRanks::of_template(wish.least_live));
    for (std::uint32_t rank = SizeRanks::kLargest; rank >= lowest; --rank) {
        const std::uint32_t first = ranks.hand(rank);
        while (first != 0 && asked < kAsked && looks > kept) {
            const std::uint32_t whom = ranks.take_turn(rank);
            const std::uint32_t live = instances_.members(whom).live;
            ++asked;
            if (whom != wish.definition && live >= wish.least_live) {
                // Half of what is left for each, so that the next ones are asked as well.
                const std::uint32_t share = std::min((looks - kept + 1) / 2, live);
                looks -= share;
                if (const auto taken = take_from(
                        {.definition = whom, .looks = share, .fullest = kReplaceableFullness},
                        wish)) {
                    return taken;
                }
            }
            if (ranks.hand(rank) == first) {
                break;
            }
        }
    }
    return 0;
}

/// From exact names that are empty. Returns how many instances went.
std::uint32_t Eviction::take_from_exact(const Wish& wish, std::uint32_t looks) {
    SizeRanks& ranks = instances_.ranks();
    for (const std::uint32_t first = ranks.hand(SizeRanks::kExact); first != 0 && looks > 0;) {
        const std::uint32_t whom = ranks.take_turn(SizeRanks::kExact);
        const std::uint32_t share = std::min(1U, instances_.members(whom).live);
        looks -= share;
        if (const auto taken =
                take_from({.definition = whom, .looks = share, .fullest = kEmpty}, wish)) {
            return taken;
        }
        if (ranks.hand(SizeRanks::kExact) == first) {
            break;
        }
    }
    return 0;
}

/// From larger definitions; then from the asking one; then from exact names.
std::uint32_t Eviction::take_from_anyone(const Wish& wish) {
    const std::uint32_t own_live = instances_.members(wish.definition).live;
    const std::uint32_t exact = instances_.ranks().hand(SizeRanks::kExact) != 0 ? kKept : 0;
    const std::uint32_t kept = exact + (own_live != 0 ? kKept : 0);
    std::uint32_t looks = kCandidates;
    if (const auto taken = take_from_larger(wish, looks, kept)) {
        return taken;
    }
    WEIR_ASSERT(looks >= kept);
    const std::uint32_t own = std::min(looks - exact, own_live);
    looks -= own;
    if (const auto taken = take_from(
            {.definition = wish.definition, .looks = own, .fullest = kReplaceableFullness}, wish)) {
        return taken;
    }
    return take_from_exact(wish, looks);
}

/// How many places the bound of all instances lacks for so many more.
std::uint32_t Eviction::missing(std::uint32_t wanted) const {
    const std::uint32_t needed = instances_.live_without_overflow() + wanted;
    return needed > options_.max_instances ? needed - options_.max_instances : 0;
}

/// Whether the chain's levels from `lowest` to before `end` fit under the bound of all instances.
bool Eviction::fits_bound(const NameChain& chain, std::size_t lowest, std::size_t end,
                          std::int64_t now) {
    if (end <= lowest) {
        return true;
    }
    WEIR_ASSERT(end <= chain.size);
    const auto wanted = static_cast<std::uint32_t>(end - lowest);
    Wish wish{.definition = chain.levels[lowest].definition,
              .places = 0,
              .least_live = std::numeric_limits<std::uint32_t>::max(),
              .now = now};
    for (std::size_t i = lowest; i < end; ++i) {
        wish.least_live =
            std::min(wish.least_live, instances_.members(chain.levels[i].definition).live);
    }
    for (std::uint32_t gone = 0; gone < wanted + kMostBeyond;) {
        wish.places = missing(wanted);
        const std::uint32_t taken = wish.places > 0 ? take_from_anyone(wish) : 0;
        if (taken == 0) {
            break;
        }
        gone += taken;
    }
    return missing(wanted) == 0;
}

std::size_t Eviction::make_room_for(const NameChain& chain, Instant when) {
    const std::int64_t now = nanoseconds(when);
    std::size_t exempt = 0;  // from here on upwards: an exact name and what lies above it
    while (exempt < chain.size && definitions_.get(chain.levels[exempt].definition)->has_captures) {
        ++exempt;
    }
    std::size_t lowest = exempt;
    while (lowest > 0 && chain.levels[lowest - 1].name.size() <= kMaxNameBytes &&
           fits_template(chain, lowest - 1, now) && fits_parent(chain, lowest - 1, now)) {
        --lowest;
    }
    return fits_bound(chain, lowest, exempt, now) ? lowest : exempt;
}

// --- instances that nobody uses any more
// -----------------------------------------------------------

bool Eviction::is_idle_for_long(std::uint32_t id, std::int64_t now) {
    if (!store_.live_head(id) || store_.info(id).children > 0) {
        return false;
    }
    const CompiledDefinition* const definition = definitions_.of(store_.record(id));
    WEIR_ASSERT(definition != nullptr);  // edits drop those that lost theirs before they end
    if (definition->overflow) {
        return false;
    }
    const Idleness idle = idleness(id, now);
    return now - idle.touched >= options_.idle_after.count() && idle.fullness <= kEmpty;
}

void Eviction::sweep(Instant now, std::uint32_t records) {
    const std::uint32_t end = store_.high_water();
    swept_ += records;
    for (std::uint32_t i = 0; i < records; ++i) {
        sweep_hand_ = sweep_hand_ >= end ? 1 : sweep_hand_ + 1;
        if (is_idle_for_long(sweep_hand_, nanoseconds(now))) {
            instances_.drop(sweep_hand_);
            ++dropped_idle_;
        }
    }
}

}  // namespace weir::limiter

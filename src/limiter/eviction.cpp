#include "limiter/eviction.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "base/relaxed.h"

namespace weir::limiter {
namespace {

/// How many instances are looked at to find the emptiest, longest idle one.
constexpr std::uint32_t kCandidates = 128;
/// How many of these looks are reserved for the name's own definition, and how many for exact
/// names.
constexpr std::uint32_t kKept = 32;
/// How many definitions are searched, or passed over, for one place.
constexpr std::uint32_t kAsked = 16;
/// By how many instances a template may be beyond its bound. Erasing an exact name moves its
/// instance under the template, and exact names are made beyond the bound.
constexpr std::uint32_t kMostBeyond = 3;

/// The first of these bounds that is given: the definition's own, the default one, the bound of all
/// instances.
std::uint32_t bound_of(std::uint32_t own, std::uint32_t usual, std::uint32_t all) {
    return own != 0 ? own : usual != 0 ? usual : all;
}

}  // namespace

/// A request for places under the bound of all instances.
struct Eviction::Wish {
    std::uint32_t definition = 0;  // the definition that asks
    std::uint32_t places = 0;
    std::uint32_t least_live = 0;  // templates with fewer instances than this keep theirs
    std::int64_t now = 0;
};

/// Drops the instance and returns its parent; 0 = it had none.
std::uint32_t Eviction::replace(std::uint32_t id) {
    WEIR_ASSERT(store_.info(id).children == 0);
    const std::uint32_t parent = store_.record(id).owner.load(kRelaxed);
    instances_.drop(id);
    replaced_.fetch_add(1, kRelaxed);
    return parent;
}

// --- room under the caps of a template and of a parent -------------------------------------------

/// Drops the emptiest and longest idle branch that is found. False if there is none.
bool Eviction::make_room(const IdleSearch::Target& target, std::int64_t now) {
    std::uint32_t id = idle_.find(target, now);
    if (id == 0) {
        return false;
    }
    for (std::uint32_t level = 0; level <= target.above; ++level) {
        WEIR_ASSERT(id != 0);
        id = replace(id);
    }
    return true;
}

/// Makes room for a level of the chain in its template, or below `parent` if that is not 0. For
/// this it drops an instance of the same template that has no children, or only idle ones of the
/// chain's lower levels, which are dropped with it.
bool Eviction::make_room_for_level(const NameChain& chain, std::size_t level, std::uint32_t parent,
                                   std::int64_t now) {
    WEIR_ASSERT(level < chain.size);
    const auto lower = static_cast<std::uint32_t>(level);
    for (std::uint32_t above = 0; above <= lower; ++above) {
        const IdleSearch::Target target{.definition = chain.levels[level - above].definition,
                                        .looks = kCandidates / (lower + 1),
                                        .fullest = kReplaceableFullness,
                                        .above = above,
                                        .top_definition = chain.levels[level].definition,
                                        .parent = parent};
        if (make_room(target, now)) {
            return true;
        }
    }
    return false;
}

/// Whether the bound of its template lets this level of the chain be made, if need be after making
/// room.
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

/// Whether the bound of its parent's children lets this level of the chain be made, if need be
/// after making room.
bool Eviction::fits_parent(const NameChain& chain, std::size_t level, std::int64_t now) {
    const std::uint32_t parent = level + 1 == chain.size ? chain.above.instance : 0;
    if (parent == 0) {
        return true;  // a new parent has no other children
    }
    const CompiledDefinition* const above = definitions_.of(store_.record(parent));
    WEIR_ASSERT(above != nullptr);
    const std::uint32_t most = bound_of(above->source.max_children,
                                        options_.max_children_per_parent, options_.max_instances);
    const std::uint32_t pinned_children = store_.info(parent).children;
    WEIR_ASSERT(pinned_children > 0);  // the caller, which makes the chain, has pinned it
    return pinned_children - 1 < most || make_room_for_level(chain, level, parent, now);
}

// --- room under the bound of all instances -------------------------------------------------------

/// Drops the emptiest and longest idle instance that is found in one definition. While more places
/// are wanted, drops its ancestors, too, as far as they have no other children and may be dropped.
/// Returns how many were dropped.
std::uint32_t Eviction::take_from(const IdleSearch::Target& target, const Wish& wish) {
    std::uint32_t id = idle_.find(target, wish.now);
    std::uint32_t taken = 0;
    while (id != 0) {
        id = replace(id);
        ++taken;
        if (taken >= wish.places || id == 0 ||
            !idle_.ancestor_may_go(id, wish.least_live, wish.now)) {
            break;
        }
    }
    return taken;
}

/// Takes places from other templates with at least `wish.least_live` instances, the largest first.
/// Uses up `looks` until only `kept` of them are left. Returns how many instances were dropped.
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
                // Each gets half of the looks that are left, so that some remain for the next ones.
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

/// Takes places from empty instances of exact names. Returns how many instances were dropped.
std::uint32_t Eviction::take_from_exact(const Wish& wish, std::uint32_t looks) {
    SizeRanks& ranks = instances_.ranks();
    for (const std::uint32_t first = ranks.hand(SizeRanks::kExact); first != 0 && looks > 0;) {
        const std::uint32_t whom = ranks.take_turn(SizeRanks::kExact);
        const std::uint32_t share = std::min(1U, instances_.members(whom).live);
        looks -= share;
        if (const auto taken =
                take_from({.definition = whom, .looks = share, .fullest = kEmptyFullness}, wish)) {
            return taken;
        }
        if (ranks.hand(SizeRanks::kExact) == first) {
            break;
        }
    }
    return 0;
}

/// Takes places from larger definitions, then from the asking one, then from exact names. Returns
/// how many instances were dropped.
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

/// How many instances must be dropped before `wanted` more fit under the bound of all instances.
std::uint32_t Eviction::missing(std::uint32_t wanted) const {
    const std::uint32_t needed = instances_.live_without_overflow() + wanted;
    return needed > options_.max_instances ? needed - options_.max_instances : 0;
}

/// Whether the chain's levels from `lowest` to before `end` fit under the bound of all instances,
/// if need be after making room.
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
    // The levels from here upwards need no place: an exact name and its parents.
    std::size_t exempt = 0;
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

// --- instances that nobody uses any more ---------------------------------------------------------

void Eviction::sweep(Instant now, std::uint32_t records) {
    const std::uint32_t end = store_.high_water();
    swept_ += records;
    for (std::uint32_t i = 0; i < records; ++i) {
        sweep_hand_ = sweep_hand_ >= end ? 1 : sweep_hand_ + 1;
        if (idle_.is_idle_for_long(sweep_hand_, nanoseconds(now))) {
            instances_.drop(sweep_hand_);
            ++dropped_idle_;
        }
    }
}

}  // namespace weir::limiter

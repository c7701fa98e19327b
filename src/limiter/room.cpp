#include <algorithm>
#include <limits>

#include "limiter/implementation.h"

// Room for names that come when a bound is reached: which idle instances go, and for whom. All of
// it under the creation lock, and of bounded length: instances are looked at, at most kCandidates
// for each place that is won or not, from where the hand of their definition's ring stands.
//
// Whom a place is taken from is a matter of fairness. Past a bound of its own (a template's, a
// parent's) a name can only win the place of one like it. Past the bound of all, a definition gives
// way to those with fewer instances than itself, never to larger ones: whoever invents names has
// the most of them soon, and pays with his own; whoever has few keeps them, idle or not, and finds
// room although somebody else has filled the table. Instances of exact names go to anyone when they
// are empty: they come back whatever the bound.

namespace weir::limiter {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
/// An instance fuller than this is never replaced: nobody shall empty a bucket by inventing names.
constexpr double kReplaceableFullness = 0.5;
/// How many instances are looked at to find the emptiest, longest idle one.
constexpr std::uint32_t kCandidates = 128;
/// Of these for a name's own definition, and for exact names.
constexpr std::uint32_t kKept = 32;
/// Definitions that are asked, or passed over, for one place.
constexpr std::uint32_t kAsked = 16;
/// More than one may have to go: erasing an exact name moves its instance under the template, and
/// exact names are made beyond the bound.
constexpr std::uint32_t kMostBeyond = 3;

std::int64_t nanoseconds(Instant now) { return now.time_since_epoch().count(); }

}  // namespace

/// What may go: a leaf of this definition's ring that is idle, alone or with those above it.
struct Limiter::Implementation::Search {
    std::uint32_t definition = 0;
    std::uint32_t looks = 0;
    double fullest = kReplaceableFullness;
    /// How many ancestors go with it, which have no other children and are idle too. The topmost is
    /// of `top_definition`.
    std::uint32_t above = 0;
    std::uint32_t top_definition = 0;
    std::uint32_t parent = 0;  // of the topmost, if it matters
};

Limiter::Implementation::Idleness Limiter::Implementation::idleness(std::uint32_t id,
                                                                    std::int64_t now) {
    Idleness result;
    result.touched = store_.held(id) ? now : 0;
    const CompiledDefinition* definition = definition_of(store_.record(id));
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

bool Limiter::Implementation::replaceable(const Idleness& idle, double fullest,
                                          std::int64_t now) const {
    return now - idle.touched >= options_.busy_for.count() && idle.fullness <= fullest;
}

/// How idle the branch is that would go with this leaf; nothing if it may not go.
std::optional<Limiter::Implementation::Idleness> Limiter::Implementation::branch_idleness(
    std::uint32_t leaf, const Search& search, std::int64_t now) {
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
            break;
        }
        id = store_.record(id).owner.load(kRelaxed);
        if (id == 0) {
            return std::nullopt;
        }
    }
    const LimitRecord& top = store_.record(id);
    const bool fits =
        search.above == 0 || (top.definition.load(kRelaxed) == search.top_definition &&
                              (search.parent == 0 || top.owner.load(kRelaxed) == search.parent));
    return fits ? std::optional(worst) : std::nullopt;
}

/// The leaf whose branch is the emptiest, longest idle one of those looked at; 0 = none.
std::uint32_t Limiter::Implementation::find_idle(const Search& search, std::int64_t now) {
    Members& members = members_[search.definition];
    std::uint32_t best = 0;
    Idleness best_idleness;
    const std::uint32_t looks = std::min(members.live, search.looks);
    searched_.fetch_add(looks, kRelaxed);
    for (std::uint32_t i = 0; i < looks; ++i) {
        const std::uint32_t id = members.hand;
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
std::uint32_t Limiter::Implementation::replace(std::uint32_t id) {
    const std::uint32_t parent = store_.record(id).owner.load(kRelaxed);
    drop(id);
    replaced_.fetch_add(1, kRelaxed);
    return parent;
}

/// Drops the best that is found with all that goes with it.
bool Limiter::Implementation::make_room(const Search& search, Instant now) {
    std::uint32_t id = find_idle(search, nanoseconds(now));
    if (id == 0) {
        return false;
    }
    for (std::uint32_t level = 0; level <= search.above; ++level) {
        id = replace(id);
    }
    return true;
}

/// Room in the template (or below the parent) for a level of the chain: one like it goes, which has
/// no children, or has none but idle ones of the chain's lower levels, which go with it.
bool Limiter::Implementation::make_room_for_level(const Chain& chain, std::size_t level,
                                                  std::uint32_t parent, Instant now) {
    const std::uint32_t wanted = chain.levels[level].definition;
    const auto lower = static_cast<std::uint32_t>(level);
    for (std::uint32_t above = 0; above <= lower; ++above) {
        Search search;
        search.definition = chain.levels[level - above].definition;
        search.looks = kCandidates / (lower + 1);
        search.above = above;
        search.top_definition = wanted;
        search.parent = parent;
        if (make_room(search, now)) {
            return true;
        }
    }
    return false;
}

/// Drops the best that is found in one definition and, while more places are wanted, its ancestors
/// as far as they have no other children and may go too. How many went.
std::uint32_t Limiter::Implementation::take_from(const Search& search, std::uint32_t places,
                                                 std::uint32_t least_live, Instant now) {
    std::uint32_t id = find_idle(search, nanoseconds(now));
    std::uint32_t taken = 0;
    while (id != 0) {
        id = replace(id);
        ++taken;
        if (taken >= places || id == 0 || store_.info(id).children > 0) {
            break;
        }
        const CompiledDefinition* definition = definition_of(store_.record(id));
        if (definition == nullptr || definition->overflow) {
            break;
        }
        const bool exact = !definition->has_captures;
        const std::uint32_t live = members_[store_.record(id).definition.load(kRelaxed)].live;
        if ((!exact && live < least_live) ||
            !replaceable(idleness(id, nanoseconds(now)),
                         exact ? Idleness::kEmpty : kReplaceableFullness, nanoseconds(now))) {
            break;
        }
    }
    return taken;
}

/// Room under the bound of all instances, from definitions with as many instances as the asking
/// one at least, the largest first; then from its own; then from exact names.
std::uint32_t Limiter::Implementation::take_from_anyone(std::uint32_t definition,
                                                        std::uint32_t places,
                                                        std::uint32_t least_live, Instant now) {
    Search search;
    std::uint32_t left = kCandidates;
    const auto ask = [&](std::uint32_t whom, std::uint32_t looks) {
        search.definition = whom;
        search.looks = std::min(looks, members_[whom].live);
        left -= search.looks;
        return take_from(search, places, least_live, now);
    };
    const std::uint32_t exact = ranks_.hand(SizeRanks::kExact) != 0 ? kKept : 0;
    const std::uint32_t kept = exact + (members_[definition].live != 0 ? kKept : 0);
    std::uint32_t asked = 0;
    const std::uint32_t lowest = std::max(1U, SizeRanks::of_template(least_live));
    for (std::uint32_t rank = SizeRanks::kLargest; rank >= lowest; --rank) {
        const std::uint32_t first = ranks_.hand(rank);
        while (first != 0 && asked < kAsked && left > kept) {
            const std::uint32_t whom = ranks_.take_turn(rank);
            ++asked;
            if (whom != definition && members_[whom].live >= least_live) {
                // Half of what is left for each, so that the next ones are asked as well.
                if (const auto taken = ask(whom, (left - kept + 1) / 2)) {
                    return taken;
                }
            }
            if (ranks_.hand(rank) == first) {
                break;
            }
        }
    }
    if (const auto taken = ask(definition, left - exact)) {
        return taken;
    }
    search.fullest = Idleness::kEmpty;
    for (const std::uint32_t first = ranks_.hand(SizeRanks::kExact); first != 0 && left > 0;) {
        if (const auto taken = ask(ranks_.take_turn(SizeRanks::kExact), 1)) {
            return taken;
        }
        if (ranks_.hand(SizeRanks::kExact) == first) {
            break;
        }
    }
    return 0;
}

/// Whether the caps of its own template and parent let this level of the chain be made.
bool Limiter::Implementation::fits_own_caps(const Chain& chain, std::size_t level, Instant now) {
    const Chain::Level& fresh = chain.levels[level];
    const CompiledDefinition& compiled = *table_.get(fresh.definition);
    const std::uint32_t cap = compiled.source.max_instances != 0 ? compiled.source.max_instances
                              : options_.max_instances_per_template != 0
                                  ? options_.max_instances_per_template
                                  : options_.max_instances;
    const auto full = [&] { return members_[fresh.definition].live >= cap; };
    for (std::uint32_t i = 0; i <= kMostBeyond && full(); ++i) {
        if (!make_room_for_level(chain, level, 0, now)) {
            break;
        }
    }
    if (full()) {
        return false;
    }
    const std::uint32_t parent = level + 1 == chain.size ? chain.above.instance : 0;
    if (parent == 0) {
        return true;  // or its parent is as new as itself and has no children
    }
    const CompiledDefinition& above = *definition_of(store_.record(parent));
    const std::uint32_t most = above.source.max_children != 0 ? above.source.max_children
                               : options_.max_children_per_parent != 0
                                   ? options_.max_children_per_parent
                                   : options_.max_instances;
    return store_.info(parent).children - 1 < most ||  // it is pinned by one
           make_room_for_level(chain, level, parent, now);
}

/// Whether so many of the chain's levels, from `lowest` on, fit under the bound of all instances.
bool Limiter::Implementation::fits_bound(const Chain& chain, std::size_t lowest, std::size_t end,
                                         Instant now) {
    if (end <= lowest) {
        return true;
    }
    const auto wanted = static_cast<std::uint32_t>(end - lowest);
    std::uint32_t least_live = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t i = lowest; i < end; ++i) {
        least_live = std::min(least_live, members_[chain.levels[i].definition].live);
    }
    const auto missing = [&] {
        const std::uint32_t needed = store_.instances() - overflow_instances_ + wanted;
        return needed > options_.max_instances ? needed - options_.max_instances : 0;
    };
    for (std::uint32_t gone = 0; missing() > 0 && gone < wanted + kMostBeyond;) {
        const std::uint32_t taken =
            take_from_anyone(chain.levels[lowest].definition, missing(), least_live, now);
        if (taken == 0) {
            break;
        }
        gone += taken;
    }
    return missing() == 0;
}

/// Makes room for the chain and says from which level on it can be made; what lies below is
/// overflow. A cap of its own keeps a level back (with those below), never its parents; the bound
/// of all instances lets the whole chain in or nothing of it. An exact name and what lies above it
/// are bounded by the definitions: no flood of names shall take them their limits.
std::size_t Limiter::Implementation::make_room_for(const Chain& chain, Instant now) {
    std::size_t exempt = 0;  // from here on
    while (exempt < chain.size && table_.get(chain.levels[exempt].definition)->has_captures) {
        ++exempt;
    }
    std::size_t lowest = exempt;
    while (lowest > 0 && chain.levels[lowest - 1].name.size() <= kMaxNameBytes &&
           fits_own_caps(chain, lowest - 1, now)) {
        --lowest;
    }
    return fits_bound(chain, lowest, exempt, now) ? lowest : exempt;
}

}  // namespace weir::limiter

#pragma once
// Eviction: which idle instances go when a bound is reached, and for whom; and which go because
// nobody has used them for long.
//
// Whom a place is taken from is a matter of fairness. When a name reaches a bound of its own (its
// template's, its parent's), it can only win the place of one like it. When the bound of all
// instances is reached, a definition gives way to those with fewer instances than itself, never to
// larger ones: whoever invents names soon has the most of them and pays with his own, and whoever
// has few keeps them, idle or not, and finds room although somebody else has filled the table.
// Instances of exact names may go for anyone when they are empty, because they come back whatever
// the bound is.
//
// Thread-safety: every function needs the creation lock (InstanceStore::lock), apart from the
// counters. Each takes a bounded time: at most kCandidates instances are looked at for one place.
// Ownership: it owns nothing but its counters and the hands with which it goes round.
// Invariants: an instance with children, with a level above half of its limit, or used within
// LimiterOptions::busy_for is never replaced.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "limiter/instances.h"
#include "limiter/limiter_options.h"
#include "limiter/name_chain.h"

namespace weir::limiter {

class Eviction {
  public:
    Eviction(Instances& instances, InstanceStore& store, const CompiledDefinitions& definitions,
             const LimiterOptions& options)
        : instances_(instances), store_(store), definitions_(definitions), options_(options) {}

    /// Makes room for the chain and says from which level on it can be made; the levels below must
    /// use overflow instances. A cap of its own keeps a level back, with those below it but without
    /// its parents. The bound of all instances lets the whole chain in or nothing of it. An exact
    /// name and what lies above it always fits, because the definitions bound their number: no
    /// flood of names shall take their limits from them.
    [[nodiscard]] std::size_t make_room_for(const NameChain& chain, Instant now);
    /// Drops those of the next `records` records that are heads of instances which have been empty
    /// and unused for LimiterOptions::idle_after.
    void sweep(Instant now, std::uint32_t records);

    [[nodiscard]] std::uint64_t replaced() const { return replaced_; }
    [[nodiscard]] std::uint64_t searched() const { return searched_; }
    [[nodiscard]] std::uint64_t dropped_idle() const { return dropped_idle_; }
    [[nodiscard]] std::uint64_t swept() const { return swept_; }

  private:
    struct Idleness {
        double fullness = 0;       // level/low of the fullest limit
        std::int64_t touched = 0;  // when the instance was last used, nanoseconds
    };
    /// What is looked for: an idle leaf in the ring of a definition, alone or with ancestors.
    struct Search {
        std::uint32_t definition = 0;
        std::uint32_t looks = 0;  // at most so many instances
        double fullest = 0;       // none that is fuller
        std::uint32_t above = 0;  // how many ancestors go with it; they have no other children
        std::uint32_t top_definition = 0;  // of the topmost of them
        std::uint32_t parent = 0;          // of the topmost, if it matters
    };
    struct Wish;

    // Who may go.
    [[nodiscard]] Idleness idleness(std::uint32_t id, std::int64_t now);
    [[nodiscard]] bool replaceable(const Idleness& idle, double fullest, std::int64_t now) const;
    [[nodiscard]] bool ancestor_may_go(std::uint32_t id, std::uint32_t least_live,
                                       std::int64_t now);
    [[nodiscard]] bool is_wanted_top(std::uint32_t id, const Search& search) const;
    [[nodiscard]] bool is_overflow(std::uint32_t id) const;
    std::optional<Idleness> branch_idleness(std::uint32_t leaf, const Search& search,
                                            std::int64_t now);
    std::uint32_t find_idle(const Search& search, std::int64_t now);
    std::uint32_t replace(std::uint32_t id);

    // Room under the caps of a template and of a parent.
    bool make_room(const Search& search, std::int64_t now);
    bool make_room_for_level(const NameChain& chain, std::size_t level, std::uint32_t parent,
                             std::int64_t now);
    bool fits_template(const NameChain& chain, std::size_t level, std::int64_t now);
    bool fits_parent(const NameChain& chain, std::size_t level, std::int64_t now);

    // Room under the bound of all instances.
    std::uint32_t take_from(const Search& search, const Wish& wish);
    std::uint32_t take_from_larger(const Wish& wish, std::uint32_t& looks, std::uint32_t kept);
    std::uint32_t take_from_exact(const Wish& wish, std::uint32_t looks);
    std::uint32_t take_from_anyone(const Wish& wish);
    [[nodiscard]] std::uint32_t missing(std::uint32_t wanted) const;
    bool fits_bound(const NameChain& chain, std::size_t lowest, std::size_t end, std::int64_t now);

    [[nodiscard]] bool is_idle_for_long(std::uint32_t id, std::int64_t now);

    Instances& instances_;
    InstanceStore& store_;
    const CompiledDefinitions& definitions_;
    const LimiterOptions& options_;
    std::uint32_t sweep_hand_ = 0;  // the last record that sweep() has looked at
    std::atomic<std::uint64_t> replaced_{0};
    std::atomic<std::uint64_t> searched_{0};
    std::uint64_t dropped_idle_ = 0;
    std::uint64_t swept_ = 0;
};

}  // namespace weir::limiter

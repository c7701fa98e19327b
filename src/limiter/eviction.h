#pragma once
// Eviction: decides which idle instances are dropped, either because a bound is reached and another
// name needs the place, or because nobody has used them for long.
//
// It is a matter of fairness from whom a place is taken. When a name reaches a bound of its own
// (that of its template or its parent), it can only get the place of another instance under the
// same bound. When the bound of all instances is reached, a definition gives way to definitions
// with fewer instances than itself, never to larger ones. So a client that invents names soon has
// the most of them and pays with its own, and a definition with few instances keeps them, idle or
// not, and finds room although another one has filled the table. Empty instances of exact names may
// be dropped for any other, because they come back whatever the bound is.
//
// Thread-safety: every function needs the creation lock (InstanceStore::lock), apart from the
// counters. Each takes a bounded time: at most kCandidates instances are looked at for one place.
// Ownership: it owns nothing but its counters and the position that sweep() has reached.
// Invariant: an instance with children, with a level above half of a limit's `low`, or used within
// LimiterOptions::busy_for is never replaced (idle_search.h).

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "limiter/idle_search.h"
#include "limiter/instances.h"
#include "limiter/limiter_options.h"
#include "limiter/name_chain.h"

namespace weir::limiter {

class Eviction {
  public:
    Eviction(IdleSearch& idle, Instances& instances, InstanceStore& store,
             const CompiledDefinitions& definitions, const LimiterOptions& options)
        : idle_(idle),
          instances_(instances),
          store_(store),
          definitions_(definitions),
          options_(options) {}

    /// Makes room for the instances of the chain. Returns the lowest level of the chain that can be
    /// made; the levels below it must use overflow instances. The bound of a level's own template
    /// or parent holds back that level and those below it, but not its parents. Under the bound of
    /// all instances there is room either for the whole chain or for none of it. For an exact name
    /// and its parents there is always room, because the definitions bound their number: no flood
    /// of names may take their limits from them.
    [[nodiscard]] std::size_t make_room_for(const NameChain& chain, Instant now);
    /// Looks at the next `records` records. Drops those instances among them that are empty, have
    /// no children and have been unused for LimiterOptions::idle_after.
    void sweep(Instant now, std::uint32_t records);

    [[nodiscard]] std::uint64_t replaced() const { return replaced_; }
    [[nodiscard]] std::uint64_t dropped_idle() const { return dropped_idle_; }
    [[nodiscard]] std::uint64_t swept() const { return swept_; }

  private:
    struct Wish;

    std::uint32_t replace(std::uint32_t id);

    // Room under the caps of a template and of a parent.
    bool make_room(const IdleSearch::Target& target, std::int64_t now);
    bool make_room_for_level(const NameChain& chain, std::size_t level, std::uint32_t parent,
                             std::int64_t now);
    bool fits_template(const NameChain& chain, std::size_t level, std::int64_t now);
    bool fits_parent(const NameChain& chain, std::size_t level, std::int64_t now);

    // Room under the bound of all instances.
    std::uint32_t take_from(const IdleSearch::Target& target, const Wish& wish);
    std::uint32_t take_from_larger(const Wish& wish, std::uint32_t& looks, std::uint32_t kept);
    std::uint32_t take_from_exact(const Wish& wish, std::uint32_t looks);
    std::uint32_t take_from_anyone(const Wish& wish);
    [[nodiscard]] std::uint32_t missing(std::uint32_t wanted) const;
    bool fits_bound(const NameChain& chain, std::size_t lowest, std::size_t end, std::int64_t now);

    IdleSearch& idle_;
    Instances& instances_;
    InstanceStore& store_;
    const CompiledDefinitions& definitions_;
    const LimiterOptions& options_;
    // These lie on a cache line of their own, because whichever thread holds the creation lock
    // writes them. The next part in memory is Creation (Limiter::Parts), whose references every
    // find() reads.
    alignas(64) std::uint32_t sweep_hand_ = 0;  // the last record that sweep() has looked at
    std::atomic<std::uint64_t> replaced_{0};
    std::uint64_t dropped_idle_ = 0;
    std::uint64_t swept_ = 0;
};

}  // namespace weir::limiter

#pragma once
// The search for idle instances: finds an instance that may be dropped for another one, alone or
// with ancestors that have no other children. eviction.h decides from whom a place is taken, and
// for whom.
//
// Thread-safety: every function needs the creation lock (InstanceStore::lock), apart from the
// counter. find() takes a time that is bounded by Target::looks.
// Ownership: it owns nothing but its counter. Where the next search of a definition's instances
// begins is kept in Members.
// Invariants: an instance is never found for replacement while it has children that are not dropped
// with it, is fuller than the caller allows, or was used within LimiterOptions::busy_for. An
// overflow instance is never found as an ancestor or as idle for long.

#include <atomic>
#include <cstdint>
#include <optional>

#include "limiter/instances.h"
#include "limiter/limiter_options.h"
#include "limiter/windows.h"

namespace weir::limiter {

/// An instance fuller than this is never replaced: otherwise a client could empty a bucket by
/// inventing names.
inline constexpr double kReplaceableFullness = 0.5;
/// An instance that is no fuller than this counts as empty. A level that only drains ends at 0, but
/// a dead-reckoned one only comes near it. So dropping an empty instance may lose a millionth of
/// `low`, but only after nobody has used it for LimiterOptions::busy_for (if another one needs its
/// place) or LimiterOptions::idle_after.
inline constexpr double kEmptyFullness = 1e-6;

class IdleSearch {
  public:
    /// What to search for: an idle instance without children (a leaf) in the ring of a
    /// definition, to be dropped alone or with ancestors.
    struct Target {
        std::uint32_t definition = 0;
        std::uint32_t looks = 0;  // how many instances may be looked at
        double fullest = 0;       // instances fuller than this (level/low) stay
        /// How many ancestors are dropped with it; they have no other children.
        std::uint32_t above = 0;
        /// The definition that the topmost ancestor must have; ignored without ancestors.
        std::uint32_t top_definition = 0;
        /// The parent that the topmost instance to be dropped must have; 0 = any.
        std::uint32_t parent = 0;
    };

    IdleSearch(Instances& instances, InstanceStore& store, const CompiledDefinitions& definitions,
               const Windows& windows, const LimiterOptions& options)
        : instances_(instances),
          store_(store),
          definitions_(definitions),
          windows_(windows),
          options_(options) {}

    /// Finds the leaf whose branch is the emptiest of those looked at; of equally empty branches
    /// the one that nobody has used for longest. 0 = none of them may be dropped.
    [[nodiscard]] std::uint32_t find(const Target& target, std::int64_t now);
    /// Whether an ancestor that has just lost its only child may be dropped as well. An instance
    /// of a template may be dropped only while its template has at least `least_live` instances,
    /// one of an exact name only while it is empty.
    [[nodiscard]] bool ancestor_may_go(std::uint32_t id, std::uint32_t least_live,
                                       std::int64_t now);
    /// Whether this id is the head of an instance that has no children, is empty and has been
    /// unused for LimiterOptions::idle_after.
    [[nodiscard]] bool is_idle_for_long(std::uint32_t id, std::int64_t now);

    /// How many instances find() has looked at in all.
    [[nodiscard]] std::uint64_t searched() const { return searched_; }

  private:
    /// How full an instance is, and when it was last used.
    struct Idleness {
        double fullness = 0;       // level/low of the fullest limit
        std::int64_t touched = 0;  // when the instance was last used, nanoseconds
    };

    [[nodiscard]] Idleness idleness(std::uint32_t id, std::int64_t now);
    [[nodiscard]] bool replaceable(const Idleness& idle, double fullest, std::int64_t now) const;
    [[nodiscard]] bool is_wanted_top(std::uint32_t id, const Target& target) const;
    [[nodiscard]] bool is_overflow(std::uint32_t id) const;
    [[nodiscard]] std::optional<Idleness> branch_idleness(std::uint32_t leaf, const Target& target,
                                                          std::int64_t now);

    Instances& instances_;
    InstanceStore& store_;
    const CompiledDefinitions& definitions_;
    const Windows& windows_;
    const LimiterOptions& options_;
    std::atomic<std::uint64_t> searched_{0};
};

}  // namespace weir::limiter

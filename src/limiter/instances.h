#pragma once
// The table of instances: which instances live, and which definition and which parent each of them
// has. InstanceStore::names finds an instance by its name, creation.h makes instances, eviction.h
// makes room for them, and definition_edit.h adapts them to an edit of definitions.
//
// Thread-safety: every function needs the creation lock (InstanceStore::lock), apart from
// leaf_of(), which any thread may call, and ensure_definition() and the for_each functions, which
// take the lock themselves.
// Ownership: the InstanceStore owns the memory of instances; this class owns the rings of
// definitions.
// Invariants: an instance is in the ring of exactly one definition, or in the ring of index 0 while
// it has lost its own. The field `children` of an instance is the number of instances whose parent
// it is, plus the number of its pins.

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "limiter/compiled_definitions.h"
#include "limiter/decision.h"
#include "limiter/instance_store.h"
#include "limiter/size_ranks.h"

namespace weir::limiter {

/// The name of an overflow instance is that of its template followed by this text.
inline constexpr std::string_view kOverflowSuffix = "#overflow";

class Instances {
  public:
    Instances(InstanceStore& store, const CompiledDefinitions& definitions);
    Instances(const Instances&) = delete;
    Instances& operator=(const Instances&) = delete;

    /// The instance that an entry of the name table stands for.
    [[nodiscard]] static LeafId leaf_of(TableEntry entry) {
        LeafId leaf;
        leaf.instance = entry.value & kIdMask;
        leaf.generation = entry.value >> 24;
        return leaf;
    }

    // --- one instance ----------------------------------------------------------------------------
    /// Makes an instance of the definition. It has no records for the limits and no entry in the
    /// name table yet. 0 when no record is left.
    [[nodiscard]] std::uint32_t make(std::uint32_t definition, std::string_view name, LeafId parent,
                                     Instant now);
    /// Lets the name lead to the instance from now on.
    LeafId publish(std::uint32_t id, std::uint64_t hash, LeafId parent);
    /// Drops the instance, which must have no children: unlinks it from its name, its parent and
    /// its ring. Its memory is used again when no thread can see it any more.
    void drop(std::uint32_t id);
    void set_parent(std::uint32_t id, LeafId parent);
    /// Takes the instance's children away: afterwards those that had it as their parent have none.
    void release_children(std::uint32_t id);
    /// While a Pin lives, its instance is not replaced, as if it had a child. The pin also ends
    /// when an exception passes. For id 0 it does nothing.
    class Pin {
      public:
        Pin(Instances& instances, std::uint32_t id) : instances_(instances), id_(id) {
            instances_.pin(id_);
        }
        ~Pin() { instances_.unpin(id_); }
        Pin(const Pin&) = delete;
        Pin& operator=(const Pin&) = delete;

      private:
        Instances& instances_;
        std::uint32_t id_;
    };
    /// Moves the instance into the ring of another definition.
    void move_to(std::uint32_t id, std::uint32_t definition);

    // --- the instances of one definition ---------------------------------------------------------
    [[nodiscard]] Members& members(std::uint32_t definition) { return members_[definition]; }
    [[nodiscard]] const Members& members(std::uint32_t definition) const {
        return members_[definition];
    }
    /// Makes place for the instances of a new definition. Takes the lock.
    void ensure_definition(std::uint32_t definition);
    /// Forgets a definition that was removed.
    void forget_definition(std::uint32_t definition);
    /// The definitions, ordered by how many instances they have.
    [[nodiscard]] SizeRanks& ranks() { return ranks_; }

    // --- overflow instances, which do not count for the bounds -----------------------------------
    void count_overflow_instance() { ++overflow_instances_; }
    void drop_overflow_instance(std::uint32_t id);
    [[nodiscard]] std::uint32_t live_without_overflow() const {
        WEIR_ASSERT(overflow_instances_ <= store_.instances());
        return store_.instances() - overflow_instances_;
    }

    // --- visits, on the control thread; they take the lock and give it back in between -----------
    /// Visits the instances of a definition.
    template <class Visit>
    void for_each_member(std::uint32_t definition, Visit visit);
    /// Visits all live instances.
    template <class Visit>
    void for_each(Visit visit);
    /// Visits those of the given instances that still live.
    template <class Visit>
    void for_each_of(const std::vector<std::uint32_t>& instances, Visit visit);

    [[nodiscard]] std::size_t bytes() const { return members_.bytes(); }

  private:
    void pin(std::uint32_t id);
    void unpin(std::uint32_t id);
    static constexpr std::uint32_t kIdMask = (1U << 24) - 1;
    /// How many instances are visited before the lock is given back to workers.
    static constexpr std::uint32_t kVisitedAtOnce = 64;

    void join(std::uint32_t definition, std::uint32_t id);
    void part(std::uint32_t definition, std::uint32_t id);
    void rank(std::uint32_t definition);
    [[nodiscard]] std::uint64_t key_of(std::uint32_t id) const {
        return definitions_.hash(store_.name(id));
    }
    [[nodiscard]] bool name_leads_to(std::uint64_t key, std::uint32_t id) const;
    template <class Visit>
    void visit_members_now(std::uint32_t definition, Visit visit);

    InstanceStore& store_;
    const CompiledDefinitions& definitions_;
    MembersTable members_;  // by index of the definition
    SizeRanks ranks_{members_};
    std::uint32_t overflow_instances_ = 0;  // live ones
};

/// Visits the few members of a definition in one go; the caller holds the lock.
template <class Visit>
void Instances::visit_members_now(std::uint32_t definition, Visit visit) {
    // The ids are noted first, because a visit may make a parent, for which another member may have
    // to be dropped.
    std::array<std::uint32_t, kVisitedAtOnce> ids;
    const Members& ring = std::as_const(members_)[definition];
    const std::uint32_t live = ring.live;
    WEIR_ASSERT(live <= kVisitedAtOnce);
    for (std::uint32_t i = 0, id = ring.hand; i < live; ++i) {
        ids[i] = id;
        id = store_.info(id).next;
    }
    for (const std::uint32_t id : std::span(ids).first(live)) {
        if (store_.live_head(id)) {
            visit(id);
        }
    }
}

template <class Visit>
void Instances::for_each_member(std::uint32_t definition, Visit visit) {
    {
        const std::lock_guard held(store_.lock);
        if (std::as_const(members_)[definition].live <= kVisitedAtOnce) {
            visit_members_now(definition, visit);
            return;
        }
    }
    for_each([&](std::uint32_t id) {
        if (store_.record(id).definition.load(std::memory_order_relaxed) == definition) {
            visit(id);
        }
    });
}

template <class Visit>
void Instances::for_each(Visit visit) {
    const std::uint32_t end = store_.high_water();
    for (std::uint32_t begin = 1; begin <= end; begin += kVisitedAtOnce) {
        const std::lock_guard held(store_.lock);
        for (std::uint32_t id = begin; id < std::min(begin + kVisitedAtOnce, end + 1); ++id) {
            if (store_.live_head(id)) {
                visit(id);
            }
        }
    }
}

template <class Visit>
void Instances::for_each_of(const std::vector<std::uint32_t>& instances, Visit visit) {
    for (std::size_t begin = 0; begin < instances.size(); begin += kVisitedAtOnce) {
        const std::lock_guard held(store_.lock);
        for (std::size_t i = begin; i < std::min(begin + kVisitedAtOnce, instances.size()); ++i) {
            if (store_.live_head(instances[i])) {
                visit(instances[i]);
            }
        }
    }
}

}  // namespace weir::limiter

#pragma once
// The table of instances: which ones live, which definition and which parent each has. Finding an
// instance by name is InstanceStore::names; making one is creation.h, making room for it is
// eviction.h, and what an edit of definitions does with them is definition_edit.h.
//
// Thread-safety: every function needs the creation lock (InstanceStore::lock), apart from
// leaf_of(), ensure_definition() and the for_each functions, which take it themselves.
// Ownership: the InstanceStore owns the instances' memory; here are the links between them.
// Invariants: an instance is in the ring of exactly one definition (of index 0 while it has lost
// its own); the `children` of an instance counts those that name it as their parent, and the pins
// of whoever is working with it.

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "limiter/compiled_definitions.h"
#include "limiter/decision.h"
#include "limiter/instance_store.h"
#include "limiter/size_ranks.h"

namespace weir::limiter {

/// An overflow instance has the name of its template and this behind it.
inline constexpr std::string_view kOverflowSuffix = "#overflow";

class Instances {
  public:
    Instances(InstanceStore& store, const CompiledDefinitions& definitions);
    Instances(const Instances&) = delete;
    Instances& operator=(const Instances&) = delete;

    /// What a name leads to, from its entry in the name table.
    [[nodiscard]] static LeafId leaf_of(NameEntry entry) {
        LeafId leaf;
        leaf.instance = entry.value & kIdMask;
        leaf.generation = entry.value >> 24;
        return leaf;
    }

    // --- one instance ----------------------------------------------------------------------------
    /// Makes an instance of the definition without records for its limits and without its entry in
    /// the name table. 0 when no record is left.
    [[nodiscard]] std::uint32_t make(std::uint32_t definition, std::string_view name, LeafId parent,
                                     Instant now);
    /// Lets the name lead to the instance from now on.
    LeafId publish(std::uint32_t id, std::uint64_t hash, LeafId parent);
    /// Takes the instance, which has no children, out of everything that leads to it. Its memory is
    /// used again when no thread can see it any more.
    void drop(std::uint32_t id);
    void set_parent(std::uint32_t id, LeafId parent);
    /// Leaves the instance without children: those that still have it as their parent have none
    /// now.
    void release_children(std::uint32_t id);
    /// Keeps an instance from being replaced, as a child would, for as long as the Pin lives, also
    /// when what is done meanwhile throws. Nothing for 0.
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

    // --- the instances of one definition
    // -----------------------------------------------------------
    [[nodiscard]] Members& members(std::uint32_t definition) {
        WEIR_ASSERT(definition < members_.size());
        return members_[definition];
    }
    [[nodiscard]] const Members& members(std::uint32_t definition) const {
        WEIR_ASSERT(definition < members_.size());
        return members_[definition];
    }
    /// Makes place for the members of a new definition. Takes the lock.
    void ensure_definition(std::uint32_t definition);
    /// Forgets a definition that is removed.
    void forget_definition(std::uint32_t definition);
    /// Definitions by how many instances they have.
    [[nodiscard]] SizeRanks& ranks() { return ranks_; }

    // --- overflow instances, which do not count for the bounds
    // -------------------------------------
    void count_overflow_instance() { ++overflow_instances_; }
    void drop_overflow_instance(std::uint32_t id);
    [[nodiscard]] std::uint32_t live_without_overflow() const {
        WEIR_ASSERT(overflow_instances_ <= store_.instances());
        return store_.instances() - overflow_instances_;
    }

    // --- visits, on the control thread; they take the lock and give it back in between
    // --------------
    /// Visits the instances of a definition.
    template <class Visit>
    void for_each_member(std::uint32_t definition, Visit visit);
    /// Visits all live instances.
    template <class Visit>
    void for_each(Visit visit);
    /// Visits those of these instances that still live.
    template <class Visit>
    void for_each_of(const std::vector<std::uint32_t>& instances, Visit visit);

    [[nodiscard]] std::size_t bytes() const { return members_.capacity() * sizeof(Members); }

  private:
    void pin(std::uint32_t id);
    void unpin(std::uint32_t id);
    static constexpr std::uint32_t kIdMask = (1U << 24) - 1;
    /// Instances that are handled while workers wait for the lock.
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
    std::vector<Members> members_;  // by index of the definition
    SizeRanks ranks_{members_};
    std::uint32_t overflow_instances_ = 0;  // live ones
};

/// Visits the few members of a definition in one go; the caller holds the lock.
template <class Visit>
void Instances::visit_members_now(std::uint32_t definition, Visit visit) {
    // Noted first: a visit may make a parent, for which another of them may have to go.
    std::array<std::uint32_t, kVisitedAtOnce> ids;
    const std::uint32_t live = members(definition).live;
    WEIR_ASSERT(live <= kVisitedAtOnce);
    for (std::uint32_t i = 0, id = members(definition).hand; i < live; ++i) {
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
        if (members(definition).live <= kVisitedAtOnce) {
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

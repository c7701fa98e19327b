#pragma once
// One edit of the definitions in force while requests go on. Definitions are added and taken away
// first, then the instances follow. A limit keeps its level as long as its quota name, unit and
// period stay. An instance whose name falls under another definition afterwards moves there with
// its levels.
//
// Thread-safety: for the control thread, one edit at a time. It takes the creation lock again and
// again for short times, so that workers can find and make instances meanwhile.
// Ownership: a value on the stack of the function that edits; it refers to the parts of one
// limiter.
// Invariant: after finish() every live instance has the definition that its name falls under, and
// each of its limits has a record, unless the instance waits for one (adoption.h).

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "limiter/adoption.h"
#include "limiter/compiled_definitions.h"
#include "limiter/creation.h"
#include "limiter/figures.h"
#include "limiter/instance_records.h"
#include "limiter/instances.h"

namespace weir::limiter {

class DefinitionEdit {
  public:
    /// The parts of the limiter that an edit changes.
    struct Parts {
        CompiledDefinitions& definitions;
        InstanceStore& store;
        InstanceRecords& records;
        Instances& instances;
        Creation& creation;
        Adoption& adoption;
        Figures& figures;
    };

    DefinitionEdit(const Parts& parts, Instant now) : parts_(parts), now_(now) {}

    /// Adds a definition, or replaces the one that has its name. The caller must have found that
    /// CompiledDefinitions::objection_to() has no objection.
    void put(const QuotaDefinition& definition);
    /// Removes the definition of this name, if there is one.
    void take_away(const std::string& name);
    /// Brings all instances in line with the new definitions. put() and take_away() may not be
    /// called afterwards.
    void finish();

  private:
    [[nodiscard]] std::unique_ptr<CompiledDefinition> compiled(const QuotaDefinition& definition,
                                                               std::uint32_t index);
    std::uint32_t place(std::uint32_t index, std::unique_ptr<CompiledDefinition> fresh);
    void prepare_records(std::uint32_t index, const CompiledDefinition* old,
                         const CompiledDefinition& fresh);
    void complete_records(std::uint32_t index, const CompiledDefinition& fresh);
    void place_overflow(std::uint32_t index, const QuotaDefinition& definition, std::uint32_t slot);
    void add_name(const std::string& name, std::uint32_t index);

    [[nodiscard]] bool is_removed(std::uint32_t definition) const;
    bool reassign(std::uint32_t id);
    void move(std::uint32_t id);
    void settle_parent(std::uint32_t id);
    void follow_templates();
    void follow_exact(const std::string& name);
    void follow_parents(std::uint32_t index);
    void make_overflow_instances();
    void drop_orphans();
    void leave_overflow_instance(std::uint32_t definition);
    void remove(std::uint32_t index);

    void retire(Replaced object);

    const Parts parts_;
    const Instant now_;
    bool touched_templates_ = false;              // some template was added or removed
    std::vector<std::string> touched_exact_;      // exact names that were added or removed
    std::vector<std::uint32_t> touched_parents_;  // definitions with another parent than before
    std::unordered_set<std::uint32_t> is_removed_;
    /// The members of is_removed_, in the order of their removal.
    std::vector<std::uint32_t> removed_;
    std::vector<std::uint32_t> moved_;  // instances that fell under another definition
    bool lost_parents_ = false;         // an instance with children lost its definition
};

}  // namespace weir::limiter

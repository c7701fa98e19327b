#pragma once
// One edit of the definitions in force while requests go on: definitions are put and taken away,
// then the instances follow. Levels stay with their identity (quota name, unit, period). An
// instance that falls under another definition afterwards moves there as it is.
//
// Thread-safety: for the control thread, one edit at a time. It takes the creation lock in short
// pieces, so that workers find and make instances meanwhile.
// Ownership: a value on the stack of whoever edits; it refers to the parts of one limiter.
// Invariant: after finish() every live instance has the definition that its name falls under, and
// each of its limits has a record or the instance waits for one (adoption.h).

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

    /// Adds a definition, or puts it in the place of the one that has its name. The caller has
    /// asked CompiledDefinitions::objection_to().
    void put(const QuotaDefinition& definition);
    /// Takes the definition of this name away, if there is one.
    void take_away(const std::string& name);
    /// Lets the instances follow. Nothing may be put or taken away afterwards.
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
    bool touched_templates_ = false;              // some template came or went
    std::vector<std::string> touched_exact_;      // exact names that came or went
    std::vector<std::uint32_t> touched_parents_;  // definitions with another parent than before
    std::unordered_set<std::uint32_t> is_removed_;
    std::vector<std::uint32_t> removed_;  // the same, in their order
    std::vector<std::uint32_t> moved_;    // instances that fell under another definition
    bool lost_parents_ = false;           // an instance with children lost its definition
};

}  // namespace weir::limiter

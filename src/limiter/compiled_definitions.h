#pragma once
// The quota definitions in force, compiled. They answer under which definition a name falls and
// what that definition says. This is the lowest part of the limiter: it knows no instance and no
// level.
//
// Thread-safety: match(), get(), of() and version() may run on any thread inside an Epochs section.
// Everything else is for the control thread.
// Ownership: it owns the compiled definitions. What an edit replaces is handed to the caller, who
// frees it when no thread can see it any more (InstanceStore::retire_other).
// Invariants: an index means the same definition for as long as its name is defined. Index 0 is no
// definition. Each template has a second definition for its overflow instances, which has an index
// but no name.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "limiter/compiled_definition.h"
#include "limiter/name_hash.h"
#include "limiter/name_table.h"
#include "limiter/record.h"
#include "limiter/template_index.h"
#include "limiter/terms_pool.h"

namespace weir::limiter {

/// Something that was replaced, but that other threads may still be reading.
using Replaced = std::shared_ptr<const void>;

class CompiledDefinitions {
  public:
    /// The key of the name hash is secret, so that nobody can choose names whose hashes are equal.
    explicit CompiledDefinitions(const NameKey& key);
    CompiledDefinitions(const CompiledDefinitions&) = delete;
    CompiledDefinitions& operator=(const CompiledDefinitions&) = delete;

    // --- any thread ------------------------------------------------------------------------------
    [[nodiscard]] std::uint64_t hash(std::string_view name) const {
        return name_hash(name, hash_key_);
    }
    /// The index of the definition that a name falls under: the exact one, else the most literal
    /// template. `hash` is hash(name).
    [[nodiscard]] std::optional<std::uint32_t> match(std::string_view name,
                                                     std::uint64_t hash) const;
    /// Whether there are templates with a catch-all.
    [[nodiscard]] bool have_catch_all() const {
        const TemplateIndex* const templates = template_index_.load(std::memory_order_acquire);
        return templates != nullptr && templates->has_catch_all();
    }
    /// The definition at an index, or null.
    [[nodiscard]] const CompiledDefinition* get(std::uint32_t index) const {
        return table_.get(index);
    }
    /// The definition of the instance that this record is the head of, or null.
    [[nodiscard]] const CompiledDefinition* of(const LimitRecord& head) const {
        return table_.get(head.definition.load(std::memory_order_acquire));
    }
    /// Changes with every edit.
    [[nodiscard]] std::uint32_t version(std::memory_order order = std::memory_order_relaxed) const {
        return version_.load(order);
    }

    // --- control thread: questions ---------------------------------------------------------------
    /// The index of the definition that has exactly this name or template, or 0. Exact names are
    /// told apart by their hashes, as match() does.
    [[nodiscard]] std::uint32_t index_of(const std::string& name) const;
    [[nodiscard]] std::size_t size() const { return size_; }
    /// The definition that a name falls under, or null.
    [[nodiscard]] const CompiledDefinition* definition_for(std::string_view name) const;
    /// Copies of all definitions, in the order of their names.
    [[nodiscard]] std::vector<QuotaDefinition> all() const;
    /// The indices of all templates.
    [[nodiscard]] const std::unordered_set<std::uint32_t>& templates() const { return templates_; }
    /// Why the definition cannot be put in force beside the others; nothing if it can. The limiter
    /// relies on these rules alone. Its caller has checked all rules of the tree before and has the
    /// messages for people (definitions/rules.h).
    [[nodiscard]] std::optional<ChangeObjection> objection_to(
        const QuotaDefinition& definition) const;

    // --- control thread: steps of an edit (see definition_edit.h) --------------------------------
    // The control thread is the only writer here and needs no lock for its own steps, the creation
    // lock included: add_name() and rebuild_templates() publish what is whole already. A thread
    // that matches a name meanwhile finds what was before or what is now, also a worker that makes
    // an instance under the creation lock. What the two return goes to DefinitionEdit::retire()
    // after that, which takes the creation lock.
    /// Compiles a definition, which must be valid, with the terms that others have in common with
    /// it. `before` is the definition that it replaces, or null.
    [[nodiscard]] std::unique_ptr<CompiledDefinition> compiled(const QuotaDefinition& definition,
                                                               const CompiledDefinition* before,
                                                               bool overflow);
    /// Takes a free index.
    [[nodiscard]] std::uint32_t allocate();
    /// Puts a definition at an index and returns the one that was there.
    [[nodiscard]] Replaced replace(std::uint32_t index,
                                   std::unique_ptr<const CompiledDefinition> definition);
    /// Empties the index, so that it may be used again, and returns the definition that was there.
    [[nodiscard]] Replaced free(std::uint32_t index);
    /// Lets the name lead to the definition at this index: at once if the name is exact, after
    /// rebuild_templates() if it is a template. Returns what this replaced, or null.
    [[nodiscard]] Replaced add_name(const std::string& name, std::uint32_t index);
    /// Removes the name. The definition itself stays until free().
    void remove_name(const std::string& name);
    /// Lets match() know the templates that are defined now. Returns what this replaced, or null.
    [[nodiscard]] Replaced rebuild_templates();
    /// Finds out which definitions have templates below them.
    void mark_parents_of_templates();
    /// Says that the definitions have changed: version() differs afterwards.
    void next_version() { version_.fetch_add(1, std::memory_order_acq_rel); }

  private:
    [[nodiscard]] bool would_be_own_ancestor(const QuotaDefinition& definition) const;
    [[nodiscard]] std::uint32_t definition_above(std::string_view parent) const;

    NameKey hash_key_;
    DefinitionTable table_;
    NameTable exact_{1024};  // from the hash of an exact name to its definition
    std::atomic<const TemplateIndex*> template_index_{nullptr};
    std::shared_ptr<const TemplateIndex> template_index_owner_;
    std::atomic<std::uint32_t> version_{1};
    std::unordered_map<std::string, std::uint32_t> template_indices_;
    std::unordered_set<std::uint32_t> templates_;
    std::vector<std::uint32_t> parents_of_templates_;
    std::size_t size_ = 0;
    TermsPool terms_;
    std::array<SharedText, 256> parents_;  // of the definitions that were compiled last, by hash
};

}  // namespace weir::limiter

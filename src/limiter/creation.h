#pragma once
// Creation: finds the instance of a name. On first use it makes the instance, and before it the
// missing instances above it. When there is no room, the name uses its template's overflow
// instance, which all such names share.
//
// Thread-safety: find() may run on any number of workers. When it must make an instance, it tries a
// bounded number of times to take the creation lock. The caller of any other function holds that
// lock.
// Ownership: it owns nothing but a counter.
// Invariants: an instance is made after those above it, so a parent always lives while it has
// children. A template's overflow instance is made with the template, so a worker that does not get
// the lock always finds one.

#include <atomic>
#include <cstdint>
#include <string_view>

#include "limiter/compiled_definitions.h"
#include "limiter/eviction.h"
#include "limiter/instance_records.h"
#include "limiter/instances.h"
#include "limiter/limiter_options.h"
#include "limiter/name_chain.h"
#include "limiter/thread_context.h"

namespace weir::limiter {

class Creation {
  public:
    Creation(Instances& instances, InstanceRecords& records, Eviction& eviction,
             InstanceStore& store, const CompiledDefinitions& definitions,
             const LimiterOptions& options)
        : instances_(instances),
          records_(records),
          eviction_(eviction),
          store_(store),
          definitions_(definitions),
          options_(options) {}

    /// The first half of find(), see Limiter::ask().
    [[nodiscard]] AskedName ask(ThreadContext& thread, std::string_view name) const;
    /// The instance of this name; a LeafId that is false if no definition matches the name.
    [[nodiscard]] LeafId find(ThreadContext& thread, const AskedName& asked, Instant now);
    /// Finds it and adds it to the instances of the request, which do not make room for it.
    bool find(ThreadContext& thread, const AskedName& asked, Instant now, Leaves& leaves);
    /// Whether some template has a catch-all, so that falls_to_catch_all() is worth asking.
    [[nodiscard]] bool have_catch_all(ThreadContext& thread) const;
    /// Whether a catch-all is the only template that fits the name, and no quota has the name
    /// itself.
    [[nodiscard]] bool falls_to_catch_all(ThreadContext& thread, const AskedName& asked) const;
    /// The instance of this name for a caller that holds the creation lock.
    LeafId ensure(std::string_view name, Instant now);
    /// The overflow instance of the template with this index; makes it when it is first needed. 0
    /// if the definition is no template, or when no record is left.
    std::uint32_t overflow_instance(std::uint32_t definition, Instant now);
    /// The overflow instance of the parent, if the parent is a template: it is the parent of this
    /// definition's overflow instance. For any other parent the result is false, because the LeafId
    /// that leads to the overflow instance names that parent.
    LeafId overflow_parent(const CompiledDefinition& definition, Instant now);

    [[nodiscard]] std::uint64_t created() const { return created_; }

  private:
    LeafId ensure(std::string_view name, std::uint64_t hash, Instant now);
    void plan(std::string_view name, std::uint64_t hash, NameChain& chain) const;
    LeafId create(const NameChain& chain, Instant now);
    LeafId create_level(const NameChain::Link& level, LeafId parent, Instant now);
    std::uint32_t build(std::uint32_t definition, std::string_view name, LeafId parent,
                        Instant now);
    LeafId overflow(std::uint32_t definition, LeafId parent, Instant now);
    [[nodiscard]] LeafId above_parent(std::uint32_t overflow, LeafId parent) const;
    LeafId overflow_without_lock(ThreadContext& thread, std::string_view name, std::uint64_t hash,
                                 Instant now);
    [[nodiscard]] bool passes_unjudged(ThreadContext& thread, const CompiledDefinition& definition,
                                       std::string_view name, std::uint64_t hash) const;
    LeafId ensure_waiting(std::string_view name, std::uint64_t hash, Instant now);

    Instances& instances_;
    InstanceRecords& records_;
    Eviction& eviction_;
    InstanceStore& store_;
    const CompiledDefinitions& definitions_;
    const LimiterOptions& options_;
    // On a line of its own: whichever thread makes an instance writes it, and every find() reads
    // the references above.
    alignas(64) std::atomic<std::uint64_t> created_{0};
};

}  // namespace weir::limiter

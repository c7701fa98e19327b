#pragma once
// The records of one instance: one for each limit of its definition, in a list that begins at the
// instance's head. An edit of definitions changes which limit a record belongs to; this class has
// the steps of such a change.
//
// Thread-safety: every function needs the creation lock (InstanceStore::lock). Workers read and
// charge the records meanwhile.
// Ownership: the records belong to the InstanceStore.
// Invariant: no two records of one instance have the same identity, apart from kNoIdentity, which
// marks a record that belongs to no limit.

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/instant.h"
#include "limiter/compiled_definition.h"
#include "limiter/instance_store.h"
#include "limiter/told_levels.h"

namespace weir::limiter {

class InstanceRecords {
  public:
    explicit InstanceRecords(InstanceStore& store) : store_(store) {}

    /// Says how many members share the limits of fleet scope, so that new limits of requests in
    /// flight begin with their part. For the control thread, without the lock.
    void set_members(std::uint32_t members) { members_.store(members, std::memory_order_relaxed); }
    /// Sets the allowance of a limit of requests in flight to an equal part, for the number of
    /// members now.
    void set_equal_part(LimitRecord& record, const CompiledLimit& limit) const;

    /// Says with which allowance a limit of requests in flight begins when a record is made for it;
    /// nothing: with an equal part. A quota is known by this hash of its name, always the same one.
    void foretell(std::uint64_t quota, std::optional<double> allowance,
                  std::uint64_t (*hash)(std::string_view name));

    /// The levels with which limits begin that are used for the first time since a restart.
    [[nodiscard]] ToldLevels& told_levels() { return told_levels_; }

    /// Gives a record to each limit of the definition for which the instance has none yet: a record
    /// of the instance that belongs to no limit, or a new one at the end of its list. False if no
    /// record was left for some limit.
    [[nodiscard]] bool add_missing(std::uint32_t head, const CompiledDefinition& definition,
                                   Instant now);
    /// The same for the case that no record is free anywhere: limits in force take the records of
    /// the instance's former limits. So they are enforced, and a former limit that comes back
    /// begins anew. False if there are not enough of those records either.
    [[nodiscard]] bool take_former(std::uint32_t head, const CompiledDefinition& definition,
                                   Instant now);
    /// Clears the records whose identity means another limit in this definition than before, and
    /// those whose identity this definition does not know. The records that remain belong to limits
    /// of the definition or to its former limits.
    void clear_reused(std::uint32_t head, const CompiledDefinition* before,
                      const CompiledDefinition& definition, Instant now);
    /// For an instance that moves from one definition to another: gives its records the identities
    /// that the other one uses for the same limits. A record whose limit the other definition does
    /// not have is cleared, because nobody would know later what its identity meant.
    void renumber(std::uint32_t head, const CompiledDefinition* from, const CompiledDefinition& to,
                  Instant now);
    /// Brings every level of the instance to `now` by this definition: drained and clamped.
    void bring_to_now(std::uint32_t head, const CompiledDefinition& definition, Instant now);

    /// How many records have been cleared so far.
    [[nodiscard]] std::uint64_t cleared() const { return cleared_; }

  private:
    bool add_one(std::uint32_t head, std::uint8_t identity, Instant now);
    void lift_allowances(std::uint32_t head, std::uint8_t identity);
    void begin_to_count(std::uint32_t head, const CompiledLimit& limit);
    void begin_with_told_level(std::uint32_t head, const CompiledLimit& limit, Instant now);
    void clear(std::uint32_t record_id, Instant now);

    InstanceStore& store_;
    std::atomic<std::uint32_t> members_{1};
    std::unordered_map<std::uint64_t, double> foretold_;
    std::uint64_t (*hash_)(std::string_view name) = nullptr;
    ToldLevels told_levels_;
    std::uint32_t counts_ = 0;  // of requests in flight that have begun
    std::uint64_t cleared_ = 0;
};

}  // namespace weir::limiter

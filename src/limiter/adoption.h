#pragma once
// Adoption: what an edit asks of instances that live already and what there may be no room for, the
// parent that their definition names now and records for limits that it adds. An instance that
// does not get it waits, below the parent's overflow instance or without the limit, until the
// upkeep gives it room.
//
// Thread-safety: for the control thread. give_room() takes the creation lock itself, everything
// else needs it.
// Ownership: it owns the queue of those that wait.
// Invariant: an instance that lacks a record or its parent is in the queue.

#include <cstddef>
#include <cstdint>

#include "limiter/creation.h"
#include "limiter/id_queue.h"
#include "limiter/instance_records.h"
#include "limiter/instances.h"

namespace weir::limiter {

class Adoption {
  public:
    Adoption(Creation& creation, Instances& instances, InstanceRecords& records,
             InstanceStore& store, const CompiledDefinitions& definitions)
        : creation_(creation),
          instances_(instances),
          records_(records),
          store_(store),
          definitions_(definitions) {}

    /// Gives an instance the parent that its definition names; it waits if there was no room for
    /// that parent.
    void adopt_or_wait(std::uint32_t id, Instant now);
    /// The overflow instance lies below that of its template's parent from now on.
    void adopt_overflow(std::uint32_t id, Instant now);
    /// The instance waits for records that it lacks.
    void wait_for_records(std::uint32_t id);
    /// Gives those that wait what they lack, a bounded number of them.
    void give_room(Instant now);
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

  private:
    [[nodiscard]] bool adopt(std::uint32_t id, Instant now);
    void complete_overflow_chain(std::uint32_t overflow, Instant now);
    [[nodiscard]] bool find_room_for(std::uint32_t id, Instant now);

    Creation& creation_;
    Instances& instances_;
    InstanceRecords& records_;
    InstanceStore& store_;
    const CompiledDefinitions& definitions_;
    IdQueue waiting_;
};

}  // namespace weir::limiter

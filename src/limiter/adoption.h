#pragma once
// Adoption: gives instances that live already what an edit of definitions newly asks of them:
// another parent, or records for limits that it adds. When there is no room for that, the instance
// waits: meanwhile it stands below the overflow instance of its parent's template, or goes without
// the new limit. The regular upkeep gives it room later.
//
// Thread-safety: for the control thread. give_room() takes the creation lock itself; the caller of
// any other function holds it.
// Ownership: it owns the queue of instances that wait.
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

    /// Gives the instance the parent that its definition names. If there was no room for that
    /// parent, the instance waits for it.
    void adopt_or_wait(std::uint32_t id, Instant now);
    /// Puts the overflow instance below the overflow instance of its template's parent.
    void adopt_overflow(std::uint32_t id, Instant now);
    /// Puts the instance into the queue, because it lacks records for some of its limits.
    void wait_for_records(std::uint32_t id);
    /// Gives waiting instances what they lack; handles a bounded number of them in each call.
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

#pragma once
// A ledger of the weight that owners are told of. Only the simulator keeps one, to check that an
// owner accounts for all of it.
//
// Thread-safety: none, belongs to the control thread. Ownership: whoever makes the ledger owns it;
// Owner, Reporter and QuietLimits borrow it.
// Invariant: for all counts that the cells of a limit hold or have held in one life,
//     cells + forgotten = counted + first_sight + late + ceiling + refused - drained.

#include <cstdint>

#include "sync/messages.h"

namespace weir::sync {

/// What became of weight that origins told an owner of: the level took it, or one of the three
/// rules for increases (docs/cluster.md) forgave it, or it was refused as a lie.
enum class WeightFate : std::uint8_t {
    counted,      // added to the level, also in advance of the report
    first_sight,  // rule 1: a baseline
    late,      // rule 2: a part of an increase that came late: what is left after the share of its
               // last second and the balance have been taken off
    ceiling,   // rule 3: above the ceiling
    refused,   // more than can have happened
    drained,   // reckoned in advance, not admitted, and drained before that was known
    forgotten  // in cells that were dropped or that began a new run
};

class WeightLedger {
  public:
    virtual ~WeightLedger() = default;
    /// `life` is the owner's life of the limit. When a life begins, the account of the limit begins
    /// with nothing.
    virtual void note(const LimitKey& key, std::uint32_t life, WeightFate fate, double weight) = 0;
    /// This member has counted weight under a quiet limit, as an origin. A negative weight is taken
    /// off again, because the limit woke and a run of its SyncedLimit has the weight now.
    virtual void counted_quietly(const LimitKey& key, double weight) = 0;
    /// This member has begun a run of the limit, as an origin.
    virtual void run_began(const LimitKey& key, std::uint32_t run) = 0;
};

}  // namespace weir::sync

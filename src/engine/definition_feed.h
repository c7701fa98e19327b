#pragma once
// Takes the changes of definitions from the store to the limiter, some in each tick, and tells the
// synchronisation of counters when the limits in use may have changed.
//
// Thread-safety: none, belongs to the control thread. Ownership: borrows the store, the limiter and
// the counters, which must outlive it.

#include <cstdint>

#include "base/instant.h"

namespace weir::limiter {
class Limiter;
}

namespace weir::definitions {
class DefinitionStore;
}

namespace weir::sync {
class CounterExchange;
}

namespace weir::engine {

class DefinitionFeed {
  public:
    DefinitionFeed(definitions::DefinitionStore& store, limiter::Limiter& limiter,
                   sync::CounterExchange& counters)
        : store_(store), limiter_(limiter), counters_(counters) {}

    /// To be called at every tick, after the store's. While more changes wait than one tick takes,
    /// the parameters of limits in use are read again only in a tick with `refresh_anyway`, because
    /// all of them are read each time. Returns whether there were changes.
    bool tick(Instant now, bool refresh_anyway);
    /// Gives the limiter the changes that wait, as many as one tick takes, before the next tick.
    /// Returns whether more changes may wait.
    bool take_changes(Instant now);

  private:
    definitions::DefinitionStore& store_;
    limiter::Limiter& limiter_;
    sync::CounterExchange& counters_;
    bool refresh_due_ = false;
    std::uint64_t cleared_seen_ = 0;  // how many records the limiter had reused at the last look
};

}  // namespace weir::engine

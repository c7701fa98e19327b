#pragma once
// When this member exchanges definitions with its peers, and with which: with all that are alive,
// and less often in a large fleet in which nothing is being edited.
//
// Thread-safety: none, belongs to the control thread. Ownership: borrows the store, the exchange
// and the transport, which must outlive it.

#include <cstdint>
#include <vector>

#include "base/instant.h"
#include "gossip/member_id.h"

namespace weir::definitions {
class DefinitionExchange;
class DefinitionStore;
}  // namespace weir::definitions

namespace weir::membership {
class Transport;
}

namespace weir::engine {

class ExchangeSchedule {
  public:
    ExchangeSchedule(const definitions::DefinitionStore& store,
                     definitions::DefinitionExchange& exchange, membership::Transport& transport)
        : store_(store), exchange_(exchange), transport_(transport) {}

    /// Members have come, gone, or changed their state.
    void members_changed() { peers_changed_ = true; }
    /// To be called ten times a second. In a large fleet it takes long to go through all peers, so
    /// while nothing is being edited there only the calls with `large_too` do it.
    void tick(Instant now, bool large_too);

  private:
    const definitions::DefinitionStore& store_;
    definitions::DefinitionExchange& exchange_;
    membership::Transport& transport_;
    std::vector<gossip::MemberId> peers_;  // the live ones
    bool peers_changed_ = true;
    std::uint64_t edits_seen_ = 0;
};

}  // namespace weir::engine

#pragma once
// Calls the exchange of definitions when it has something to do, with the peers that membership
// holds for alive. The list of them is made anew only when members have come or gone.
//
// Thread-safety: none, belongs to the control thread. Ownership: borrows the exchange and the
// transport, which must outlive it.

#include <vector>

#include "base/instant.h"
#include "gossip/member_id.h"

namespace weir::definitions {
class DefinitionExchange;
}

namespace weir::membership {
class Transport;
}

namespace weir::engine {

class DefinitionPeers {
  public:
    DefinitionPeers(definitions::DefinitionExchange& exchange, membership::Transport& transport)
        : exchange_(exchange), transport_(transport) {}

    /// Members have come, gone, or changed their state.
    void members_changed() { peers_changed_ = true; }
    /// To be called ten times a second.
    void tick(Instant now);

  private:
    definitions::DefinitionExchange& exchange_;
    membership::Transport& transport_;
    std::vector<gossip::MemberId> peers_;  // the live ones
    bool peers_changed_ = true;
};

}  // namespace weir::engine

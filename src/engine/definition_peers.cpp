#include "engine/definition_peers.h"

#include "definitions/exchange.h"
#include "membership/transport.h"

namespace weir::engine {

void DefinitionPeers::tick(Instant now) {
    if (!exchange_.takes_turn(transport_.membership().live_count())) {
        return;
    }
    if (peers_changed_) {
        peers_.clear();
        for (const membership::Member& member : transport_.membership().live()) {
            peers_.push_back(member.id);
        }
        peers_changed_ = false;
    }
    exchange_.set_self(transport_.self());
    exchange_.tick(now, peers_, transport_);
}

}  // namespace weir::engine

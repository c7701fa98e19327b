#pragma once
// One member's part in the exchange of definitions in bulk: makes the streams that pull definitions
// from other members and serve them to others, and counts how these end.
//
// Thread-safety: none, belongs to the control thread. Ownership: borrows everything but the name of
// the cluster. The streams that it makes belong to the caller and must not outlive it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "definitions/counters.h"
#include "definitions/exchange.h"
#include "definitions/stream.h"
#include "gossip/seal.h"
#include "membership/transport.h"

namespace weir::engine {

class BulkDefinitions {
  public:
    BulkDefinitions(std::string cluster_name, const std::vector<gossip::Key>& keys,
                    gossip::NonceSource& nonces, const membership::Transport& transport,
                    definitions::DefinitionStore& store, definitions::DefinitionExchange& exchange);

    void set_keys(const std::vector<gossip::Key>& keys) { sealer_.set_keys(keys); }
    /// A stream for the next set that the exchange wants to pull; nullptr when it wants none.
    [[nodiscard]] std::unique_ptr<definitions::DefinitionPull> take_pull();
    /// Tells the exchange how the pull ended. To be called once for each pull.
    void end_pull(definitions::DefinitionPull& pull, Instant now);
    /// A stream for a connection that another member has opened.
    [[nodiscard]] std::unique_ptr<definitions::DefinitionServe> serve_pull();
    [[nodiscard]] const definitions::BulkCounters& counters() const { return counters_; }

  private:
    [[nodiscard]] definitions::BulkContext context();

    std::string cluster_name_;
    gossip::NonceSource& nonces_;
    gossip::Sealer sealer_;
    const membership::Transport& transport_;
    definitions::DefinitionStore& store_;
    definitions::DefinitionExchange& exchange_;
    definitions::BulkCounters counters_;
};

}  // namespace weir::engine

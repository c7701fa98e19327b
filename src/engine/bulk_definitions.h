#pragma once
// The exchange of definitions in bulk, as one member takes part in it: makes the streams that pull
// and serve, and counts what came of them.
//
// Thread-safety: none, belongs to the control thread. Borrows everything; what it makes must not
// live longer than it does.

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
    /// The next wish of the exchange as a stream; nothing when there is none.
    [[nodiscard]] std::unique_ptr<definitions::DefinitionPull> take_pull();
    void end_pull(definitions::DefinitionPull& pull, Instant now);
    /// For a connection that came in.
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

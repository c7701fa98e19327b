#pragma once
// Spreads the definitions of a DefinitionStore over the fleet by datagrams. An edit made here is
// pushed to every peer at once and again every 100 ms until each has acknowledged it. Whatever is
// missed is found by digests, exchanged with a random peer every second and with every new one:
// highest epochs by writer, hashes over buckets of the map, and the generations of the documents;
// where they differ, both sides fetch what they lack, page by page.
//
// A state machine without clock or socket; not thread-safe. Borrows the store. Bounded: pushes,
// pages under way, and a document's size; each bound has a counter.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/instant.h"
#include "base/random.h"
#include "crdt/definition_map.h"
#include "gossip/member.h"
#include "gossip/wire.h"

namespace weir::engine {

class DefinitionStore;

struct DefinitionSyncCounters {
    std::uint64_t pushes_sent = 0;
    std::uint64_t pushes_given_up = 0;  // left to the digests
    std::uint64_t entries_received = 0;
    std::uint64_t digests_sent = 0;
    std::uint64_t digests_differed = 0;
    std::uint64_t pages_sent = 0;
    std::uint64_t documents_fetched = 0;
    std::uint64_t documents_refused = 0;  // too large, other content than announced, invalid
    std::uint64_t bad_messages = 0;
};

class DefinitionSync {
  public:
    /// The store must outlive it.
    DefinitionSync(DefinitionStore& store, Random random);

    /// A message of the definition types from a live member. False when it does not decode.
    bool receive(const gossip::MemberId& from, gossip::MessageType type, ByteSpan payload,
                 Instant now, gossip::MessageSink& sink);
    /// Call it at every tick of the engine, with the live members other than ourselves.
    void tick(Instant now, std::span<const gossip::MemberId> peers, gossip::MessageSink& sink);
    /// Whether everything edited here has been acknowledged by all live peers.
    [[nodiscard]] bool settled() const;
    [[nodiscard]] const DefinitionSyncCounters& counters() const { return counters_; }

  private:
    // filled in with the implementation
    DefinitionStore& store_;
    DefinitionSyncCounters counters_;
};

}  // namespace weir::engine

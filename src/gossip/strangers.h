#pragma once
// Remembers senders whose datagrams this sidecar cannot or must not read, because they have another
// key, no seal, another version or another cluster, and addresses that two processes claim. It
// helps people to find mistakes and is never used for decisions: address and id of the key are what
// the datagram claims, and anybody who reaches the port can forge them. At most kCapacity senders
// are remembered. When there is no room, the one that sent the fewest datagrams is forgotten, and
// of equal ones the latest, so that a flood of forged senders cannot push out earlier ones. Not
// thread-safe. It owns copies of all that it remembers.

#include <cstdint>
#include <vector>

#include "base/endpoint.h"
#include "base/instant.h"
#include "gossip/rejection.h"

namespace weir::gossip {

struct Stranger {
    Endpoint from;
    DatagramRejection reason{};
    std::uint32_t key = 0;  // the id of the key that it claims to seal with; 0: none
    std::uint64_t datagrams = 0;
    Instant first{};
    Instant last{};
};

class Strangers {
  public:
    static constexpr std::size_t kCapacity = 32;
    /// Senders that are silent for longer than this are not shown any more.
    static constexpr Duration kMemory = std::chrono::seconds(30);

    /// Whether a refusal for this reason indicates a wrong configuration.
    [[nodiscard]] static bool concerns(DatagramRejection reason);
    void note(const Endpoint& from, DatagramRejection reason, std::uint32_t key, Instant now);
    /// The senders of the last kMemory; the one with the most datagrams comes first.
    [[nodiscard]] std::vector<Stranger> recent(Instant now) const;

  private:
    std::vector<Stranger> known_;
};

}  // namespace weir::gossip

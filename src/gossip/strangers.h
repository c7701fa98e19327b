#pragma once
// Who sends what this sidecar cannot or must not read: another key, no seal, another version,
// another cluster; and addresses that two processes claim. For people, never for decisions: address
// and key id are what the datagram claims, and anybody who reaches the port can invent them. At
// most kCapacity are remembered; whom the fewest datagrams came from makes room, of equals the
// latest, so that a flood of invented senders pushes nobody out who was there before it. Pure; not
// thread-safe.

#include <cstdint>
#include <vector>

#include "base/endpoint.h"
#include "base/instant.h"
#include "gossip/rejection.h"

namespace weir::gossip {

struct Stranger {
    Endpoint from;
    Rejection reason{};
    std::uint32_t key = 0;  // id of the key that it claims to seal with; 0: none
    std::uint64_t datagrams = 0;
    Instant first{};
    Instant last{};
};

class Strangers {
  public:
    static constexpr std::size_t kCapacity = 32;
    /// Silent for longer than this, they are no trouble any more.
    static constexpr Duration kMemory = std::chrono::seconds(30);

    /// Whether a refusal of this kind points at somebody's configuration.
    [[nodiscard]] static bool concerns(Rejection reason);
    void note(const Endpoint& from, Rejection reason, std::uint32_t key, Instant now);
    /// Those heard of lately, the one with the most datagrams first.
    [[nodiscard]] std::vector<Stranger> recent(Instant now) const;

  private:
    std::vector<Stranger> known_;
};

}  // namespace weir::gossip

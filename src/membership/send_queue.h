#pragma once
// Messages to members that wait for the next flush, in one queue for each lane. Messages for one
// member in one lane share bodies of datagrams. Not thread-safe.
//
// Invariants: no body is empty or larger than a datagram has room for; all of them together are
// never larger than the bound. It owns the bodies until they are taken.

#include <array>
#include <cstddef>
#include <map>
#include <vector>

#include "gossip/wire.h"

namespace weir::membership {

class SendQueue {
  public:
    struct Body {
        gossip::MemberId to;
        std::vector<std::byte> bytes;
    };

    explicit SendQueue(std::size_t maximum_bytes) : maximum_bytes_(maximum_bytes) {}

    /// False when the message is too large for a datagram, or the queue is full. The payload is
    /// copied.
    bool add(const gossip::MemberId& to, gossip::MessageType type, ByteSpan payload);
    [[nodiscard]] const std::vector<Body>& bodies(gossip::Lane lane) const;
    /// The bytes of all bodies that wait in this lane.
    [[nodiscard]] std::size_t bytes(gossip::Lane lane) const;
    void clear();

  private:
    struct LaneQueue {
        std::vector<Body> bodies;
        std::size_t bytes = 0;
        std::map<gossip::MemberId, std::size_t> open;  // the index of the last body for each member
    };
    [[nodiscard]] std::vector<std::byte>& body_with_room(LaneQueue& lane,
                                                         const gossip::MemberId& to,
                                                         std::size_t size);

    std::array<LaneQueue, gossip::kLanes> lanes_;
    std::size_t maximum_bytes_;
    std::size_t bytes_ = 0;
};

}  // namespace weir::membership

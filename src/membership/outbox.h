#pragma once
// Collects the bodies of the datagrams that membership wants to send, until its caller takes them.
// Messages for the same member with the same urgency share datagrams. Not thread-safe.
//
// Invariants: no body is empty or larger than a datagram has room for. A body without a receiver is
// never shared, because it holds one ping and nothing else (docs/protocol.md). It owns the bodies
// until its caller takes them.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "membership/datagram_body.h"

namespace weir::membership {

/// Which datagrams are sent first when the budget is not enough for all; the most urgent come
/// first.
enum class Urgency : std::uint8_t {
    now,       // keeps members alive: pings, answers, requests, obituaries
    greeting,  // answers to senders that are not members and may want to join
    news,      // rumours in separate datagrams
    list,      // pages of the list of members, which the receiver asks for again
};
inline constexpr std::size_t kUrgencies = 4;

/// A body (framed messages) for one datagram. A body with receiver 0 holds one ping.
struct MembershipDatagram {
    Endpoint to;
    gossip::Incarnation receiver = 0;
    std::vector<std::byte> body;
    Urgency urgency = Urgency::now;
};

class Outbox {
  public:
    void add(const gossip::MemberId& to, const DatagramBody& body, Urgency urgency);
    /// Adds a body with Urgency::now.
    void add(const gossip::MemberId& to, const DatagramBody& body);
    /// Adds a ping for any process at the address.
    void add_open(const Endpoint& to, const DatagramBody& ping);

    /// Takes all bodies. Those that begin with an answer come first: an answer may make this
    /// process a member in the eyes of the receiver, which would otherwise drop the rest.
    [[nodiscard]] std::vector<MembershipDatagram> take();

  private:
    std::vector<MembershipDatagram> datagrams_;
};

}  // namespace weir::membership

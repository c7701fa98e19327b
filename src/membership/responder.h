#pragma once
// Answers pings, and requests to ping a member for another one. Nobody can use this process to
// attack others: it answers to the address that the ping came from, with at most as many bytes as
// the ping had, and only a limited number of pings per second. Senders that are not members share a
// smaller budget of their own.
//
// The answer to a ping from an unknown sender includes a ping back, so after three datagrams both
// know each other.
//
// Not thread-safe. It borrows the context and the other parts of membership that it is given;
// Membership owns them all.

#include <optional>

#include "gossip/budget.h"
#include "gossip/rejection.h"
#include "membership/census.h"
#include "membership/pings.h"

namespace weir::membership {

class Responder {
  public:
    Responder(Context& context, const MemberTable& members, const Census& census,
              Dissemination& dissemination, MemberLists& lists, Pings& pings);

    std::optional<gossip::DatagramRejection> on_ping(const MessageOrigin& origin, const Ping& ping,
                                                     Instant now);
    void on_ping_request(const gossip::MemberId& sender, const PingRequest& request, Instant now);

  private:
    [[nodiscard]] bool may_answer(bool to_member, Instant now);
    void add_rumours(DatagramBody& answer, std::size_t answer_room, Instant now);
    void challenge_back(const MessageOrigin& origin, DatagramBody& answer, Instant now);

    Context& context_;
    const MemberTable& members_;
    const Census& census_;
    Dissemination& dissemination_;
    MemberLists& lists_;
    Pings& pings_;
    gossip::Budget answers_;
    gossip::Budget open_answers_;
    gossip::Budget news_;
};

}  // namespace weir::membership

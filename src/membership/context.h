#pragma once
// What the parts of membership share: the settings, the random generator, this process's own state,
// and the messages to be sent. `Membership` owns the only context; its parts refer to it. They
// share one generator so that a run can be repeated from its seed. Not thread-safe.

#include "base/random.h"
#include "membership/events.h"
#include "membership/outbox.h"
#include "membership/self.h"
#include "membership/settings.h"

namespace weir::membership {

struct Context {
    Context(const MembershipSettings& the_settings, const Endpoint& address, MemberFlags flags,
            Random the_random)
        : settings(the_settings), random(the_random), self(address, flags, random) {}
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    const MembershipSettings settings;
    Random random;
    Self self;
    Events events;
    Outbox outbox;
};

/// Where a message of membership came from.
struct MessageOrigin {
    gossip::MemberId sender;
    Endpoint from;           // the address that the datagram really came from
    bool addressed = false;  // it named the incarnation of this process
    /// Bytes of messages in an answer that is no larger than the datagram.
    std::size_t answer_room = 0;
};

}  // namespace weir::membership

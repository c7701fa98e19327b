#pragma once
// Lets two members compare the lists of members that they know. Their lists can differ because
// rumours get lost and a new member has heard none. Pings and answers carry a digest of the
// sender's list; if it differs from the receiver's, the receiver fetches the list of the sender
// page by page. Not thread-safe. It borrows the context and the table of members, which must
// outlive it.

#include "membership/context.h"
#include "membership/member_table.h"

namespace weir::membership {

class MemberLists {
  public:
    MemberLists(Context& context, const MemberTable& members)
        : context_(context), members_(members) {}

    void start(Instant now) { next_ask_ = now; }
    /// A hash of the list of this process, which includes itself. Never 0, because 0 means that no
    /// digest was told.
    [[nodiscard]] std::uint64_t digest() const;
    /// Asks the sender for its list if its digest differs from this process's; rarely, see
    /// MembershipSettings::list_interval.
    void compare(const gossip::MemberId& sender, std::uint64_t digest, Instant now);
    /// Asks for the members that come after an address; for all of them if the address is
    /// Endpoint{}.
    void ask(const gossip::MemberId& sender, const Endpoint& after);
    /// Sends one page: as many of the members after the address as fit into a datagram.
    void send(const gossip::MemberId& to, const Endpoint& after);

  private:
    Context& context_;
    const MemberTable& members_;
    Instant next_ask_{};
};

}  // namespace weir::membership

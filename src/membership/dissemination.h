#pragma once
// How news about members travels through the fleet, which SWIM calls the dissemination component.
// Rumours travel with pings and answers; while there are any, a few members also get them in
// separate datagrams. Not thread-safe. It owns the rumours, and borrows the context and the table
// of members, which must outlive it.

#include "membership/context.h"
#include "membership/member_table.h"
#include "membership/rumours.h"

namespace weir::membership {

class Dissemination {
  public:
    Dissemination(Context& context, const MemberTable& members)
        : context_(context), members_(members) {}

    void start(Instant now) { next_ = now; }
    /// Begins to spread news. Without MembershipSettings::lists it spreads only news about this
    /// process.
    void spread(const MemberUpdate& update);
    /// Appends the rumours that are due, as many as fit into `room` bytes.
    void write(DatagramBody& body, std::size_t room);
    /// Sends rumours by themselves if it is time for that.
    void tick(Instant now);
    /// Makes the next tick send, because the last news must not wait.
    void hurry(Instant now) { next_ = now; }
    void forget_all() { rumours_.clear(); }
    [[nodiscard]] bool idle() const { return rumours_.empty(); }

  private:
    /// How often each rumour is told: often enough to reach all members with high probability.
    [[nodiscard]] std::uint32_t times_told() const;

    Context& context_;
    const MemberTable& members_;
    Rumours rumours_;
    Instant next_{};
};

}  // namespace weir::membership

#pragma once
// Looks for members at addresses where no live member is known: at seeds, without end, and at the
// addresses of members that were given up, because a split may heal. Not thread-safe.
//
// All processes that miss the same members share the search: the more they are, the less often each
// of them pings. So both sides of a healed split find each other soon, however large they are. It
// borrows the context and the other parts of membership that it is given; Membership owns them all.

#include <vector>

#include "membership/census.h"
#include "membership/pings.h"

namespace weir::membership {

class MemberSearch {
  public:
    MemberSearch(Context& context, const MemberTable& members, const Census& census, Pings& pings)
        : context_(context), members_(members), census_(census), pings_(pings) {}

    void start(Instant now);
    /// Sets the addresses where members are looked for; at most kMaximumSeeds are used. The address
    /// of this process may be among them.
    void set_seeds(std::vector<Endpoint> seeds);
    void tick(Instant now);
    /// Pings some of these addresses at once. One member that was given up has turned out to live,
    /// so others may live, too. The members that are found this way tell of the rest.
    void ask_lost(std::vector<Endpoint> lost, Instant now);
    /// Asks seeds often again, because a member is gone.
    void hurry() { seed_wait_ = context_.settings.seed_interval; }
    /// Asks seeds at once, because this process has a new incarnation that nobody knows.
    void restart(Instant now);

  private:
    static constexpr std::size_t kMaximumSeeds = 4096;

    void tick_seeds(Instant now);
    void tick_lost(Instant now);
    /// Pings `count` of the addresses, chosen at random.
    void ping_some(std::vector<Endpoint> addresses, std::size_t count, Instant now);
    /// A random duration of 3/4 to 5/4 of `interval`, so that not all processes ask at once.
    [[nodiscard]] Duration about(Duration interval);

    Context& context_;
    const MemberTable& members_;
    const Census& census_;
    Pings& pings_;
    std::vector<Endpoint> seeds_;  // sorted
    Instant next_seeds_{};
    Duration seed_wait_{};  // the time from the next round of seeds to the one after it
    Instant next_lost_{};
    Instant next_ask_lost_{};
};

}  // namespace weir::membership

#pragma once
// The sessions with the members that this process exchanges datagrams with. They refuse replayed
// and late datagrams and number those that are sent. Not thread-safe.
//
// The session of a member that said goodbye is kept for two seconds, because the goodbye may have
// overtaken its last words. All other sessions end when the member is gone. It owns the sessions; a
// reference to one is valid until the member is gone.

#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "gossip/rejection.h"
#include "gossip/seal.h"
#include "gossip/session.h"
#include "gossip/wire.h"

namespace weir::membership {

class Sessions {
  public:
    /// More than a stop has to last to be noticed, and more than datagrams are late.
    static constexpr Duration kLeastLead = std::chrono::milliseconds(600);
    /// A clock is moved only once in this time. It bounds what false clocks can do.
    static constexpr Duration kRest = std::chrono::seconds(20);

    /// Either the age of a datagram, or why it was refused: it is a replay (duplicate, too_old), or
    /// its sending time is beyond reason (clock).
    struct Admitted {
        Duration age{};
        std::optional<gossip::DatagramRejection> rejection;
    };

    /// Checks a datagram of a member, which was sealed with this key. The first datagram begins the
    /// session.
    [[nodiscard]] Admitted admit(const gossip::Envelope& envelope, gossip::KeyId key, Instant now);
    /// Checks a datagram of a member that left less than two seconds ago.
    [[nodiscard]] Admitted admit_late(const gossip::Envelope& envelope, Instant now);
    [[nodiscard]] bool left_lately(const gossip::MemberId& member) const;
    /// The key that sealed the member's last datagram; 0: none, or nothing came yet.
    [[nodiscard]] gossip::KeyId key_of(const gossip::MemberId& member) const;
    /// The sequence number of the next datagram to a member. A session begins with `fresh`, which
    /// must be above the numbers of earlier sessions: a receiver that remembers one would take
    /// lower numbers for replays.
    [[nodiscard]] std::uint64_t next_sequence(const gossip::MemberId& to, std::uint64_t fresh);

    /// How long our clock stood still while the machine was paused, as the members say by theirs:
    /// more than half of those that were heard in the last second, at least two, or the only other
    /// member there is. So in a fleet of three or more one clock that leaps moves nobody. Zero if
    /// they do not say so, if it is less than kLeastLead, within kRest of the last time, or if no
    /// such datagram has come since the last call. `members` counts the other live members.
    [[nodiscard]] Duration clock_behind(std::size_t members, Instant now);
    /// Our clock was moved forward by `by`.
    void caught_up(Duration by, Instant now);

    /// Notes that the member said goodbye.
    void left(const gossip::MemberId& member, Instant now);
    void end(const gossip::MemberId& member) { sessions_.erase(member); }
    void end_all() { sessions_.clear(); }
    void tick(Instant now);

  private:
    struct MemberSession {
        gossip::Session session;
        std::optional<Instant> left_at;
        gossip::KeyId key = 0;
    };
    [[nodiscard]] Admitted admit_to(MemberSession& session, const gossip::Envelope& envelope,
                                    Instant now);

    std::map<gossip::MemberId, MemberSession> sessions_;
    std::deque<std::pair<Instant, gossip::MemberId>> leavers_;  // in the order of their goodbyes
    bool lead_seen_ = false;  // a member's clock ran ahead of ours
    std::optional<Instant> caught_up_at_;
};

}  // namespace weir::membership

#pragma once
// What the silence of members means. One silent origin is taken for dead, and its reckoned rate
// fades. Two or more whose last packets came within a second of each other are taken for cut off:
// their rates are kept for the hold time (mode `safe`), so that each side of a split stays with the
// share that it had. When a second member falls silent in this way, the rate of the first one,
// which had begun to fade, is restored. The last live member that falls silent is taken for cut
// off, too. A death that the member's host confirms is no cut, as long as another member is heard.
// A member that said goodbye is not silent.
//
// Members are known here by small numbers, so that cells stay small. Belongs to the control thread.
// Bounded: a member that is gone is forgotten after two minutes, when no cell can name it any more.

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/instant.h"
#include "membership/member.h"
#include "sync/settings.h"
#include "sync/statistics.h"

namespace weir::sync {

enum class Presence : std::uint8_t {
    heard,   ///< its last message holds
    fading,  // taken for dead
    held,    // taken for cut off: its share is kept
    gone     // it said goodbye, or another incarnation is at its address
};

using MemberNumber = std::uint32_t;

class Silence {
  public:
    Silence(const SyncSettings& settings, SyncStatistics& statistics)
        : settings_(settings), statistics_(statistics) {}

    /// The number of a member. A member that has none is given one.
    MemberNumber number(const gossip::MemberId& member, Instant now);
    [[nodiscard]] const gossip::MemberId& id(MemberNumber member) const {
        return members_[member].id;
    }
    [[nodiscard]] bool is_gone(MemberNumber member) const { return members_[member].gone; }
    /// Says at which address this member is, whatever its incarnation.
    void set_self(const Endpoint& address) { self_ = address; }
    [[nodiscard]] bool is_self(MemberNumber member) const {
        return members_[member].id.address == self_;
    }
    /// Whether the member has been silent for longer than its keep-alive allows, without a goodbye,
    /// and no other incarnation is at its address.
    [[nodiscard]] bool is_missing(MemberNumber member) const {
        const Known& known = members_[member];
        return known.silent && !known.gone && !known.succeeded;
    }
    /// A new incarnation is at the member's address, so the earlier one is not missing any more.
    void joined(const gossip::MemberId& member);
    /// A packet of the member was opened.
    void heard(MemberNumber member, Instant now);
    /// Membership has given the member up.
    void died(const gossip::MemberId& member);
    /// Says how many other members membership takes for alive now.
    void set_live_others(std::size_t count) { live_others_ = count; }
    /// The member said goodbye or was replaced.
    void gone(const gossip::MemberId& member, Instant now);
    /// What a host's answer that no process listens at the member's address means. It can be
    /// forged. `ask`: the first such answer; the member is to be asked. `given_up`: a second one
    /// without a packet of the member in between; it counts as silent until it is heard. `known`:
    /// nothing new.
    enum class Hint : std::uint8_t { ask, given_up, known };
    Hint nobody_there(MemberNumber member, Instant now);
    [[nodiscard]] bool is_unreachable(MemberNumber member) const {
        return members_[member].unreachable;
    }
    /// A counter value of the member was refused.
    void refused(MemberNumber member) { ++members_[member].refusals; }

    /// How a cell counts whose origin was last heard `age` ago and has to report every
    /// `keep_alive`.
    Presence judge(MemberNumber member, Duration age, Duration keep_alive, Instant now);
    [[nodiscard]] Duration silent_after(Duration keep_alive) const;
    /// How long the rate of a member that is held still counts.
    [[nodiscard]] Duration hold_left(MemberNumber member, Instant now) const;

    /// The members that are gone or given up, and whose last packet came so long ago that no cell
    /// of theirs is of use any more. Each is returned once.
    [[nodiscard]] std::vector<MemberNumber> take_departed(Instant now);
    /// Forgets members that take_departed() has returned, so that their numbers are given to
    /// others.
    void forget_old(Instant now);
    /// To be called after this process was stopped: the time of the stop counts as nobody's
    /// silence.
    void restart(Instant now);
    [[nodiscard]] std::size_t size() const { return numbers_.size(); }
    /// At most 16 members whose values were refused, by address, first those with most refusals.
    [[nodiscard]] std::vector<PeerRefusals> refusals() const;
    [[nodiscard]] std::uint64_t refusals(const gossip::MemberId& member) const;

  private:
    struct Known {
        gossip::MemberId id;
        Instant last_packet{};
        Duration keep_alive{};  // the one in force when it fell silent
        Instant hold_until{};
        std::uint64_t refusals = 0;
        bool silent = false;
        bool split = false;  // has been held during this silence already
        bool gone = false;
        bool dead = false;      // membership has given it up
        bool departed = false;  // returned by take_departed()
        bool unreachable = false;
        /// Another incarnation is at its address, after it had been given up.
        bool succeeded = false;
        Instant questioned{};  // when the first hint since its last packet came
        Instant gone_at{};
    };
    void fall_silent(Known& member, Duration keep_alive, Instant now);
    [[nodiscard]] bool anybody_heard() const;
    void hold(Known& member, Instant now);
    [[nodiscard]] static bool long_silent(const Known& member, Instant now);

    const SyncSettings& settings_;
    SyncStatistics& statistics_;
    Endpoint self_;
    std::size_t live_others_ = 0;
    std::vector<Known> members_;
    std::vector<MemberNumber> free_;
    std::vector<MemberNumber> silent_;
    std::map<gossip::MemberId, MemberNumber> numbers_;
};

}  // namespace weir::sync

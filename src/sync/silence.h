#pragma once
// What the silence of members means. One silent origin is taken for dead, and its reckoned rate
// fades. Two or more whose last packets came within a second of each other are taken for cut off:
// their rates are kept for the hold time (mode `safe`), so that each side of a split stays with the
// share that it had. When a second member falls silent in this way, the rate of the first one,
// which had begun to fade, is restored. The last live member that falls silent is taken for cut
// off, too. A death that the member's host confirms is no cut, as long as another member is heard.
// A member that said goodbye is not silent.
//
// Only an owner misses its origins within a second or two. What other members know comes from
// membership: whom it suspects or has given up, and when it last heard anybody.
//
// After 2.5 s nothing is held by a member that still hears more than half of those that were there
// before the silence, and of all that it knows (Side::majority, weighed in silence_side.cpp): the
// smaller side keeps to its share, so the larger one may take the rest. What a new owner holds by
// rates that it was told waits for more evidence (Side::confirmed). A member that hears nobody
// holds on for longer than the hold time
// (docs/decisions/0140-the-larger-side-of-a-split-goes-on.md).
//
// Members are known here by small numbers, so that cells stay small. Belongs to the control thread.
// Bounded: a member that is gone is forgotten after two minutes, when no cell can name it any more.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "membership/member.h"
#include "sync/settings.h"
#include "sync/side.h"
#include "sync/statistics.h"

namespace weir::sync {

enum class Presence : std::uint8_t {
    heard,        ///< its last message holds
    unmentioned,  // it speaks, only not of this limit for longer than is usual
    fading,       // taken for dead
    held,         // taken for cut off: its share is kept
    gone          // it said goodbye, or another incarnation is at its address
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
    /// `serves`: it admits requests, and so has a share of limits.
    void joined(const gossip::MemberId& member, bool serves = true);
    /// A packet of the member was opened.
    void heard(MemberNumber member, Instant now);
    /// Membership has given the member up.
    void died(const gossip::MemberId& member, Instant now);
    /// Membership has begun to suspect the member, because it did not answer, or does so no more.
    void suspected(const gossip::MemberId& member, bool suspected, Instant now);
    /// Says how many other members membership takes for alive now, and when it last heard any of
    /// them. Weighs, now and then, on which side of a split this member is. To be called in every
    /// tick.
    void set_live_others(std::size_t count, std::optional<Instant> last_heard, Instant now);
    /// Sets the addresses of the seeds. `looked_up`: names were looked up for them just now.
    void set_seeds(std::vector<Endpoint> seeds, bool looked_up, Instant now);
    [[nodiscard]] const Side& side() const { return side_; }
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
    /// Whether the member said goodbye, was replaced, or its host says that it does not run.
    [[nodiscard]] bool has_ended(MemberNumber member) const {
        const Known& known = members_[member];
        return known.gone || known.succeeded || known.unreachable;
    }
    /// A counter value of the member was refused.
    void refused(MemberNumber member) { ++members_[member].refusals; }

    /// How a cell counts whose origin was last heard `age` ago and has to report every
    /// `keep_alive`. `hold` is the hold time of the limit.
    Presence judge(MemberNumber member, Duration age, Duration keep_alive, Duration hold,
                   Instant now);
    [[nodiscard]] Duration silent_after(Duration keep_alive) const;
    /// An owner holds the share of members for which it has no cells, since the instant `since`. To
    /// be called in every look at such a limit: those members are counted for as long.
    void note_held_rate(Instant since, Instant now);
    /// How many members were given up whose share is held, by the usual hold time. Those that serve
    /// no requests have none.
    [[nodiscard]] std::size_t count_held(Instant now) const;
    /// Whether the member is live, or was given up and its share is held.
    [[nodiscard]] bool has_share(MemberNumber number, Instant now) const;
    /// Whether the member is live, as far as membership knows.
    [[nodiscard]] bool is_live(MemberNumber member) const {
        const Known& known = members_[member];
        return !known.gone && !known.succeeded && !known.dead;
    }
    /// How long the rate of a member still counts that is held for this hold time; 0 when it is not
    /// held.
    [[nodiscard]] Duration hold_left(MemberNumber member, Duration hold, Instant now) const;

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
    /// A share counts as held for so long after it was last found to be.
    static constexpr Duration kHeldLately = std::chrono::seconds(2);

    struct Known {
        gossip::MemberId id;
        /// When the first incarnation that we remember at its address became known.
        Instant joined{};
        Instant last_packet{};
        Instant died_at{};  // when membership gave it up, if `dead`
        std::optional<Instant> suspected_at;
        Duration keep_alive{};  // the one in force when it fell silent
        Instant held_since{};   // if `split`
        Instant held_at{};      // when judge() last said that it is held
        std::uint64_t refusals = 0;
        bool silent = false;
        bool split = false;  // has been held during this silence already
        bool gone = false;
        bool serves = true;     // it has a share of limits
        bool dead = false;      // membership has given it up
        bool departed = false;  // returned by take_departed()
        bool unreachable = false;
        /// Another incarnation is at its address, after it had been given up.
        bool succeeded = false;
        Instant questioned{};  // when the first hint since its last packet came
        Instant gone_at{};
    };
    void fall_silent(Known& member, Duration keep_alive, Instant now);
    [[nodiscard]] bool anybody_heard(Instant now) const;
    [[nodiscard]] bool is_held(MemberNumber number, Instant now) const;
    void hold(Known& member, Instant now);
    [[nodiscard]] static bool long_silent(const Known& member, Instant now);

    // In silence_side.cpp: which side of a split this is.
    void weigh(Instant now);
    void weigh_soon() { outdated_ = true; }
    [[nodiscard]] bool is_cut_off(Instant now) const;
    void hold_last(Instant now);
    [[nodiscard]] bool is_counted(const Known& member, Instant remembered) const;
    [[nodiscard]] static bool is_lost(const Known& member);
    [[nodiscard]] static Instant lost_at(const Known& member);
    [[nodiscard]] static Instant missed_at(const Known& member);
    /// How many members there are, this one included, and how many of them are heard.
    struct Voices {
        std::size_t there = 1;
        std::size_t heard = 1;
        void count(bool is_heard) {
            ++there;
            heard += is_heard ? 1U : 0U;
        }
        [[nodiscard]] bool most() const { return heard > 1 && 2 * heard > there; }
    };
    /// Those that are missing: when the first of them was lost, and by when the last of them was.
    struct Losses {
        bool any = false;  // also those whose hosts confirmed their death
        Instant first = Instant::max();
        Instant last = Instant::min();
    };
    [[nodiscard]] Losses losses(Instant remembered) const;
    [[nodiscard]] Instant remembered(Instant now) const;
    /// How many of the members are heard: less than half, more than half, or more than half also
    /// since the last loss was noticed.
    enum class Hears : std::uint8_t { few, most, most_since };
    [[nodiscard]] Hears weigh_voices(Instant now) const;
    [[nodiscard]] SeedsSay ask_seeds(Instant now) const;
    [[nodiscard]] bool lived_lately(const Endpoint& address, Instant now) const;

    const SyncSettings& settings_;
    SyncStatistics& statistics_;
    Endpoint self_;
    std::size_t live_others_ = 0;
    std::optional<Instant> last_heard_;  // any of them, by any datagram
    Instant awake_since_{};              // when this process last went on after a stop
    std::vector<Known> members_;
    std::vector<MemberNumber> free_;
    std::vector<MemberNumber> silent_;
    std::vector<MemberNumber> given_up_;  // by membership, and not heard since
    std::map<gossip::MemberId, MemberNumber> numbers_;

    Side side_;
    bool outdated_ = false;  // something has changed since side_ was weighed
    Instant weighed_{};
    std::optional<Instant> minority_at_;  // when we last heard too few
    std::optional<Instant> alone_at_;     // when we last were cut off from everybody
    // Since when shares are held by a rate that no cell tells, and when that was said last.
    Instant rate_held_since_{};
    Instant rate_held_at_{};
    Instant alone_since_{};  // since when nobody is heard, if side_.alone
    std::vector<Endpoint> seeds_;
    std::optional<Instant> looked_up_;  // when names were last looked up for them
};

}  // namespace weir::sync

#pragma once
// What the silence of members means. One silent origin is taken for dead: its reckoned rate fades.
// Two or more whose last packets came within a second of each other are taken for a split: their
// rates are kept for the hold time (mode `safe`), so that each side stays with the share it had.
// It is provisional: when a second member falls silent so, the first one's rate is put back.
// A goodbye is never silence.
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
    heard,   // its word holds
    fading,  // taken for dead
    held,    // taken for cut off: its share is kept
    gone     // said goodbye, or another incarnation is at its address
};

using MemberNumber = std::uint32_t;

class Silence {
  public:
    Silence(const SyncSettings& settings, SyncStatistics& statistics)
        : settings_(settings), statistics_(statistics) {}

    /// Its number; given when first asked for.
    MemberNumber number(const gossip::MemberId& member, Instant now);
    [[nodiscard]] const gossip::MemberId& id(MemberNumber member) const {
        return members_[member].id;
    }
    [[nodiscard]] bool is_gone(MemberNumber member) const { return members_[member].gone; }
    /// Who we are, under whichever incarnation.
    void set_self(const Endpoint& address) { self_ = address; }
    [[nodiscard]] bool is_self(MemberNumber member) const {
        return members_[member].id.address == self_;
    }
    /// Has not been heard for longer than it promised, without a goodbye, and nobody else is at its
    /// address by now.
    [[nodiscard]] bool is_missing(MemberNumber member) const {
        const Known& known = members_[member];
        return known.silent && !known.gone && !known.succeeded;
    }
    /// A new incarnation is at its address: whoever was there is not missing any more.
    void joined(const gossip::MemberId& member);
    /// A packet of it was opened.
    void heard(MemberNumber member, Instant now);
    /// It said goodbye or was replaced.
    void gone(const gossip::MemberId& member, Instant now);
    /// The host at its address says that nobody listens there. It may be forged, so the first time
    /// only makes it worth a question, and once more without a packet in between means `silent`
    /// from now on, until it is heard.
    enum class Hint : std::uint8_t { ask, given_up, known };
    Hint nobody_there(MemberNumber member, Instant now);
    [[nodiscard]] bool is_unreachable(MemberNumber member) const {
        return members_[member].unreachable;
    }
    /// Counter values of it were refused.
    void refused(MemberNumber member) { ++members_[member].refusals; }

    /// What to make of a cell that was heard last so long ago, its origin having promised to be
    /// heard every `keep_alive`.
    Presence judge(MemberNumber member, Duration age, Duration keep_alive, Instant now);
    [[nodiscard]] Duration silent_after(Duration keep_alive) const;
    /// What is left of the hold of a member that is held.
    [[nodiscard]] Duration hold_left(MemberNumber member, Instant now) const;

    void forget_old(Instant now);
    /// After a stop of our own the clock stood still: nobody was silent meanwhile.
    void restart(Instant now);
    [[nodiscard]] std::size_t size() const { return numbers_.size(); }
    /// Whose values were refused, by address, those with most first; 16 at most.
    [[nodiscard]] std::vector<PeerRefusals> refusals() const;
    [[nodiscard]] std::uint64_t refusals(const gossip::MemberId& member) const;

  private:
    struct Known {
        gossip::MemberId id;
        Instant last_packet{};
        Duration keep_alive{};  // that held when it fell silent
        Instant hold_until{};
        std::uint64_t refusals = 0;
        bool silent = false;
        bool split = false;  // has had its hold for this silence
        bool gone = false;
        bool unreachable = false;
        bool succeeded = false;  // by another incarnation, after it had been given up
        Instant questioned{};    // after the first hint since its last packet
        Instant gone_at{};
    };
    void fall_silent(Known& member, Duration keep_alive, Instant now);
    void hold(Known& member, Instant now);

    const SyncSettings& settings_;
    SyncStatistics& statistics_;
    Endpoint self_;
    std::vector<Known> members_;
    std::vector<MemberNumber> free_;
    std::vector<MemberNumber> silent_;
    std::map<gossip::MemberId, MemberNumber> numbers_;
};

}  // namespace weir::sync

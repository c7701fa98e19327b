#pragma once
// What this process tells the other members about itself: its address, its incarnation, its flags
// and its counter. The incarnation is a random number that tells this run of the process, or this
// part of the run, from all others. What SWIM calls the incarnation number is the counter: by
// raising it, this process refutes what others say about it. If others have given this process up,
// it cannot refute that; only then does it take a new incarnation, in the same run (renewal.h).
// Plain value, not thread-safe.
//
// Invariant: the incarnation is never 0, because 0 means that an incarnation is not known.

#include "base/random.h"
#include "membership/messages.h"

namespace weir::membership {

class Self {
  public:
    /// Draws the first incarnation.
    Self(const Endpoint& address, MemberFlags flags, Random& random);

    [[nodiscard]] const gossip::MemberId& id() const { return id_; }
    [[nodiscard]] const Endpoint& address() const { return id_.address; }
    [[nodiscard]] MemberFlags flags() const { return flags_; }
    [[nodiscard]] std::uint64_t counter() const { return counter_; }
    /// What this process tells about itself; `state` is `alive`, or `left` for a goodbye.
    [[nodiscard]] MemberUpdate update(MemberState state) const;

    /// Refutes what another member states about this process: raises this process's counter to one
    /// above `counter`, the counter in that statement. `counter` must not be below this process's
    /// counter, because a statement with a lower one is refuted already.
    void refute(std::uint64_t counter);
    /// Sets the flag `leaving`: this process owns nothing any more and will soon say goodbye. The
    /// counter rises as well, so that others accept the news.
    void begin_leaving();
    /// Draws another incarnation, whose counter begins at 0 again.
    void renew(Random& random);

  private:
    gossip::MemberId id_;
    MemberFlags flags_;
    std::uint64_t counter_ = 0;
};

}  // namespace weir::membership

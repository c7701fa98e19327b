#pragma once
// What this process tells the other members about itself: its address, its incarnation, its flags
// and its counter. The incarnation is a random number that tells this run of the process from all
// others. What SWIM calls the incarnation number is the counter: by raising it, this process
// refutes what others say about it. A new incarnation is taken only when refuting is not possible
// any more, because others have given this process up (renewal.h). Plain value, not thread-safe.
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

    /// Refutes a statement of another member: raises the counter to one above `counter`, which is
    /// the statement's and must be at least the present one. A lower one is refuted already.
    void refute(std::uint64_t counter);
    /// Sets the flag `leaving`: this process is draining. The counter rises as well, so that others
    /// accept the news.
    void begin_leaving();
    /// Draws another incarnation, whose counter begins at 0 again.
    void renew(Random& random);

  private:
    gossip::MemberId id_;
    MemberFlags flags_;
    std::uint64_t counter_ = 0;
};

}  // namespace weir::membership

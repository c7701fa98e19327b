#pragma once
// The pings that are under way. Each has a random number of its own, which the answer must repeat,
// so captured traffic proves no life. There are these kinds:
//
// - A probe goes to a live member and names its incarnation.
// - A favour goes to a member that another member could not reach, for that other member.
// - A search goes to any process at an address where no member is known.
// - A challenge asks whether an unknown sender really is at the address that it claims. Challenges
//   are bounded, so that nobody can make this process flood an address.
//
// A ping to a member carries rumours and hints. A suspect learns first from it that it is suspected
// and can refute that. Not thread-safe.
//
// Invariant: at most kCapacity pings are under way; more are dropped and counted. It borrows the
// context and the other parts of membership that it is given; Membership owns them all.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "membership/dissemination.h"
#include "membership/member_lists.h"

namespace weir::membership {

enum class PingKind : std::uint8_t { probe, favour, search, challenge };

struct PendingPing {
    PingKind kind{};
    Endpoint to;
    gossip::MemberId target;            // the expected member; incarnation 0: any
    gossip::MemberId requester;         // the member that asked for a favour
    std::uint64_t requester_nonce = 0;  // the random number of its PingRequest
    Instant sent{};
    Instant expires{};
};

class Pings {
  public:
    static constexpr std::size_t kCapacity = 1024;

    Pings(Context& context, const MemberTable& members, Dissemination& dissemination,
          const MemberLists& lists)
        : context_(context), members_(members), dissemination_(dissemination), lists_(lists) {}

    /// Sets the payload that travels with pings to members as MessageType::hints. A payload of more
    /// than kMaximumHints bytes counts as empty.
    void set_hints(ByteSpan payload);

    /// Whether a ping is under way whose missing answer means something.
    [[nodiscard]] bool any_with_deadline() const;

    // Each of these functions sends one ping, unless too many are under way.

    /// Returns the random number; 0 when nothing was sent.
    std::uint64_t probe(const gossip::MemberId& member, Instant expires, Instant now);
    void probe(const gossip::MemberId& member, Instant now);
    void favour(const gossip::MemberId& requester, const PingRequest& request, Instant now);
    void search(const Endpoint& address, Instant now);
    void challenge(const gossip::MemberId& claimed, Instant now);

    /// Adds a challenge to an answer that goes to the claimed address anyway. Only half of all
    /// challenges may begin this way, so that an attacker that repeats captured pings leaves the
    /// other half.
    void challenge_along(const gossip::MemberId& claimed, DatagramBody& answer, Instant now);

    /// Takes out the ping that this answer is for. Nothing when there is none, or when the answer
    /// comes from another address than the one that was asked. (A search may be answered under
    /// another address, because a seed's name may lead to many.)
    [[nodiscard]] std::optional<PendingPing> take(std::uint64_t nonce,
                                                  const gossip::MemberId& sender);
    /// Forgets pings that nobody answered in time. The member that asked for a favour is told that
    /// it failed.
    void tick(Instant now);
    void forget_all() { pings_.clear(); }

  private:
    [[nodiscard]] std::uint64_t remember(PendingPing ping, Instant now);
    std::uint64_t send(const PendingPing& ping, Instant now);
    void send_to_member(const gossip::MemberId& to, std::uint64_t nonce);
    void send_open(const Endpoint& to, std::uint64_t nonce);
    [[nodiscard]] std::size_t most_challenges() const;
    [[nodiscard]] bool may_challenge(const gossip::MemberId& claimed, std::size_t most,
                                     Instant now);

    Context& context_;
    const MemberTable& members_;
    Dissemination& dissemination_;
    const MemberLists& lists_;
    std::vector<std::byte> hints_;
    std::map<std::uint64_t, PendingPing> pings_;  // by their random numbers
};

}  // namespace weir::membership

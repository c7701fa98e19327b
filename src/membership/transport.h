#pragma once
// The lower half of a sidecar's gossip in one piece: sealing, sessions, membership and owners.
// Datagrams come in, opened messages with a proven sender come out; messages go in, sealed
// datagrams come out. Everything refused is counted by reason; membership, counters and definitions
// each have a byte budget of their own.
//
// Thread-safety: none, belongs to the control thread. Owns its parts; borrows the nonce source.
// Invariant: a message is delivered only if its datagram was sealed with a key of the ring, named
// our cluster and our incarnation, came from a live member and was never delivered before.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/instant.h"
#include "base/random.h"
#include "gossip/budget.h"
#include "gossip/rejection.h"
#include "gossip/seal.h"
#include "gossip/session.h"
#include "gossip/strangers.h"
#include "gossip/wire.h"
#include "membership/member.h"
#include "membership/membership.h"
#include "membership/owners.h"

namespace weir::membership {

struct TransportSettings {
    std::string cluster_name;
    Endpoint self;
    MemberFlags flags;
    MembershipSettings membership;
    /// Bytes a second (IP and UDP headers not counted) and the largest burst, per lane.
    gossip::BudgetSettings membership_budget{131'072, 131'072};
    gossip::BudgetSettings counter_budget{6'160'000, 1'232'000};  // 5,000 full datagrams a second
    gossip::BudgetSettings definition_budget{2'097'152, 1'048'576};
    /// A total that is older is refused.
    Duration oldest_total = std::chrono::seconds(1);
    /// Messages that wait for the next flush; more are dropped and counted.
    std::size_t maximum_queued_bytes = 16 * 1024 * 1024;
};

/// A message of a live member. Views are valid until the next call of receive().
struct Received {
    gossip::MemberId sender;
    gossip::MessageType type{};
    ByteSpan payload;
    /// How much later than the quickest of the last 10 to 20 s its datagram came.
    Duration age{};
};

struct OutgoingDatagram {
    Endpoint to;
    std::vector<std::byte> bytes;
};

struct TransportCounters {
    gossip::RejectionCounts rejected;
    std::uint64_t datagrams_in = 0;
    std::uint64_t datagrams_out = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    /// Messages by type; an unknown type counts at 0.
    std::array<std::uint64_t, 64> messages_in{};
    std::array<std::uint64_t, 64> messages_out{};
    std::array<std::uint64_t, gossip::kLanes> lane_bytes_out{};
    /// Messages that were not sent, because the lane's budget was used up or the queue was full.
    std::array<std::uint64_t, gossip::kLanes> dropped{};
    /// Datagrams opened with the ring's second key: none any more means that it can go.
    std::uint64_t opened_with_second_key = 0;
};

class Transport final : public gossip::MessageSink {
  public:
    /// `nonces` must outlive the transport. No keys: the explicit insecure mode.
    Transport(const TransportSettings& settings, std::span<const gossip::Key> keys,
              gossip::NonceSource& nonces, Random random);

    void start(Instant now);
    void set_seeds(std::vector<Endpoint> seeds);
    void set_keys(std::span<const gossip::Key> keys);
    /// Travels with membership's pings as MessageType::hints, at most kMaximumHints bytes.
    void set_hints(ByteSpan payload);

    /// Opens a datagram, lets membership have its messages and returns the rest: counters,
    /// definitions and hints. Whatever is refused is counted.
    std::span<const Received> receive(ByteSpan datagram, const Endpoint& from, Instant now);

    /// Queues a message for a live member; what goes to one member by the same lane shares
    /// datagrams. Never throttled here: flush() drops what is over the budget.
    bool send(const gossip::MemberId& to, gossip::MessageType type, ByteSpan payload) override;

    void tick(Instant now);
    /// A ping to a live member at once; goes out with the next flush().
    void question(const gossip::MemberId& member, Instant now) {
        membership_.question(member, now);
    }
    [[nodiscard]] Instant next_tick() const;
    void begin_leaving(Instant now);
    void goodbye(Instant now);

    /// Seals everything that waits: membership first, then counters, then definitions.
    [[nodiscard]] std::vector<OutgoingDatagram> flush(Instant now);

    [[nodiscard]] std::vector<MembershipEvent> take_events();
    /// Shards whose owners changed since the last call. Recomputed by receive() and tick().
    [[nodiscard]] std::vector<OwnerChange> take_owner_changes();

    [[nodiscard]] const gossip::MemberId& self() const { return membership_.self(); }
    [[nodiscard]] const Membership& membership() const { return membership_; }
    [[nodiscard]] const Owners& owners() const { return owners_; }
    [[nodiscard]] const TransportCounters& counters() const { return counters_; }
    /// Ids of the ring's keys, the one that seals first; none: unsealed.
    [[nodiscard]] std::vector<gossip::KeyId> key_ids() const { return sealer_.key_ids(); }
    /// The key that sealed the member's last datagram; 0: none, or nothing came yet.
    [[nodiscard]] gossip::KeyId key_of(const gossip::MemberId& member) const;
    [[nodiscard]] const gossip::Strangers& strangers() const { return strangers_; }

  private:
    struct PeerSession {
        gossip::Session session;
        std::optional<Instant> left_at;  // it said goodbye; hand-overs may still be on their way
        gossip::KeyId key = 0;           // that sealed its last datagram
    };
    struct QueuedBody {
        gossip::MemberId to;
        std::vector<std::byte> bytes;
    };
    using Queue = std::vector<QueuedBody>;

    void reject(gossip::Rejection reason) { counters_.rejected.add(reason); }
    void refuse(gossip::Rejection reason, ByteSpan datagram, const Endpoint& from, Instant now);
    [[nodiscard]] std::optional<gossip::Rejection> check(const gossip::Envelope& envelope,
                                                         ByteSpan body) const;
    void receive_open(const Origin& origin, ByteSpan body, Instant now);
    void receive_addressed(const Origin& origin, const gossip::Envelope& envelope, ByteSpan body,
                           gossip::KeyId key, Instant now);
    void receive_late(const Origin& origin, const gossip::Envelope& envelope, ByteSpan body,
                      PeerSession& peer, Instant now);
    void deliver(const Origin& origin, const gossip::Message& message, Duration age, Instant now);
    void count_in(gossip::MessageType type);
    [[nodiscard]] std::optional<Duration> admit(PeerSession& peer, const gossip::Envelope& envelope,
                                                Instant now);
    [[nodiscard]] std::size_t answer_room(std::size_t datagram) const;
    void pump(Instant now);
    bool follow(const MembershipEvent& event, Instant now);
    void recompute_owners();
    [[nodiscard]] std::uint64_t next_sequence(const gossip::MemberId& to);
    void emit(const gossip::MemberId& to, ByteSpan body, gossip::Lane lane, double reserve,
              Instant now, std::vector<OutgoingDatagram>& out);
    void flush_membership(Instant now, std::vector<OutgoingDatagram>& out);

    TransportSettings settings_;
    std::uint32_t cluster_;
    gossip::Sealer sealer_;
    Membership membership_;
    Owners owners_;
    std::map<gossip::MemberId, PeerSession> sessions_;
    std::deque<std::pair<Instant, gossip::MemberId>> leavers_;  // oldest first
    std::array<Queue, gossip::kLanes> queues_;                  // counters and definitions
    std::map<std::pair<gossip::MemberId, gossip::Lane>, std::size_t> open_bodies_;
    std::size_t queued_bytes_ = 0;
    std::array<gossip::Budget, gossip::kLanes> budgets_;
    std::vector<Received> received_;
    std::vector<MembershipEvent> events_;
    std::vector<OwnerChange> owner_changes_;
    bool owners_moved_ = false;
    Instant next_owners_{};
    TransportCounters counters_;
    gossip::Strangers strangers_;
    std::uint64_t counted_conflicts_ = 0;  // of membership's counters, as rejections
    std::uint64_t counted_refusals_ = 0;
};

}  // namespace weir::membership

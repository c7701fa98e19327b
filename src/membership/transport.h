#pragma once
// The lower half of a sidecar's gossip in one piece: sealing, sessions, membership and owners.
// Datagrams come in, and opened messages with a proven sender come out; messages go in, and sealed
// datagrams come out. Refused datagrams and messages are counted by reason. Membership, counters
// and definitions each have a budget of bytes of their own.
//
// Thread-safety: none; it belongs to the control thread. Ownership: it owns its parts and borrows
// the source of nonces.
//
// Invariant: a message is delivered only if its datagram was sealed with a key of the ring, named
// the cluster and the incarnation of this process, came from a live member and was never delivered
// before. Hand-overs of a member, and what it tells last of what it has admitted, are also
// delivered for two seconds after its goodbye.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/instant.h"
#include "base/random.h"
#include "gossip/budget.h"
#include "gossip/rejection.h"
#include "gossip/seal.h"
#include "gossip/strangers.h"
#include "gossip/wire.h"
#include "membership/member.h"
#include "membership/membership.h"
#include "membership/owner_tracker.h"
#include "membership/send_queue.h"
#include "membership/sessions.h"

namespace weir::membership {

/// The lane of counters sends no more than so many bytes in any second: its rate, and what may come
/// at once after a pause.
[[nodiscard]] constexpr gossip::BudgetSettings counter_budget_of(double bytes_a_second) {
    return {0.8 * bytes_a_second, 0.2 * bytes_a_second};
}

struct TransportSettings {
    std::string cluster_name;
    Endpoint self;
    MemberFlags flags;
    MembershipSettings membership;
    /// Bytes a second (without the headers of IP and UDP) and the largest burst of each lane.
    gossip::BudgetSettings membership_budget{131'072, 131'072};
    gossip::BudgetSettings counter_budget = counter_budget_of(1'000'000);
    gossip::BudgetSettings definition_budget{2'097'152, 1'048'576};
    /// A total of an owner that is older than this when it arrives is refused.
    Duration oldest_total = std::chrono::seconds(1);
    /// How many bytes of messages may wait for the next flush; more are dropped and counted.
    std::size_t maximum_queued_bytes = 16 * 1024 * 1024;
};

/// A message of a live member. Views are valid until the next call of receive().
struct Received {
    gossip::MemberId sender;
    gossip::MessageType type{};
    ByteSpan payload;
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
    /// Messages by the number of their type; index 0 counts those of unknown types.
    std::array<std::uint64_t, 64> messages_in{};
    std::array<std::uint64_t, 64> messages_out{};
    std::array<std::uint64_t, gossip::kLanes> lane_bytes_out{};
    /// Datagrams that were not sent because the budget of the lane was used up, and messages that
    /// were not sent because they were too large, the queue was full or the receiver is no live
    /// member.
    std::array<std::uint64_t, gossip::kLanes> dropped{};
    /// Datagrams opened with the second key of the ring. When this number grows no more, the key
    /// can be removed.
    std::uint64_t opened_with_second_key = 0;
};

class Transport final : public gossip::MessageSink {
  public:
    /// `nonces` must outlive the transport. Without keys nothing is sealed: the insecure mode,
    /// which a user has to choose.
    Transport(const TransportSettings& settings, std::span<const gossip::Key> keys,
              gossip::NonceSource& nonces, Random random);

    void start(Instant now);
    void set_seeds(std::vector<Endpoint> seeds);
    void set_keys(std::span<const gossip::Key> keys);
    /// Sets the payload that travels with membership's pings as MessageType::hints: at most
    /// kMaximumHints bytes.
    void set_hints(ByteSpan payload);

    /// Opens a datagram, gives membership its messages and returns the others: those of counters
    /// and definitions, and hints. Refused datagrams and messages are counted.
    std::span<const Received> receive(ByteSpan datagram, const Endpoint& from, Instant now);

    /// Queues a message for a live member. Messages for one member in the same lane share
    /// datagrams. Only flush() looks at the budget and drops what exceeds it.
    bool send(const gossip::MemberId& to, gossip::MessageType type, ByteSpan payload) override;

    /// How much of the burst of the counters' lane is left beside what waits for the next flush and
    /// so many bytes that are to come: 1 is all, 0 and less nothing.
    [[nodiscard]] double counter_room(std::size_t to_come, Instant now) const;

    /// See Sessions.
    [[nodiscard]] Duration clock_behind(Instant now) {
        return sessions_.clock_behind(membership_.live_count(), now);
    }
    void caught_up(Duration by, Instant now) { sessions_.caught_up(by, now); }

    void tick(Instant now);
    /// Pings a live member; the ping goes out with the next flush().
    void question(const gossip::MemberId& member, Instant now) {
        membership_.question(member, now);
    }
    [[nodiscard]] Instant next_tick() const;
    /// See Membership.
    [[nodiscard]] bool is_at_work() const { return membership_.is_at_work(); }
    /// What is said of counters on leaving is said once: it has bytes beyond the budget. To be
    /// called before anything of it is sent.
    void grant_last_words();
    void begin_leaving();
    void goodbye();

    /// Seals everything that waits: first membership, then counters, then definitions.
    [[nodiscard]] std::vector<OutgoingDatagram> flush(Instant now);

    [[nodiscard]] std::vector<MembershipEvent> take_events();
    /// The shards whose owners changed since the last call. receive(), tick() and begin_leaving()
    /// compute them.
    [[nodiscard]] std::vector<OwnerChange> take_owner_changes() { return owners_.take_changes(); }

    [[nodiscard]] const gossip::MemberId& self() const { return membership_.self(); }
    [[nodiscard]] const Membership& membership() const { return membership_; }
    [[nodiscard]] const Owners& owners() const { return owners_.owners(); }
    [[nodiscard]] const TransportCounters& counters() const { return counters_; }
    /// The ids of the keys in the ring; the key that seals comes first. Empty if nothing is sealed.
    [[nodiscard]] std::vector<gossip::KeyId> key_ids() const { return sealer_.key_ids(); }
    /// The key that sealed the member's last datagram; 0: none, or nothing came yet.
    [[nodiscard]] gossip::KeyId key_of(const gossip::MemberId& member) const {
        return sessions_.key_of(member);
    }
    [[nodiscard]] const gossip::Strangers& strangers() const { return strangers_; }

  private:
    void reject(gossip::DatagramRejection reason) { counters_.rejected.add(reason); }
    void refuse(gossip::DatagramRejection reason, ByteSpan datagram, const Endpoint& from,
                Instant now);
    [[nodiscard]] std::optional<gossip::DatagramRejection> check(const gossip::Envelope& envelope,
                                                                 ByteSpan body) const;
    void receive_open(const MessageOrigin& origin, ByteSpan body, Instant now);
    void receive_addressed(const MessageOrigin& origin, const gossip::Envelope& envelope,
                           ByteSpan body, gossip::KeyId key, Instant now);
    void receive_late(const MessageOrigin& origin, const gossip::Envelope& envelope, ByteSpan body,
                      Instant now);
    void deliver(const MessageOrigin& origin, const gossip::Message& message, Duration age,
                 Instant now);
    void count_in(gossip::MessageType type);
    [[nodiscard]] std::size_t answer_room(std::size_t datagram) const;
    void pump(Instant now);
    void follow(const MembershipEvent& event, Instant now);
    [[nodiscard]] std::uint64_t next_sequence(const gossip::MemberId& to);
    void emit(const gossip::MemberId& to, ByteSpan body, gossip::Lane lane, double reserve,
              Instant now, std::vector<OutgoingDatagram>& out);
    void flush_membership(Instant now, std::vector<OutgoingDatagram>& out);

    TransportSettings settings_;
    std::uint32_t cluster_;
    gossip::Sealer sealer_;
    Membership membership_;
    OwnerTracker owners_;
    Sessions sessions_;
    SendQueue queue_;
    std::array<gossip::Budget, gossip::kLanes> budgets_;
    std::vector<Received> received_;
    std::vector<MembershipEvent> events_;
    TransportCounters counters_;
    gossip::Strangers strangers_;
    /// Conflicts of membership that were counted as rejections.
    std::uint64_t counted_conflicts_ = 0;
    std::uint64_t counted_refusals_ = 0;
};

}  // namespace weir::membership

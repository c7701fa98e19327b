#pragma once
// The payloads of membership's messages: plain values, how they are encoded, and how they are
// decoded within bounds. docs/protocol.md describes each byte. Pure functions, thread-safe.

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "gossip/wire.h"
#include "membership/member.h"

namespace weir::membership {

/// "Are you there?"
struct Ping {
    std::uint64_t nonce = 0;    // a random number that the answer must repeat
    std::uint64_t digest = 0;   // a hash of the sender's list of live members; 0: none
    std::uint16_t padding = 0;  // how many zero bytes follow, so that the answer is not larger
    friend bool operator==(const Ping&, const Ping&) = default;
};

/// "I am here", with what the sender tells about itself.
struct PingAnswer {
    std::uint64_t nonce = 0;   // of the ping
    std::uint64_t digest = 0;  // as in a ping; 0 if the sender does not know the receiver
    MemberFlags flags;
    std::uint64_t counter = 0;
    friend bool operator==(const PingAnswer&, const PingAnswer&) = default;
};

/// "Ping `target` for me, and repeat this random number when you tell me the result."
struct PingRequest {
    std::uint64_t nonce = 0;
    gossip::MemberId target;
    friend bool operator==(const PingRequest&, const PingRequest&) = default;
};

/// Whether the target of a PingRequest answered; the type of the message says which of the two.
struct IndirectAnswer {
    std::uint64_t nonce = 0;
    friend bool operator==(const IndirectAnswer&, const IndirectAnswer&) = default;
};

/// What a member says about another one or about itself.
struct MemberUpdate {
    gossip::MemberId id;
    MemberState state = MemberState::alive;
    MemberFlags flags;
    std::uint64_t counter = 0;
    gossip::Incarnation by = 0;  // the member that suspects it; only in a suspicion
    friend bool operator==(const MemberUpdate&, const MemberUpdate&) = default;
};

/// "Send me a page of your list of live members: those that come after `after`, in the order of
/// addresses."
struct MemberListAsk {
    Endpoint after;
    friend bool operator==(const MemberListAsk&, const MemberListAsk&) = default;
};

/// The page that a MemberListAsk asks for.
struct MemberList {
    bool more = false;  // further pages follow this one
    std::vector<MemberUpdate> members;
    friend bool operator==(const MemberList&, const MemberList&) = default;
};

/// "We have given you up": the receiver must take a new incarnation.
struct Obituary {
    gossip::Incarnation dead = 0;
    friend bool operator==(const Obituary&, const Obituary&) = default;
};

/// The largest size of an encoded update, in bytes, with its length.
inline constexpr std::size_t kMaximumUpdate = 1 + 1 + 1 + 19 + 8 + 10 + 8;
/// The size of a ping without padding, with its frame.
inline constexpr std::size_t kBarePing = gossip::kMessageOverhead + 8 + 8;
/// The least number of bytes that a datagram has besides a bare ping, as other messages or as
/// padding. With them, an answer with the longest address, sequence and counter still fits into the
/// size of the shortest ping.
inline constexpr std::uint16_t kPingPadding = 40;

void encode(ByteWriter& writer, const Ping& ping);
void encode(ByteWriter& writer, const PingAnswer& answer);
void encode(ByteWriter& writer, const PingRequest& request);
void encode(ByteWriter& writer, const IndirectAnswer& answer);
/// Writes a record, as all entries are.
void encode(ByteWriter& writer, const MemberUpdate& update);
/// Writes a message of these updates: its empty head and a record for each.
void encode(ByteWriter& writer, std::span<const MemberUpdate> updates);
[[nodiscard]] std::size_t encoded_size(const MemberUpdate& update);
void encode(ByteWriter& writer, const MemberListAsk& ask);
void encode(ByteWriter& writer, const MemberList& list);
void encode(ByteWriter& writer, const Obituary& obituary);

/// Each of these functions reads one value. The reader is not ok() afterwards if the value was
/// malformed: too short, or with an incarnation 0, a port 0 or an unknown state where these are not
/// allowed.
[[nodiscard]] Ping decode_ping(ByteReader& reader);
[[nodiscard]] PingAnswer decode_answer(ByteReader& reader);
[[nodiscard]] PingRequest decode_ping_request(ByteReader& reader);
[[nodiscard]] IndirectAnswer decode_indirect_answer(ByteReader& reader);
[[nodiscard]] MemberUpdate decode_member_update(ByteReader& reader);
[[nodiscard]] MemberListAsk decode_member_list_ask(ByteReader& reader);
[[nodiscard]] MemberList decode_member_list(ByteReader& reader);
[[nodiscard]] Obituary decode_obituary(ByteReader& reader);

}  // namespace weir::membership

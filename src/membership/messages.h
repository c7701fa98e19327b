#pragma once
// The payloads of membership's messages: plain values, their encoding and bounded decoding.
// docs/protocol.md describes each byte. Pure functions, thread-safe.

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "gossip/wire.h"
#include "membership/member.h"

namespace weir::membership {

/// `digest` is a hash of the sender's list of live members; 0 in pings without receiver.
struct Ping {
    std::uint64_t nonce = 0;
    std::uint64_t digest = 0;
    std::uint16_t padding = 0;  // zero bytes behind it, so that the answer is never larger
    friend bool operator==(const Ping&, const Ping&) = default;
};

struct Answer {
    std::uint64_t nonce = 0;
    std::uint64_t digest = 0;
    MemberFlags flags;
    std::uint64_t counter = 0;
    friend bool operator==(const Answer&, const Answer&) = default;
};

/// "Ping `target` for me and tell me under this nonce."
struct PingRequest {
    std::uint64_t nonce = 0;
    gossip::MemberId target;
    friend bool operator==(const PingRequest&, const PingRequest&) = default;
};

/// Success and failure of such a favour.
struct IndirectAnswer {
    std::uint64_t nonce = 0;
    friend bool operator==(const IndirectAnswer&, const IndirectAnswer&) = default;
};

/// What one member says of another (or of itself). `by` is who suspects, for suspicions only.
struct MemberUpdate {
    gossip::MemberId id;
    MemberState state = MemberState::alive;
    MemberFlags flags;
    std::uint64_t counter = 0;
    gossip::Incarnation by = 0;
    friend bool operator==(const MemberUpdate&, const MemberUpdate&) = default;
};

/// A page of the list of live members: those behind `after`, in the order of addresses.
struct MemberListAsk {
    Endpoint after;
    friend bool operator==(const MemberListAsk&, const MemberListAsk&) = default;
};

struct MemberList {
    bool more = false;
    std::vector<MemberUpdate> members;
    friend bool operator==(const MemberList&, const MemberList&) = default;
};

struct Obituary {
    gossip::Incarnation dead = 0;
    friend bool operator==(const Obituary&, const Obituary&) = default;
};

inline constexpr std::size_t kMaximumUpdate = 1 + 1 + 19 + 8 + 10 + 8;

void encode(ByteWriter& writer, const Ping& ping);
void encode(ByteWriter& writer, const Answer& answer);
void encode(ByteWriter& writer, const PingRequest& request);
void encode(ByteWriter& writer, const IndirectAnswer& answer);
void encode(ByteWriter& writer, const MemberUpdate& update);
[[nodiscard]] std::size_t encoded_size(const MemberUpdate& update);
void encode(ByteWriter& writer, const MemberListAsk& ask);
void encode(ByteWriter& writer, const MemberList& list);
void encode(ByteWriter& writer, const Obituary& obituary);

/// Each reads one value; reader.ok() tells whether it was well-formed.
[[nodiscard]] Ping decode_ping(ByteReader& reader);
[[nodiscard]] Answer decode_answer(ByteReader& reader);
[[nodiscard]] PingRequest decode_ping_request(ByteReader& reader);
[[nodiscard]] IndirectAnswer decode_indirect_answer(ByteReader& reader);
[[nodiscard]] MemberUpdate decode_member_update(ByteReader& reader);
[[nodiscard]] MemberListAsk decode_member_list_ask(ByteReader& reader);
[[nodiscard]] MemberList decode_member_list(ByteReader& reader);
[[nodiscard]] Obituary decode_obituary(ByteReader& reader);

}  // namespace weir::membership

#pragma once
// The framing of the protocol: a clear header, the envelope inside the seal, and messages of type,
// length and payload. docs/protocol.md describes each byte. Pure functions, thread-safe. Views
// point into the caller's buffer.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "gossip/member_id.h"

namespace weir::gossip {

/// The largest size of a datagram in bytes: the least size of packets that every IPv6 link carries,
/// 1,280 bytes, less the IPv6 and UDP headers.
inline constexpr std::size_t kMaximumDatagram = 1232;
inline constexpr std::uint8_t kProtocolVersion = 2;

/// Message types. Never renumber; a receiver skips those that it does not know.
enum class MessageType : std::uint8_t {
    // membership
    ping = 1,
    answer = 2,
    ping_request = 3,      // "please ping this member for me"
    indirect_answer = 4,   // "it has answered me"
    indirect_failure = 5,  // "it has not answered me"
    member_updates = 6,
    member_list_ask = 7,
    member_list = 8,
    obituary = 9,  // "we have given you up": the receiver takes a new incarnation
    hints = 10,    // the hottest limits that shed, see sync/counter_exchange.h
    clock = 13,    // the sender's wall clock, see sync/fleet_clock.h
    // counters, see sync/messages.h
    delta = 16,
    total = 17,
    handover = 18,
    name_ask = 19,
    name_tell = 20,
    owner_ask = 21,         // a process that was stopped, or a new owner, asks to be filled
    delta_answer = 22,      // totals for the limits of a delta message, in its order
    quiet = 23,             // what origins admitted under quiet limits
    quiet_answer = 24,      // which entries of a quiet message have been taken in, and where
    quiet_order = 25,       // an owner wakes a quiet limit, or lets one fall quiet
    child_rates = 26,       // what an origin was offered for the children of a shedding parent
    child_totals = 27,      // the answer: what the fleet was offered for them
    allowance_report = 28,  // what an origin has in flight, and how much it wants
    allowance_grant = 29,   // how many requests an origin may have in flight
    window_report = 30,     // what a run has admitted in a window, and how much it wants
    window_grant = 31,      // the answer: noted, or how much it may admit
    // definitions, see definitions/messages.h
    definition_digest = 32,
    definition_push = 33,
    definition_acknowledge = 34,
    definition_partition_ask = 35,
    definition_partition = 36,
    document_ask = 37,
    document_page = 38,
    set_count = 39,
};

/// "ping", "delta" …, or "unknown": the label of weir_gossip_packets_total{type}.
[[nodiscard]] std::string_view to_string(MessageType type);
[[nodiscard]] bool is_known(MessageType type);

/// The kinds of traffic. Each has a budget of its own, so that much traffic of one kind never
/// starves another.
enum class Lane : std::uint8_t { membership, counters, definitions };
inline constexpr std::size_t kLanes = 3;
[[nodiscard]] Lane lane_of(MessageType type);

/// The part of every datagram that stands before its messages. All of it but the clock is inside
/// the seal.
struct Envelope {
    std::uint32_t cluster = 0;  // cluster_tag() of the cluster's name
    MemberId sender;
    Incarnation receiver = 0;  // 0: the sender does not know it, which only a lone ping may say
    std::uint64_t sequence = 0;
    /// The sender's monotonic clock, microseconds. It stands before the seal (Sealer::seal()).
    std::uint64_t sent_at_us = 0;
    // A record for fields of later versions follows, which this one leaves empty.
    friend bool operator==(const Envelope&, const Envelope&) = default;
};

/// A number that tells clusters apart that share a key. It is not secret.
[[nodiscard]] std::uint32_t cluster_tag(std::string_view name);

inline constexpr std::size_t kMaximumEnvelope = 4 + 19 + 8 + 8 + 10 + 1;
/// The number of bytes that everybody can read, that of the random number and the tag around the
/// sealed content, and the number that is left for messages with the largest envelope.
inline constexpr std::size_t kClearHeader = 16;
inline constexpr std::size_t kSealOverhead = 8 + 16;
/// What a datagram has beside its body, at most.
inline constexpr std::size_t kDatagramOverhead = kClearHeader + kSealOverhead + kMaximumEnvelope;
inline constexpr std::size_t kMaximumBody =
    kMaximumDatagram - kClearHeader - kSealOverhead - kMaximumEnvelope;
/// The bytes of type and length in front of a payload of at most kMaximumPayload bytes.
inline constexpr std::size_t kMessageOverhead = 3;
inline constexpr std::size_t kMaximumPayload = kMaximumBody - kMessageOverhead;

void encode(ByteWriter& writer, const Endpoint& endpoint);
[[nodiscard]] Endpoint decode_endpoint(ByteReader& reader);

void encode(ByteWriter& writer, const Envelope& envelope);
/// Reads an envelope, without the clock. The reader is not ok() afterwards if it was malformed;
/// otherwise the messages remain in the reader.
[[nodiscard]] Envelope decode_envelope(ByteReader& reader);

struct Message {
    MessageType type{};
    ByteSpan payload;
};

void write_message(ByteWriter& writer, MessageType type, ByteSpan payload);
[[nodiscard]] std::size_t message_size(std::size_t payload_size);
/// The next message, of a known or unknown type; nothing at the end. Fails the reader when the
/// message claims to be longer than the bytes that remain.
[[nodiscard]] std::optional<Message> next_message(ByteReader& reader);
/// Whether the bytes are at least one whole message, and nothing but whole messages.
[[nodiscard]] bool well_framed(ByteSpan body);

/// Takes the messages that parts of the protocol want to send. membership::Transport is one, and
/// tests have others.
class MessageSink {
  public:
    virtual ~MessageSink() = default;
    /// False when the message was dropped and counted, because the receiver is no live member, the
    /// message is too large, or too much waits already. The payload is copied.
    virtual bool send(const MemberId& to, MessageType type, ByteSpan payload) = 0;
};

}  // namespace weir::gossip

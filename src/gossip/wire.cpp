#include "gossip/wire.h"

#include <algorithm>

#include "base/hash.h"
#include "base/records.h"

namespace weir::gossip {
namespace {

constexpr std::uint8_t kIpv4 = 4;
constexpr std::uint8_t kIpv6 = 6;

/// Constants of the protocol version: "weir cluster tag".
constexpr HashKey kClusterKey{{std::byte{'w'}, std::byte{'e'}, std::byte{'i'}, std::byte{'r'},
                               std::byte{' '}, std::byte{'c'}, std::byte{'l'}, std::byte{'u'},
                               std::byte{'s'}, std::byte{'t'}, std::byte{'e'}, std::byte{'r'},
                               std::byte{' '}, std::byte{'t'}, std::byte{'a'}, std::byte{'g'}}};

std::size_t varint_size(std::size_t value) {
    std::size_t size = 1;
    for (; value >= 0x80; value >>= 7) {
        ++size;
    }
    return size;
}

/// The names of the messages about definitions.
std::string_view name_of_definitions(MessageType type) {
    switch (type) {
        case MessageType::definition_digest:
            return "definition_digest";
        case MessageType::definition_push:
            return "definition_push";
        case MessageType::definition_acknowledge:
            return "definition_acknowledge";
        case MessageType::definition_partition_ask:
            return "definition_partition_ask";
        case MessageType::definition_partition:
            return "definition_partition";
        case MessageType::document_ask:
            return "document_ask";
        case MessageType::document_page:
            return "document_page";
        case MessageType::set_count:
            return "set_count";
        default:
            return "unknown";
    }
}

/// The names of the messages of counters.
std::string_view name_of_counters(MessageType type) {
    switch (type) {
        case MessageType::delta:
            return "delta";
        case MessageType::total:
            return "total";
        case MessageType::handover:
            return "handover";
        case MessageType::name_ask:
            return "name_ask";
        case MessageType::name_tell:
            return "name_tell";
        case MessageType::owner_ask:
            return "owner_ask";
        case MessageType::delta_answer:
            return "delta_answer";
        case MessageType::quiet:
            return "quiet";
        case MessageType::quiet_answer:
            return "quiet_answer";
        case MessageType::quiet_order:
            return "quiet_order";
        case MessageType::child_rates:
            return "child_rates";
        case MessageType::child_totals:
            return "child_totals";
        case MessageType::allowance_report:
            return "allowance_report";
        case MessageType::allowance_grant:
            return "allowance_grant";
        case MessageType::window_report:
            return "window_report";
        case MessageType::window_grant:
            return "window_grant";
        default:
            return "unknown";
    }
}

}  // namespace

std::string_view to_string(MessageType type) {
    switch (type) {
        case MessageType::ping:
            return "ping";
        case MessageType::answer:
            return "answer";
        case MessageType::ping_request:
            return "ping_request";
        case MessageType::indirect_answer:
            return "indirect_answer";
        case MessageType::indirect_failure:
            return "indirect_failure";
        case MessageType::member_updates:
            return "member_updates";
        case MessageType::member_list_ask:
            return "member_list_ask";
        case MessageType::member_list:
            return "member_list";
        case MessageType::obituary:
            return "obituary";
        case MessageType::hints:
            return "hints";
        case MessageType::clock:
            return "clock";
        case MessageType::delta:
        case MessageType::total:
        case MessageType::handover:
        case MessageType::name_ask:
        case MessageType::name_tell:
        case MessageType::owner_ask:
        case MessageType::delta_answer:
        case MessageType::quiet:
        case MessageType::quiet_answer:
        case MessageType::quiet_order:
        case MessageType::child_rates:
        case MessageType::child_totals:
        case MessageType::allowance_report:
        case MessageType::allowance_grant:
        case MessageType::window_report:
        case MessageType::window_grant:
            return name_of_counters(type);
        case MessageType::definition_digest:
        case MessageType::definition_push:
        case MessageType::definition_acknowledge:
        case MessageType::definition_partition_ask:
        case MessageType::definition_partition:
        case MessageType::document_ask:
        case MessageType::document_page:
        case MessageType::set_count:
            return name_of_definitions(type);
    }
    return "unknown";
}

bool is_known(MessageType type) { return to_string(type) != "unknown"; }

Lane lane_of(MessageType type) {
    const auto number = static_cast<std::uint8_t>(type);
    if (type == MessageType::clock) {
        return Lane::counters;  // membership has no use for it; the numbers of counters are used up
    }
    if (number < 16) {
        return Lane::membership;
    }
    return number < 32 ? Lane::counters : Lane::definitions;
}

std::uint32_t cluster_tag(std::string_view name) {
    return static_cast<std::uint32_t>(keyed_hash(name, kClusterKey));
}

void encode(ByteWriter& writer, const Endpoint& endpoint) {
    const auto address = std::as_bytes(std::span(endpoint.address));
    if (endpoint.is_v4()) {
        writer.u8(kIpv4);
        writer.bytes(address.last(4));
    } else {
        writer.u8(kIpv6);
        writer.bytes(address);
    }
    writer.u16(endpoint.port);
}

Endpoint decode_endpoint(ByteReader& reader) {
    Endpoint endpoint;
    const std::uint8_t family = reader.u8();
    if (family == kIpv4) {
        const std::uint32_t address = reader.u32();
        const std::uint16_t port = reader.u16();
        return reader.ok() ? Endpoint::v4(address, port) : endpoint;
    }
    if (family != kIpv6) {
        reader.fail();
        return endpoint;
    }
    const ByteSpan address = reader.bytes(endpoint.address.size());
    std::transform(address.begin(), address.end(), endpoint.address.begin(),
                   [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
    endpoint.port = reader.u16();
    if (endpoint.is_v4()) {
        reader.fail();  // each address has only one encoding
    }
    return reader.ok() ? endpoint : Endpoint{};
}

void encode(ByteWriter& writer, const Envelope& envelope) {
    writer.u32(envelope.cluster);
    encode(writer, envelope.sender.address);
    writer.u64(envelope.sender.incarnation);
    writer.u64(envelope.receiver);
    writer.varint(envelope.sequence);
    const RecordWriter later(writer);
}

Envelope decode_envelope(ByteReader& reader) {
    Envelope envelope;
    envelope.cluster = reader.u32();
    envelope.sender.address = decode_endpoint(reader);
    envelope.sender.incarnation = reader.u64();
    envelope.receiver = reader.u64();
    envelope.sequence = reader.varint();
    const RecordReader later(reader);
    if (envelope.sender.incarnation == 0) {
        reader.fail();
    }
    return envelope;
}

void write_message(ByteWriter& writer, MessageType type, ByteSpan payload) {
    writer.u8(static_cast<std::uint8_t>(type));
    writer.varint(payload.size());
    writer.bytes(payload);
}

std::size_t message_size(std::size_t payload_size) {
    return 1 + varint_size(payload_size) + payload_size;
}

std::optional<Message> next_message(ByteReader& reader) {
    if (!reader.ok() || reader.remaining() == 0) {
        return std::nullopt;
    }
    Message message;
    message.type = static_cast<MessageType>(reader.u8());
    const std::uint64_t length = reader.varint();
    if (length > reader.remaining()) {
        reader.fail();
        return std::nullopt;
    }
    message.payload = reader.bytes(static_cast<std::size_t>(length));
    return reader.ok() ? std::optional(message) : std::nullopt;
}

bool well_framed(ByteSpan body) {
    ByteReader reader(body);
    bool any = false;
    while (next_message(reader)) {
        any = true;
    }
    return any && reader.ok();
}

}  // namespace weir::gossip

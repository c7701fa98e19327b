#include "membership/messages.h"

#include <array>

#include "base/assert.h"
#include "base/records.h"

namespace weir::membership {
namespace {

constexpr std::uint8_t kFlagAnchor = 1;
constexpr std::uint8_t kFlagLeaving = 2;
constexpr std::uint8_t kFlagsKnown = kFlagAnchor | kFlagLeaving;

void encode_member_id(ByteWriter& writer, const gossip::MemberId& id) {
    gossip::encode(writer, id.address);
    writer.u64(id.incarnation);
}

gossip::MemberId decode_member_id(ByteReader& reader) {
    gossip::MemberId id;
    id.address = gossip::decode_endpoint(reader);
    id.incarnation = reader.u64();
    if (id.incarnation == 0 || id.address.port == 0) {
        reader.fail();
    }
    return id;
}

std::uint8_t to_bits(MemberFlags flags) {
    return static_cast<std::uint8_t>((flags.anchor ? kFlagAnchor : 0) |
                                     (flags.leaving ? kFlagLeaving : 0));
}

/// Bits of later versions are ignored.
MemberFlags from_bits(std::uint8_t bits) {
    const auto known = static_cast<std::uint8_t>(bits & kFlagsKnown);
    return {(known & kFlagAnchor) != 0, (known & kFlagLeaving) != 0};
}

}  // namespace

void encode(ByteWriter& writer, const Ping& ping) {
    writer.u64(ping.nonce);
    writer.u64(ping.digest);
    for (std::uint16_t i = 0; i < ping.padding; ++i) {
        writer.u8(0);
    }
}

Ping decode_ping(ByteReader& reader) {
    Ping ping;
    ping.nonce = reader.u64();
    ping.digest = reader.u64();
    if (reader.remaining() > gossip::kMaximumDatagram) {
        reader.fail();
        return ping;
    }
    ping.padding = static_cast<std::uint16_t>(reader.remaining());
    reader.bytes(reader.remaining());
    return ping;
}

void encode(ByteWriter& writer, const PingAnswer& answer) {
    writer.u64(answer.nonce);
    writer.u64(answer.digest);
    writer.u8(to_bits(answer.flags));
    writer.varint(answer.counter);
}

PingAnswer decode_answer(ByteReader& reader) {
    PingAnswer answer;
    answer.nonce = reader.u64();
    answer.digest = reader.u64();
    answer.flags = from_bits(reader.u8());
    answer.counter = reader.varint();
    return answer;
}

void encode(ByteWriter& writer, const PingRequest& request) {
    writer.u64(request.nonce);
    encode_member_id(writer, request.target);
}

PingRequest decode_ping_request(ByteReader& reader) {
    PingRequest request;
    request.nonce = reader.u64();
    request.target = decode_member_id(reader);
    return request;
}

void encode(ByteWriter& writer, const IndirectAnswer& answer) { writer.u64(answer.nonce); }

IndirectAnswer decode_indirect_answer(ByteReader& reader) { return {reader.u64()}; }

void encode(ByteWriter& writer, const MemberUpdate& update) {
    const RecordWriter record(writer);
    writer.u8(static_cast<std::uint8_t>(update.state));
    writer.u8(to_bits(update.flags));
    encode_member_id(writer, update.id);
    writer.varint(update.counter);
    if (update.state == MemberState::suspect) {
        writer.u64(update.by);
    }
}

void encode(ByteWriter& writer, std::span<const MemberUpdate> updates) {
    write_empty_head(writer);
    for (const MemberUpdate& update : updates) {
        encode(writer, update);
    }
}

std::size_t encoded_size(const MemberUpdate& update) {
    std::array<std::byte, kMaximumUpdate> buffer;
    ByteWriter writer(buffer);
    encode(writer, update);
    WEIR_ASSERT(writer.ok());
    return writer.size();
}

MemberUpdate decode_member_update(ByteReader& outer) {
    MemberUpdate update;
    RecordReader record(outer);
    ByteReader& reader = record.fields();
    const std::uint8_t state = reader.u8();
    if (state >= kMemberStates) {
        reader.fail();
        return update;
    }
    update.state = static_cast<MemberState>(state);
    update.flags = from_bits(reader.u8());
    update.id = decode_member_id(reader);
    update.counter = reader.varint();
    if (update.state == MemberState::suspect) {
        update.by = reader.u64();
    }
    return update;
}

void encode(ByteWriter& writer, const MemberListAsk& ask) { gossip::encode(writer, ask.after); }

MemberListAsk decode_member_list_ask(ByteReader& reader) {
    return {gossip::decode_endpoint(reader)};
}

void encode(ByteWriter& writer, const MemberList& list) {
    {
        const RecordWriter head(writer);
        writer.u8(list.more ? 1 : 0);
    }
    for (const MemberUpdate& member : list.members) {
        encode(writer, member);
    }
}

MemberList decode_member_list(ByteReader& reader) {
    MemberList list;
    list.more = RecordReader(reader).fields().u8() != 0;
    while (reader.ok() && reader.remaining() > 0) {
        list.members.push_back(decode_member_update(reader));
    }
    return list;
}

void encode(ByteWriter& writer, const Obituary& obituary) { writer.u64(obituary.dead); }

Obituary decode_obituary(ByteReader& reader) { return {reader.u64()}; }

}  // namespace weir::membership

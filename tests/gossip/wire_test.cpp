// Framing and envelope: round trips, and nothing read beyond the input.
#include "gossip/wire.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>

#include "gossip/rejection.h"
#include "gossip/round_trip.h"

namespace weir::gossip {
namespace {

using test::arbitrary_bytes;
using test::arbitrary_id;
using test::hex_of;
using test::round_trip;

TEST_CASE("the envelope survives the way over the wire") {
    CHECK(rc::check([] {
        const Envelope envelope{*rc::gen::arbitrary<std::uint32_t>(), arbitrary_id(),
                                *rc::gen::arbitrary<std::uint64_t>(),
                                *rc::gen::arbitrary<std::uint64_t>()};
        round_trip(envelope, decode_envelope);
        std::array<std::byte, kMaximumEnvelope> buffer{};
        ByteWriter writer(buffer);
        encode(writer, envelope);
        RC_ASSERT(writer.ok());
    }));
}

// Put together by hand from docs/protocol.md: what reads what it has itself written may have
// changed both, and members of several versions talk to each other.
TEST_CASE("the bytes of the envelope are those of the protocol") {
    const MemberId member{Endpoint::v4(0x0a000001, 7946), 0x1122334455667788};
    const std::string wired = "040a0000011f0a1122334455667788";
    CHECK(hex_of(Envelope{0xaabbccdd, member, 0x99, 300, 5}) ==
          "aabbccdd" + wired + "0000000000000099" + "ac02" + "00");
}

TEST_CASE("each type of message has its lane") {
    for (int number = 0; number < 256; ++number) {
        const auto type = static_cast<MessageType>(number);
        const bool clock = type == MessageType::clock;  // its lane is not that of its number
        const Lane lane = clock         ? Lane::counters
                          : number < 16 ? Lane::membership
                          : number < 32 ? Lane::counters
                                        : Lane::definitions;
        CHECK(lane_of(type) == lane);
    }
}

TEST_CASE("an envelope without sender is refused") {
    std::array<std::byte, kMaximumEnvelope> buffer{};
    ByteWriter writer(buffer);
    encode(writer, Envelope{1, {Endpoint::v4(1, 1), 0}, 2, 3, 4});
    ByteReader reader(writer.written());
    (void)decode_envelope(reader);
    CHECK_FALSE(reader.ok());
}

TEST_CASE("an IPv4 address has one spelling, and unknown families are refused") {
    std::array<std::byte, 32> buffer{};
    ByteWriter writer(buffer);
    writer.u8(6);
    const Endpoint v4 = Endpoint::v4(7, 7);
    writer.bytes(std::as_bytes(std::span(v4.address)));
    writer.u16(7);
    ByteReader disguised(writer.written());
    (void)decode_endpoint(disguised);
    CHECK_FALSE(disguised.ok());
    buffer[0] = std::byte{5};
    ByteReader unknown(writer.written());
    (void)decode_endpoint(unknown);
    CHECK_FALSE(unknown.ok());
}

TEST_CASE("random bytes never harm the decoder of the envelope") {
    CHECK(rc::check([] {
        const std::vector<std::byte> bytes = arbitrary_bytes(200);
        const auto feed = [&](auto decode) {
            ByteReader reader(bytes);
            (void)decode(reader);
        };
        feed(decode_envelope);
        (void)well_framed(bytes);
    }));
}

TEST_CASE("messages are framed by type and length, and unknown types are skipped") {
    std::array<std::byte, 64> buffer{};
    ByteWriter writer(buffer);
    write_message(writer, static_cast<MessageType>(200), as_bytes("later"));
    write_message(writer, MessageType::obituary, as_bytes("12345678"));
    CHECK(writer.size() == message_size(5) + message_size(8));
    CHECK(message_size(127) == 129);
    CHECK(message_size(128) == 131);
    CHECK(well_framed(writer.written()));
    ByteReader reader(writer.written());
    const auto unknown = next_message(reader);
    REQUIRE(unknown);
    CHECK_FALSE(is_known(unknown->type));
    const auto known = next_message(reader);
    REQUIRE(known);
    CHECK(known->type == MessageType::obituary);
    CHECK(as_text(known->payload) == "12345678");
    CHECK_FALSE(next_message(reader));
    CHECK(reader.ok());
}

TEST_CASE("a length that lies upwards is refused") {
    std::array<std::byte, 8> buffer{std::byte{1}, std::byte{7}};
    CHECK_FALSE(well_framed(buffer));
    buffer[1] = std::byte{6};
    CHECK(well_framed(buffer));
    CHECK_FALSE(well_framed({}));
}

TEST_CASE("names of types and reasons are distinct") {
    std::set<std::string_view> types;
    for (int i = 0; i < 64; ++i) {
        if (is_known(static_cast<MessageType>(i))) {
            types.insert(to_string(static_cast<MessageType>(i)));
        }
    }
    CHECK(types.size() == 35);
    std::set<std::string_view> reasons;
    for (std::size_t i = 0; i < kRejections; ++i) {
        reasons.insert(to_string(static_cast<DatagramRejection>(i)));
    }
    CHECK(reasons.size() == kRejections);
    CHECK_FALSE(reasons.contains(""));
}

}  // namespace
}  // namespace weir::gossip

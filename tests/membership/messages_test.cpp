// The codecs of membership's messages: round trips, and nothing read beyond the input.
#include "membership/messages.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "gossip/round_trip.h"

namespace weir::membership {
namespace {

using gossip::MemberId;
using gossip::test::arbitrary_bytes;
using gossip::test::arbitrary_endpoint;
using gossip::test::arbitrary_id;
using gossip::test::hex_of;
using gossip::test::round_trip;

// Put together by hand from docs/protocol.md: what reads what it has itself written may have
// changed both, and members of several versions talk to each other.
TEST_CASE("the bytes of membership's messages are those of the protocol") {
    const MemberId member{Endpoint::v4(0x0a000001, 7946), 0x1122334455667788};
    const std::string wired = "040a0000011f0a1122334455667788";
    const std::string one = "0000000000000001";
    const std::string two = "0000000000000002";
    CHECK(hex_of(Ping{1, 2, 3}) == one + two + "000000");
    CHECK(hex_of(PingAnswer{1, 2, {.anchor = true, .leaving = false}, 300}) ==
          one + two + "01ac02");
    CHECK(hex_of(PingRequest{1, member}) == one + wired);
    CHECK(hex_of(IndirectAnswer{2}) == two);
    CHECK(hex_of(Obituary{2}) == two);
    CHECK(hex_of(MemberUpdate{member, MemberState::suspect, {true, true}, 300, 2}) ==
          "1b0103" + wired + "ac02" + two);
    CHECK(hex_of(MemberListAsk{}) == "06" + std::string(32, '0') + "0000");
    const MemberUpdate left{member, MemberState::left, {false, true}, 0, 0};
    CHECK(hex_of(MemberList{true, {left}}) == "0101120302" + wired + "00");
}

TEST_CASE("membership's messages survive the way over the wire") {
    CHECK(rc::check([] {
        const auto number = [] { return *rc::gen::arbitrary<std::uint64_t>(); };
        const auto flags = [] {
            return MemberFlags{*rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>()};
        };
        MemberUpdate update{arbitrary_id(), static_cast<MemberState>(*rc::gen::inRange(0, 5)),
                            flags(), number(), 0};
        update.by = update.state == MemberState::suspect ? number() : 0;
        round_trip(Ping{number(), number(), *rc::gen::inRange<std::uint16_t>(0, 64)}, decode_ping);
        round_trip(PingAnswer{number(), number(), flags(), number()}, decode_answer);
        round_trip(PingRequest{number(), arbitrary_id()}, decode_ping_request);
        round_trip(IndirectAnswer{number()}, decode_indirect_answer);
        round_trip(update, decode_member_update);
        round_trip(MemberListAsk{arbitrary_endpoint()}, decode_member_list_ask);
        round_trip(Obituary{number()}, decode_obituary);
        MemberList list{*rc::gen::arbitrary<bool>(), {}};
        list.members.assign(*rc::gen::inRange<std::size_t>(0, 20), update);
        round_trip(list, decode_member_list);
    }));
}

TEST_CASE("an update without member is refused") {
    for (const MemberId& id : {MemberId{Endpoint::v4(1, 1), 0}, MemberId{Endpoint::v4(1, 0), 1}}) {
        std::array<std::byte, kMaximumUpdate> buffer{};
        ByteWriter writer(buffer);
        encode(writer, MemberUpdate{id, MemberState::alive, {}, 0, 0});
        ByteReader reader(writer.written());
        (void)decode_member_update(reader);
        CHECK_FALSE(reader.ok());
    }
}

TEST_CASE("an update with a state that there is not is refused") {
    for (const int state : {5, 6, 255}) {
        std::array<std::byte, kMaximumUpdate> buffer{};
        ByteWriter writer(buffer);
        encode(writer,
               MemberUpdate{{Endpoint::v4(1, 1), 1}, static_cast<MemberState>(state), {}, 0, 0});
        ByteReader reader(writer.written());
        (void)decode_member_update(reader);
        CHECK_FALSE(reader.ok());
    }
}

TEST_CASE("random bytes never harm a decoder of membership's messages") {
    CHECK(rc::check([] {
        const std::vector<std::byte> bytes = arbitrary_bytes(200);
        const auto feed = [&](auto decode) {
            ByteReader reader(bytes);
            (void)decode(reader);
        };
        feed(decode_ping);
        feed(decode_answer);
        feed(decode_ping_request);
        feed(decode_member_update);
        feed(decode_member_list);
        feed(decode_member_list_ask);
    }));
}

}  // namespace
}  // namespace weir::membership

// What a transport answers to those whom it does not know, and how little of it. Robustness 49.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "membership/transport.h"
#include "membership/transport_pair.h"

namespace weir::membership {
namespace {

using namespace test;

TEST_CASE("robustness 49: answers to those not known grow with the fleet, up to a limit") {
    for (const std::size_t members : {0U, 300U, 4000U}) {
        CAPTURE(members);
        Pair pair;
        invent_members(pair, members);
        const auto ping = open_ping(pair);
        pair.world.run(1s);  // the bucket of answers fills
        const std::size_t live = pair.target().membership().live_count();
        std::size_t answers = 0;
        for (int i = 0; i < 4000; ++i) {
            const std::uint64_t before = pair.count(gossip::DatagramRejection::ping_limit);
            (void)pair.target().receive(ping, Endpoint::v4(0x01020304, 53), pair.world.now());
            answers += pair.count(gossip::DatagramRejection::ping_limit) == before ? 1U : 0U;
        }
        CHECK(answers <= std::min<std::size_t>(500, 200 + 2 * live));
        CHECK(answers >= std::min<std::size_t>(500, 200 + 2 * live) * 9 / 10);
    }
}

/// The messages of a datagram that the pair's target sent.
std::vector<gossip::MessageType> messages_of(ByteSpan datagram) {
    const std::vector<gossip::Key> keys{test_key(1)};
    gossip::SeededNonces nonces{Random(1)};
    gossip::Sealer sealer(keys, nonces);
    const gossip::Sealer::Opened opened = sealer.open(datagram);
    REQUIRE(!opened.rejection);
    ByteReader reader(opened.content);
    (void)gossip::decode_envelope(reader);
    std::vector<gossip::MessageType> types;
    while (const auto message = gossip::next_message(reader)) {
        types.push_back(message->type);
    }
    return types;
}

TEST_CASE("who asks without being known is asked back in the answer, within the ping's size") {
    Pair pair;
    (void)pair.target().flush(pair.world.now());
    const auto ping = open_ping(pair);
    using Types = std::vector<gossip::MessageType>;
    const auto answered_to = [&](const Endpoint& from) {
        (void)pair.target().receive(ping, from, pair.world.now());
        const auto sent = pair.target().flush(pair.world.now());
        REQUIRE(sent.size() == 1);
        CHECK(sent[0].to == from);
        CHECK(sent[0].bytes.size() <= ping.size());
        return messages_of(sent[0].bytes);
    };
    // Not where the ping came from another address than it claims.
    CHECK(answered_to(Endpoint::v4(0x01020304, 53)) == Types{gossip::MessageType::answer});
    const Types both{gossip::MessageType::answer, gossip::MessageType::ping};
    CHECK(answered_to(address_of(66)) == both);
    // An address is asked once in 200 ms.
    CHECK(answered_to(address_of(66)) == Types{gossip::MessageType::answer});
    pair.world.run(300ms);
    (void)pair.target().flush(pair.world.now());
    CHECK(answered_to(address_of(66)) == both);
    CHECK(pair.target().membership().live_count() == 1);
}

TEST_CASE("captured pings of many leave half of all challenges to others") {
    Pair pair;
    (void)pair.target().flush(pair.world.now());
    std::size_t asked_back = 0;
    for (std::size_t i = 0; i < 150; ++i) {
        const Endpoint from = address_of(1000 + i);
        (void)pair.target().receive(open_ping(pair, from), from, pair.world.now());
        for (const auto& sent : pair.target().flush(pair.world.now())) {
            asked_back += messages_of(sent.bytes).size() == 2 ? 1U : 0U;
        }
    }
    CHECK(asked_back == 32);  // of 64
    // Somebody unknown who names our incarnation is asked all the same.
    gossip::Envelope stranger = pair.envelope();
    stranger.sender.address = address_of(77);
    pair.give(pair.sealed(stranger, pair.message(gossip::MessageType::delta, "x")));
    CHECK(pair.target().flush(pair.world.now()).size() == 1);
}

TEST_CASE("answers to those not known leave bytes to members") {
    Pair pair;
    invent_members(pair, 300);
    pair.world.run(1s);
    (void)pair.target().flush(pair.world.now());
    // Lists use up their half of the burst, and pings of strangers what they may of the rest.
    std::array<std::byte, 32> payload{};
    ByteWriter writer(payload);
    encode(writer, MemberListAsk{});
    const auto ask = pair.message(gossip::MessageType::member_list_ask, as_text(writer.written()));
    for (int i = 0; i < 100; ++i) {
        pair.give(pair.sealed(pair.envelope(), ask));
        (void)pair.target().flush(pair.world.now());
    }
    const auto ping_of_member = [&pair] {
        std::array<std::byte, 128> members{};
        ByteWriter of_member(members);
        encode(of_member, Ping{43, 0, 40});
        pair.give(pair.sealed(pair.envelope(), pair.message(gossip::MessageType::ping,
                                                            as_text(of_member.written()))));
        return pair.target().flush(pair.world.now()).size();
    };
    for (int i = 0; i < 100; ++i) {
        CHECK(ping_of_member() == 1);
    }
    const auto ping = open_ping(pair);
    std::size_t answers = 0;
    for (int i = 0; i < 1000; ++i) {
        (void)pair.target().receive(ping, Endpoint::v4(0x01020304, 53), pair.world.now());
        answers += pair.target().flush(pair.world.now()).size();
    }
    CHECK(answers > 100);
    CHECK(pair.count(gossip::DatagramRejection::ping_limit) + answers <
          1000);  // bytes ended before answers did
    for (int i = 0; i < 50; ++i) {
        CHECK(ping_of_member() == 1);
    }
}

TEST_CASE("membership's last bytes are for what keeps members alive, not for lists") {
    Pair pair;
    pair.world.run(3s);
    (void)pair.target().flush(pair.world.now());
    std::array<std::byte, 32> payload{};
    ByteWriter writer(payload);
    encode(writer, MemberListAsk{});
    const std::string ask(as_text(writer.written()));
    invent_members(pair, 300);
    (void)pair.target().flush(pair.world.now());
    // Far more lists than the budget holds, asked for at one instant.
    std::uint64_t bytes = 0;
    for (int i = 0; i < 500; ++i) {
        pair.give(
            pair.sealed(pair.envelope(), pair.message(gossip::MessageType::member_list_ask, ask)));
        for (const auto& datagram : pair.target().flush(pair.world.now())) {
            bytes += datagram.bytes.size();
        }
    }
    const std::uint64_t dropped = pair.target().counters().dropped[0];
    CHECK(dropped > 300);
    CHECK(bytes <= 131'072 / 2);
    // A ping is answered all the same.
    (void)pair.target().receive(open_ping(pair), Endpoint::v4(0x01020304, 53), pair.world.now());
    CHECK(pair.target().flush(pair.world.now()).size() == 1);
    CHECK(pair.target().counters().dropped[0] == dropped);
}

TEST_CASE("robustness 49: an answer goes where the ping came from, is no larger, and is limited") {
    Pair pair;
    (void)pair.target().flush(pair.world.now());
    const Endpoint forged = Endpoint::v4(0x01020304, 53);
    const auto ping = open_ping(pair);
    std::size_t answers = 0;
    for (int i = 0; i < 1000; ++i) {
        CHECK(pair.target().receive(ping, forged, pair.world.now()).empty());
        for (const OutgoingDatagram& answer : pair.target().flush(pair.world.now())) {
            CHECK(answer.to == forged);
            CHECK(answer.bytes.size() <= ping.size());
            ++answers;
        }
    }
    CHECK(answers <= 202);  // 200, and 2 for the one member
    CHECK(answers > 100);
    CHECK(pair.count(gossip::DatagramRejection::ping_limit) == 1000 - answers);
    CHECK(pair.target().membership().live_count() == 1);

    // A ping that is too small for its answer gets none.
    std::array<std::byte, 16> small{};
    gossip::Envelope open = pair.envelope();
    open.receiver = 0;
    open.sender.address = address_of(66);
    const auto tiny = pair.sealed(open, pair.message(gossip::MessageType::ping, as_text(small)));
    pair.world.run(1s);
    (void)pair.target().receive(tiny, forged, pair.world.now());
    CHECK(pair.count(gossip::DatagramRejection::amplification) == 1);
}

TEST_CASE("answers that were not asked for are refused") {
    Pair pair;
    std::array<std::byte, 64> payload{};
    ByteWriter writer(payload);
    encode(writer, PingAnswer{42, 0, {}, 0});
    gossip::Envelope stranger = pair.envelope();
    stranger.sender = {address_of(9), 99};
    pair.give(pair.sealed(stranger,
                          pair.message(gossip::MessageType::answer, as_text(writer.written()))));
    CHECK(pair.count(gossip::DatagramRejection::unknown_answer) == 1);
    CHECK(pair.target().membership().live_count() == 1);
}

}  // namespace
}  // namespace weir::membership

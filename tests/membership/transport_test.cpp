// One transport and what it refuses. Robustness 44, 45, 46 (its single packets) and 47.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "membership/transport.h"
#include "membership/transport_pair.h"

namespace weir::membership {
namespace {

using namespace test;

/// What the target refused so far, for whatever reason.
std::uint64_t rejections(Pair& pair) {
    std::uint64_t total = 0;
    for (std::size_t reason = 0; reason < gossip::kRejections; ++reason) {
        total += pair.target().counters().rejected[static_cast<gossip::DatagramRejection>(reason)];
    }
    return total;
}

TEST_CASE("messages reach the member they were sent to") {
    Pair pair;
    REQUIRE(pair.liar().send(pair.target().self(), gossip::MessageType::delta, as_bytes("one")));
    REQUIRE(pair.liar().send(pair.target().self(), gossip::MessageType::name_ask, as_bytes("two")));
    const std::uint64_t before = pair.world.datagrams;
    pair.world.run(20ms);
    REQUIRE(pair.received.size() == 2);
    CHECK(pair.received[0] == gossip::MessageType::delta);
    CHECK(pair.world.datagrams - before <= 3);  // both in one, beside membership's own
    CHECK(pair.target().counters().messages_in[16] == 1);
    CHECK(pair.liar().counters().messages_out[16] == 1);
}

TEST_CASE("robustness 44: junk is dropped, counted and never answered") {
    Pair pair;
    Random random(3);
    const std::uint64_t before = rejections(pair);
    (void)pair.target().flush(pair.world.now());
    for (const std::size_t size : {0U, 1U, 7U, 8U, 47U, 48U, 100U, 1232U, 1233U, 65507U}) {
        for (int i = 0; i < 100; ++i) {
            std::vector<std::byte> junk(size);
            for (std::byte& byte : junk) {
                byte = static_cast<std::byte>(random.next());
            }
            CHECK(pair.give(junk).empty());
        }
    }
    CHECK(rejections(pair) == before + 1000);
    CHECK(pair.target().flush(pair.world.now()).empty());
}

TEST_CASE("robustness 44: sealed, and still not well-formed") {
    Pair pair;
    const auto good = pair.message(gossip::MessageType::delta, "payload");
    CHECK(pair.give(pair.sealed(pair.envelope(), good)).size() == 1);
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
        CHECK(pair.give(pair.sealed(pair.envelope(), ByteSpan(good).first(cut))).empty());
    }
    CHECK(pair.count(gossip::DatagramRejection::malformed) == good.size());
    gossip::Envelope nobody = pair.envelope();
    nobody.sender.incarnation = 0;
    CHECK(pair.give(pair.sealed(nobody, good)).empty());
    CHECK(pair.count(gossip::DatagramRejection::malformed) == good.size() + 1);
    CHECK(pair.give(pair.sealed(pair.envelope(),
                                pair.message(gossip::MessageType::member_updates, "x")))
              .empty());
    CHECK(pair.count(gossip::DatagramRejection::bad_message) == 1);
    CHECK(pair.give(pair.sealed(pair.envelope(),
                                pair.message(static_cast<gossip::MessageType>(99), "later")))
              .empty());
    CHECK(pair.count(gossip::DatagramRejection::unknown_message) == 1);
}

TEST_CASE("robustness 45: wrong key, other cluster, other modes") {
    Pair pair;
    const auto body = pair.message(gossip::MessageType::delta, "x");
    CHECK(pair.give(pair.sealed(pair.envelope(), body, {test_key(9)})).empty());
    CHECK(pair.count(gossip::DatagramRejection::unknown_key) == 1);
    CHECK(pair.give(pair.sealed(pair.envelope(), body, {})).empty());
    CHECK(pair.count(gossip::DatagramRejection::unsealed) == 1);
    gossip::Envelope other = pair.envelope();
    other.cluster = gossip::cluster_tag("another");
    CHECK(pair.give(pair.sealed(other, body)).empty());
    CHECK(pair.count(gossip::DatagramRejection::other_cluster) == 1);
    auto flipped = pair.sealed(pair.envelope(), body);
    flipped[60] ^= std::byte{4};
    CHECK(pair.give(flipped).empty());
    CHECK(pair.count(gossip::DatagramRejection::forged) == 1);
    pair.target().set_keys(std::vector<gossip::Key>{test_key(2)});
    CHECK(pair.give(pair.sealed(pair.envelope(), body)).empty());
    CHECK(pair.count(gossip::DatagramRejection::unknown_key) == 2);
}

TEST_CASE("robustness 46: replays, other incarnations, strangers") {
    Pair pair;
    const auto body = pair.message(gossip::MessageType::delta, "x");
    const auto datagram = pair.sealed(pair.envelope(), body);
    CHECK(pair.give(datagram).size() == 1);
    CHECK(pair.give(datagram).empty());
    CHECK(pair.count(gossip::DatagramRejection::duplicate) == 1);
    pair.next_sequence += 5000;
    CHECK(pair.give(pair.sealed(pair.envelope(), body)).size() == 1);
    pair.next_sequence -= 4000;
    CHECK(pair.give(pair.sealed(pair.envelope(), body)).empty());
    CHECK(pair.count(gossip::DatagramRejection::too_old) == 1);
    pair.next_sequence += 5000;

    gossip::Envelope former = pair.envelope();
    former.receiver ^= 1;
    CHECK(pair.give(pair.sealed(former, body)).empty());
    CHECK(pair.count(gossip::DatagramRejection::other_receiver) == 1);
    gossip::Envelope nobody = pair.envelope();
    nobody.receiver = 0;
    CHECK(pair.give(pair.sealed(nobody, body)).empty());
    CHECK(pair.count(gossip::DatagramRejection::unaddressed) == 1);
    gossip::Envelope stranger = pair.envelope();
    stranger.sender.address = address_of(77);
    CHECK(pair.give(pair.sealed(stranger, body)).empty());
    CHECK(pair.count(gossip::DatagramRejection::unknown_sender) == 1);
    gossip::Envelope mirror = pair.envelope();
    mirror.sender = pair.target().self();
    CHECK(pair.give(pair.sealed(mirror, body)).empty());
    CHECK(pair.count(gossip::DatagramRejection::own_packet) == 1);
    CHECK(pair.target().membership().live_count() == 1);
}

TEST_CASE("totals and answers older than a second are refused, deltas are not") {
    Pair pair;
    pair.world.run(2s);
    const auto late = [&](gossip::MessageType type, Duration age) {
        gossip::Envelope head = pair.envelope();
        head.sent_at_us -= static_cast<std::uint64_t>(age / 1us);
        return pair.give(pair.sealed(head, pair.message(type, "x"))).size();
    };
    CHECK(late(gossip::MessageType::total, 0ms) == 1);
    CHECK(late(gossip::MessageType::total, 900ms) == 1);
    CHECK(late(gossip::MessageType::total, 1100ms) == 0);
    CHECK(pair.count(gossip::DatagramRejection::stale) == 1);
    CHECK(late(gossip::MessageType::delta_answer, 900ms) == 1);
    CHECK(late(gossip::MessageType::delta_answer, 1100ms) == 0);
    CHECK(pair.count(gossip::DatagramRejection::stale) == 2);
    CHECK(late(gossip::MessageType::delta, 1100ms) == 1);
}

TEST_CASE("robustness 47: clocks and counters beyond reason are refused and harm nobody else") {
    Pair pair;
    gossip::Envelope head = pair.envelope();
    head.sent_at_us = ~std::uint64_t{0};
    CHECK(pair.give(pair.sealed(head, pair.message(gossip::MessageType::delta, "x"))).empty());
    CHECK(pair.count(gossip::DatagramRejection::clock) == 1);

    const auto say = [&](const MemberUpdate& update) {
        std::array<std::byte, 1 + kMaximumUpdate> payload{};
        ByteWriter writer(payload);
        encode(writer, std::span(&update, 1));
        pair.give(pair.sealed(pair.envelope(), pair.message(gossip::MessageType::member_updates,
                                                            as_text(writer.written()))));
    };
    const gossip::MemberId self = pair.target().self();
    say({self, MemberState::suspect, {}, ~std::uint64_t{0}, 5});
    CHECK(pair.target().membership().counters().refutations == 0);
    say({self, MemberState::suspect, {}, 3, 5});
    CHECK(pair.target().membership().counters().refutations == 1);
    say({pair.liar().self(), MemberState::alive, {}, ~std::uint64_t{0}, 0});
    CHECK(pair.target().membership().find(pair.liar().self())->counter < 1000);
    say({self, MemberState::dead, {}, 10, 0});
    CHECK(pair.target().self() == self);  // what others say only makes us refute
}

TEST_CASE("a full table of members refuses more, counted") {
    Pair pair;
    invent_members(pair, kMaximumMembers + 10);
    CHECK(pair.target().membership().live_count() == kMaximumMembers);
    CHECK(pair.target().membership().counters().refused_members == 11);
    CHECK(pair.count(gossip::DatagramRejection::member_table_full) == 11);
}

TEST_CASE("what cannot be sent is refused and counted") {
    Pair pair;
    const gossip::MemberId self = pair.target().self();
    CHECK_FALSE(pair.liar().send({address_of(9), 9}, gossip::MessageType::delta, as_bytes("x")));
    CHECK_FALSE(pair.liar().send(self, gossip::MessageType::ping, as_bytes("x")));
    const std::string large(gossip::kMaximumPayload + 1, 'x');
    CHECK_FALSE(pair.liar().send(self, gossip::MessageType::delta, as_bytes(large)));
    CHECK(pair.liar().send(self, gossip::MessageType::delta,
                           as_bytes(large).first(gossip::kMaximumPayload)));
    CHECK(pair.liar().send(self, gossip::MessageType::clock, as_bytes("x")));
    const auto datagrams = pair.liar().flush(pair.world.now());
    CHECK(datagrams.size() >= 2);
    for (const OutgoingDatagram& datagram : datagrams) {
        CHECK(datagram.bytes.size() <= gossip::kMaximumDatagram);
    }
}

TEST_CASE("hints travel with pings") {
    Pair pair;
    pair.liar().set_hints(as_bytes("hot limits"));
    pair.world.run(3s);
    std::size_t hints = 0;
    for (const gossip::MessageType type : pair.received) {
        hints += type == gossip::MessageType::hints ? 1 : 0;
    }
    CHECK(hints >= 2);
    pair.received.clear();
    pair.liar().set_hints({});
    pair.world.run(3s);
    CHECK(pair.received.empty());
}

TEST_CASE("last words that the goodbye overtook are still taken, and nothing else") {
    using gossip::MessageType;
    Pair pair;
    const gossip::Envelope late = pair.envelope();
    const gossip::Envelope later = pair.envelope();
    std::vector<std::pair<MessageType, gossip::Envelope>> told;
    for (const MessageType type : {MessageType::delta, MessageType::quiet, MessageType::quiet_order,
                                   MessageType::window_report}) {
        told.emplace_back(type, pair.envelope());
    }
    pair.liar().goodbye();
    for (const OutgoingDatagram& datagram : pair.liar().flush(pair.world.now())) {
        pair.give(datagram.bytes);
    }
    REQUIRE(pair.target().membership().live_count() == 0);
    CHECK(pair.give(pair.sealed(late, pair.message(MessageType::handover, "x"))).size() == 1);
    for (const auto& [type, envelope] : told) {
        CHECK(pair.give(pair.sealed(envelope, pair.message(type, "x"))).size() == 1);
    }
    CHECK(pair.give(pair.sealed(later, pair.message(MessageType::total, "x"))).empty());
    CHECK(pair.count(gossip::DatagramRejection::dead_sender) == 1);
    pair.world.kill(1);
    pair.world.run(3s);
    gossip::Envelope too_late = late;
    too_late.sequence += 10;
    const auto datagram = pair.sealed(too_late, pair.message(MessageType::handover, "x"));
    CHECK(pair.target().receive(datagram, address_of(1), pair.world.now()).empty());
}

TEST_CASE("robustness 58: keys are rotated without a gap") {
    VirtualNetwork world(12);
    world.start_all(5);
    REQUIRE(world.run_until(5s, [&] { return world.complete(); }));
    Duration longest{};
    std::map<std::size_t, Instant> heard;
    for (auto& [number, node] : world.nodes()) {
        heard[number] = world.now();
        node->on_message = [&, n = number](const Received&) {
            longest = std::max(longest, world.now() - heard[n]);
            heard[n] = world.now();
        };
    }
    world.on_tick = [&](std::size_t number, Node& node) {
        node.transport.send(world.at((number + 1) % 5).self(), gossip::MessageType::delta,
                            as_bytes("x"));
    };
    for (const auto& ring : {std::vector{test_key(1), test_key(2)},
                             std::vector{test_key(2), test_key(1)}, std::vector{test_key(2)}}) {
        for (std::size_t i = 0; i < 5; ++i) {
            world.at(i).set_keys(ring);
            world.run(300ms);
        }
    }
    CHECK(longest < 50ms);
    CHECK(world.count(MembershipEvent::Kind::suspected) == 0);
    CHECK(world.at(0).counters().rejected[gossip::DatagramRejection::unknown_key] == 0);
}

TEST_CASE("a cluster without keys works, and does not mix with one that has some") {
    VirtualNetwork world(13);
    world.keys.clear();
    world.start(0, {address_of(1)});
    world.start(1, {});
    CHECK(world.run_until(5s, [&] { return world.complete(); }));
    world.keys = {test_key(1)};
    world.start(2, {address_of(0)});
    world.run(5s);
    CHECK(world.at(2).membership().live_count() == 0);
    CHECK(world.at(0).counters().rejected[gossip::DatagramRejection::sealed] > 0);
}

}  // namespace
}  // namespace weir::membership

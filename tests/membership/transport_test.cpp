// One transport and what it refuses. Robustness 44, 45, 46 (its single packets), 47 and 49.
#include "membership/transport.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "membership/virtual_network.h"

namespace weir::membership {
namespace {

using namespace test;

/// Two sidecars that know each other; the first one is under test, the second one can be made to
/// say anything that somebody with the key can say.
class Pair {
  public:
    Pair() : world(7) {
        world.start_all(2);
        REQUIRE(world.run_until(5s, [&] { return world.complete(); }));
        world.run(1s);
        world.node(0).on_message = [this](const Received& message) {
            received.emplace_back(message.type, message.age);
        };
    }
    Transport& target() { return world.at(0); }
    Transport& liar() { return world.at(1); }
    std::uint64_t count(gossip::Rejection reason) { return target().counters().rejected[reason]; }

    gossip::Envelope envelope() {
        return {gossip::cluster_tag("test"), liar().self(), target().self().incarnation,
                next_sequence++, static_cast<std::uint64_t>(world.now().time_since_epoch() / 1us)};
    }
    std::vector<std::byte> sealed(const gossip::Envelope& head, ByteSpan body,
                                  std::vector<gossip::Key> keys = {test_key(1)}) {
        std::vector<std::byte> content(gossip::kMaximumEnvelope + body.size());
        ByteWriter writer(content);
        encode(writer, head);
        writer.bytes(body);
        content.resize(writer.size());
        gossip::Sealer sealer(keys, nonces);
        return sealer.seal(content);
    }
    std::vector<std::byte> message(gossip::MessageType type, std::string_view payload) {
        std::vector<std::byte> body(gossip::message_size(payload.size()));
        ByteWriter writer(body);
        gossip::write_message(writer, type, as_bytes(payload));
        return body;
    }
    std::span<const Received> give(ByteSpan datagram) {
        return target().receive(datagram, liar().self().address, world.now());
    }

    VirtualNetwork world;
    gossip::SeededNonces nonces{Random(77)};
    std::uint64_t next_sequence = 1'000'000;
    std::vector<std::pair<gossip::MessageType, Duration>> received;
};

/// Tells the target of so many members that are not there.
void invent_members(Pair& pair, std::size_t count) {
    std::size_t told = 0;
    while (told < count) {
        std::array<std::byte, 40 * kMaximumUpdate> payload{};
        ByteWriter writer(payload);
        for (int i = 0; i < 40 && told < count; ++i, ++told) {
            encode(writer,
                   MemberUpdate{{address_of(1000 + told), 1 + told}, MemberState::alive, {}, 0, 0});
        }
        const std::string text(as_text(writer.written()));
        REQUIRE(text.size() <= gossip::kMaximumPayload);
        pair.give(
            pair.sealed(pair.envelope(), pair.message(gossip::MessageType::member_updates, text)));
    }
}

/// A ping that names no incarnation, from somebody who is not known.
std::vector<std::byte> open_ping(Pair& pair, const Endpoint& from = address_of(66)) {
    std::array<std::byte, 128> payload{};
    ByteWriter writer(payload);
    encode(writer, Ping{42, 0, 40});
    gossip::Envelope open = pair.envelope();
    open.receiver = 0;
    open.sender.address = from;
    return pair.sealed(open, pair.message(gossip::MessageType::ping, as_text(writer.written())));
}

TEST_CASE("messages reach the member they were sent to") {
    Pair pair;
    REQUIRE(pair.liar().send(pair.target().self(), gossip::MessageType::delta, as_bytes("one")));
    REQUIRE(pair.liar().send(pair.target().self(), gossip::MessageType::name_ask, as_bytes("two")));
    const std::uint64_t before = pair.world.datagrams;
    pair.world.run(20ms);
    REQUIRE(pair.received.size() == 2);
    CHECK(pair.received[0].first == gossip::MessageType::delta);
    CHECK(pair.world.datagrams - before <= 3);  // both in one, beside membership's own
    CHECK(pair.target().counters().messages_in[16] == 1);
    CHECK(pair.liar().counters().messages_out[16] == 1);
}

TEST_CASE("robustness 44: junk is dropped, counted and never answered") {
    Pair pair;
    Random random(3);
    const std::uint64_t before = pair.target().counters().rejected.total();
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
    CHECK(pair.target().counters().rejected.total() == before + 1000);
    CHECK(pair.target().flush(pair.world.now()).empty());
}

TEST_CASE("robustness 44: sealed, and still not well-formed") {
    Pair pair;
    const auto good = pair.message(gossip::MessageType::delta, "payload");
    CHECK(pair.give(pair.sealed(pair.envelope(), good)).size() == 1);
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
        CHECK(pair.give(pair.sealed(pair.envelope(), ByteSpan(good).first(cut))).empty());
    }
    CHECK(pair.count(gossip::Rejection::malformed) == good.size());
    gossip::Envelope nobody = pair.envelope();
    nobody.sender.incarnation = 0;
    CHECK(pair.give(pair.sealed(nobody, good)).empty());
    CHECK(pair.count(gossip::Rejection::malformed) == good.size() + 1);
    CHECK(pair.give(pair.sealed(pair.envelope(),
                                pair.message(gossip::MessageType::member_updates, "x")))
              .empty());
    CHECK(pair.count(gossip::Rejection::bad_message) == 1);
    CHECK(pair.give(pair.sealed(pair.envelope(),
                                pair.message(static_cast<gossip::MessageType>(99), "later")))
              .empty());
    CHECK(pair.count(gossip::Rejection::unknown_message) == 1);
}

TEST_CASE("robustness 45: wrong key, other cluster, other modes") {
    Pair pair;
    const auto body = pair.message(gossip::MessageType::delta, "x");
    CHECK(pair.give(pair.sealed(pair.envelope(), body, {test_key(9)})).empty());
    CHECK(pair.count(gossip::Rejection::unknown_key) == 1);
    CHECK(pair.give(pair.sealed(pair.envelope(), body, {})).empty());
    CHECK(pair.count(gossip::Rejection::unsealed) == 1);
    gossip::Envelope other = pair.envelope();
    other.cluster = gossip::cluster_tag("another");
    CHECK(pair.give(pair.sealed(other, body)).empty());
    CHECK(pair.count(gossip::Rejection::other_cluster) == 1);
    auto flipped = pair.sealed(pair.envelope(), body);
    flipped[60] ^= std::byte{4};
    CHECK(pair.give(flipped).empty());
    CHECK(pair.count(gossip::Rejection::forged) == 1);
    pair.target().set_keys(std::vector<gossip::Key>{test_key(2)});
    CHECK(pair.give(pair.sealed(pair.envelope(), body)).empty());
    CHECK(pair.count(gossip::Rejection::unknown_key) == 2);
}

TEST_CASE("robustness 46: replays, other incarnations, strangers") {
    Pair pair;
    const auto body = pair.message(gossip::MessageType::delta, "x");
    const auto datagram = pair.sealed(pair.envelope(), body);
    CHECK(pair.give(datagram).size() == 1);
    CHECK(pair.give(datagram).empty());
    CHECK(pair.count(gossip::Rejection::duplicate) == 1);
    pair.next_sequence += 5000;
    CHECK(pair.give(pair.sealed(pair.envelope(), body)).size() == 1);
    pair.next_sequence -= 4000;
    CHECK(pair.give(pair.sealed(pair.envelope(), body)).empty());
    CHECK(pair.count(gossip::Rejection::too_old) == 1);
    pair.next_sequence += 5000;

    gossip::Envelope former = pair.envelope();
    former.receiver ^= 1;
    CHECK(pair.give(pair.sealed(former, body)).empty());
    CHECK(pair.count(gossip::Rejection::other_receiver) == 1);
    gossip::Envelope nobody = pair.envelope();
    nobody.receiver = 0;
    CHECK(pair.give(pair.sealed(nobody, body)).empty());
    CHECK(pair.count(gossip::Rejection::unaddressed) == 1);
    gossip::Envelope stranger = pair.envelope();
    stranger.sender.address = address_of(77);
    CHECK(pair.give(pair.sealed(stranger, body)).empty());
    CHECK(pair.count(gossip::Rejection::unknown_sender) == 1);
    gossip::Envelope mirror = pair.envelope();
    mirror.sender = pair.target().self();
    CHECK(pair.give(pair.sealed(mirror, body)).empty());
    CHECK(pair.count(gossip::Rejection::own_packet) == 1);
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
    CHECK(pair.count(gossip::Rejection::stale) == 1);
    CHECK(late(gossip::MessageType::delta_answer, 900ms) == 1);
    CHECK(late(gossip::MessageType::delta_answer, 1100ms) == 0);
    CHECK(pair.count(gossip::Rejection::stale) == 2);
    CHECK(late(gossip::MessageType::delta, 1100ms) == 1);
}

TEST_CASE("robustness 47: clocks and counters beyond reason are refused and harm nobody else") {
    Pair pair;
    gossip::Envelope head = pair.envelope();
    head.sent_at_us = ~std::uint64_t{0};
    CHECK(pair.give(pair.sealed(head, pair.message(gossip::MessageType::delta, "x"))).empty());
    CHECK(pair.count(gossip::Rejection::clock) == 1);

    const auto say = [&](const MemberUpdate& update) {
        std::array<std::byte, kMaximumUpdate> payload{};
        ByteWriter writer(payload);
        encode(writer, update);
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
    CHECK(pair.count(gossip::Rejection::member_table_full) == 11);
}

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
            const std::uint64_t before = pair.count(gossip::Rejection::ping_limit);
            (void)pair.target().receive(ping, Endpoint::v4(0x01020304, 53), pair.world.now());
            answers += pair.count(gossip::Rejection::ping_limit) == before ? 1U : 0U;
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
    const auto ping = open_ping(pair);
    std::size_t answers = 0;
    for (int i = 0; i < 1000; ++i) {
        (void)pair.target().receive(ping, Endpoint::v4(0x01020304, 53), pair.world.now());
        answers += pair.target().flush(pair.world.now()).size();
    }
    CHECK(answers > 100);
    CHECK(pair.count(gossip::Rejection::ping_limit) + answers <
          1000);  // bytes ended before answers did
    std::array<std::byte, 128> members{};
    ByteWriter of_member(members);
    encode(of_member, Ping{43, 0, 40});
    for (int i = 0; i < 50; ++i) {
        pair.give(pair.sealed(pair.envelope(), pair.message(gossip::MessageType::ping,
                                                            as_text(of_member.written()))));
        CHECK(pair.target().flush(pair.world.now()).size() == 1);
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
    CHECK(pair.count(gossip::Rejection::ping_limit) == 1000 - answers);
    CHECK(pair.target().membership().live_count() == 1);

    // A ping that is too small for its answer gets none.
    std::array<std::byte, 16> small{};
    gossip::Envelope open = pair.envelope();
    open.receiver = 0;
    open.sender.address = address_of(66);
    const auto tiny = pair.sealed(open, pair.message(gossip::MessageType::ping, as_text(small)));
    pair.world.run(1s);
    (void)pair.target().receive(tiny, forged, pair.world.now());
    CHECK(pair.count(gossip::Rejection::amplification) == 1);
}

TEST_CASE("answers that were not asked for are refused") {
    Pair pair;
    std::array<std::byte, 64> payload{};
    ByteWriter writer(payload);
    encode(writer, Answer{42, 0, {}, 0});
    gossip::Envelope stranger = pair.envelope();
    stranger.sender = {address_of(9), 99};
    pair.give(pair.sealed(stranger,
                          pair.message(gossip::MessageType::answer, as_text(writer.written()))));
    CHECK(pair.count(gossip::Rejection::unknown_answer) == 1);
    CHECK(pair.target().membership().live_count() == 1);
}

/// A transport with budgets of its own, which knows one member.
class Sender {
  public:
    explicit Sender(const std::function<void(TransportSettings&)>& adjust)
        : transport_(settings_with(adjust), world_.keys, nonces_, Random(2)) {
        world_.start(1, {address_of(0)});
        transport_.start(world_.now());
        world_.on_tick = [this](std::size_t, Node&) {
            transport_.tick(world_.now());
            for (OutgoingDatagram& datagram : flush()) {
                world_.inject(address_of(0), datagram.to, std::move(datagram.bytes));
            }
        };
        world_.tap = [this](const Endpoint& from, const Endpoint& to, ByteSpan bytes) {
            if (to == address_of(0)) {
                (void)transport_.receive(bytes, from, world_.now());
            }
        };
        world_.run(3s);
        REQUIRE(transport_.membership().live_count() == 1);
    }
    /// Ten messages that fill a datagram each.
    void queue(gossip::MessageType type) {
        const std::string large(1000, 'x');
        for (int i = 0; i < 10; ++i) {
            transport_.send(peer(), type, as_bytes(large));
        }
    }
    void ask_peer() { transport_.question(peer(), world_.now()); }
    /// The peer's ping arrives.
    void be_asked() {
        world_.at(1).question(transport_.self(), world_.now());
        for (const OutgoingDatagram& datagram : world_.at(1).flush(world_.now())) {
            (void)transport_.receive(datagram.bytes, address_of(1), world_.now());
        }
    }
    std::vector<OutgoingDatagram> flush() { return transport_.flush(world_.now()); }
    [[nodiscard]] std::uint64_t dropped(gossip::Lane lane) const {
        return transport_.counters().dropped[static_cast<std::size_t>(lane)];
    }
    [[nodiscard]] std::uint64_t sent(gossip::MessageType type) const {
        return transport_.counters().messages_out[static_cast<std::size_t>(type)];
    }

  private:
    static TransportSettings settings_with(const std::function<void(TransportSettings&)>& adjust) {
        TransportSettings settings;
        settings.cluster_name = "test";
        settings.self = address_of(0);
        adjust(settings);
        return settings;
    }
    [[nodiscard]] gossip::MemberId peer() { return world_.at(1).self(); }

    VirtualNetwork world_{9};
    gossip::SeededNonces nonces_{Random(1)};
    Transport transport_;
};

TEST_CASE("lanes have budgets of their own: definitions take nothing from counters") {
    Sender sender([](TransportSettings& settings) { settings.definition_budget = {1000, 3000}; });
    sender.queue(gossip::MessageType::document_page);
    sender.queue(gossip::MessageType::delta);
    CHECK(sender.flush().size() == 12);  // all deltas, and what the budget of definitions allows
    CHECK(sender.dropped(gossip::Lane::definitions) == 8);
    CHECK(sender.dropped(gossip::Lane::counters) == 0);
}

TEST_CASE("lanes have budgets of their own: chatter of members takes nothing from counters") {
    Sender sender([](TransportSettings& settings) { settings.membership_budget = {1, 10'000}; });
    for (int i = 0; i < 200 && sender.dropped(gossip::Lane::membership) == 0; ++i) {
        sender.ask_peer();
        (void)sender.flush();
    }
    REQUIRE(sender.dropped(gossip::Lane::membership) > 0);
    sender.queue(gossip::MessageType::delta);
    CHECK(sender.flush().size() == 10);
    CHECK(sender.dropped(gossip::Lane::counters) == 0);
}

TEST_CASE("lanes have budgets of their own: counters take nothing from membership") {
    Sender sender([](TransportSettings& settings) { settings.counter_budget = {1000, 3000}; });
    sender.queue(gossip::MessageType::delta);
    (void)sender.flush();
    REQUIRE(sender.dropped(gossip::Lane::counters) > 0);
    const std::uint64_t answers = sender.sent(gossip::MessageType::answer);
    sender.be_asked();
    CHECK_FALSE(sender.flush().empty());
    CHECK(sender.sent(gossip::MessageType::answer) == answers + 1);
    CHECK(sender.dropped(gossip::Lane::membership) == 0);
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
    for (const OutgoingDatagram& datagram : pair.liar().flush(pair.world.now())) {
        CHECK(datagram.bytes.size() <= gossip::kMaximumDatagram);
    }
}

TEST_CASE("hints travel with pings") {
    Pair pair;
    pair.liar().set_hints(as_bytes("hot limits"));
    pair.world.run(3s);
    std::size_t hints = 0;
    for (const auto& [type, age] : pair.received) {
        hints += type == gossip::MessageType::hints ? 1 : 0;
    }
    CHECK(hints >= 2);
    pair.received.clear();
    pair.liar().set_hints({});
    pair.world.run(3s);
    CHECK(pair.received.empty());
}

TEST_CASE("a hand-over that the goodbye overtook is still taken, and nothing else") {
    Pair pair;
    const gossip::Envelope late = pair.envelope();
    const gossip::Envelope later = pair.envelope();
    pair.liar().goodbye(pair.world.now());
    for (const OutgoingDatagram& datagram : pair.liar().flush(pair.world.now())) {
        pair.give(datagram.bytes);
    }
    REQUIRE(pair.target().membership().live_count() == 0);
    CHECK(pair.give(pair.sealed(late, pair.message(gossip::MessageType::handover, "x"))).size() ==
          1);
    CHECK(pair.give(pair.sealed(later, pair.message(gossip::MessageType::delta, "x"))).empty());
    CHECK(pair.count(gossip::Rejection::dead_sender) == 1);
    pair.world.kill(1);
    pair.world.run(3s);
    gossip::Envelope too_late = late;
    too_late.sequence += 10;
    const auto datagram = pair.sealed(too_late, pair.message(gossip::MessageType::handover, "x"));
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
    CHECK(world.at(0).counters().rejected[gossip::Rejection::unknown_key] == 0);
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
    CHECK(world.at(0).counters().rejected[gossip::Rejection::sealed] > 0);
}

}  // namespace
}  // namespace weir::membership

#pragma once
// Two members, of which one is under test. A test can make the other one send anything that a
// holder of the key can send.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/records.h"
#include "membership/virtual_network.h"

namespace weir::membership::test {

/// Two members that know each other. The first one is under test; the second one can be made to
/// send anything that a holder of the key can send.
class Pair {
  public:
    Pair() : world(7) {
        world.start_all(2);
        REQUIRE(world.run_until(5s, [&] { return world.complete(); }));
        world.run(1s);
        world.node(0).on_message = [this](const Received& message) {
            received.push_back(message.type);
        };
    }
    Transport& target() { return world.at(0); }
    Transport& liar() { return world.at(1); }
    std::uint64_t count(gossip::DatagramRejection reason) {
        return target().counters().rejected[reason];
    }

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
        return sealer.seal(content, head.sent_at_us);
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
    std::vector<gossip::MessageType> received;
};

/// Tells the target of so many members that do not exist.
inline void invent_members(Pair& pair, std::size_t count) {
    std::size_t told = 0;
    while (told < count) {
        std::array<std::byte, 1 + 38 * kMaximumUpdate> payload{};
        ByteWriter writer(payload);
        write_empty_head(writer);
        for (int i = 0; i < 38 && told < count; ++i, ++told) {
            encode(writer,
                   MemberUpdate{{address_of(1000 + told), 1 + told}, MemberState::alive, {}, 0, 0});
        }
        const std::string text(as_text(writer.written()));
        REQUIRE(text.size() <= gossip::kMaximumPayload);
        pair.give(
            pair.sealed(pair.envelope(), pair.message(gossip::MessageType::member_updates, text)));
    }
}

/// A ping that names no incarnation, from a member that is not known.
inline std::vector<std::byte> open_ping(Pair& pair, const Endpoint& from = address_of(66)) {
    std::array<std::byte, 128> payload{};
    ByteWriter writer(payload);
    encode(writer, Ping{42, 0, 40});
    gossip::Envelope open = pair.envelope();
    open.receiver = 0;
    open.sender.address = from;
    return pair.sealed(open, pair.message(gossip::MessageType::ping, as_text(writer.written())));
}

}  // namespace weir::membership::test

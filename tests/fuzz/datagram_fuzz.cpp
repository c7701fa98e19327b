// Datagrams as an attacker sends them (before opening) and as somebody with the key may (after it:
// the fuzzer's bytes become the messages of a sealed datagram of a member). Nothing may crash, and
// whatever is answered is no larger than what came.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "base/records.h"
#include "definitions/codec.h"
#include "definitions/document.h"
#include "definitions/messages.h"
#include "membership/transport.h"
#include "sync/messages.h"

namespace {

using namespace weir;
using namespace weir::gossip;

constexpr Instant kStart{std::chrono::hours(1)};

Endpoint address(std::uint32_t number) { return Endpoint::v4(0x0a000000 + number, 7946); }

membership::TransportSettings settings(std::uint32_t number) {
    membership::TransportSettings result;
    result.cluster_name = "fuzz";
    result.self = address(number);
    return result;
}

/// A transport under test and a member of it.
struct World {
    World()
        : nonces(Random(1)),
          target(settings(1), keys, nonces, Random(2)),
          peer(settings(2), keys, nonces, Random(3)) {
        target.start(kStart);
        peer.start(kStart);
        target.set_seeds({address(2)});
        for (int i = 0; i < 100; ++i) {
            now += std::chrono::milliseconds(10);
            exchange();
        }
        if (target.membership().live_count() != 1) {
            std::abort();
        }
    }
    void exchange() {
        target.tick(now);
        peer.tick(now);
        for (const membership::OutgoingDatagram& datagram : target.flush(now)) {
            peer.receive(datagram.bytes, address(1), now);
        }
        for (const membership::OutgoingDatagram& datagram : peer.flush(now)) {
            target.receive(datagram.bytes, address(2), now);
        }
    }

    std::vector<gossip::Key> keys{gossip::Key{}};
    gossip::SeededNonces nonces;
    Instant now = kStart;
    membership::Transport target;
    membership::Transport peer;
};

template <class Decode>
void read_all(ByteSpan payload, Decode decode) {
    ByteReader reader(payload);
    skip_head(reader);
    while (reader.ok() && reader.remaining() > 0) {
        (void)decode(reader);
    }
}

template <class Decode>
void read_one(ByteSpan payload, Decode decode) {
    ByteReader reader(payload);
    (void)decode(reader);
}

/// A tag and the number of the first delta that is answered, then entries, each by what was said.
void decode_answers(ByteSpan payload) {
    ByteReader reader(payload);
    sync::SaidCounts said;
    said.key.quota = sync::read_answer_head(reader).first;
    while (reader.ok() && reader.remaining() > 0) {
        (void)sync::decode_answer(reader, said);
    }
}

void decode_application(const membership::Received& message) {
    switch (message.type) {
        case gossip::MessageType::delta:
            return read_all(message.payload, sync::decode_delta);
        case gossip::MessageType::delta_answer:
            return decode_answers(message.payload);
        case gossip::MessageType::total:
            return read_all(message.payload, sync::decode_total);
        case gossip::MessageType::handover:
            return read_all(message.payload, sync::decode_handover);
        case gossip::MessageType::name_ask:
            return read_all(message.payload, sync::decode_question);
        case gossip::MessageType::name_tell:
            return read_all(message.payload, sync::decode_name);
        case gossip::MessageType::hints:
            return read_all(message.payload, sync::decode_hot);
        case gossip::MessageType::definition_push:
            return read_all(message.payload, [](ByteReader& reader) {
                return definitions::decode_entry(reader, kStart);
            });
        case gossip::MessageType::definition_digest:
            return read_one(message.payload, definitions::decode_digest);
        case gossip::MessageType::definition_partition_ask:
            return read_one(message.payload, definitions::decode_partition_ask);
        case gossip::MessageType::document_ask:
            return read_one(message.payload, definitions::decode_document_ask);
        case gossip::MessageType::set_count:
            return read_all(message.payload, definitions::decode_set_count);
        case gossip::MessageType::document_page:
            return read_one(message.payload, definitions::decode_document_page);
        default:
            return;
    }
}

void give(World& world, ByteSpan datagram) {
    for (const membership::Received& message :
         world.target.receive(datagram, address(2), world.now)) {
        decode_application(message);
    }
    world.now += std::chrono::milliseconds(7);
    world.target.tick(world.now);
    for (const membership::OutgoingDatagram& answer : world.target.flush(world.now)) {
        if (answer.bytes.size() > gossip::kMaximumDatagram) {
            std::abort();
        }
    }
}

std::vector<std::byte> seal(World& world, ByteSpan content, std::uint64_t sent_at_us) {
    gossip::Sealer sealer(world.keys, world.nonces);
    return sealer.seal(content, sent_at_us);
}

std::uint64_t clock_of(const World& world) {
    return static_cast<std::uint64_t>(world.now.time_since_epoch().count() / 1000);
}

/// The bytes as messages of a member's datagram.
void give_body(World& world, ByteSpan body, std::uint64_t sequence) {
    std::vector<std::byte> content(gossip::kMaximumEnvelope + body.size());
    ByteWriter writer(content);
    encode(writer, gossip::Envelope{gossip::cluster_tag("fuzz"), world.peer.self(),
                                    world.target.self().incarnation, sequence});
    writer.bytes(body);
    give(world, seal(world, writer.written(), clock_of(world)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static std::optional<World> world;
    static std::uint64_t inputs = 0;
    if (inputs++ % 512 == 0) {
        world.emplace();  // some state carries over, and not for ever
    }
    const ByteSpan bytes = std::as_bytes(std::span(data, size));
    give(*world, bytes);
    if (size <= gossip::kMaximumBody) {
        give(*world, seal(*world, bytes, clock_of(*world)));
        give_body(*world, bytes, 1'000'000 + inputs);
    }
    std::vector<definitions::DefinitionError> errors;
    definitions::DefinitionDocument document(
        std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end()));
    (void)document.read(SIZE_MAX, &errors);
    (void)definitions::decode_definition("quota", as_text(bytes));
    return 0;
}

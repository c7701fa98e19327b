// The layers around messages in docs/protocol.md against the bytes that the code writes: datagrams,
// what is inside the seal, frames of the bulk stream and blocks of the snapshot.

#include <doctest/doctest.h>
#include <sodium.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "cluster/protocol_bytes.h"
#include "definitions/codec.h"
#include "definitions/messages.h"
#include "definitions/snapshot.h"
#include "definitions/store.h"
#include "definitions/stream.h"
#include "gossip/seal.h"
#include "membership/owners.h"
#include "sync/kept_level.h"
#include "sync/messages.h"
#include "sync/window_messages.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using test::Bytes;
using test::difference;
using test::Fields;
using test::hexadecimal;
using test::page;
using test::Records;

constexpr Instant kNow{1h};
constexpr std::uint64_t kNumber = 0x0102030405060708;
const gossip::MemberId kHere{Endpoint::v4(0x0a000001, 7946), 0x1112131415161718};
const std::string kHereBytes = "040a0000011f0a1112131415161718";

gossip::Key key_of(std::uint8_t filling) {
    gossip::Key key{};
    key.fill(std::byte{filling});
    return key;
}

const unsigned char* raw(ByteSpan bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

/// The first two columns as a layout: "4 cluster tag; 8 the puller's random number; …".
std::string column_layout(std::string_view heading) {
    std::string layout;
    for (const auto& row : page().table(heading, "bytes")) {
        if (row[0] == "rest") {
            continue;
        }
        layout += (layout.empty() ? "" : "; ") + row[0] + " ";
        layout += row[1].substr(0, row[1].find_first_of(",;:("));
    }
    return layout;
}

// --- datagrams ----------------------------------------------------------------------------------

TEST_CASE("a sealed datagram has what the page says at each offset, and opens as it says") {
    gossip::SeededNonces nonces(Random(1));
    const std::vector<gossip::Key> keys{key_of(7)};
    gossip::Sealer sealer(keys, nonces);
    const Bytes content(5, std::byte{0xab});
    const Bytes bytes = sealer.seal(content, kNumber);

    std::size_t offset = 0;
    for (const auto& row : page().table("## Datagram", "offset")) {
        CAPTURE(row[2]);
        const std::size_t content_before = row[0].ends_with("+ n") ? content.size() : 0;
        CHECK(std::stoul(row[0]) + content_before == offset);
        offset += row[1] == "n" ? content.size() : std::stoul(row[1]);
    }
    CHECK(offset == bytes.size());

    // `weir key id` under the key, the first four bytes of BLAKE2b-128.
    Bytes id(16);
    const std::string_view context = "weir key id";
    crypto_generichash(reinterpret_cast<unsigned char*>(id.data()), id.size(),
                       raw(as_bytes(context)), context.size(), raw(keys[0]), keys[0].size());
    CHECK(page().says("the first 4 bytes of BLAKE2b-128 of `weir key id` under the key"));
    CHECK(hexadecimal(ByteSpan(bytes).first(8)) == "77720201" + hexadecimal(ByteSpan(id).first(4)));
    const auto rows = page().table("## Datagram", "offset");
    CHECK(rows[0][2] == "`wr`");
    CHECK(rows[1][2] == "protocol version, 2");
    CHECK(rows[2][2].starts_with("mode: 1 sealed, 0 unsealed"));

    CHECK(rows[4][2].starts_with("the sender's monotonic clock"));
    CHECK(hexadecimal(ByteSpan(bytes).subspan(8, 8)) == "0102030405060708");

    CHECK(page().says("sealed with XChaCha20-Poly1305; offsets 0–15 are the associated data"));
    CHECK(page().says("The nonce is the bytes at the offsets 8–23 and eight zeros."));
    Bytes nonce(24);
    const ByteSpan sent = ByteSpan(bytes).subspan(8, 16);
    std::copy(sent.begin(), sent.end(), nonce.begin());
    Bytes opened(content.size());
    const ByteSpan cipher = ByteSpan(bytes).subspan(24);
    CHECK(crypto_aead_xchacha20poly1305_ietf_decrypt(
              reinterpret_cast<unsigned char*>(opened.data()), nullptr, nullptr, raw(cipher),
              cipher.size(), raw(bytes), 16, raw(nonce), raw(keys[0])) == 0);
    CHECK(opened == content);

    gossip::Sealer insecure({}, nonces);
    CHECK(hexadecimal(insecure.seal(content, 5)) == "77720200000000000000000000000005ababababab");
}

TEST_CASE("what is inside the seal begins as the page says") {
    const std::string layout = column_layout("### Content");
    gossip::Envelope envelope{0x01020304, kHere, kNumber, 300, 77};
    Fields fields = {{"4 cluster tag", 0x01020304},
                     {"7 or 19 the sender's endpoint", kHereBytes.substr(0, 14)},
                     {"8 the sender's incarnation", kHere.incarnation},
                     {"8 the receiver's incarnation", kNumber},
                     {"varint sequence number", 300}};
    Bytes buffer(100);
    ByteWriter four(buffer);
    encode(four, envelope);
    CHECK(difference(layout, four.written(), fields) == "");
    envelope.sender.address.address[0] = 0x20;
    envelope.sender.address.address[11] = 0;
    ByteWriter six(buffer);
    encode(six, envelope);
    CHECK(six.size() == four.size() + 19 - 7);
    CHECK(hexadecimal(six.written().subspan(4, 2)) == "0620");
    CHECK(
        page().says("`endpoint` is a byte 4 or 6, the 4 or 16 bytes of the address, and a 16-bit "
                    "port;"));
    buffer.resize(400);
    ByteWriter message(buffer);
    write_message(message, gossip::MessageType::ping, Bytes(300));
    CHECK(hexadecimal(message.written().first(3)) == "01ac02");
    CHECK(message.size() == 303);
    CHECK(page().says("A message is a type byte, a varint length, and the payload."));
}

// --- hashes under constants of the protocol -----------------------------------------------------

std::uint64_t hash_under(std::string_view constant, std::string_view text) {
    REQUIRE(constant.size() == 16);
    HashKey key;
    std::transform(constant.begin(), constant.end(), key.bytes.begin(),
                   [](char letter) { return std::byte(letter); });
    return keyed_hash(text, key);
}

TEST_CASE("hashes are of what the page says, under the constants that it names") {
    CHECK(
        page().says("the low half of SipHash-2-4 of the cluster's name under the key `weir "
                    "cluster tag`"));
    CHECK(gossip::cluster_tag("storage") ==
          static_cast<std::uint32_t>(hash_under("weir cluster tag", "storage")));
    CHECK(
        page().says("`limit` is 8 bytes SipHash-2-4 of the quota's name under the key "
                    "`weir-quota-hash1`"));
    CHECK(sync::quota_hash("s3/b1") == hash_under("weir-quota-hash1", "s3/b1"));
    CHECK(page().says("Its content hash is SipHash-2-4 under `weir document id`."));
    CHECK(definitions::document_hash(as_bytes("bytes")) == hash_under("weir document id", "bytes"));
    CHECK(
        page().says("A name's slot is SipHash-2-4 of it under `weir definitions` modulo 4,096; a "
                    "partition is 64 slots."));
    definitions::DefinitionMap map(10);
    definitions::DefinitionEntry entry;
    entry.name = "s3/b1";
    entry.version = {1, 1};
    entry.kind = definitions::EntryKind::absent;
    REQUIRE(map.merge(entry, kNow) == definitions::MergeOutcome::applied);
    const std::uint64_t slot = hash_under("weir definitions", "s3/b1") % 4096;
    CHECK(map.slot_hashes(slot / 64)[slot % 64] == map.root_hash());
    CHECK(map.partition_hashes()[slot / 64] == map.root_hash());
    CHECK(map.root_hash() != 0);
}

TEST_CASE("the owners of a shard are those whom the page's formula picks") {
    CHECK(
        page().says("The shard is the hash modulo 16; its owners are the three live members with "
                    "the highest mix(h xor mix(shard + 1)), where h is SipHash-2-4 of the "
                    "address's 16 bytes and the port under `weir shard owner`"));
    CHECK(membership::shard_of(0x35) == 5);
    std::vector<membership::OwnerCandidate> live;
    for (std::uint32_t i = 1; i <= 9; ++i) {
        live.push_back({{Endpoint::v4(0x0a000000 + i, 7946), i}, {}});
    }
    membership::Owners owners;
    (void)owners.recompute(live);
    for (membership::Shard shard = 0; shard < 16; ++shard) {
        std::vector<std::pair<std::uint64_t, gossip::MemberId>> scores;
        for (const auto& candidate : live) {
            const auto& endpoint = candidate.id.address;
            std::string text(endpoint.address.begin(), endpoint.address.end());
            text += static_cast<char>(endpoint.port >> 8);
            text += static_cast<char>(endpoint.port & 0xff);
            const std::uint64_t h = hash_under("weir shard owner", text);
            scores.emplace_back(mix(h ^ mix(shard + 1U)), candidate.id);
        }
        std::sort(scores.rbegin(), scores.rend());
        CHECK(owners.of(shard) ==
              membership::OwnerList{scores[0].second, scores[1].second, scores[2].second});
    }
}

// --- in bulk ------------------------------------------------------------------------------------

/// One end of a stream whose frames are not sealed, so that their bytes can be read.
struct End {
    explicit End(const gossip::MemberId& member) : id(member) {}
    definitions::BulkContext context() {
        definitions::BulkContext result;
        result.store = &store;
        result.sealer = &sealer;
        result.counters = &counters;
        result.cluster = 0x01020304;
        result.self = id;
        result.number = id.incarnation + 1;
        result.is_member = [](const gossip::MemberId&) { return true; };
        return result;
    }
    gossip::MemberId id;
    gossip::SeededNonces nonces{Random(1)};
    gossip::Sealer sealer{{}, nonces};
    definitions::DefinitionStore store{1};
    definitions::BulkCounters counters;
};

struct Frame {
    std::uint64_t type = 0;
    Bytes payload;
};

/// Checks all around the payload.
Frame frame_of(const Bytes& bytes, std::uint64_t asker, std::uint64_t answerer, bool from_server,
               std::uint32_t counter) {
    REQUIRE(bytes.size() >= 20 + 26);
    ByteReader length{ByteSpan(bytes)};
    CHECK(length.u32() == bytes.size() - 4);
    CHECK(hexadecimal(ByteSpan(bytes).subspan(4, 8)) == "7772020200000000");
    const ByteSpan content = ByteSpan(bytes).subspan(20);
    Frame frame{std::to_integer<std::uint64_t>(content[25]), {}};
    CHECK(difference(column_layout("### In bulk: TCP"), content.first(26),
                     {{"4 cluster tag", 0x01020304},
                      {"8 the puller's random number", asker},
                      {"8 the server's", answerer},
                      {"1 direction", from_server},
                      {"4 counter from 0", counter},
                      {"1 type", frame.type}}) == "");
    frame.payload.assign(content.begin() + 26, content.end());
    return frame;
}

/// What is wrong with the payload as the row of its type has it.
std::string difference(const Frame& frame, std::string_view name, const Fields& fields) {
    for (const auto& row : page().table("### In bulk: TCP", "type")) {
        if (row[0] == std::to_string(frame.type)) {
            return row[1] == name ? test::difference(row[2], frame.payload, fields)
                                  : "it is " + row[1];
        }
    }
    return "no row of type " + std::to_string(frame.type);
}

struct Talk {
    Talk(End& asking, End& answering, definitions::BulkWish wish)
        : here(asking),
          there(answering),
          pull(asking.context(), std::move(wish)),
          serve(answering.context()) {}
    Frame from_puller() {
        const Bytes bytes = pull.next(kNow);
        REQUIRE(serve.receive(bytes, kNow));
        const std::uint64_t known = asked == 0 ? 0 : there.id.incarnation + 1;
        return frame_of(bytes, here.id.incarnation + 1, known, false, asked++);
    }
    Frame from_server() {
        const Bytes bytes = serve.next(kNow);
        REQUIRE(pull.receive(bytes, kNow));
        return frame_of(bytes, here.id.incarnation + 1, there.id.incarnation + 1, true, answered++);
    }
    End& here;
    End& there;
    definitions::DefinitionPull pull;
    definitions::DefinitionServe serve;
    std::uint32_t asked = 0;
    std::uint32_t answered = 0;
};

TEST_CASE("each frame of a pull of overrides is what the page says") {
    End here(kHere);
    End there({Endpoint::v4(0x0a000002, 7946), 900});
    definitions::DefinitionEntry entry;
    entry.name = "s3/b1";
    entry.version = {300, kNumber};
    entry.kind = definitions::EntryKind::absent;
    entry.written = kNow - 7s;
    REQUIRE(there.store.merge(entry, kNow) == definitions::MergeOutcome::applied);
    entry.name = "mine";
    REQUIRE(here.store.merge(entry, kNow) == definitions::MergeOutcome::applied);

    Talk talk(here, there, {there.id, {}, true});
    CHECK(difference(talk.from_puller(), "hello",
                     {{"member", kHereBytes}, {"8 incarnation of the server", 900}}) == "");
    CHECK(difference(talk.from_server(), "welcome", {{"8 the server's incarnation", 900}}) == "");
    std::string hashes;
    for (std::size_t partition = 0; partition < 64; ++partition) {
        for (const std::uint64_t hash : here.store.overrides().slot_hashes(partition)) {
            Bytes low(4);
            ByteWriter writer(low);
            writer.u32(static_cast<std::uint32_t>(hash));
            hashes += hexadecimal(low);
        }
    }
    const Records versions{"version", {{{"version", "ac020102030405060708"}}}};
    CHECK(difference(talk.from_puller(), "ask_overrides",
                     {{"1 number of versions", 1},
                      {"versions", versions},
                      {"4,096 × 4 slot hashes", hashes}}) == "");
    // The only override there is not above what we know of its writer.
    CHECK(difference(talk.from_server(), "end", {{"1 status", 0}}) == "");

    Talk whole(here, there, {there.id, {}, false});
    (void)whole.from_puller();
    (void)whole.from_server();
    (void)whole.from_puller();
    const Records entries{page().sentence("Entry: "),
                          {{{"string name", "s3/b1"},
                            {"version", "ac020102030405060708"},
                            {"1 kind", 1},
                            {"ms age", 7000},
                            {"string who", ""},
                            {"string why", ""}}}};
    CHECK(difference(whole.from_server(), "entries", {{"entries up to the end", entries}}) == "");
    CHECK(difference(whole.from_server(), "end", {{"1 status", 0}}) == "");
}

TEST_CASE("each frame of a pull of a document is what the page says") {
    End here(kHere);
    End there({Endpoint::v4(0x0a000002, 7946), 900});
    Talk talk(here, there,
              {there.id, definitions::BulkWish::WantedDocument{"storage", 300, kNumber}, false});
    (void)talk.from_puller();
    (void)talk.from_server();
    CHECK(difference(talk.from_puller(), "ask_document",
                     {{"string set", "storage"},
                      {"varint generation", 300},
                      {"8 content hash", kNumber}}) == "");
    CHECK(difference(talk.from_server(), "end", {{"1 status (0 that was all, 1 not here)", 1}}) ==
          "");
    CHECK(page().table("### In bulk: TCP", "type").size() == 7);
    CHECK(page().table("### In bulk: TCP", "type")[5][0] == "6");
}

// --- the snapshot -------------------------------------------------------------------------------

sync::WindowReport some_count() {
    sync::WindowReport count;
    count.key = {kNumber, 1, 0, 1000};
    count.run = 9;
    count.end = 10;
    count.number = 11;
    count.gone = true;
    count.most = 12;
    count.allowance = count.admitted = count.wanted = 6;
    return count;
}

/// The fields of some_count() as the page names them.
Fields fields_of_some_count() {
    return {{"limit", "010203040506070890"}, {"8 run", 9},           {"4 end", 10},
            {"varint number", 11},           {"1 flags", 2},         {"varint most", 12},
            {"varint allowance", 6},         {"varint admitted", 6}, {"varint wanted", 6}};
}

sync::KeptLevel some_level() {
    return {.key = some_count().key,
            .name = "s3/b1",
            .parameters = {.rate = 10, .low = 200, .high = 300, .debt = 40},
            .level = 7,
            .sum = 8,
            .full = 6};
}

/// The fields of some_level() as the page names them.
Fields fields_of_some_level() {
    return {{"limit", "010203040506070890"},
            {"f64 level", 7.0},
            {"f64 sum", 8.0},
            {"f64 full", 6.0},
            {"f64 rate", 10.0},
            {"f64 low", 200.0},
            {"f64 high", 300.0},
            {"f64 debt", 40.0},
            {"1 law", 1},
            {"string name", "s3/b1"}};
}

/// Writes a block with some_level() once.
definitions::SnapshotWriter::WriteLevels write_some_level() {
    return [left = 1](ByteWriter& block) mutable -> std::optional<std::size_t> {
        if (left == 0) {
            return std::nullopt;
        }
        left = 0;
        block.varint(6000);
        encode(block, some_level());
        return 1;
    };
}

/// With one count and one level.
Bytes snapshot_of(const definitions::DefinitionMap& map) {
    const auto write_counts = [left = std::size_t{1}](ByteWriter& block) mutable {
        if (left > 0) {
            encode(block, some_count());
        }
        return std::exchange(left, 0U);
    };
    definitions::SnapshotWriter writer(map, "storage", kNow, 5s, write_counts, write_some_level());
    Bytes file;
    for (Bytes piece = writer.next(); !piece.empty(); piece = writer.next()) {
        file.insert(file.end(), piece.begin(), piece.end());
    }
    return file;
}

TEST_CASE("the snapshot is what the page says, block by block") {
    definitions::DefinitionMap map(10);
    definitions::DefinitionEntry entry;
    entry.name = "s3/b1";
    entry.version = {300, kNumber};
    entry.kind = definitions::EntryKind::absent;
    entry.written = kNow - 7s;
    REQUIRE(map.merge(entry, kNow) == definitions::MergeOutcome::applied);
    const Bytes file = snapshot_of(map);
    CHECK(page().says("the eight bytes `weirsnap`, a 2-byte format (" +
                      std::to_string(definitions::kSnapshotFormat) +
                      "), then blocks up to the end."));
    CHECK(as_text(ByteSpan(file).first(10)) == std::string_view("weirsnap\0\2", 10));

    const auto rows = page().table("## The snapshot", "type");
    const std::string entries = "entries as in a push";
    const std::string layout = page().layout("window_report");
    const std::string counts = layout.substr(layout.find("each {") + 5);
    const std::vector<Fields> expected = {
        {{"varint milliseconds since 1970", 5000}, {"string cluster", "storage"}},
        {{entries, Records{page().sentence("Entry: "),
                           {{{"string name", "s3/b1"},
                             {"version", "ac020102030405060708"},
                             {"1 kind", 1},
                             {"ms age", 7000},
                             {"string who", ""},
                             {"string why", ""}}}}}},
        {{"entries as in `window_report`", Records{counts, {fields_of_some_count()}}}},
        {{"varint milliseconds since 1970", 6000},
         {"each {", Records{"", {fields_of_some_level()}}}},
        {{"varint number of entries", 1}}};
    REQUIRE(rows.size() == expected.size());
    ByteReader reader(ByteSpan(file).subspan(10));
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const ByteSpan content = reader.bytes(reader.u32());
        REQUIRE(!content.empty());
        CHECK(rows[i][0] == std::to_string(std::to_integer<int>(content[0])));
        CHECK(test::difference(rows[i][2], content.subspan(1), expected[i]) == "");
        sum = mix(sum ^ hash_under("weir snapshot   ", as_text(content)));
        CHECK(reader.u64() == sum);
    }
    CHECK(reader.ok());
    CHECK(reader.remaining() == 0);
    CHECK(
        page().says("*m*(the sum before, 0 at first, xor SipHash-2-4 of the content under the "
                    "key `weir snapshot` and three blanks)"));
}

}  // namespace
}  // namespace weir

// The bytes of definitions and of the messages that carry them, and the ends of what they may hold.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/records.h"
#include "definitions/codec.h"
#include "definitions/messages.h"
#include "membership/messages.h"

namespace weir::definitions {
namespace {

using namespace std::chrono_literals;
using limiter::BurstSpec;

constexpr Instant kNow{1'000'000h};

std::string hex(ByteSpan bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        text += kDigits[std::to_integer<std::size_t>(byte) >> 4];
        text += kDigits[std::to_integer<std::size_t>(byte) & 15];
    }
    return text;
}

std::string unhex(std::string_view digits) {
    std::string bytes;
    for (std::size_t i = 0; i < digits.size(); i += 2) {
        bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
    }
    return bytes;
}

template <class T>
std::string hex_of(const T& value) {
    std::array<std::byte, gossip::kMaximumPayload> buffer{};
    ByteWriter writer(buffer);
    if constexpr (std::is_same_v<T, DefinitionEntry>) {
        encode(writer, value, kNow);
    } else {
        encode(writer, value);
    }
    CHECK(writer.ok());
    return hex(writer.written());
}

/// Whether these bytes, all of them, are one such value.
template <class Decode>
bool reads(const std::string& digits, Decode decode) {
    const std::string bytes = unhex(digits);
    ByteReader reader(as_bytes(bytes));
    (void)decode(reader);
    return reader.ok() && reader.remaining() == 0;
}

Duration days(int number) { return std::chrono::hours(24 * number); }

DefinitionEntry entry_of(ByteReader& reader) { return decode_entry(reader, kNow); }

limiter::QuotaDefinition rich_definition() {
    limiter::QuotaDefinition definition;
    definition.name = "a";
    definition.parent = "p";
    definition.hide_headers = true;
    definition.max_instances = 300;
    definition.max_children = 5;
    definition.enforced_share = 0.25;
    definition.when_isolated = limiter::IsolationMode::pessimistic;
    limiter::RateLimit first;
    first.amount = 100;
    first.law = limiter::Law::adaptive;
    limiter::RateLimit second;
    second.unit = limiter::Unit::cost;
    second.amount = 1.5;
    second.period = 1min;
    second.low = BurstSpec{BurstSpec::Kind::amount, 10};
    second.high = BurstSpec{BurstSpec::Kind::seconds, 0.5};
    second.debt = BurstSpec{BurstSpec::Kind::amount, 7};
    second.law = limiter::Law::linear;
    second.scope = limiter::Scope::sidecar;
    second.safe = 8;
    definition.limits = {first, second};
    limiter::QuotaOptions options;
    options.enforced_by = "user";
    options.headers = limiter::HeaderForms{false, true};
    options.refusal = {503, "text/plain", "no"};
    definition.options = options;
    return definition;
}

// Put together by hand from docs/protocol.md, like those of the envelope.
TEST_CASE("the bytes of a definition are those of the protocol") {
    const std::string bytes =
        "0701700"
        "1ac02050214"
        "000040590000000000008094ebdc030000000100"
        "2d"
        "00033ff800000000000080b09dc2df0101"
        "4024000000000000023fe000000000000001401c0000000000000001"
        "34010e003fd000000000000004757365720201020309014020000000000000040102"
        "051101f70a746578742f706c61696e01026e6f";
    CHECK(hex(as_bytes(encode_definition(rich_definition()))) == bytes);
    const auto read = decode_definition("a", unhex(bytes));
    REQUIRE(read.has_value());
    CHECK(*read == rich_definition());
    limiter::QuotaDefinition plain;
    plain.name = "a";
    CHECK(hex(as_bytes(encode_definition(plain))) == "0000000000");
}

TEST_CASE("an option of a definition that is there alone is read as that option") {
    const auto check = [](const auto& change) {
        limiter::QuotaDefinition definition;
        definition.name = "a";
        definition.limits.resize(2);
        change(definition);
        const auto read = decode_definition("a", encode_definition(definition));
        REQUIRE(read.has_value());
        CHECK(*read == definition);
    };
    const auto with_options = [&](const limiter::QuotaOptions& options) {
        check([&](limiter::QuotaDefinition& definition) { definition.options = options; });
    };
    check([](limiter::QuotaDefinition& d) { d.hide_headers = true; });
    check([](limiter::QuotaDefinition& d) { d.enforced_share = 0; });
    check([](limiter::QuotaDefinition& d) { d.limits[0].safe = 0; });
    check([](limiter::QuotaDefinition& d) { d.limits[1].safe = 2; });
    check([](limiter::QuotaDefinition& d) { d.max_instances = 0xffff'ffff; });
    check([](limiter::QuotaDefinition& d) { d.max_children = 0xffff'ffff; });
    check([](limiter::QuotaDefinition& d) { d.limits[0].period = std::chrono::hours(24 * 400); });
    check([](limiter::QuotaDefinition& d) { d.limits[0].period = 1ns; });
    limiter::QuotaOptions options;
    options.enforced_by = "x";  // matters once the share is set
    with_options(options);
    for (const bool ietf : {false, true}) {
        for (const bool x_ratelimit : {false, true}) {
            options = {};
            options.headers = limiter::HeaderForms{ietf, x_ratelimit};
            with_options(options);
        }
    }
    options = {};
    options.refusal.body = "";
    with_options(options);
}

TEST_CASE("a definition's numbers have ends") {
    const auto reads_value = [](const std::string& digits) {
        return decode_definition("a", unhex(digits)).has_value();
    };
    // Flags, mode, instances, children, no limits.
    CHECK(reads_value("0002000000"));
    CHECK_FALSE(reads_value("0003000000"));                        // there are three modes
    CHECK(reads_value("0000ffffffff0f0000"));                      // 2^32 - 1 instances
    CHECK_FALSE(reads_value("000080808080100000"));                // 2^32
    CHECK_FALSE(reads_value("00000080808080100000"));              // ... children
    CHECK_FALSE(reads_value("0000000009" + std::string(2, '0')));  // nine limits
    const auto limit = [&](const std::string& kind, const std::string& unit,
                           const std::string& period, const std::string& border,
                           const std::string& law, const std::string& scope) {
        const std::string text =
            kind + unit + "3ff0000000000000" + period + border + "0000" + law + scope;
        const std::array length{static_cast<std::byte>(text.size() / 2)};
        return reads_value("0000000001" + hex(length) + text);
    };
    CHECK(limit("00", "03", "01", "00", "01", "01"));
    CHECK(limit("03", "04", "00", "03", "02", "02"));        // a kind of a later version
    CHECK(limit("01", "03", "01", "00", "01", "01"));        // a window
    CHECK_FALSE(limit("01", "03", "00", "00", "01", "01"));  // ... without a period
    CHECK_FALSE(limit("00", "04", "01", "00", "01", "01"));  // four units
    CHECK_FALSE(limit("00", "03", "00", "00", "01", "01"));  // no period
    CHECK_FALSE(limit("00", "03", "01", "00", "02", "01"));  // two laws
    CHECK_FALSE(limit("00", "03", "01", "00", "01", "02"));  // two scopes
    CHECK(limit("00", "03", "01", "023ff0000000000000", "01", "01"));
    CHECK_FALSE(limit("00", "03", "01", "033ff0000000000000", "01", "01"));  // two kinds of border
    CHECK_FALSE(limit("00", "03", "01", "02bff0000000000000", "01", "01"));  // negative
    // 400 days, and a nanosecond more.
    CHECK(limit("00", "03", "8080c0dbb084b23d", "00", "01", "01"));
    CHECK_FALSE(limit("00", "03", "8180c0dbb084b23d", "00", "01", "01"));
}

TEST_CASE("the safe capacity of a limit that is not there is skipped") {
    // One limit, then the fields: their length, number 3, its length and entries of nine bytes.
    const auto read = [](const std::string& fields) {
        return decode_definition("a",
                                 unhex("04000000011000003ff0000000000000010000000000" + fields));
    };
    const std::string two = "014000000000000000";
    const std::string three = "004008000000000000";
    const auto both = read("140312" + two + three);  // for the limits 1 and 0
    REQUIRE(both.has_value());
    CHECK(both->limits.at(0).safe == 3.0);
    CHECK(read("0b0309" + three).has_value());
    // What is cut within is refused, however short it is.
    CHECK_FALSE(read("03030100").has_value());
    CHECK_FALSE(read("0403020000").has_value());
    CHECK_FALSE(read("0a0308" + three.substr(2)).has_value());
}

TEST_CASE("what belongs to a document is known by its hash") {
    CHECK(document_hash(as_bytes("abc")) == 0x5a9f355e3de2b9e2);
    CHECK(document_hash({}) != document_hash(as_bytes(std::string_view("\0", 1))));
}

TEST_CASE("the bytes of definition messages are those of the protocol") {
    DefinitionEntry entry;
    entry.name = "a";
    entry.version = {300, 7};
    entry.kind = EntryKind::set;
    entry.value = "v";
    entry.who = "ann";
    entry.why = "why";
    entry.lifetime = 1min;
    entry.written = kNow - 1500ms;
    CHECK(hex_of(entry) == "1c0161ac02000000000000000704dc0be0d40303616e6e037768790176");
    CHECK(reads(hex_of(entry), entry_of));
    const DefinitionEntry tombstone{"a", {1, 7}, EntryKind::removed, "", "", "", {}, kNow};
    CHECK(hex_of(tombstone) == "0f016101000000000000000702000000");
    CHECK_FALSE(reads("0f016101000000000000000703000000", entry_of));  // three kinds
    CHECK_FALSE(reads("0e0001000000000000000702000000", entry_of));    // no name

    DefinitionDigest digest{9, {{300, 7}}, {{"set", 300, 4}}, {}};
    CHECK(hex_of(digest) ==
          "1400000000000000000901ac0200000000000000070e03736574ac020000000000000004");
    digest.partitions.emplace().fill(1);
    std::string partitions;
    for (int i = 0; i < 64; ++i) {
        partitions += "00000001";
    }
    CHECK(hex_of(digest) == "940201000000000000000901ac020000000000000007" + partitions +
                                "0e03736574ac020000000000000004");
    PartitionAsk ask{63, true, {}};
    ask.slots.fill(1);
    CHECK(hex_of(ask) == "3f01" + partitions);
    ask.mutual = false;
    CHECK(hex_of(ask) == "3f00" + partitions);
    CHECK(reads("3f00" + partitions, decode_partition_ask));
    CHECK_FALSE(reads("4000" + partitions, decode_partition_ask));  // 64 partitions
    CHECK(hex_of(DocumentAsk{"set", 300, 301, 32}) == "03736574ac02ad0220");
    const std::vector<std::byte> abc{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
    CHECK(hex_of(DocumentPage{"set", 300, 4, 2, 300, abc}) ==
          "03736574ac02000000000000000402ac0203616263");
    const ShortHashes shortened = shorten({0x1122334455667788});
    CHECK(shortened[0] == 0x55667788);
}

TEST_CASE("an entry's times have ends, and survive at them") {
    DefinitionEntry entry{"a", {1, 7}, EntryKind::absent, "", "", "", 0ms, kNow};
    const auto back = [](const DefinitionEntry& sent) {
        const std::string bytes = unhex(hex_of(sent));
        ByteReader reader(as_bytes(bytes));
        DefinitionEntry read = decode_entry(reader, kNow);
        CHECK(reader.ok());
        return read;
    };
    CHECK(back(entry).lifetime == Duration::zero());
    entry.lifetime = days(400);
    entry.written = kNow - days(400);
    CHECK(back(entry).lifetime == days(400));
    CHECK(back(entry).written == entry.written);
    entry.lifetime = days(401);
    entry.written = kNow - days(401);
    CHECK(back(entry).lifetime == days(400));
    CHECK(back(entry).written == kNow - days(400));
    entry.written = kNow + 1s;  // of a faster clock
    CHECK(back(entry).written == kNow);
    // Beyond the end on the wire, too: 2^63 milliseconds.
    const std::string far = unhex(
        "18"
        "0161010000000000000007018080808080808080800100"
        "00");
    ByteReader reader(as_bytes(far));
    CHECK(decode_entry(reader, kNow).written == kNow - days(400));
    CHECK(reader.ok());
    // The size that is told is that of the oldest age.
    entry.lifetime.reset();
    entry.written = kNow;
    CHECK(entry_size(entry) == 1 + 1 + 1 + 1 + 8 + 1 + 6 + 1 + 1);
}

TEST_CASE("digests tell of sixteen writers, and of as many sets as fit") {
    DefinitionDigest digest;
    for (std::uint64_t i = 0; i < 20; ++i) {
        digest.writers.push_back({i, i});
    }
    const std::string bytes = unhex(hex_of(digest));
    ByteReader reader(as_bytes(bytes));
    CHECK(decode_digest(reader).writers.size() == 16);
    CHECK(reader.ok());
    // As many writers as the most, and one more, in what is read.
    const auto with_writers = [](int count, const std::string& number) {
        std::string digits = "000000000000000000" + number;
        for (int i = 0; i < count; ++i) {
            digits += "010000000000000001";
        }
        const std::size_t size = digits.size() / 2;  // takes two bytes as a varint
        std::array<std::byte, 2> length{};
        ByteWriter(length).varint(size);
        return hex(length) + digits;
    };
    CHECK(reads(with_writers(16, "10"), decode_digest));
    CHECK_FALSE(reads(with_writers(17, "11"), decode_digest));

    digest.writers.clear();
    const std::string longest(kMaximumSetName, 'n');
    digest.sets.assign(100, {longest, ~0ull, 1});
    std::array<std::byte, gossip::kMaximumPayload> buffer{};
    ByteWriter writer(buffer);
    encode(writer, digest);
    CHECK(writer.ok());
    ByteReader sets(writer.written());
    const std::size_t size = 2 + 2 + kMaximumSetName + 10 + 8;
    CHECK(decode_digest(sets).sets.size() == (gossip::kMaximumPayload - 11) / size);
    // One that just fits is told.
    std::array<std::byte, 11 + size> narrow{};
    ByteWriter fits(narrow);
    encode(fits, digest);
    CHECK(fits.ok());
    CHECK(fits.remaining() == 0);
    std::array<std::byte, 11 + size - 1> short_by_one{};
    ByteWriter none(short_by_one);
    encode(none, digest);
    CHECK(none.ok());
    CHECK(none.size() == 11);
}

TEST_CASE("a set that another one has on disk needs ten bytes more, and is told if it just fits") {
    DefinitionDigest digest;
    digest.sets.push_back({std::string(kMaximumSetName, 'n'), ~0ull, 1, 2});
    constexpr std::size_t size = 11 + 2 + 2 + kMaximumSetName + 10 + 8 + 10;
    std::array<std::byte, size> narrow{};
    ByteWriter fits(narrow);
    encode(fits, digest);
    CHECK(fits.ok());
    CHECK(fits.remaining() == 0);
    ByteReader read(fits.written());
    CHECK(decode_digest(read).sets.at(0).on_disk == 2);
    std::array<std::byte, size - 1> short_by_one{};
    ByteWriter none(short_by_one);
    encode(none, digest);
    CHECK(none.ok());
    CHECK(none.size() == 11);
}

TEST_CASE("a single byte behind the last entry is refused, not left over") {
    const auto fails = [](const std::string& digits, auto decode) {
        const std::string bytes = unhex(digits);
        ByteReader reader(as_bytes(bytes));
        (void)decode(reader);
        return !reader.ok();
    };
    const std::string digest =
        "0a"
        "000000000000000000"
        "00";
    CHECK_FALSE(fails(digest, decode_digest));
    CHECK(fails(digest + "01", decode_digest));
    CHECK_FALSE(fails("0100", membership::decode_member_list));
    CHECK(
        fails("0100"
              "00",
              membership::decode_member_list));
}

TEST_CASE("counts of files have ends") {
    const auto with = [](std::uint8_t contents, std::uint8_t places) {
        std::array<std::byte, 512> buffer{};
        ByteWriter writer(buffer);
        {
            const RecordWriter record(writer);
            writer.string("s");
            writer.varint(1);
            writer.u64(1);
            writer.varint(9);
            writer.u8(contents);
            for (std::uint8_t i = 0; i < contents; ++i) {
                writer.u64(i);
                writer.varint(1);
                writer.u8(places);
                for (std::uint8_t place = 0; place < places; ++place) {
                    gossip::encode(writer, Endpoint::v4(1, 1));
                }
            }
        }
        return hex(writer.written());
    };
    CHECK(reads(with(0, 0), decode_set_count));
    CHECK(reads(with(4, 3), decode_set_count));
    CHECK_FALSE(reads(with(5, 0), decode_set_count));
    CHECK_FALSE(reads(with(1, 4), decode_set_count));
    const std::string full = unhex(with(4, 3));
    ByteReader reader(as_bytes(full));
    const SetCount count = decode_set_count(reader);
    REQUIRE(count.contents.size() == 4);
    CHECK(count.contents.back().places == std::vector(3, Endpoint::v4(1, 1)));
}

TEST_CASE("the head of a partition's entries says which it is, and whether there are more") {
    for (const bool more : {false, true}) {
        const std::string bytes = unhex(hex_of(PartitionHead{63, more}));
        ByteReader reader(as_bytes(bytes));
        const PartitionHead head = decode_partition_head(reader);
        CHECK(reader.ok());
        CHECK(head.partition == 63);
        CHECK(head.more == more);
    }
    CHECK_FALSE(reads(hex_of(PartitionHead{64, false}), decode_partition_head));
}

TEST_CASE("pages have ends") {
    const auto ask = [](std::uint64_t first) {
        std::array<std::byte, 64> buffer{};
        ByteWriter writer(buffer);
        writer.string("s");
        writer.varint(1);
        writer.varint(first);
        writer.u8(1);
        return hex(writer.written());
    };
    CHECK(reads(ask(kMaximumPages - 1), decode_document_ask));
    CHECK_FALSE(reads(ask(kMaximumPages), decode_document_ask));
    CHECK_FALSE(reads("00010101", decode_document_ask));  // no name
    const auto page = [](std::uint64_t number, std::uint64_t pages, std::size_t size) {
        std::vector<std::byte> buffer(2 * kPageBytes);
        ByteWriter writer(buffer);
        writer.string("s");
        writer.varint(1);
        writer.u64(1);
        writer.varint(number);
        writer.varint(pages);
        writer.varint(size);
        writer.bytes(std::vector<std::byte>(size));
        return hex(writer.written());
    };
    CHECK(reads(page(0, 1, 0), decode_document_page));
    CHECK_FALSE(reads(page(0, 0, 0), decode_document_page));
    CHECK_FALSE(reads(page(1, 1, 0), decode_document_page));
    CHECK(reads(page(kMaximumPages - 1, kMaximumPages, 0), decode_document_page));
    CHECK_FALSE(reads(page(0, kMaximumPages + 1, 0), decode_document_page));
    CHECK(reads(page(0, 1, kPageBytes), decode_document_page));
    CHECK_FALSE(reads(page(0, 1, kPageBytes + 1), decode_document_page));
}

}  // namespace
}  // namespace weir::definitions

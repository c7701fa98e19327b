// Framing, envelope and message codecs: round trips, and nothing read beyond the input.
#include "gossip/wire.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <limits>
#include <set>

#include "gossip/definition_codec.h"
#include "gossip/definition_messages.h"
#include "gossip/membership_messages.h"
#include "gossip/rejection.h"

namespace weir::gossip {
namespace {

using namespace std::chrono_literals;

Endpoint arbitrary_endpoint() {
    Endpoint endpoint = Endpoint::v4(*rc::gen::arbitrary<std::uint32_t>(),
                                     *rc::gen::inRange<std::uint16_t>(1, 65535));
    if (*rc::gen::arbitrary<bool>()) {
        for (std::uint8_t& byte : endpoint.address) {
            byte = *rc::gen::arbitrary<std::uint8_t>();
        }
        endpoint.address[0] = 0x20;  // never an IPv4 address in disguise
    }
    return endpoint;
}

MemberId arbitrary_id() {
    return {arbitrary_endpoint(), *rc::gen::inRange<Incarnation>(1, ~Incarnation{0})};
}

std::vector<std::byte> arbitrary_bytes(std::size_t most) {
    const auto numbers = *rc::gen::container<std::vector<std::uint8_t>>(
        *rc::gen::inRange<std::size_t>(0, most), rc::gen::arbitrary<std::uint8_t>());
    std::vector<std::byte> bytes;
    for (std::uint8_t number : numbers) {
        bytes.push_back(std::byte{number});
    }
    return bytes;
}

/// Writes, reads back, and checks that every shorter input fails or differs without harm.
template <class T, class Decode>
void round_trip(const T& value, Decode decode) {
    std::vector<std::byte> buffer(2 * kMaximumDatagram);
    ByteWriter writer(buffer);
    encode(writer, value);
    RC_ASSERT(writer.ok());
    RC_ASSERT(writer.size() <= kMaximumPayload);
    ByteReader reader(writer.written());
    RC_ASSERT(decode(reader) == value);
    RC_ASSERT(reader.ok());
    RC_ASSERT(reader.remaining() == 0u);
    const std::vector<std::byte> cut(writer.written().begin(), writer.written().end());
    for (std::size_t length = 0; length < cut.size(); ++length) {
        // A copy of its own, so that a sanitizer sees a read beyond it.
        const std::vector<std::byte> shorter(cut.begin(),
                                             cut.begin() + static_cast<std::ptrdiff_t>(length));
        ByteReader short_reader(shorter);
        (void)decode(short_reader);
    }
}

TEST_CASE("the envelope survives the way over the wire") {
    CHECK(rc::check([] {
        const Envelope envelope{*rc::gen::arbitrary<std::uint32_t>(), arbitrary_id(),
                                *rc::gen::arbitrary<std::uint64_t>(),
                                *rc::gen::arbitrary<std::uint64_t>(),
                                *rc::gen::arbitrary<std::uint64_t>()};
        round_trip(envelope, decode_envelope);
        std::array<std::byte, kMaximumEnvelope> buffer{};
        ByteWriter writer(buffer);
        encode(writer, envelope);
        RC_ASSERT(writer.ok());
    }));
}

template <class T>
std::string hex_of(const T& value) {
    std::array<std::byte, kMaximumDatagram> buffer{};
    ByteWriter writer(buffer);
    encode(writer, value);
    std::string text;
    for (const std::byte byte : writer.written()) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        text += kDigits[std::to_integer<std::size_t>(byte) >> 4];
        text += kDigits[std::to_integer<std::size_t>(byte) & 15];
    }
    return text;
}

// Put together by hand from docs/protocol.md: what reads what it has itself written may have
// changed both, and members of several versions talk to each other.
TEST_CASE("the bytes of the envelope and of membership's messages are those of the protocol") {
    const MemberId member{Endpoint::v4(0x0a000001, 7946), 0x1122334455667788};
    const std::string wired = "040a0000011f0a1122334455667788";
    const std::string one = "0000000000000001";
    const std::string two = "0000000000000002";
    CHECK(hex_of(Envelope{0xaabbccdd, member, 0x99, 300, 5}) ==
          "aabbccdd" + wired + "0000000000000099" + "ac02" + "0000000000000005");
    CHECK(hex_of(Ping{1, 2, 3}) == one + two + "000000");
    CHECK(hex_of(Answer{1, 2, {.anchor = true, .leaving = false}, 300}) == one + two + "01ac02");
    CHECK(hex_of(PingRequest{1, member}) == one + wired);
    CHECK(hex_of(IndirectAnswer{2}) == two);
    CHECK(hex_of(Obituary{2}) == two);
    CHECK(hex_of(MemberUpdate{member, MemberState::suspect, {true, true}, 300, 2}) ==
          "0103" + wired + "ac02" + two);
    CHECK(hex_of(MemberListAsk{}) == "06" + std::string(32, '0') + "0000");
    const MemberUpdate left{member, MemberState::left, {false, true}, 0, 0};
    CHECK(hex_of(MemberList{true, {left}}) == "010302" + wired + "00");
}

TEST_CASE("each type of message has its lane") {
    for (int number = 0; number < 256; ++number) {
        const auto type = static_cast<MessageType>(number);
        const Lane lane = number < 16   ? Lane::membership
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
        round_trip(Answer{number(), number(), flags(), number()}, decode_answer);
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

limiter::QuotaOptions arbitrary_options() {
    const auto text = [](std::size_t most) {
        return std::string(*rc::gen::inRange<std::size_t>(0, most + 1), 'x');
    };
    limiter::QuotaOptions options;
    if (*rc::gen::arbitrary<bool>()) {
        options.enforced_by = text(limiter::kMaxFieldName);
        options.headers =
            limiter::HeaderForms{*rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>()};
        options.refusal.status = *rc::gen::inRange<std::uint16_t>(0, 600);
        options.refusal.content_type = text(limiter::kMaxContentType);
    }
    if (*rc::gen::arbitrary<bool>()) {
        options.refusal.body = text(limiter::kMaxRefusalBody);
    }
    return options;
}

limiter::QuotaDefinition arbitrary_definition() {
    limiter::QuotaDefinition definition;
    definition.name = *rc::gen::container<std::string>(*rc::gen::inRange<std::size_t>(1, 20),
                                                       rc::gen::inRange('a', 'z'));
    if (*rc::gen::arbitrary<bool>()) {
        definition.parent = definition.name + "p";
    }
    const auto border = []() -> std::optional<limiter::BurstSpec> {
        if (*rc::gen::arbitrary<bool>()) {
            return std::nullopt;
        }
        return limiter::BurstSpec{static_cast<limiter::BurstSpec::Kind>(*rc::gen::inRange(0, 2)),
                                  static_cast<double>(*rc::gen::inRange(0, 1000))};
    };
    const auto limits = *rc::gen::inRange<std::size_t>(0, limiter::kMaxLimitsPerQuota + 1);
    for (std::size_t i = 0; i < limits; ++i) {
        limiter::RateLimit limit;
        limit.unit = static_cast<limiter::Unit>(*rc::gen::inRange(0, 4));
        limit.amount = static_cast<double>(*rc::gen::inRange(0, 100000)) / 7;
        limit.period = Duration(*rc::gen::inRange<Duration::rep>(1, 1'000'000'000'000));
        limit.low = border();
        limit.high = border();
        limit.debt = border();
        limit.law = static_cast<limiter::Law>(*rc::gen::inRange(0, 2));
        limit.scope = static_cast<limiter::Scope>(*rc::gen::inRange(0, 2));
        if (*rc::gen::arbitrary<bool>()) {
            limit.safe = *rc::gen::inRange(0, 1000) / 8.0;
        }
        definition.limits.push_back(limit);
    }
    definition.mode = static_cast<limiter::Mode>(*rc::gen::inRange(0, 3));
    definition.max_instances = *rc::gen::arbitrary<std::uint32_t>();
    definition.max_children = *rc::gen::arbitrary<std::uint32_t>();
    definition.hide_headers = *rc::gen::arbitrary<bool>();
    definition.when_isolated = static_cast<limiter::IsolationMode>(*rc::gen::inRange(0, 3));
    definition.enforced_share = *rc::gen::inRange(0, 5) / 4.0;
    definition.options = arbitrary_options();
    return definition;
}

/// A value with a field of a later version behind its own fields.
std::string with_later_field(const std::string& fields) {
    std::array<std::byte, 64> buffer{};
    ByteWriter writer(buffer);
    writer.u8(4);      // fields follow
    writer.u8(1);      // shadow
    writer.varint(0);  // instances, children, limits
    writer.varint(0);
    writer.varint(0);
    writer.string(fields);
    return std::string(as_text(writer.written()));
}

TEST_CASE("definitions and documents survive the way over the wire") {
    CHECK(rc::check([] {
        const limiter::QuotaDefinition definition = arbitrary_definition();
        const std::string value = encode_definition(definition);
        const auto back = decode_definition(definition.name, value);
        RC_ASSERT(back.has_value());
        RC_ASSERT(*back == definition);
        for (std::size_t length = 0; length < value.size(); ++length) {
            RC_ASSERT(!decode_definition("x", value.substr(0, length)).has_value());
        }
        RC_ASSERT(!decode_definition("x", value + "y").has_value());

        std::vector<limiter::QuotaDefinition> document{definition, arbitrary_definition()};
        document[1].name += "z";
        const auto bytes = encode_document(document);
        std::swap(document[0], document[1]);
        RC_ASSERT(encode_document(document).value() == bytes.value());  // order does not matter
        const auto decoded = decode_document(*bytes);
        RC_ASSERT(decoded.has_value());
        RC_ASSERT(decoded->size() == 2u);
    }));
}

TEST_CASE("a definition's fields of later versions are skipped") {
    using namespace std::string_literals;
    // 77: unknown; 2: isolation, a byte longer than today.
    const auto read = decode_definition("a", with_later_field("\x4d\x03xyz\x02\x02\x01z"s));
    REQUIRE(read.has_value());
    CHECK(read->when_isolated == limiter::IsolationMode::optimistic);
    CHECK(read->mode == limiter::Mode::shadow);
    for (const std::string& bad : {"\x4d\x04xyz"s, "\x02\x01\x03"s, "\x02\x00"s, "\x4d"s}) {
        CHECK_FALSE(decode_definition("a", with_later_field(bad)).has_value());
    }
}

TEST_CASE("who does not know shares of keys shadows instead of enforcing everything") {
    limiter::QuotaDefinition definition;
    definition.name = "a";
    definition.enforced_share = 0.25;
    const std::string value = encode_definition(definition);
    CHECK(value[1] == 1);  // the mode, where a peer that skips fields looks for it
    CHECK(decode_definition("a", value).value() == definition);
}

TEST_CASE("encoding never cuts: what is too long is all there, and refused by who reads it") {
    limiter::QuotaOptions options;
    options.refusal = {429, std::string(3000, 't'), std::string(70'000, 'b')};
    options.enforced_by = std::string(2000, 'f');
    options.headers = limiter::HeaderForms{true, true};
    limiter::QuotaDefinition definition;
    definition.name = std::string(limiter::kMaxNameBytes, 'n');
    definition.parent = std::string(5000, 'p');
    definition.when_isolated = limiter::IsolationMode::optimistic;
    definition.options = options;
    const limiter::BurstSpec border{limiter::BurstSpec::Kind::seconds, 1e300};
    limiter::RateLimit limit;
    limit.period = Duration::min();
    limit.low = limit.high = limit.debt = border;
    limit.safe = 1e300;
    definition.limits.assign(300, limit);
    const std::string value = encode_definition(definition);
    CHECK(value.size() > 3000 + 70'000 + 2000 + 5000 + 300 * 50);
    CHECK(value.find(*options.refusal.body) != std::string::npos);
    CHECK_FALSE(decode_definition(definition.name, value).has_value());
    const auto document = encode_document(std::vector{definition});
    REQUIRE(document.has_value());
    CHECK(document->size() > value.size());
    CHECK_FALSE(decode_document(*document).has_value());

    for (const std::size_t over : {std::size_t{0}, std::size_t{1}}) {
        CAPTURE(over);
        const auto decodes = [&](const limiter::QuotaOptions& given) {
            limiter::QuotaDefinition one;
            one.name = "a";
            one.options = given;
            const auto read = decode_definition("a", encode_definition(one));
            return read.has_value() && *read == one;
        };
        options = {};
        options.refusal.body = std::string(limiter::kMaxRefusalBody + over, 'b');
        CHECK(decodes(options) == (over == 0));
        options.refusal = {0, std::string(limiter::kMaxContentType + over, 'b'), "x"};
        CHECK(decodes(options) == (over == 0));
        options.refusal = {};
        options.enforced_by = std::string(limiter::kMaxFieldName + over, 'b');
        CHECK(decodes(options) == (over == 0));
    }
}

TEST_CASE("amounts that are no numbers are refused") {
    limiter::QuotaDefinition definition;
    definition.name = "a";
    definition.limits.emplace_back();
    for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
        definition.limits[0].amount = bad;
        CHECK_FALSE(decode_definition("a", encode_definition(definition)).has_value());
    }
}

TEST_CASE("a document above its bound is refused unread, one at it is read") {
    std::vector<std::byte> bytes(kMaximumDocument + 1);
    const auto refused = decode_document(bytes);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::too_large);
    bytes.pop_back();
    // Zeros would be forty million definitions without a name: the first one ends it.
    const auto read = decode_document(bytes);
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().code == ErrorCode::truncated);
}

TEST_CASE("a definition without a name is refused, also behind a good one") {
    limiter::QuotaDefinition named;
    named.name = "a";
    auto bytes = encode_document({&named, 1}).value();
    CHECK(decode_document(bytes).has_value());
    const auto nameless = encode_document({&named, 1}).value();
    bytes.push_back(std::byte{0});  // the length of a name
    bytes.insert(bytes.end(), nameless.begin() + 2, nameless.end());
    CHECK_FALSE(decode_document(bytes).has_value());
    bytes.resize(nameless.size());
    CHECK(decode_document(bytes).has_value());
}

TEST_CASE("what takes more than the bound is not encoded, what takes just so much is") {
    std::vector<limiter::QuotaDefinition> definitions(1000);
    for (std::size_t i = 0; i < definitions.size(); ++i) {
        definitions[i].name = "quota-" + std::to_string(i);
        definitions[i].limits.emplace_back().amount = 1;
    }
    const auto whole = encode_document(definitions);
    REQUIRE(whole.has_value());
    CHECK(encode_document(definitions, whole->size()).value() == whole.value());
    const auto refused = encode_document(definitions, whole->size() - 1);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::too_large);
}

TEST_CASE("definition messages survive the way over the wire") {
    CHECK(rc::check([] {
        const auto number = [] { return *rc::gen::arbitrary<std::uint64_t>(); };
        const Instant now{1000h};
        DefinitionDigest digest{number(), {}, {}, {}};
        digest.writers.assign(*rc::gen::inRange<std::size_t>(0, 17), {number(), number()});
        digest.sets.assign(*rc::gen::inRange<std::size_t>(0, 5), {"set", number(), number()});
        if (*rc::gen::arbitrary<bool>()) {
            digest.buckets.emplace().fill(static_cast<std::uint32_t>(number()));
        }
        round_trip(digest, decode_digest);
        BucketAsk ask{*rc::gen::inRange<std::uint8_t>(0, 64), *rc::gen::arbitrary<bool>(), {}};
        ask.leaves.fill(static_cast<std::uint32_t>(number()));
        round_trip(ask, decode_bucket_ask);
        round_trip(DocumentAsk{"set", number(), *rc::gen::inRange<std::uint32_t>(0, 1000), 9},
                   decode_document_ask);
        round_trip(DocumentPage{"set", number(), number(), 3, 9, arbitrary_bytes(kPageBytes)},
                   decode_document_page);

        crdt::DefinitionEntry entry;
        entry.name = "name";
        entry.version = {number(), number()};
        entry.kind = static_cast<crdt::EntryKind>(*rc::gen::inRange(0, 3));
        entry.value = entry.kind == crdt::EntryKind::set ? "value" : "";
        entry.who = "ann";
        entry.why = "because";
        entry.written = now - std::chrono::milliseconds(*rc::gen::inRange(0, 100'000));
        if (*rc::gen::arbitrary<bool>()) {
            entry.lifetime = std::chrono::milliseconds(*rc::gen::inRange(0, 100'000));
        }
        std::array<std::byte, kMaximumPayload> buffer{};
        ByteWriter writer(buffer);
        encode(writer, entry, now);
        RC_ASSERT(writer.size() <= entry_size(entry));
        ByteReader reader(writer.written());
        const crdt::DefinitionEntry back = decode_entry(reader, now);
        RC_ASSERT(reader.ok());
        RC_ASSERT(same_content(entry, back));
        RC_ASSERT(back.written == entry.written);
    }));
}

TEST_CASE("random bytes never harm a decoder") {
    CHECK(rc::check([] {
        const std::vector<std::byte> bytes = arbitrary_bytes(200);
        const auto feed = [&](auto decode) {
            ByteReader reader(bytes);
            (void)decode(reader);
        };
        feed(decode_envelope);
        feed(decode_ping);
        feed(decode_answer);
        feed(decode_ping_request);
        feed(decode_member_update);
        feed(decode_member_list);
        feed(decode_member_list_ask);
        feed(decode_digest);
        feed(decode_bucket_ask);
        feed(decode_document_ask);
        feed(decode_document_page);
        feed([](ByteReader& reader) { return decode_entry(reader, Instant{1h}); });
        (void)decode_definition("a", as_text(bytes));
        (void)decode_document(bytes);
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
    CHECK(types.size() == 24);
    std::set<std::string_view> reasons;
    for (std::size_t i = 0; i < kRejections; ++i) {
        reasons.insert(to_string(static_cast<Rejection>(i)));
    }
    CHECK(reasons.size() == kRejections);
    CHECK_FALSE(reasons.contains(""));
}

}  // namespace
}  // namespace weir::gossip

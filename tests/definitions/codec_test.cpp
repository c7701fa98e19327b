// The codecs of definitions and of the messages about them: round trips, and nothing read beyond
// the input.
#include "definitions/codec.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <limits>

#include "definitions/messages.h"
#include "gossip/round_trip.h"

namespace weir::definitions {
namespace {

using namespace std::chrono_literals;
using gossip::test::arbitrary_bytes;
using gossip::test::round_trip;

/// How many definitions a document has; the error of the first that does not decode.
Result<std::size_t> count_definitions(ByteSpan document) {
    ByteReader reader(document);
    std::size_t count = 0;
    for (; reader.remaining() > 0; ++count) {
        if (const auto definition = decode_next(reader); !definition) {
            return definition.error();
        }
    }
    return count;
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
    if (*rc::gen::arbitrary<bool>()) {
        options.hold = std::chrono::milliseconds(*rc::gen::inRange(0, 3'600'001));
    }
    if (*rc::gen::arbitrary<bool>()) {
        options.wait.longest = std::chrono::milliseconds(*rc::gen::inRange(1, 60'001));
        options.wait.queue = *rc::gen::inRange<std::uint32_t>(0, 50'001);
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
        if (*rc::gen::inRange(0, 4) == 0) {
            limit.kind = limiter::LimitKind::window;
            limit.period = *rc::gen::element(limiter::kMonth, limit.period);
            limit.from = static_cast<limiter::WindowStart>(*rc::gen::inRange(0, 3));
            limit.timezone = *rc::gen::element<std::string>("", "UTC", std::string(64, 'z'));
        } else if (*rc::gen::inRange(0, 4) == 0) {
            limit.kind = limiter::LimitKind::concurrency;
            limit.unit = limiter::Unit::requests;
            limit.period = Duration::zero();
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
        RC_ASSERT(count_definitions(*bytes).value() == 2u);
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
    CHECK_FALSE(count_definitions(*document).has_value());

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

TEST_CASE("a limit of requests in flight has no period and counts requests") {
    limiter::QuotaDefinition definition;
    definition.name = "a";
    definition.limits = {limiter::RateLimit::in_flight(64), limiter::RateLimit{}};
    definition.limits[0].scope = limiter::Scope::sidecar;
    definition.limits[1].safe = 3;
    const auto decodes = [&] {
        const auto read = decode_definition("a", encode_definition(definition));
        return read.has_value() && *read == definition;
    };
    CHECK(decodes());
    definition.limits[0].period = Duration(1);
    CHECK_FALSE(decodes());
    definition.limits[0].period = Duration::zero();
    definition.limits[0].unit = limiter::Unit::cost;
    CHECK_FALSE(decodes());
    definition.limits[0] = limiter::RateLimit{};
    CHECK(decodes());
    definition.limits[0].period = Duration::zero();
    CHECK_FALSE(decodes());
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

TEST_CASE("a definition without a name is refused, also behind a good one") {
    limiter::QuotaDefinition named;
    named.name = "a";
    auto bytes = encode_document({&named, 1}).value();
    CHECK(count_definitions(bytes).has_value());
    const auto nameless = encode_document({&named, 1}).value();
    bytes.push_back(std::byte{0});  // the length of a name
    bytes.insert(bytes.end(), nameless.begin() + 2, nameless.end());
    CHECK_FALSE(count_definitions(bytes).has_value());
    bytes.resize(nameless.size());
    CHECK(count_definitions(bytes).has_value());
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

TEST_CASE("the refusal of a document names its bound in MiB") {
    limiter::QuotaOptions options;
    options.refusal.body = std::string(limiter::kMaxRefusalBody, 'x');
    limiter::QuotaDefinition large;
    large.options = options;
    std::vector<limiter::QuotaDefinition> definitions(2100, large);
    for (std::size_t i = 0; i < definitions.size(); ++i) {
        definitions[i].name = "quota-" + std::to_string(i);
    }
    const auto refused = encode_document(definitions, std::size_t{2} << 20U);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message == "the document takes more than 2 MiB in binary form");
}

TEST_CASE("definition messages survive the way over the wire") {
    CHECK(rc::check([] {
        const auto number = [] { return *rc::gen::arbitrary<std::uint64_t>(); };
        const Instant now{1000h};
        DefinitionDigest digest{number(), {}, {}, {}};
        digest.writers.assign(*rc::gen::inRange<std::size_t>(0, 17), {number(), number()});
        digest.sets.assign(*rc::gen::inRange<std::size_t>(0, 5), {"set", number(), number()});
        if (*rc::gen::arbitrary<bool>()) {
            digest.partitions.emplace().fill(static_cast<std::uint32_t>(number()));
        }
        round_trip(digest, decode_digest);
        PartitionAsk ask{*rc::gen::inRange<std::uint8_t>(0, 64), *rc::gen::arbitrary<bool>(), {}};
        ask.slots.fill(static_cast<std::uint32_t>(number()));
        round_trip(ask, decode_partition_ask);
        round_trip(DocumentAsk{"set", number(), *rc::gen::inRange<std::uint32_t>(0, 1000), 9},
                   decode_document_ask);
        round_trip(DocumentPage{"set", number(), number(), 3, 9, arbitrary_bytes(kPageBytes)},
                   decode_document_page);

        DefinitionEntry entry;
        entry.name = "name";
        entry.version = {number(), number()};
        entry.kind = static_cast<EntryKind>(*rc::gen::inRange(0, 3));
        entry.value = entry.kind == EntryKind::set ? "value" : "";
        entry.who = "ann";
        entry.why = "because";
        entry.written = now - std::chrono::milliseconds(*rc::gen::inRange(0, 100'000));
        if (*rc::gen::arbitrary<bool>()) {
            entry.lifetime = std::chrono::milliseconds(*rc::gen::inRange(0, 100'000));
        }
        std::array<std::byte, gossip::kMaximumPayload> buffer{};
        ByteWriter writer(buffer);
        encode(writer, entry, now);
        RC_ASSERT(writer.size() <= entry_size(entry));
        ByteReader reader(writer.written());
        const DefinitionEntry back = decode_entry(reader, now);
        RC_ASSERT(reader.ok());
        RC_ASSERT(same_content(entry, back));
        RC_ASSERT(back.written == entry.written);
    }));
}

TEST_CASE("random bytes never harm a decoder of definitions") {
    CHECK(rc::check([] {
        const std::vector<std::byte> bytes = arbitrary_bytes(200);
        const auto feed = [&](auto decode) {
            ByteReader reader(bytes);
            (void)decode(reader);
        };
        feed(decode_digest);
        feed(decode_partition_ask);
        feed(decode_document_ask);
        feed(decode_document_page);
        feed([](ByteReader& reader) { return decode_entry(reader, Instant{1h}); });
        (void)decode_definition("a", as_text(bytes));
        (void)count_definitions(bytes);
    }));
}

}  // namespace
}  // namespace weir::definitions

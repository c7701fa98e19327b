// What this version makes of messages of a later one: fields that it does not know are passed over
// wherever docs/protocol.md allows them, and limits of unknown kinds are left out by themselves.

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/records.h"
#include "cluster/protocol_bytes.h"
#include "definitions/codec.h"
#include "definitions/messages.h"
#include "definitions/store.h"
#include "gossip/wire.h"
#include "membership/messages.h"
#include "sync/messages.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using test::Bytes;
using test::encoded;
using test::written;

constexpr Instant kNow{1h};
constexpr std::uint64_t kNumber = 0x0102030405060708;
const gossip::MemberId kMember{Endpoint::v4(0x0a000001, 7946), kNumber};

/// Two fields that no version knows yet: an empty one and a long one.
void write_later_fields(ByteWriter& writer) {
    writer.varint(900);
    writer.string("");
    writer.varint(901);
    writer.string(std::string(200, 'x'));
}

/// The records one behind the other, each with later fields at its end.
Bytes with_later_fields(ByteSpan records) {
    return written([&](ByteWriter& writer) {
        ByteReader reader(records);
        while (reader.remaining() > 0) {
            ByteReader fields = reader.record();
            REQUIRE(reader.ok());
            const RecordWriter longer(writer);
            writer.bytes(fields.bytes(fields.remaining()));
            write_later_fields(writer);
        }
    });
}

template <class Value, class Decode>
void check_records(const Value& value, const Bytes& bytes, Decode decode) {
    const Bytes longer = with_later_fields(bytes);
    CHECK(longer.size() > bytes.size() + 200);
    ByteReader reader(longer);
    CHECK(decode(reader) == value);
    CHECK(reader.ok());
    CHECK(reader.remaining() == 0);
}

template <class Value, class Decode>
void check_record(const Value& value, Decode decode) {
    check_records(value, encoded(value), decode);
}

const sync::LimitKey kKey{kNumber, 0, 2, 60'000};

TEST_CASE("records of counters may have fields of a later version") {
    sync::DeltaEntry delta;
    delta.key = kKey;
    delta.run = 7;
    delta.run_age = 5s;
    delta.admitted = delta.offered = 70;
    delta.heaviest = 3;
    check_record(delta, sync::decode_delta);
    sync::TotalEntry total;
    total.key = kKey;
    total.life = 9;
    total.run = 7;
    total.admitted = 70;
    total.pace = 3;
    check_record(total, sync::decode_total);
    check_record(sync::HandoverEntry{kKey, 40, 2, 1, 5s, 12, 0.75, true}, sync::decode_handover);
    check_record(sync::QuietEntry{kKey, 7, 40, 6, 2, 4, 1.5, 100, 200, true}, sync::decode_quiet);
    using sync::OrderKind;
    check_record(sync::QuietOrder{kKey, OrderKind::wake, 7, 40}, sync::decode_order);
    check_record(sync::QuietOrder{kKey, OrderKind::level, 0, 0, 48}, sync::decode_order);
    check_record(sync::QuietOrder{kKey, OrderKind::hand_over, 0, 0, 48, 96}, sync::decode_order);
    check_record(sync::QuietOrder{kKey, OrderKind::fall_quiet, 7}, sync::decode_order);
    check_record(sync::NameEntry{kKey, "s3/b1", 10, 20, 30, 40, 1}, sync::decode_name);
    check_record(sync::HotEntry{kKey, 40, 1.5, 300ms, true}, sync::decode_hot);
    check_records(kKey, written([](ByteWriter& writer) { encode_question(writer, kKey); }),
                  sync::decode_question);
    const sync::SaidCounts said{kKey, 7, 70, 0, 70};
    check_records(std::optional(total),
                  written([&](ByteWriter& writer) { encode_answer(writer, said, total); }),
                  [&](ByteReader& reader) { return sync::decode_answer(reader, said); });
    const Bytes head = with_later_fields(written([](ByteWriter& writer) {
        sync::write_answer_head(writer, {5, 300});
    }));
    ByteReader reader(head);
    const sync::AnswerHead read = sync::read_answer_head(reader);
    CHECK(read.tag == 5);
    CHECK(read.first == 300);
    CHECK(reader.remaining() == 0);
    check_records(std::uint16_t{5},
                  written([](ByteWriter& writer) { sync::write_delta_head(writer, 5); }),
                  sync::read_delta_head);
}

TEST_CASE("records of members and definitions may have fields of a later version") {
    const membership::MemberUpdate update{
        kMember, membership::MemberState::suspect, {true, false}, 300, 5};
    check_record(update, membership::decode_member_update);
    check_record(membership::MemberList{true, {update, update}}, membership::decode_member_list);
    const definitions::DefinitionEntry entry{
        "s3/b1", {300, 7}, definitions::EntryKind::set, "value", "ann", "why", 90s, kNow - 7s};
    // Equal entries have equal bytes.
    const Bytes bytes = written([&](ByteWriter& writer) { encode(writer, entry, kNow); });
    check_records(bytes, bytes, [](ByteReader& reader) {
        const definitions::DefinitionEntry read = definitions::decode_entry(reader, kNow);
        return written([&](ByteWriter& writer) { encode(writer, read, kNow); });
    });
    const definitions::Version version{300, 7};
    check_records(version,
                  written([&](ByteWriter& writer) { encode_acknowledgement(writer, version); }),
                  definitions::decode_acknowledgement);
    definitions::DefinitionDigest digest{9, {version}, {{"storage", 300, 4}, {"s", 1, 2}}, {}};
    check_record(digest, definitions::decode_digest);
    digest.sets.front().on_disk = 7;
    check_record(digest, definitions::decode_digest);
    const definitions::SetCount count{
        "storage", {300, 7}, 4, {{5, 3, {kMember.address}}, {6, 1, {}}}};
    check_record(count, definitions::decode_set_count);
    digest.partitions.emplace().fill(3);
    check_record(digest, definitions::decode_digest);
}

/// Messages without records have such fields at their end.
template <class Value, class Decode>
void check_end(const Value& value, Decode decode) {
    const Bytes bytes = written([&](ByteWriter& writer) {
        encode(writer, value);
        write_later_fields(writer);
    });
    ByteReader reader(bytes);
    CHECK(decode(reader) == value);
    CHECK(reader.ok());
}

TEST_CASE("messages without records may have fields of a later version at their end") {
    check_end(membership::PingAnswer{kNumber, 5, {true, false}, 300}, membership::decode_answer);
    check_end(membership::PingRequest{kNumber, kMember}, membership::decode_ping_request);
    check_end(membership::IndirectAnswer{kNumber}, membership::decode_indirect_answer);
    check_end(membership::MemberListAsk{kMember.address}, membership::decode_member_list_ask);
    check_end(membership::Obituary{kNumber}, membership::decode_obituary);
    check_end(definitions::PartitionAsk{63, true, {}}, definitions::decode_partition_ask);
    check_end(definitions::DocumentAsk{"storage", 300, 200, 32}, definitions::decode_document_ask);
    check_end(definitions::DocumentPage{"storage", 300, 4, 2, 400, Bytes(3)},
              definitions::decode_document_page);
    // Those of a ping count as padding.
    const Bytes ping = written([](ByteWriter& writer) {
        encode(writer, membership::Ping{kNumber, 5, 0});
        write_later_fields(writer);
    });
    ByteReader reader(ping);
    CHECK(membership::decode_ping(reader).nonce == kNumber);
    CHECK(reader.ok());
}

TEST_CASE(
    "entries by their place and answers to quiet entries may have fields of a later version") {
    sync::QuietEntry placed;
    placed.place = 300;
    placed.run = 7;
    placed.admitted = placed.untold = placed.untold_full = placed.fresh = 2;
    check_record(placed, sync::decode_quiet);
    const Bytes longer = with_later_fields(encoded(sync::QuietAnswer{5, {1, 300}, {7, 70'000}}));
    ByteReader reader(longer);
    const sync::QuietAnswer read = sync::decode_quiet_answer(reader);
    CHECK(read.left == std::vector<std::uint64_t>{1, 300});
    CHECK(read.places == std::vector<std::uint64_t>{7, 70'000});
    CHECK(reader.ok());
    CHECK(reader.remaining() == 0);
}

TEST_CASE("a datagram may have fields of a later version before its messages") {
    const gossip::Envelope envelope{5, kMember, kNumber, 300};
    Bytes bytes = encoded(envelope);
    REQUIRE(bytes.back() == std::byte{0});  // the empty record at its end
    bytes.pop_back();
    const Bytes fields = with_later_fields(Bytes{std::byte{0}});
    bytes.insert(bytes.end(), fields.begin(), fields.end());
    bytes.push_back(std::byte{42});
    ByteReader reader(bytes);
    CHECK(gossip::decode_envelope(reader) == envelope);
    CHECK(reader.ok());
    CHECK(reader.remaining() == 1);
}

TEST_CASE("a record that says more than there is is refused") {
    const Bytes bytes = encoded(sync::HotEntry{kKey, 40, 1.5, 300ms, true});
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        ByteReader reader(ByteSpan(bytes).first(size));
        static_cast<void>(sync::decode_hot(reader));
        CHECK_FALSE(reader.ok());
    }
    // One that is too short for its fields does not read on in the next one.
    const Bytes two = written([&](ByteWriter& writer) {
        writer.varint(3);
        writer.bytes(ByteSpan(bytes).subspan(1, 3));
        writer.bytes(bytes);
    });
    ByteReader reader(two);
    static_cast<void>(sync::decode_hot(reader));
    CHECK_FALSE(reader.ok());
}

// --- kinds of limits ----------------------------------------------------------------------------

TEST_CASE("what is said of a limit of an unknown kind is passed over, up to the next entry") {
    const sync::LimitKey later{kNumber, 5, 2, 60'000};
    const auto two_entries = [&](bool flags_first) {
        return written([&](ByteWriter& writer) {
            {
                const RecordWriter record(writer);
                if (flags_first) {
                    writer.u8(0);  // one of them says whether there is a key
                }
                encode(writer, later);
                writer.bytes(Bytes(40, std::byte{0xff}));  // that this version cannot read
            }
            encode(writer, sync::HotEntry{kKey, 40, 1.5, 300ms, true});
        });
    };
    const auto check = [&](const Bytes& bytes, const auto& decode) {
        ByteReader reader(bytes);
        CHECK(decode(reader) == later);
        CHECK(sync::decode_hot(reader).level == 40);
        CHECK(reader.ok());
        CHECK(reader.remaining() == 0);
    };
    using Decode = std::function<sync::LimitKey(ByteReader&)>;
    const std::vector<Decode> decoders = {
        [](ByteReader& reader) { return sync::decode_delta(reader).key; },
        [](ByteReader& reader) { return sync::decode_total(reader).key; },
        [](ByteReader& reader) { return sync::decode_handover(reader).key; },
        [](ByteReader& reader) { return sync::decode_name(reader).key; },
        [](ByteReader& reader) { return sync::decode_order(reader).key; },
        [](ByteReader& reader) { return sync::decode_hot(reader).key; }};
    for (const auto& decode : decoders) {
        check(two_entries(false), decode);
    }
    check(two_entries(true), [](ByteReader& reader) { return sync::decode_quiet(reader).key; });
    CHECK(of_later_version(later));
    CHECK_FALSE(of_later_version(kKey));
}

/// The value of a definition with these limits, of which the one with this index is of a later
/// kind.
std::string value_with_later_limit(const limiter::QuotaDefinition& definition, std::size_t later) {
    const std::string value = definitions::encode_definition(definition);
    Bytes bytes(as_bytes(value).begin(), as_bytes(value).end());
    ByteReader reader(bytes);
    reader.bytes(2);  // flags, mode
    (void)reader.varint();
    (void)reader.varint();
    (void)reader.varint();  // the number of limits
    for (std::size_t i = 0; i < later; ++i) {
        (void)reader.record();
    }
    const std::size_t at = bytes.size() - reader.remaining() + 1;  // behind the length
    REQUIRE(bytes[at] == std::byte{0});
    bytes[at] = std::byte{5};
    return std::string(as_text(bytes));
}

limiter::QuotaDefinition three_limits() {
    limiter::QuotaDefinition definition;
    definition.name = "q";
    for (int i = 1; i <= 3; ++i) {
        limiter::RateLimit limit;
        limit.amount = 100 * i;
        limit.period = std::chrono::seconds(i);
        limit.safe = i;
        definition.limits.push_back(limit);
    }
    return definition;
}

TEST_CASE("a definition's limit of an unknown kind is left out, and the others hold") {
    const limiter::QuotaDefinition whole = three_limits();
    for (std::size_t later = 0; later < 3; ++later) {
        const auto read = definitions::decode_definition("q", value_with_later_limit(whole, later));
        REQUIRE(read.has_value());
        auto expected = whole.limits;
        expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(later));
        // Their safe capacities, which name limits by their index, are still theirs.
        CHECK(read->limits == expected);
        CHECK(read->options->limits_of_later_version == 1);
    }
    CHECK(definitions::decode_definition("q", definitions::encode_definition(whole))
              ->options->limits_of_later_version == 0);
}

TEST_CASE("quotas with limits of an unknown kind are counted, listed and passed on whole") {
    definitions::DefinitionStore store{1};
    definitions::DefinitionEntry entry{"q", {300, 7}, definitions::EntryKind::set, "", "ann", "",
                                       {},  kNow};
    entry.value = value_with_later_limit(three_limits(), 1);
    REQUIRE(store.merge(entry, kNow) == definitions::MergeOutcome::applied);
    CHECK(store.size() == 1);
    CHECK(store.incomplete() == 1);
    const auto listed = store.find("q", kNow);
    REQUIRE(listed.has_value());
    CHECK(listed->in_force);
    CHECK(listed->problem.find("a later version of weir knows") != std::string::npos);
    CHECK(store.overrides().find("q")->value == entry.value);

    // The next definition, without such a limit, ends it; so does taking the quota away.
    entry.version.epoch = 301;
    entry.value = definitions::encode_definition(three_limits());
    REQUIRE(store.merge(entry, kNow) == definitions::MergeOutcome::applied);
    CHECK(store.incomplete() == 0);
    CHECK(store.find("q", kNow)->problem.empty());
    entry.version.epoch = 302;
    entry.value = value_with_later_limit(three_limits(), 0);
    REQUIRE(store.merge(entry, kNow) == definitions::MergeOutcome::applied);
    CHECK(store.incomplete() == 1);
    entry.version.epoch = 303;
    entry.kind = definitions::EntryKind::removed;
    entry.value.clear();
    REQUIRE(store.merge(entry, kNow) == definitions::MergeOutcome::applied);
    CHECK(store.incomplete() == 0);
}

}  // namespace
}  // namespace weir

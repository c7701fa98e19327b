// The definition messages of docs/protocol.md against the bytes that the code writes.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "base/records.h"
#include "cluster/protocol_bytes.h"
#include "definitions/codec.h"
#include "definitions/exchange.h"
#include "definitions/messages.h"
#include "definitions/store.h"
#include "gossip/wire.h"

namespace weir::definitions {
namespace {

using namespace std::chrono_literals;
using test::Bytes;
using test::difference;
using test::encoded;
using test::Fields;
using test::page;
using test::Records;
using test::unlike;
using test::written;

constexpr std::uint64_t kNumber = 0x0102030405060708;
constexpr std::uint64_t kOther = 0x1112131415161718;
constexpr Instant kNow{1h};
const Version kVersion{300, kNumber};
const std::string kVersionBytes = "ac020102030405060708";

Bytes version_bytes() {
    return written([](ByteWriter& writer) { encode(writer, kVersion); });
}

/// 1, 2, 3 … of four bytes each.
std::string ascending_bytes() {
    return test::hexadecimal(written([](ByteWriter& writer) {
        for (std::uint32_t i = 1; i <= 64; ++i) {
            writer.u32(i);
        }
    }));
}

ShortHashes ascending() {
    ShortHashes hashes{};
    std::iota(hashes.begin(), hashes.end(), 1U);
    return hashes;
}

TEST_CASE("entries of definitions are what the page says, of each kind") {
    const std::string layout = page().sentence("Entry: ");
    DefinitionEntry entry{"s3/b1", kVersion, EntryKind::set, "value", "ann", "why", {}, kNow - 7s};
    Fields fields = {{"string name (512 at most)", "s3/b1"},
                     {"version", kVersionBytes},
                     {"1 kind (0 set, 1 absent, 2 removed", 0},
                     {"ms age", 7000},
                     {"string who (64)", "ann"},
                     {"string why (256)", "why"},
                     {"string value", "value"}};
    const auto bytes = [&] {
        return written([&](ByteWriter& writer) { encode(writer, entry, kNow); });
    };
    CHECK(difference(layout, bytes(), fields) == "");
    CHECK(difference(page().sentence("Version: "), version_bytes(),
                     {{"varint epoch", 300}, {"8 writer", kNumber}}) == "");
    const auto message = [](const std::function<void(ByteWriter&)>& write) {
        return written([&](ByteWriter& writer) {
            write_empty_head(writer);
            write(writer);
        });
    };
    CHECK(difference(page().layout("definition_push"),
                     message([&](ByteWriter& writer) { encode(writer, entry, kNow); }),
                     {{"entries up to the end", Records{layout, {fields}}}}) == "");
    CHECK(difference(page().layout("definition_acknowledge"),
                     message([](ByteWriter& writer) { encode_acknowledgement(writer, kVersion); }),
                     {{"each {version}", Records{"", {{{"version", kVersionBytes}}}}}}) == "");
    entry.kind = EntryKind::removed;
    entry.lifetime = 90s;
    CHECK(difference(layout, bytes(),
                     {{"string name", "s3/b1"},
                      {"version", kVersionBytes},
                      {"1 kind", 2 + 4},
                      {"ms age", 7000},
                      {"ms lifetime", 90'000},
                      {"string who", "ann"},
                      {"string why", "why"}}) == "");
}

TEST_CASE("digests and questions for definitions are what the page says") {
    DefinitionDigest digest{kNumber, {kVersion}, {{"storage", 300, kOther}}, ascending()};
    const Records versions{"version", {{{"version", kVersionBytes}}}};
    const Records sets{
        page().sentence("Set: "),
        {{{"string name", "storage"}, {"varint generation", 300}, {"8 content hash", kOther}}}};
    const Records with_partitions{"",
                                  {{{"1 flags (1: with partitions)", 1},
                                    {"8 hash of the whole map", kNumber},
                                    {"1 number of versions", 1},
                                    {"versions", versions},
                                    {"64 × 4 partition hashes", ascending_bytes()}}}};
    CHECK(unlike("definition_digest", digest,
                 {{"{1 flags (1: with partitions)", with_partitions},
                  {"sets up to the end", sets}}) == "");
    digest.sets.front().on_disk = kNumber;
    const Records with_file{page().sentence("Set: "),
                            {{{"string name", "storage"},
                              {"varint generation", 300},
                              {"8 content hash", kOther},
                              {"1 field's number 1", 1},
                              {"1 its length 8", 8},
                              {"8 content on disk", kNumber}}}};
    CHECK(unlike("definition_digest", digest,
                 {{"{1 flags (1: with partitions)", with_partitions},
                  {"sets up to the end", with_file}}) == "");
    digest.sets.front().on_disk.reset();
    digest.partitions.reset();
    CHECK(unlike("definition_digest", digest,
                 {{"{1 flags", Records{"",
                                       {{{"1 flags", 0},
                                         {"8 hash of the whole map", kNumber},
                                         {"1 number of versions", 1},
                                         {"versions", versions}}}}},
                  {"sets up to the end", sets}}) == "");
    CHECK(
        unlike("definition_partition_ask", PartitionAsk{63, true, ascending()},
               {{"1 partition", 63}, {"1 mutual", 1}, {"64 × 4 slot hashes", ascending_bytes()}}) ==
        "");
    CHECK(unlike("document_ask", DocumentAsk{"storage", 300, 200, 32},
                 {{"string set", "storage"},
                  {"varint generation", 300},
                  {"varint first page", 200},
                  {"1 number of pages", 32}}) == "");
    const Bytes bytes{std::byte{1}, std::byte{2}, std::byte{3}};
    CHECK(unlike("document_page", DocumentPage{"storage", 300, kOther, 200, 400, bytes},
                 {{"string set", "storage"},
                  {"varint generation", 300},
                  {"8 content hash", kOther},
                  {"varint page", 200},
                  {"varint pages", 400},
                  {"varint size", 3},
                  {"bytes", "010203"}}) == "");
}

TEST_CASE("the count of files is what the page says") {
    const SetCount count{
        "storage", {300, kOther}, 5, {{kNumber, 3, {Endpoint::v4(0x0a000001, 7946)}}}};
    const Records places{"endpoint", {{{"endpoint", "040a0000011f0a"}}}};
    const Records contents{page().sentence("Content: "),
                           {{{"8 content hash", kNumber},
                             {"varint sidecars that have it", 3},
                             {"1 number of places", 1},
                             {"places", places}}}};
    CHECK(difference(page().sentence("Count: "),
                     written([&](ByteWriter& writer) { encode(writer, count); }),
                     {{"string set", "storage"},
                      {"varint decided generation", 300},
                      {"8 decided content", kOther},
                      {"varint voters", 5},
                      {"1 number of contents", 1},
                      {"contents", contents}}) == "");
}

TEST_CASE("what answers the question for a partition is what the page says") {
    DefinitionStore store(1);
    DefinitionEntry entry{"s3/b1", kVersion, EntryKind::absent, "", "ann", "why", {}, kNow - 7s};
    REQUIRE(store.merge(entry, kNow) == MergeOutcome::applied);
    const auto& partitions = store.overrides().partition_hashes();
    const auto changed = std::find_if(partitions.begin(), partitions.end(),
                                      [](std::uint64_t hash) { return hash != 0; });
    PartitionAsk ask;
    ask.partition = static_cast<std::uint8_t>(changed - partitions.begin());
    DefinitionExchange sync(store, Random(1));
    test::Sink sink;
    REQUIRE(sync.receive({Endpoint::v4(1, 1), 1}, gossip::MessageType::definition_partition_ask,
                         test::encoded(ask), kNow, sink));
    const Records entries{page().sentence("Entry: "),
                          {{{"string name", "s3/b1"},
                            {"version", kVersionBytes},
                            {"1 kind", 1},
                            {"ms age", 7000},
                            {"string who", "ann"},
                            {"string why", "why"}}}};
    const Records head{"", {{{"1 partition", ask.partition}, {"1 more", 0}}}};
    CHECK(difference(page().layout("definition_partition"),
                     sink.sent[gossip::MessageType::definition_partition],
                     {{"{1 partition", head}, {"entries up to the end", entries}}) == "");
}

limiter::QuotaDefinition plain_definition() {
    limiter::QuotaDefinition definition;
    definition.name = "s3/{bucket}";
    definition.parent = "s3";
    definition.hide_headers = true;
    definition.mode = limiter::Mode::shadow;
    definition.max_instances = 300;
    definition.max_children = 200;
    limiter::RateLimit limit;
    limit.unit = limiter::Unit::cost;
    limit.amount = 100;
    limit.period = 300ns;
    limit.low = limiter::BurstSpec{limiter::BurstSpec::Kind::amount, 5};
    limit.debt = limiter::BurstSpec{limiter::BurstSpec::Kind::seconds, 2};
    limit.scope = limiter::Scope::sidecar;
    definition.limits = {limit};
    return definition;
}

Fields plain_limit() {
    return {{"1 kind (0 rate, 1 window, 2 concurrency)", 0},
            {"1 unit", 3},
            {"f64 amount", 100.0},
            {"varint period in nanoseconds", 300},
            {"1 low (0 absent, 1 amount, 2 seconds)", 1},
            {"f64 low", 5.0},
            {"1 high", 0},
            {"1 debt", 2},
            {"f64 debt", 2.0},
            {"1 law", 1},
            {"1 scope", 1}};
}

Bytes value_of(const limiter::QuotaDefinition& definition) {
    const std::string text = encode_definition(definition);
    const ByteSpan bytes = as_bytes(text);
    return {bytes.begin(), bytes.end()};
}

TEST_CASE("the value of a definition is what the page says") {
    const std::string layout = page().sentence("Value: ");
    const std::string limit_layout = page().sentence("Limit: ");
    limiter::QuotaDefinition definition = plain_definition();
    const Records limits{limit_layout, {plain_limit()}};
    CHECK(difference(layout, value_of(definition),
                     {{"1 flags (1 parent, 2 hidden headers, 4 fields)", 1 + 2},
                      {"string parent", "s3"},
                      {"1 mode", 1},
                      {"varint max_instances", 300},
                      {"varint max_children", 200},
                      {"varint number of limits", 1},
                      {"limits", limits}}) == "");
    const std::string document = std::string(as_text(*encode_document(std::vector{definition})));
    CHECK(document.substr(1, 11) == definition.name);
    CHECK(document.substr(12) == encode_definition(definition));
    CHECK(
        page().says("A document is its definitions sorted by name, each a string name (not "
                    "empty) and a value; " +
                    std::to_string(kMaximumDocument >> 20U) + " MiB at most"));

    definition.parent.reset();
    definition.hide_headers = false;
    definition.when_isolated = limiter::IsolationMode::optimistic;
    CHECK(difference(layout, value_of(definition),
                     {{"1 flags", 4},
                      {"1 mode", 1},
                      {"varint max_instances", 300},
                      {"varint max_children", 200},
                      {"varint number of limits", 1},
                      {"limits", limits},
                      {"string fields", std::string("\x02\x01\x01")}}) == "");

    limiter::QuotaDefinition in_flight;
    in_flight.limits = {limiter::RateLimit::in_flight(64)};
    const Fields concurrency = {{"1 kind (0 rate, 1 window, 2 concurrency)", 2},
                                {"1 unit", 0},
                                {"f64 amount", 64.0},
                                {"varint period in nanoseconds", 0},
                                {"1 low", 0},
                                {"1 high", 0},
                                {"1 debt", 0},
                                {"1 law", 1},
                                {"1 scope", 0}};
    CHECK(difference(layout, value_of(in_flight),
                     {{"1 flags", 0},
                      {"1 mode", 0},
                      {"varint max_instances", 0},
                      {"varint max_children", 0},
                      {"varint number of limits", 1},
                      {"limits", Records{limit_layout, {concurrency}}}}) == "");
}

TEST_CASE("a window on the wire is what the page says") {
    limiter::QuotaDefinition definition;
    definition.limits = {limiter::RateLimit::in_window(1000, limiter::kMonth)};
    definition.limits[0].timezone = "UTC";
    const Fields window = {{"1 kind (0 rate, 1 window, 2 concurrency)", 1},
                           {"1 unit", 0},
                           {"f64 amount", 1000.0},
                           {"varint period in nanoseconds", limiter::kMonth.count()},
                           {"1 low", 0},
                           {"1 high", 0},
                           {"1 debt", 0},
                           {"1 law", 1},
                           {"1 scope", 0}};
    // A month begins with the calendar without saying so.
    CHECK(difference(page().sentence("Value: "), value_of(definition),
                     {{"1 flags", 4},
                      {"1 mode", 0},
                      {"varint max_instances", 0},
                      {"varint max_children", 0},
                      {"varint number of limits", 1},
                      {"limits", Records{page().sentence("Limit: "), {window}}},
                      {"string fields", std::string("\x0c\x05\x00\x03UTC", 7)}}) == "");
    CHECK(page().says("A month has the period " + std::to_string(limiter::kMonth.count())));
}

/// A definition with a value in each field beyond the first form.
limiter::QuotaDefinition full_definition() {
    limiter::QuotaDefinition definition;
    definition.enforced_share = 0.25;
    definition.when_isolated = limiter::IsolationMode::safe;
    definition.limits = {limiter::RateLimit{}, limiter::RateLimit{}};
    definition.limits[1].safe = 2.5;
    definition.limits[1].from = limiter::WindowStart::first;
    definition.limits[1].timezone = "UTC";
    limiter::QuotaOptions options;
    options.enforced_by = "X-Tenant";
    options.headers = limiter::HeaderForms{true, true};
    options.refusal = {503, "text/html", "no"};
    options.hold = std::chrono::milliseconds(2500);
    options.fair = true;
    options.share = 2.5;
    options.wait = {std::chrono::milliseconds(1500), 40};
    definition.options = options;
    return definition;
}

TEST_CASE("each field of a definition beyond its first form is what the page says") {
    limiter::QuotaDefinition definition = full_definition();
    const std::map<std::string, Fields> expected = {
        {"1", {{"1 mode", 0}, {"f64 share", 0.25}, {"string request field", "X-Tenant"}}},
        {"2", {{"1 mode (0 safe, 1 optimistic, 2 pessimistic)", 2}}},
        {"3", {{"1 its index", 1}, {"f64 weight a second", 2.5}}},
        {"4", {{"1 forms (1 ietf, 2 x-ratelimit)", 3}}},
        {"5",
         {{"2 status (0: 429)", 503},
          {"string content type", "text/html"},
          {"1 flags (1 body)", 1},
          {"string body", "no"}}},
        {"6", {{"varint milliseconds", 2500}}},
        {"7", {{"1 flag (0 no, 1 yes)", 1}}},
        {"8", {{"f64 share", 2.5}}},
        {"9", {{"varint milliseconds", 1500}}},
        {"10", {{"varint requests that may wait in one sidecar", 40}}},
        {"11", {{"1 its index", 1}, {"1 start (0 name, 1 calendar, 2 first)", 2}}},
        {"12", {{"1 its index", 1}, {"string name", "UTC"}}}};
    std::map<std::string, std::string> layouts;
    for (const auto& row : page().table("## Definition messages", "number")) {
        const std::string& cell = row[2];
        layouts[row[0]] = cell.substr(0, cell.find(". "));
    }
    // Both of what excludes each other in one definition, one after the other.
    std::set<std::string> seen;
    for (const auto mode : {limiter::IsolationMode::safe, limiter::IsolationMode::pessimistic}) {
        definition.when_isolated = mode;
        const std::string value = encode_definition(definition);
        // Behind the flags, mode and two numbers of an empty definition, and two limits.
        ByteReader reader(as_bytes(value));
        CHECK(reader.u8() == 4);
        CHECK(reader.u8() == static_cast<std::uint8_t>(limiter::Mode::shadow));
        (void)reader.varint();
        (void)reader.varint();
        CHECK(reader.varint() == 2);
        for (int limit = 0; limit < 2; ++limit) {
            CHECK(reader.record().ok());
        }
        ByteReader fields(as_bytes(reader.string(1000)));
        CHECK(reader.remaining() == 0);
        while (fields.ok() && fields.remaining() > 0) {
            const std::string number = std::to_string(fields.varint());
            CAPTURE(number);
            REQUIRE(expected.contains(number));
            REQUIRE(layouts.contains(number));
            CHECK(difference(layouts.at(number), as_bytes(fields.string(1000)),
                             expected.at(number)) == "");
            seen.insert(number);
        }
        CHECK(fields.ok());
    }
    CHECK(seen.size() == expected.size());
    CHECK(layouts.size() == expected.size());
}

}  // namespace
}  // namespace weir::definitions

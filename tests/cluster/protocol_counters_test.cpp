// The counter messages of docs/protocol.md against the bytes that the code writes.

#include <doctest/doctest.h>

#include "cluster/protocol_bytes.h"
#include "gossip/wire.h"
#include "sync/allowance_messages.h"
#include "sync/answer_packet.h"
#include "sync/child_messages.h"
#include "sync/messages.h"
#include "sync/tagged_messages.h"
#include "sync/window_messages.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;
using test::Bytes;
using test::difference;
using test::encoded;
using test::Fields;
using test::page;
using test::Records;
using test::Sink;
using test::written;

constexpr std::uint64_t kNumber = 0x0102030405060708;
const gossip::MemberId kMember{Endpoint::v4(0x0a000001, 7946), kNumber};

const LimitKey kOfASecond{kNumber, 0, 2, 1000};
const LimitKey kOfAMinute{kNumber, 0, 3, 60'000};
const std::string kOfASecondBytes = "010203040506070882";
const std::string kOfAMinuteBytes = "010203040506070803e0d403";

std::string entry_layout(const std::string& message) {
    const std::string layout = page().layout(message);
    const auto each = layout.find("each {");
    REQUIRE(each != std::string::npos);
    return layout.substr(each + std::string("each ").size());
}

DeltaEntry full_delta() {
    DeltaEntry entry;
    entry.key = kOfAMinute;
    entry.run = 0x010203;
    entry.run_age = 12'345ms;
    entry.admitted = 70;
    entry.refunded = 2.5;
    entry.offered = 90;
    entry.rate = 1.5;
    entry.believed_level = 48;
    entry.oldest_age = 420ms;
    entry.keep_alive = 1s;
    entry.heaviest = 12;
    entry.typical = 0.75;
    entry.shedding = true;
    entry.answer_may_wait = true;
    return entry;
}

Fields full_delta_fields() {
    return {{"limit", kOfAMinuteBytes},   {"1 flags", 1 + 2 + 4 + 8 + 16 + 32 + 64},
            {"3 cell run", 0x010203},     {"ms run's age", 12'345},
            {"count admitted", 70.0},     {"count refunded", 2.5},
            {"count offered", 90.0},      {"f24 rate", 1.5},
            {"f24 believed level", 48.0}, {"cs age of the oldest new weight", 42},
            {"cs keep-alive", 100},       {"f24 heaviest", 12.0},
            {"f24 typical", 0.75}};
}

TEST_CASE("a delta is what the page says, with all that can be left out and without") {
    const std::string layout = entry_layout("delta");
    CHECK(difference(layout, encoded(full_delta()), full_delta_fields()) == "");
    DeltaEntry bare;
    bare.key = kOfASecond;
    bare.run = 7;
    bare.run_age = 10min;  // "a minute or more"
    CHECK(difference(layout, encoded(bare),
                     {{"limit", kOfASecondBytes},
                      {"1 flags", 0},
                      {"3 cell run", 7},
                      {"count admitted", 0.0},
                      {"count offered", 0.0},
                      {"f24 rate", 0.0},
                      {"cs age", 0},
                      {"cs keep-alive", 0}}) == "");
    for (const char* flag : {"1 refunded", "2 heaviest", "4 typical", "16 run's age (in a delta)",
                             "32 believed level (in a delta)", "8 shedding"}) {
        CAPTURE(flag);
        CHECK(page().sentence("Flags: ").find(flag) != std::string::npos);
    }
}

TEST_CASE("a delta message begins with its tag, which its answer repeats with a place") {
    Sink sink;
    std::uint64_t dropped = 0;
    TaggedMessages<SaidCounts, gossip::MessageType::delta> messages(sink, dropped);
    std::array<std::byte, kMaximumEntrySize> buffer;
    ByteWriter writer(buffer);
    encode(writer, full_delta());
    for (int message = 0; message < 3; ++message) {
        messages.add(kMember, writer.written(), said_in(full_delta()), Instant{});
        messages.add(kMember, writer.written(), said_in(full_delta()), Instant{});
        messages.send_all(Instant{});
    }
    const Bytes& delta = sink.sent[gossip::MessageType::delta];
    CHECK(difference(page().layout("delta"), delta,
                     {{"{2 tag}", Records{"", {{{"2 tag", 2}}}}},
                      {"each {", Records{"", {full_delta_fields(), full_delta_fields()}}}}) == "");
}

TEST_CASE("an answer begins with the tag and the place of its first entry") {
    Sink sink;
    std::uint64_t dropped = 0;
    AnswerPacket answer(sink, kMember, 0x0102, dropped);
    TotalEntry total;
    total.key = kOfAMinute;
    total.life = 9;
    const Bytes one =
        written([&](ByteWriter& writer) { encode_answer(writer, said_in(full_delta()), total); });
    constexpr std::size_t kEntries = 300;  // more than one message holds
    for (std::size_t i = 0; i < kEntries; ++i) {
        answer.add(said_in(full_delta()), total);
    }
    answer.send();
    const Bytes& last = sink.sent[gossip::MessageType::delta_answer];
    const std::size_t head = 1 + 2 + 2;
    const std::size_t entries = (last.size() - head) / one.size();
    CHECK(head + entries * one.size() == last.size());
    const std::string layout = page().layout("delta_answer");
    CHECK(difference(layout.substr(0, layout.find("; each ")), ByteSpan(last).first(head),
                     {{"2 tag", 0x0102},
                      {"varint its entry that the first one answers", kEntries - entries}}) == "");
    CHECK(layout.ends_with("; each as in a total without limit, in the order of the deltas"));
}

TotalEntry full_total() {
    TotalEntry entry;
    entry.key = kOfASecond;
    entry.life = 0x0a0b0c;
    entry.filled = entry.shedding = entry.held = true;
    entry.level = 40;
    entry.rate = 1.5;
    entry.origins = 300;
    entry.heaviest = 12;
    entry.keep_alive = 200ms;
    entry.pace = 7;
    entry.run = 0x010203;
    entry.admitted = 70;
    entry.refunded = 2.5;
    entry.offered = 90;
    return entry;
}

TEST_CASE("a total is what the page says, with all that can be left out and without") {
    const std::string layout = entry_layout("total");
    CHECK(difference(layout, encoded(full_total()),
                     {{"limit", kOfASecondBytes},
                      {"1 flags", 1 + 2 + 8 + 16 + 32 + 64 + 128},
                      {"3 owner's life", 0x0a0b0c},
                      {"f24 level", 40.0},
                      {"f24 rate", 1.5},
                      {"varint origins", 300},
                      {"cs keep-alive", 20},
                      {"f24 heaviest", 12.0},
                      {"1 pace", 7},
                      {"3 run", 0x010203},
                      {"count admitted", 70.0},
                      {"count refunded", 2.5},
                      {"count offered", 90.0}}) == "");
    TotalEntry bare;
    bare.key = kOfASecond;
    bare.life = 9;
    CHECK(difference(layout, encoded(bare),
                     {{"limit", kOfASecondBytes},
                      {"1 flags", 0},
                      {"3 owner's life", 9},
                      {"f24 level", 0.0},
                      {"f24 rate", 0.0},
                      {"varint origins", 0},
                      {"cs keep-alive", 0}}) == "");
    CHECK(
        page().says("64 pace, 128 hold say that the field of this name is there; 8 shedding, 16 "
                    "filled (in a total or answer) have no field. In a delta 64 says that the "
                    "answer may wait (see *Answers that wait*), in a total 128 that some origins "
                    "are taken for cut off"));
}

TEST_CASE("an answer leaves out what the delta said, or says that there is none") {
    const TotalEntry total = full_total();
    const SaidCounts said{total.key, total.run, total.admitted, total.refunded, total.offered};
    const std::string after_limit =
        "{" + entry_layout("total").substr(std::string("{limit; ").size());
    Fields fields = {{"1 flags", 2 + 4 + 8 + 16 + 64 + 128},
                     {"3 owner's life", 0x0a0b0c},
                     {"f24 level", 40.0},
                     {"f24 rate", 1.5},
                     {"varint origins", 300},
                     {"cs keep-alive", 20},
                     {"f24 heaviest", 12.0},
                     {"1 pace", 7}};
    CHECK(difference(after_limit,
                     written([&](ByteWriter& writer) { encode_answer(writer, said, total); }),
                     fields) == "");
    CHECK(written([&](ByteWriter& writer) { encode_answer(writer, said, std::nullopt); }) ==
          Bytes{std::byte{0}});
    CHECK(
        page().says("In an answer 4 says that the cell is as the delta had it; an empty record "
                    "says that there is no answer to this entry."));
}

TEST_CASE("hand-overs, names and hot limits are what the page says") {
    HandoverEntry handover;
    handover.key = kOfASecond;
    handover.level = 40;
    handover.rate = 1.5;
    CHECK(
        difference(
            entry_layout("handover"), encoded(handover),
            {{"limit", kOfASecondBytes}, {"1 flags", 0}, {"f24 level", 40.0}, {"f24 rate", 1.5}}) ==
        "");
    handover.held_rate = 24;
    handover.hold_left = 5001ms;
    handover.heaviest = 12;
    handover.typical = 0.75;
    handover.shedding = true;
    CHECK(difference(entry_layout("handover"), encoded(handover),
                     {{"limit", kOfASecondBytes},
                      {"1 flags", 2 + 4 + 8 + 128},
                      {"f24 level", 40.0},
                      {"f24 rate", 1.5},
                      {"f24 held rate", 24.0},
                      {"ms hold left", 5001},
                      {"f24 heaviest", 12.0},
                      {"f24 typical", 0.75}}) == "");
    CHECK(difference(entry_layout("name_ask"),
                     written([](ByteWriter& writer) { encode_question(writer, kOfAMinute); }),
                     {{"limit", kOfAMinuteBytes}}) == "");
    std::string layout = entry_layout("name_tell");
    const std::string together = "f64 rate, low, high, debt";
    REQUIRE(layout.find(together) != std::string::npos);
    layout.replace(layout.find(together), together.size(), "f64 rate; f64 low; f64 high; f64 debt");
    const NameEntry name{.key = kOfASecond,
                         .name = "s3/b1",
                         .rate = 10,
                         .low = 20,
                         .high = 30,
                         .debt = 40,
                         .law = 1};
    CHECK(difference(layout, encoded(name),
                     {{"limit", kOfASecondBytes},
                      {"string name (512 at most)", "s3/b1"},
                      {"f64 rate", 10.0},
                      {"f64 low", 20.0},
                      {"f64 high", 30.0},
                      {"f64 debt", 40.0},
                      {"1 law", 1}}) == "");
    CHECK(page().table("## Counter messages", "type").back().back() ==
          "{}; each {limit; 1 flags; f24 level; f24 rate; ms age}");
    const HotEntry hot{.key = kOfASecond, .level = 40, .rate = 1.5, .age = 321ms, .shedding = true};
    CHECK(difference("{limit; 1 flags; f24 level; f24 rate; ms age}", encoded(hot),
                     {{"limit", kOfASecondBytes},
                      {"1 flags", 8},
                      {"f24 level", 40.0},
                      {"f24 rate", 1.5},
                      {"ms age", 321}}) == "");
}

TEST_CASE("what is told and ordered of quiet limits is what the page says") {
    const std::string layout = entry_layout("quiet");
    QuietEntry entry;
    entry.key = kOfASecond;
    entry.run = 0x010203;
    entry.admitted = 70;
    entry.untold = entry.untold_full = entry.fresh = 2.5;
    CHECK(difference(layout, encoded(entry),
                     {{"1 flags", 0},
                      {"limit", kOfASecondBytes},
                      {"3 run", 0x010203},
                      {"count admitted", 70.0},
                      {"count untold", 2.5}}) == "");
    entry.untold_full = 1;
    entry.fresh = 2;
    entry.rate = 1.5;
    entry.limit_rate = 40;
    entry.low = 48;
    entry.no_room = true;
    CHECK(difference(layout, encoded(entry),
                     {{"1 flags", 1 + 2 + 4 + 8 + 16},
                      {"limit", kOfASecondBytes},
                      {"3 run", 0x010203},
                      {"count admitted", 70.0},
                      {"count untold", 2.5},
                      {"count untold at the full rate", 1.0},
                      {"count fresh", 2.0},
                      {"f24 rate", 1.5},
                      {"f24 the limit's rate", 40.0},
                      {"f24 low", 48.0}}) == "");
    const std::string order = entry_layout("quiet_order");
    CHECK(
        difference(
            order, encoded(QuietOrder{kOfAMinute, OrderKind::wake, 7, 70}),
            {{"limit", kOfAMinuteBytes}, {"1 kind", 0}, {"3 run", 7}, {"count admitted", 70.0}}) ==
        "");
    CHECK(difference(order, encoded(QuietOrder{kOfAMinute, OrderKind::level, 0, 0, 40}),
                     {{"limit", kOfAMinuteBytes}, {"1 kind", 1}, {"f24 level", 40.0}}) == "");
    CHECK(
        difference(
            order, encoded(QuietOrder{kOfAMinute, OrderKind::hand_over, 0, 0, 40, 48}),
            {{"limit", kOfAMinuteBytes}, {"1 kind", 2}, {"f24 level", 40.0}, {"f24 sum", 48.0}}) ==
        "");
    CHECK(difference(order, encoded(QuietOrder{kOfAMinute, OrderKind::fall_quiet, 7}),
                     {{"limit", kOfAMinuteBytes}, {"1 kind", 3}, {"3 run", 7}}) == "");
    CHECK(page().says("| 0 wake | run, admitted |"));
    CHECK(page().says("| 1 level | level |"));
    CHECK(page().says("| 2 hand over | level, sum |"));
    CHECK(page().says("| 3 fall quiet | run |"));
}

TEST_CASE("an entry by its place, and the answer to quiet entries, are what the page says") {
    const std::string layout = entry_layout("quiet");
    const QuietEntry placed{.key = {},
                            .run = 7,
                            .admitted = 70,
                            .untold = 2,
                            .untold_full = 2,
                            .fresh = 2,
                            .place = 300};
    CHECK(difference(layout, encoded(placed),
                     {{"1 flags", 32},
                      {"varint place", 300},
                      {"3 run", 7},
                      {"count admitted", 70.0},
                      {"count untold", 2.0}}) == "");
    const Bytes answer = written([](ByteWriter& writer) {
        encode(writer, QuietAnswer{.tag = 0x0102, .left = {3, 300}, .places = {5}});
    });
    CHECK(answer == Bytes{std::byte{8}, std::byte{1}, std::byte{2}, std::byte{2}, std::byte{3},
                          std::byte{0xac}, std::byte{2}, std::byte{1}, std::byte{5}});
    CHECK(page().layout("quiet_answer") ==
          "{2 tag of the quiet message; varint number; so many varints; varint number; so many "
          "varints}");
    CHECK(page().says(
        "Flags of an entry: 1 untold at the full rate, 2 rate, 4 the limit's rate and "
        "`low`, 8 fresh: the field is there. 16: no room. 32: the place is there instead "
        "of the limit."));
}

TEST_CASE("what is told of windows and of clocks is what the page says") {
    WindowReport report;
    report.key = {kOfASecond.quota, 1, 0, 3'600'000};
    report.run = 0x0102030405060708;
    report.end = 0x6b0a8b10;
    report.number = 0x0102;
    report.told = report.gone = true;
    report.most = 300;
    report.allowance = 21;
    report.admitted = 20;
    report.wanted = 64;
    const std::string key =
        "0102030405060708"
        "10"
        "80dddb01";
    CHECK(difference(entry_layout("window_report"), encoded(report),
                     {{"limit", key},
                      {"8 run", 0x0102030405060708},
                      {"4 end", 0x6b0a8b10},
                      {"varint number", 0x0102},
                      {"1 flags", 3},
                      {"varint most", 300},
                      {"varint allowance", 21},
                      {"varint admitted", 20},
                      {"varint wanted", 64}}) == "");
    WindowGrant grant;
    grant.key = report.key;
    grant.run = report.run;
    grant.end = report.end;
    grant.number = report.number;
    grant.granted = grant.scarce = true;
    grant.allowance = 30;
    CHECK(difference(entry_layout("window_grant"), encoded(grant),
                     {{"limit", key},
                      {"8 run", 0x0102030405060708},
                      {"4 end", 0x6b0a8b10},
                      {"varint number", 0x0102},
                      {"1 flags", 3},
                      {"varint allowance", 30}}) == "");
    CHECK(page().says("**Windows.** These limits have kind 1"));
    CHECK(page().says("Flags of a report: 1 told: the allowance is one that an owner granted"));
    CHECK(page().says("2 gone: the run is that of a member that is gone"));
    CHECK(page().says("Flags of a grant: 1 granted: *allowance* holds. 2 scarce:"));
    CHECK(page().layout("clock") == "{8 the sender's wall clock, in milliseconds since 1970}");
}

TEST_CASE("what is told of requests in flight is what the page says") {
    AllowanceReport report;
    report.key = {kOfASecond.quota, 2, 0, 0};
    report.number = 0x0102;
    report.told = true;
    report.most = 300;
    report.allowance = 21;
    report.in_flight = 22;
    report.wanted = 64;
    const std::string key = "01020304050607082000";
    CHECK(difference(entry_layout("allowance_report"), encoded(report),
                     {{"limit", key},
                      {"2 number", 0x0102},
                      {"1 flags", 1},
                      {"varint most", 300},
                      {"varint allowance", 21},
                      {"varint in flight", 22},
                      {"varint wanted", 64}}) == "");
    AllowanceGrant grant;
    grant.key = report.key;
    grant.number = 0x0102;
    grant.told = grant.scarce = true;
    grant.allowance = 30;
    grant.origins = 3;
    CHECK(difference(entry_layout("allowance_grant"), encoded(grant),
                     {{"limit", key},
                      {"2 number", 0x0102},
                      {"1 flags", 3},
                      {"varint allowance", 30},
                      {"varint origins", 3}}) == "");
    CHECK(page().says("**Requests in flight.** These limits have kind 2"));
    CHECK(page().says("Flags: 1 told: the allowance is one that an owner granted"));
    CHECK(page().says("2 scarce: the sidecars want more than there is."));
}

TEST_CASE("what is told of children is what the page says") {
    ChildPart part;
    part.parent = kOfASecond;
    part.number = 0x0102;
    part.part = 1;
    part.parts = 2;
    part.rates = {48, 1.5, true, {{0x0102030405060708, 12, 3}}};
    part.line = 2.5;
    part.origins = 300;
    const Bytes bytes = written([&](ByteWriter& writer) { encode(writer, part); });
    const Records head{"",
                       {{{"limit", kOfASecondBytes},
                         {"2 number", 0x0102},
                         {"1 part", 1},
                         {"1 parts", 2},
                         {"1 flags", 1},
                         {"f24 total", 48.0},
                         {"f24 rest", 1.5},
                         {"f24 line", 2.5},
                         {"varint origins", 300}}}};
    const Records children{
        "", {{{"8 child", 0x0102030405060708}, {"f24 rate", 12.0}, {"f24 share", 3.0}}}};
    CHECK(difference(page().layout("child_rates"), bytes,
                     {{"{limit", head}, {"each {", children}}) == "");
    CHECK(page().layout("child_totals") == "as `child_rates`");
}

}  // namespace
}  // namespace weir::sync

// The bytes of counter messages: what is written is read again, and is what the protocol says.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <string>

#include "sync/messages.h"
#include "sync/sample_messages.h"

namespace weir::sync {
namespace {

using namespace test;

TEST_CASE("each counter message is read as it was written, and no prefix of it") {
    check_codec(some_delta(), decode_delta);
    check_codec(some_total(), decode_total);
    check_codec(some_handover(), decode_handover);
    check_codec(some_name(), decode_name);
    check_codec(some_hot(), decode_hot);
    check_codec(some_quiet(), decode_quiet);
    QuietEntry placed = some_quiet();
    placed.key = {};
    placed.place = 300;
    check_codec(placed, decode_quiet);
    check_codec(some_order(), decode_order);
}

TEST_CASE("an answer to quiet entries names those that were not taken in, and no prefix is one") {
    const QuietAnswer answer{0x0102, {0, 5, 300}, {7, 0, 70000}};
    std::array<std::byte, 64> buffer;
    ByteWriter writer(buffer);
    encode(writer, answer);
    ByteReader reader(writer.written());
    const QuietAnswer read = decode_quiet_answer(reader);
    CHECK(reader.ok());
    CHECK(read.tag == answer.tag);
    CHECK(read.left == answer.left);
    CHECK(read.places == answer.places);
    for (std::size_t size = 0; size < writer.size(); ++size) {
        ByteReader prefix(writer.written().first(size));
        static_cast<void>(decode_quiet_answer(prefix));
        CHECK_FALSE(prefix.ok());
    }
    std::array<std::byte, 4> lie{std::byte{3}, std::byte{0}, std::byte{1}, std::byte{200}};
    ByteReader more(lie);  // 200 of them, and not one is there
    static_cast<void>(decode_quiet_answer(more));
    CHECK_FALSE(more.ok());
}

TEST_CASE("a place that no table can have makes an answer a bad one") {
    for (const std::uint64_t place : {std::uint64_t{0xffffffff}, std::uint64_t{0x100000000}}) {
        std::array<std::byte, 64> buffer;
        ByteWriter writer(buffer);
        encode(writer, QuietAnswer{.tag = 1, .left = {}, .places = {3, place}});
        ByteReader reader(writer.written());
        static_cast<void>(decode_quiet_answer(reader));
        CHECK(reader.ok() == (place == 0xffffffff));
    }
}

TEST_CASE("an entry by its place has no key, and a place is never 0") {
    QuietEntry entry = some_quiet();
    std::array<std::byte, 64> buffer;
    ByteWriter with_key(buffer);
    encode(with_key, entry);
    const std::size_t size = with_key.size();
    entry.place = 1;
    ByteWriter with_place(buffer);
    encode(with_place, entry);
    CHECK(with_place.size() + 8 <= size);
    // Length and flags come before the place.
    buffer[2] = std::byte{0};
    ByteReader reader(with_place.written());
    static_cast<void>(decode_quiet(reader));
    CHECK_FALSE(reader.ok());
}

// Put together by hand from docs/protocol.md: what reads what it has itself written may have
// changed both, and members of several versions talk to each other.
TEST_CASE("the bytes of counter messages are those of the protocol") {
    const LimitKey key{0x0102030405060708, 0, 2, 60'000};
    DeltaEntry delta = some_delta();
    delta.key = key;
    CHECK(hex_of(delta) ==
          "26010203040506070802e0d4037f000007dc0b81ca2604904e41480042c6000414428000402000");
    delta.key.period_ms = 1000;
    delta.run_age = std::chrono::hours(1);
    delta.admitted = 1234;
    delta.refunded = delta.believed_level = delta.heaviest = 0;
    delta.typical = 1;
    delta.shedding = false;
    CHECK(hex_of(delta) == "1601020304050607088240000007a413904e4148000414");
    TotalEntry total = some_total();
    total.key = key;
    total.held = true;
    CHECK(hex_of(total) ==
          "25010203040506070802e0d403fb00000942c900429a0032144100000500000781ca2602904e");
    const SaidCounts said{key, total.run, total.admitted, total.refunded, total.offered};
    CHECK(hex_of([&](ByteWriter& writer) { encode_answer(writer, said, total); }) ==
          "10de00000942c900429a00321441000005");
    CHECK(hex_of([&](ByteWriter& writer) { encode_answer(writer, said, {}); }) == "00");
    HandoverEntry handover = some_handover();
    handover.key = key;
    CHECK(hex_of(handover) == "1e010203040506070802e0d4038e43fa00447a00437a00c03e4200003fc000");
    NameEntry name = some_name();
    name.key = key;
    CHECK(hex_of(name) ==
          "39010203040506070802e0d4030b73332f62312f777269746540590000000000004059000000000000406900"
          "0000000000403400000000000001");
    HotEntry hot = some_hot();
    hot.key = key;
    CHECK(hex_of(hot) == "15010203040506070802e0d4030844bb80460ca0bc05");
}

/// As an entry of its own and as the answer to another member's delta.
void check_total(const TotalEntry& entry) {
    check_codec(entry, decode_total);
    const SaidCounts other{entry.key, 99, 1, 0, 1};
    std::array<std::byte, 256> buffer;
    ByteWriter writer(buffer);
    encode_answer(writer, other, entry);
    ByteReader reader(writer.written());
    CHECK(decode_answer(reader, other) == entry);
    CHECK(reader.ok());
    CHECK(reader.remaining() == 0);
}

TEST_CASE("a field that is there alone is read as that field") {
    const DeltaEntry bare{
        .key = some_key(), .run = 7, .run_age = std::chrono::hours(24 * 40), .admitted = 3};
    const auto delta = [&](const auto& change) {
        DeltaEntry entry = bare;
        change(entry);
        check_codec(entry, decode_delta);
    };
    delta([](DeltaEntry&) {});
    delta([](DeltaEntry& entry) { entry.refunded = 0.25; });
    delta([](DeltaEntry& entry) { entry.heaviest = 0.5; });
    delta([](DeltaEntry& entry) { entry.typical = 2.5; });
    delta([](DeltaEntry& entry) { entry.shedding = true; });
    delta([](DeltaEntry& entry) { entry.run_age = std::chrono::milliseconds(63'999); });
    delta([](DeltaEntry& entry) { entry.believed_level = 0.5; });
    // A minute or more is not told.
    DeltaEntry old = bare;
    old.run_age = std::chrono::seconds(64);
    CHECK(hex_of(old) == hex_of(bare));
    const auto total = [&](const auto& change) {
        TotalEntry entry;
        entry.key = some_key();
        entry.life = 9;
        change(entry);
        check_total(entry);
    };
    total([](TotalEntry&) {});
    total([](TotalEntry& entry) { entry.heaviest = 0.5; });
    total([](TotalEntry& entry) { entry.shedding = true; });
    total([](TotalEntry& entry) { entry.filled = true; });
    total([](TotalEntry& entry) { entry.held = true; });
    total([](TotalEntry& entry) { entry.pace = 1; });
    total([](TotalEntry& entry) { entry.run = 1; });
    total([](TotalEntry& entry) {
        entry.run = 1;
        entry.refunded = 0.25;
    });
    const auto handover = [&](const auto& change) {
        HandoverEntry entry;
        entry.key = some_key();
        change(entry);
        check_codec(entry, decode_handover);
    };
    handover([](HandoverEntry&) {});
    handover([](HandoverEntry& entry) { entry.heaviest = 0.5; });
    handover([](HandoverEntry& entry) { entry.typical = 2.5; });
    handover([](HandoverEntry& entry) { entry.shedding = true; });
    handover([](HandoverEntry& entry) { entry.held_rate = 0.5; });
    handover([](HandoverEntry& entry) { entry.hold_left = std::chrono::milliseconds(1); });
    HotEntry hot = some_hot();
    hot.shedding = false;
    hot.key.period_ms = 1000;
    check_codec(hot, decode_hot);
}

TEST_CASE("a field of a quiet limit that is there alone is read as that field") {
    const auto quiet = [&](const auto& change) {
        QuietEntry entry;
        entry.key = some_key();
        entry.run = 7;
        change(entry);
        check_codec(entry, decode_quiet);
    };
    quiet([](QuietEntry&) {});
    quiet([](QuietEntry& entry) { entry.untold = 2; });
    quiet([](QuietEntry& entry) { entry.untold = entry.untold_full = entry.fresh = 2; });
    quiet([](QuietEntry& entry) { entry.untold = entry.fresh = 2; });
    quiet([](QuietEntry& entry) { entry.rate = 0.5; });
    quiet([](QuietEntry& entry) { entry.low = 0.5; });
    quiet([](QuietEntry& entry) { entry.no_room = true; });
    const auto order = [&](const auto& change) {
        QuietOrder entry;
        entry.key = some_key();
        change(entry);
        check_codec(entry, decode_order);
    };
    order([](QuietOrder&) {});
    order([](QuietOrder& entry) { entry.run = 7; });
    order([](QuietOrder& entry) { entry.admitted = 0.5; });
    order([](QuietOrder& entry) { entry.kind = OrderKind::level; });
    order([](QuietOrder& entry) { entry.kind = OrderKind::level, entry.level = 0.5; });
    order([](QuietOrder& entry) { entry.kind = OrderKind::hand_over, entry.level = 0.5; });
    order([](QuietOrder& entry) { entry.kind = OrderKind::hand_over, entry.sum = 0.5; });
    order([](QuietOrder& entry) { entry.kind = OrderKind::fall_quiet, entry.run = 7; });
    order([](QuietOrder& entry) {
        entry.kind = OrderKind::kept;
        entry.level = 8, entry.sum = 0.5, entry.full = 4, entry.limit_rate = 2, entry.low = 16;
    });
}

TEST_CASE("an order of a kind that only a later version knows is read as one that says nothing") {
    QuietOrder order = some_order();
    std::array<std::byte, 64> buffer;
    ByteWriter writer(buffer);
    order.kind = OrderKind{77};
    encode(writer, order);
    ByteReader reader(writer.written());
    order.run = 0;
    order.admitted = 0;
    CHECK(decode_order(reader) == order);
    CHECK(reader.ok());
    CHECK(plausible(order));
}

TEST_CASE("an answer gives back what the delta said, or that there is none") {
    const TotalEntry entry = some_total();
    const SaidCounts said{entry.key, entry.run, entry.admitted, entry.refunded, entry.offered};
    std::array<std::byte, 256> buffer;
    ByteWriter writer(buffer);
    encode_answer(writer, said, entry);
    encode_answer(writer, said, {});
    ByteReader reader(writer.written());
    CHECK(decode_answer(reader, said) == entry);
    CHECK_FALSE(decode_answer(reader, said));
    CHECK(reader.ok());
    CHECK(reader.remaining() == 0);
}

TEST_CASE("usual values are left out, and an entry stays below its bound") {
    const auto size_of = [](const auto& entry) {
        std::array<std::byte, 1024> buffer;
        ByteWriter writer(buffer);
        encode(writer, entry);
        return writer.size();
    };
    DeltaEntry usual = some_delta();
    usual.refunded = usual.heaviest = 0;
    usual.typical = 1;
    CHECK(size_of(usual) <= 41);
    usual.believed_level = 0;
    usual.admitted = 1234;
    usual.run_age = std::chrono::hours(1);
    usual.key.period_ms = 1000;
    CHECK(size_of(usual) <= 25);
    CHECK(size_of(usual) < size_of(some_delta()));
    TotalEntry asked = some_total();
    asked.run = 0;
    CHECK(size_of(asked) < 40);
    DeltaEntry largest = some_delta();
    largest.admitted = largest.refunded = largest.offered = 1e300;
    largest.key.period_ms = ~0ull;
    CHECK(size_of(largest) < kMaximumEntrySize);
}

TEST_CASE("quotas have the same hash in each version") {
    CHECK(quota_hash("s3/b1/write") == 0x3e8a07822053032e);  // SipHash-2-4, reckoned elsewhere
}

TEST_CASE("keys survive whatever their kind, unit and period") {
    for (const unsigned kind : {0u, 1u, 4u, 7u}) {
        for (const unsigned unit : {0u, 3u, 8u, 15u}) {
            for (const std::uint64_t period : {1ull, 999ull, 1000ull, 1001ull, ~0ull}) {
                HotEntry entry = some_hot();
                entry.key = {~0ull, static_cast<std::uint8_t>(kind),
                             static_cast<std::uint8_t>(unit), period};
                if (kind == 0) {
                    check_codec(entry, decode_hot);
                }
                std::array<std::byte, 64> buffer;
                ByteWriter writer(buffer);
                encode_question(writer, entry.key);
                ByteReader reader(writer.written());
                CHECK(decode_question(reader) == entry.key);
                CHECK(reader.ok());
                CHECK(reader.remaining() == 0);
            }
        }
    }
}

TEST_CASE("what has its default value takes no bytes") {
    const LimitKey key{0x0102030405060708, 0, 2, 1000};
    const std::string wired = "010203040506070882";
    CHECK(hex_of(HandoverEntry{key}) == "10" + wired + "00" + "000000" + "000000");
    CHECK(hex_of(HotEntry{key}) == "11" + wired + "00" + "000000" + "000000" + "00");
    DeltaEntry delta;
    delta.key = key;
    delta.run = 1;
    delta.run_age = std::chrono::hours(1);
    CHECK(hex_of(delta) == "14" + wired + "00" + "000001" + "00" + "00" + "000000" + "00" + "00");
    TotalEntry total;
    total.key = key;
    total.life = 1;
    CHECK(hex_of(total) == "15" + wired + "00" + "000001" + "000000" + "000000" + "00" + "00");
    total.refunded = 1;  // of no run
    CHECK(hex_of(total) == "15" + wired + "00" + "000001" + "000000" + "000000" + "00" + "00");
}

TEST_CASE("random bytes never do harm") {
    CHECK(rc::check("decoders survive", [](const std::vector<std::uint8_t>& noise) {
        const ByteSpan bytes = std::as_bytes(std::span(noise));
        for (int kind = 0; kind < 9; ++kind) {
            ByteReader reader(bytes);
            if (kind == 0) {
                static_cast<void>(decode_delta(reader));
            }
            if (kind == 1) {
                static_cast<void>(decode_total(reader));
            }
            if (kind == 2) {
                static_cast<void>(decode_handover(reader));
            }
            if (kind == 3) {
                RC_ASSERT(decode_name(reader).name.size() <= kMaximumNameSize);
            }
            if (kind == 4) {
                static_cast<void>(decode_hot(reader));
            }
            if (kind == 5) {
                static_cast<void>(decode_answer(reader, SaidCounts{}));
            }
            if (kind == 6) {
                static_cast<void>(decode_quiet(reader));
            }
            if (kind == 7) {
                static_cast<void>(decode_order(reader));
            }
            if (kind == 8) {
                static_cast<void>(decode_quiet_answer(reader));
            }
        }
    }));
}

}  // namespace
}  // namespace weir::sync

#include "sync/messages.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weir::sync {
namespace {

LimitKey some_key() { return {quota_hash("s3/b1/write"), 0, 2, 60'000}; }

DeltaEntry some_delta() {
    DeltaEntry entry;
    entry.key = some_key();
    entry.run = 7;
    entry.run_age = std::chrono::milliseconds(1500);
    entry.admitted = 1234.5;
    entry.refunded = 2;
    entry.offered = 5000;
    entry.rate = 12.5;
    entry.believed_level = 99;
    entry.oldest_age = std::chrono::milliseconds(40);
    entry.keep_alive = std::chrono::milliseconds(200);
    entry.heaviest = 64;
    entry.typical = 2.5;
    entry.shedding = true;
    return entry;
}

TotalEntry some_total() {
    TotalEntry entry;
    entry.key = some_key();
    entry.life = 9;
    entry.filled = true;
    entry.shedding = true;
    entry.level = 100.5;
    entry.rate = 77;
    entry.origins = 50;
    entry.heaviest = 8;
    entry.keep_alive = std::chrono::milliseconds(200);
    entry.pace = 5;
    entry.run = 7;
    entry.admitted = 1234.5;
    entry.refunded = 1;
    entry.offered = 5000;
    return entry;
}

HandoverEntry some_handover() {
    return {some_key(), 500, 1000, 250, std::chrono::seconds(8), 32, 1.5, true};
}

NameEntry some_name() { return {some_key(), "s3/b1/write", 100, 100, 200, 20, 1}; }
HotEntry some_hot() { return {some_key(), 1500, 9000, std::chrono::milliseconds(700), true}; }

template <class Entry, class Decode>
void check_codec(const Entry& entry, Decode decode) {
    std::array<std::byte, 1024> buffer;
    ByteWriter writer(buffer);
    encode(writer, entry);
    REQUIRE(writer.ok());
    ByteReader reader(writer.written());
    CHECK(decode(reader) == entry);
    CHECK(reader.ok());
    CHECK(reader.remaining() == 0);
    // Each prefix is refused, and nothing is read past its end.
    for (std::size_t size = 0; size < writer.size(); ++size) {
        ByteReader cut(writer.written().first(size));
        static_cast<void>(decode(cut));
        CHECK_FALSE(cut.ok());
    }
}

TEST_CASE("each counter message is read as it was written, and no prefix of it") {
    check_codec(some_delta(), decode_delta);
    check_codec(some_total(), decode_total);
    check_codec(some_handover(), decode_handover);
    check_codec(some_name(), decode_name);
    check_codec(some_hot(), decode_hot);
}

template <class Entry>
std::string hex_of(const Entry& entry) {
    std::array<std::byte, 1024> buffer;
    ByteWriter writer(buffer);
    if constexpr (std::is_invocable_v<Entry, ByteWriter&>) {
        entry(writer);
    } else {
        encode(writer, entry);
    }
    std::string text;
    for (const std::byte byte : writer.written()) {
        constexpr std::string_view digits = "0123456789abcdef";
        text += digits[std::to_integer<std::size_t>(byte) >> 4];
        text += digits[std::to_integer<std::size_t>(byte) & 15];
    }
    return text;
}

// Put together by hand from docs/protocol.md: what reads what it has itself written may have
// changed both, and members of several versions talk to each other.
TEST_CASE("the bytes of counter messages are those of the protocol") {
    const LimitKey key{0x0102030405060708, 1, 2, 60'000};
    DeltaEntry delta = some_delta();
    delta.key = key;
    CHECK(hex_of(delta) ==
          "010203040506070812e0d4033f00000007dc0b81ca2604904e41480042c6000414428000402000");
    delta.key.period_ms = 1000;
    delta.run_age = std::chrono::hours(1);
    delta.admitted = 1234;
    delta.refunded = delta.believed_level = delta.heaviest = 0;
    delta.typical = 1;
    delta.shedding = false;
    CHECK(hex_of(delta) == "0102030405060708920000000007a413904e4148000414");
    TotalEntry total = some_total();
    total.key = key;
    total.held = true;
    CHECK(hex_of(total) ==
          "010203040506070812e0d403fb0000000942c900429a003214410000050000000781ca2602904e");
    const SaidCounts said{key, total.run, total.admitted, total.refunded, total.offered};
    CHECK(hex_of([&](ByteWriter& writer) { encode_answer(writer, said, total); }) ==
          "de0000000942c900429a00321441000005");
    CHECK(hex_of([&](ByteWriter& writer) { encode_answer(writer, said, {}); }) == "24");
    HandoverEntry handover = some_handover();
    handover.key = key;
    CHECK(hex_of(handover) == "010203040506070812e0d4038e43fa00447a00437a00c03e4200003fc000");
    NameEntry name = some_name();
    name.key = key;
    CHECK(hex_of(name) ==
          "010203040506070812e0d4030b73332f62312f77726974654059000000000000405900000000000040690000"
          "00000000403400000000000001");
    HotEntry hot = some_hot();
    hot.key = key;
    CHECK(hex_of(hot) == "010203040506070812e0d4030844bb80460ca0bc05");
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
        check_codec(entry, decode_total);
        const SaidCounts other{entry.key, 99, 1, 0, 1};
        std::array<std::byte, 256> buffer;
        ByteWriter writer(buffer);
        encode_answer(writer, other, entry);
        ByteReader reader(writer.written());
        CHECK(decode_answer(reader, other) == entry);
        CHECK(reader.ok());
        CHECK(reader.remaining() == 0);
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

TEST_CASE("keep-alives are rounded to hundredths of a second") {
    for (const auto& [told, read] : {std::pair{4, 0}, {5, 10}, {6, 10}, {14, 10}, {15, 20}}) {
        DeltaEntry entry = some_delta();
        entry.keep_alive = std::chrono::milliseconds(told);
        std::array<std::byte, 256> buffer;
        ByteWriter writer(buffer);
        encode(writer, entry);
        ByteReader reader(writer.written());
        CHECK(decode_delta(reader).keep_alive == std::chrono::milliseconds(read));
    }
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

TEST_CASE("values that no limit can have are not plausible") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double bad : {nan, -1.0, 1e300, std::numeric_limits<double>::infinity()}) {
        CAPTURE(bad);
        DeltaEntry delta = some_delta();
        delta.rate = bad;
        CHECK_FALSE(plausible(delta));
        delta = some_delta();
        delta.admitted = bad;
        CHECK_FALSE(plausible(delta));
        TotalEntry total = some_total();
        total.level = bad;
        CHECK_FALSE(plausible(total));
        HandoverEntry handover = some_handover();
        handover.held_rate = bad;
        CHECK_FALSE(plausible(handover));
        NameEntry name = some_name();
        name.high = bad;
        CHECK_FALSE(plausible(name));
        HotEntry hot = some_hot();
        hot.rate = bad;
        CHECK_FALSE(plausible(hot));
    }
    CHECK(plausible(some_delta()));
    CHECK(plausible(some_total()));
    CHECK(plausible(some_handover()));
    CHECK(plausible(some_name()));
    CHECK(plausible(some_hot()));
    NameEntry other = some_name();
    other.name = "another quota";
    CHECK_FALSE(plausible(other));
    NameEntry law = some_name();
    CHECK(plausible(law));
    law.law = 2;  // there are two
    CHECK_FALSE(plausible(law));
    HotEntry hot = some_hot();
    hot.rate = 1e15;  // the most
    CHECK(plausible(hot));
    hot.rate = 1.001e15;
    CHECK_FALSE(plausible(hot));
    DeltaEntry without_run = some_delta();
    without_run.run = 0;
    CHECK_FALSE(plausible(without_run));
}

/// Each of these numbers may be anything from 0 to the most, and nothing else.
template <class Entry>
void check_numbers(const Entry& good, std::initializer_list<double Entry::*> fields, double most) {
    std::size_t place = 0;
    for (const auto field : fields) {
        CAPTURE(place++);
        Entry entry = good;
        for (const double fine : {0.0, most}) {
            entry.*field = fine;
            CHECK(plausible(entry));
        }
        for (const double bad : {std::nextafter(most, 2 * most), -1e-300, std::nan("")}) {
            entry.*field = bad;
            CHECK_FALSE(plausible(entry));
        }
    }
}

TEST_CASE("each number of an entry has its own bounds") {
    constexpr double kCount = 36'028'797'018'963'968.0;  // 2^55
    constexpr double kRate = 1e15;
    check_numbers<DeltaEntry>(
        some_delta(), {&DeltaEntry::admitted, &DeltaEntry::refunded, &DeltaEntry::offered}, kCount);
    check_numbers<DeltaEntry>(some_delta(),
                              {&DeltaEntry::rate, &DeltaEntry::believed_level,
                               &DeltaEntry::heaviest, &DeltaEntry::typical},
                              kRate);
    check_numbers<TotalEntry>(
        some_total(), {&TotalEntry::admitted, &TotalEntry::refunded, &TotalEntry::offered}, kCount);
    check_numbers<TotalEntry>(
        some_total(), {&TotalEntry::level, &TotalEntry::rate, &TotalEntry::heaviest}, kRate);
    check_numbers<HandoverEntry>(
        some_handover(),
        {&HandoverEntry::level, &HandoverEntry::rate, &HandoverEntry::held_rate,
         &HandoverEntry::heaviest, &HandoverEntry::typical},
        kRate);
    check_numbers<HotEntry>(some_hot(), {&HotEntry::level, &HotEntry::rate}, kRate);
    NameEntry name = some_name();
    name.low = 0;
    name.high = kRate;
    check_numbers<NameEntry>(name, {&NameEntry::rate, &NameEntry::low, &NameEntry::debt}, kRate);
    check_numbers<NameEntry>(name, {&NameEntry::high}, kRate);
}

TEST_CASE("an owner has a life, and a limit's borders are in order") {
    TotalEntry lifeless = some_total();
    lifeless.life = 0;  // no owner draws it
    CHECK_FALSE(plausible(lifeless));
    for (const std::uint32_t fine : {1u, 0xffff'ffffu}) {
        lifeless.life = fine;
        CHECK(plausible(lifeless));
    }
    DeltaEntry first = some_delta();
    first.run = 1;
    CHECK(plausible(first));
    NameEntry edge = some_name();
    edge.high = edge.low;  // a hard edge
    CHECK(plausible(edge));
    edge.high = edge.low - 1;
    CHECK_FALSE(plausible(edge));
    NameEntry nameless = some_name();
    nameless.name.clear();
    nameless.key.quota = quota_hash("");
    CHECK_FALSE(plausible(nameless));
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
                check_codec(entry, decode_hot);
            }
        }
    }
}

TEST_CASE("what has its default value takes no bytes") {
    const LimitKey key{0x0102030405060708, 1, 2, 1000};
    const std::string wired = "010203040506070892";
    CHECK(hex_of(HandoverEntry{key}) == wired + "00" + "000000" + "000000");
    CHECK(hex_of(HotEntry{key}) == wired + "00" + "000000" + "000000" + "00");
    DeltaEntry delta;
    delta.key = key;
    delta.run = 1;
    delta.run_age = std::chrono::hours(1);
    CHECK(hex_of(delta) == wired + "00" + "00000001" + "00" + "00" + "000000" + "00" + "00");
    TotalEntry total;
    total.key = key;
    total.life = 1;
    CHECK(hex_of(total) == wired + "00" + "00000001" + "000000" + "000000" + "00" + "00");
    total.refunded = 1;  // of no run
    CHECK(hex_of(total) == wired + "00" + "00000001" + "000000" + "000000" + "00" + "00");
}

TEST_CASE("numbers of origins and ages that are too large are cut") {
    constexpr std::uint32_t kMost = 1u << 20;
    for (const std::uint32_t told : {kMost - 1, kMost, kMost + 1, ~0u}) {
        TotalEntry entry = some_total();
        entry.origins = told;
        std::array<std::byte, 256> buffer;
        ByteWriter writer(buffer);
        encode(writer, entry);
        ByteReader reader(writer.written());
        CHECK(decode_total(reader).origins == std::min(told, kMost));
        CHECK(reader.ok());
    }
    const Duration longest = std::chrono::hours(24 * 40);
    for (const auto& [told, read] : {std::pair{longest, longest},
                                     {longest + std::chrono::milliseconds(1), longest},
                                     {std::chrono::milliseconds(-5), Duration::zero()}}) {
        HotEntry entry = some_hot();
        entry.age = told;
        std::array<std::byte, 256> buffer;
        ByteWriter writer(buffer);
        encode(writer, entry);
        ByteReader reader(writer.written());
        CHECK(decode_hot(reader).age == read);
    }
    // What was not cut by its sender.
    std::array<std::byte, 64> buffer;
    ByteWriter writer(buffer);
    encode(writer, some_key());
    writer.u8(0);
    writer.u16(0);
    writer.u32(0);
    writer.varint(~0ull);
    ByteReader reader(writer.written());
    CHECK(decode_hot(reader).age == longest);
    CHECK(reader.ok());
}

TEST_CASE("milliseconds are rounded to the nearest") {
    for (const auto& [told, read] : {std::pair{499, 0}, {500, 1}, {1499, 1}, {1500, 2}}) {
        HotEntry entry = some_hot();
        entry.age = std::chrono::microseconds(told);
        std::array<std::byte, 256> buffer;
        ByteWriter writer(buffer);
        encode(writer, entry);
        ByteReader reader(writer.written());
        CHECK(decode_hot(reader).age == std::chrono::milliseconds(read));
    }
}

TEST_CASE("counts are cut at both ends and rounded to 256ths") {
    CHECK(quantise(-1) == 0);
    CHECK(quantise(1e300) == 36'028'797'018'963'968.0);
    CHECK(quantise(1.0 / 256) == 1.0 / 256);
    CHECK(quantise(1.4 / 256) == 1.0 / 256);
    CHECK(quantise(1.6 / 256) == 2.0 / 256);
}

TEST_CASE("what is quantised travels to the bit") {
    CHECK(rc::check("quantised counts survive", [] {
        const double count =
            static_cast<double>(*rc::gen::inRange<std::int64_t>(0, 1ll << 40)) / 97;
        DeltaEntry entry;
        entry.run = 1;
        entry.admitted = quantise(count);
        std::array<std::byte, 256> buffer;
        ByteWriter writer(buffer);
        encode(writer, entry);
        ByteReader reader(writer.written());
        RC_ASSERT(decode_delta(reader).admitted == entry.admitted);
        RC_ASSERT(std::abs(entry.admitted - count) <= 1.0 / 256);
    }));
}

TEST_CASE("reals are exact to 1 in 65,536, whole numbers up to that to the bit") {
    for (const double value : {0.0, 1.0, 5.0, 1234.5, 65'535.0, 1e-3, 1e9, 1e15}) {
        CAPTURE(value);
        TotalEntry entry = some_total();
        entry.level = value;
        std::array<std::byte, 256> buffer;
        ByteWriter writer(buffer);
        encode(writer, entry);
        ByteReader reader(writer.written());
        const double read = decode_total(reader).level;
        CHECK(std::abs(read - value) <= value / 65'536);
        if (value <= 65'535 && value == std::floor(value)) {
            CHECK(read == value);
        }
    }
}

TEST_CASE("random bytes never do harm") {
    CHECK(rc::check("decoders survive", [](const std::vector<std::uint8_t>& noise) {
        const ByteSpan bytes = std::as_bytes(std::span(noise));
        for (int kind = 0; kind < 6; ++kind) {
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
        }
    }));
}

}  // namespace
}  // namespace weir::sync

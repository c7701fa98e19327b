// What a counter message rounds or cuts: times, counts, reals.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sync/messages.h"
#include "sync/sample_messages.h"

namespace weir::sync {
namespace {

using namespace test;

/// What a receiver makes of an entry.
template <class Entry, class Decode>
Entry received(const Entry& entry, Decode decode) {
    std::array<std::byte, 256> buffer;
    ByteWriter writer(buffer);
    encode(writer, entry);
    ByteReader reader(writer.written());
    const Entry read = decode(reader);
    CHECK(reader.ok());
    return read;
}

TEST_CASE("keep-alives are rounded to hundredths of a second") {
    for (const auto& [told, read] : {std::pair{4, 0}, {5, 10}, {6, 10}, {14, 10}, {15, 20}}) {
        DeltaEntry entry = some_delta();
        entry.keep_alive = std::chrono::milliseconds(told);
        CHECK(received(entry, decode_delta).keep_alive == std::chrono::milliseconds(read));
    }
}

TEST_CASE("what is sent of a very large limit is no more than a receiver takes") {
    for (const double large : {1e15, 3e15, 1e30}) {
        CAPTURE(large);
        QuietEntry entry = some_quiet();
        entry.rate = entry.limit_rate = entry.low = large;
        const QuietEntry told = received(entry, decode_quiet);
        CHECK(plausible(told));
        CHECK(told.low > 0.9999 * 1e15);
        QuietOrder order = some_order();
        order.level = order.sum = large;
        for (const OrderKind kind : {OrderKind::level, OrderKind::hand_over}) {
            order.kind = kind;
            CHECK(plausible(received(order, decode_order)));
        }
        DeltaEntry delta = some_delta();
        delta.rate = delta.heaviest = large;
        CHECK(plausible(received(delta, decode_delta)));
        TotalEntry total = some_total();
        total.level = -large;
        CHECK(plausible(received(total, decode_total)));
    }
}

TEST_CASE("numbers of origins and ages that are too large are cut") {
    constexpr std::uint32_t kMost = 1u << 20;
    for (const std::uint32_t told : {kMost - 1, kMost, kMost + 1, ~0u}) {
        TotalEntry entry = some_total();
        entry.origins = told;
        CHECK(received(entry, decode_total).origins == std::min(told, kMost));
    }
    const Duration longest = std::chrono::hours(24 * 40);
    for (const auto& [told, read] : {std::pair{longest, longest},
                                     {longest + std::chrono::milliseconds(1), longest},
                                     {std::chrono::milliseconds(-5), Duration::zero()}}) {
        HotEntry entry = some_hot();
        entry.age = told;
        CHECK(received(entry, decode_hot).age == read);
    }
    // What was not cut by its sender.
    std::array<std::byte, 64> buffer;
    ByteWriter writer(buffer);
    const std::size_t record = writer.begin_length();
    encode(writer, some_key());
    writer.u8(0);
    writer.u16(0);
    writer.u32(0);
    writer.varint(~0ull);
    writer.end_length(record);
    ByteReader reader(writer.written());
    CHECK(decode_hot(reader).age == longest);
    CHECK(reader.ok());
}

TEST_CASE("milliseconds are rounded to the nearest") {
    for (const auto& [told, read] : {std::pair{499, 0}, {500, 1}, {1499, 1}, {1500, 2}}) {
        HotEntry entry = some_hot();
        entry.age = std::chrono::microseconds(told);
        CHECK(received(entry, decode_hot).age == std::chrono::milliseconds(read));
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
        RC_ASSERT(received(entry, decode_delta).admitted == entry.admitted);
        RC_ASSERT(std::abs(entry.admitted - count) <= 1.0 / 256);
    }));
}

TEST_CASE("reals are exact to 1 in 65,536, whole numbers up to that to the bit") {
    for (const double value : {0.0, 1.0, 5.0, 1234.5, 65'535.0, 1e-3, 1e9, 1e15}) {
        CAPTURE(value);
        TotalEntry entry = some_total();
        entry.level = value;
        const double read = received(entry, decode_total).level;
        CHECK(std::abs(read - value) <= value / 65'536);
        if (value <= 65'535 && value == std::floor(value)) {
            CHECK(read == value);
        }
    }
}

}  // namespace
}  // namespace weir::sync

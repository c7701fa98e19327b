#include "gossip/counter_messages.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <cmath>
#include <limits>

namespace weir::gossip {
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
    CHECK(size_of(usual) < 45);
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
    DeltaEntry without_run = some_delta();
    without_run.run = 0;
    CHECK_FALSE(plausible(without_run));
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

TEST_CASE("random bytes never do harm") {
    CHECK(rc::check("decoders survive", [](const std::vector<std::uint8_t>& noise) {
        const ByteSpan bytes = std::as_bytes(std::span(noise));
        for (int kind = 0; kind < 5; ++kind) {
            ByteReader reader(bytes);
            if (kind == 0) static_cast<void>(decode_delta(reader));
            if (kind == 1) static_cast<void>(decode_total(reader));
            if (kind == 2) static_cast<void>(decode_handover(reader));
            if (kind == 3) RC_ASSERT(decode_name(reader).name.size() <= kMaximumNameSize);
            if (kind == 4) static_cast<void>(decode_hot(reader));
        }
    }));
}

}  // namespace
}  // namespace weir::gossip

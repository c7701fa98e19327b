#pragma once
// An entry of each kind of counter message, and how a test writes and reads one.

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <type_traits>

#include "sync/messages.h"

namespace weir::sync::test {

inline LimitKey some_key() { return {quota_hash("s3/b1/write"), 0, 2, 60'000}; }

inline DeltaEntry some_delta() {
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
    entry.answer_may_wait = true;
    return entry;
}

inline TotalEntry some_total() {
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

inline HandoverEntry some_handover() {
    return {some_key(), 500, 1000, 250, std::chrono::seconds(8), 32, 1.5, true};
}

inline QuietEntry some_quiet() {
    return {some_key(), 7, 1234.5, 6.25, 2, 3.5, 12.5, 100, 300, true};
}
inline QuietOrder some_order() {
    return {.key = some_key(), .kind = OrderKind::wake, .run = 7, .admitted = 1234.5};
}
inline NameEntry some_name() { return {some_key(), "s3/b1/write", 100, 100, 200, 20, 1}; }
inline HotEntry some_hot() {
    return {some_key(), 1500, 9000, std::chrono::milliseconds(700), true};
}

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
    // Each prefix is refused, and no byte behind its end is read.
    for (std::size_t size = 0; size < writer.size(); ++size) {
        ByteReader cut(writer.written().first(size));
        static_cast<void>(decode(cut));
        CHECK_FALSE(cut.ok());
    }
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

}  // namespace weir::sync::test

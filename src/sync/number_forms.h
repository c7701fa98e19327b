#pragma once
// The forms in which numbers travel in the messages of counters, for the sources that encode them.
// docs/protocol.md describes the bytes. Pure functions, thread-safe.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/instant.h"
#include "sync/messages.h"

namespace weir::sync {

inline constexpr double kCountSteps = 256;
/// Beyond it a count no longer keeps single steps in a double, and no bucket is that big.
inline constexpr double kLargestCount = 35'184'372'088'832.0 * 1024;  // 2^55
inline constexpr double kLargestRate = 1e15;
inline constexpr Duration kLongestAge = std::chrono::hours(24 * 40);

inline void write_count(ByteWriter& writer, double count) {
    WEIR_ASSERT(!std::isnan(count));
    // Nearly all counts are whole: these travel without their 256ths.
    const auto steps =
        static_cast<std::uint64_t>(std::llround(std::clamp(count, 0.0, kLargestCount) * 256));
    constexpr std::uint64_t whole = 256;
    writer.varint(steps % whole == 0 ? 2 * (steps / whole) : 2 * steps + 1);
}

[[nodiscard]] inline double read_count(ByteReader& reader) {
    const std::uint64_t value = reader.varint();
    const std::uint64_t number = value / 2;
    const auto count = static_cast<double>(number);
    return value % 2 == 0 ? count : count / kCountSteps;
}

inline void write_duration(ByteWriter& writer, Duration duration, Duration step) {
    WEIR_ASSERT(step > Duration::zero());
    const auto clamped = std::clamp(duration, Duration::zero(), kLongestAge);
    writer.varint(static_cast<std::uint64_t>((clamped + step / 2) / step));
}

[[nodiscard]] inline Duration read_duration(ByteReader& reader, Duration step) {
    WEIR_ASSERT(step > Duration::zero());
    const auto longest = static_cast<std::uint64_t>(kLongestAge / step);
    return step * static_cast<Duration::rep>(std::min(reader.varint(), longest));
}

inline void write_duration(ByteWriter& writer, Duration duration) {
    write_duration(writer, duration, std::chrono::milliseconds(1));
}
[[nodiscard]] inline Duration read_duration(ByteReader& reader) {
    return read_duration(reader, std::chrono::milliseconds(1));
}

/// kLargestRate, rounded down to what write_real() can write: rounded to the nearest it would be
/// more, and refused.
inline constexpr double kLargestReal = std::bit_cast<float>(0x5863'5f00u);

/// The upper three bytes of an IEEE 754 single, rounded: 1 in 65,536, whole numbers up to that.
/// No more is written than a receiver takes, so that nobody is blamed for a limit of that size.
inline void write_real(ByteWriter& writer, double value) {
    const bool finite = std::isfinite(value);
    const auto single =
        static_cast<float>(finite ? std::clamp(value, -kLargestReal, kLargestReal) : value);
    auto bits = std::bit_cast<std::uint32_t>(single);
    constexpr std::uint32_t half = 0x80;
    if (std::isfinite(single)) {
        bits += half;
    }
    writer.u8(static_cast<std::uint8_t>(bits >> 24));
    writer.u16(static_cast<std::uint16_t>(bits >> 8));
}

[[nodiscard]] inline double read_real(ByteReader& reader) {
    const std::uint32_t upper = reader.u8();
    const std::uint32_t lower = reader.u16();
    return static_cast<double>(std::bit_cast<float>(upper << 24 | lower << 8));
}

inline void write_identity(ByteWriter& writer, std::uint32_t identity) {
    WEIR_ASSERT(identity <= kLargestIdentity);
    writer.u8(static_cast<std::uint8_t>(identity >> 16));
    writer.u16(static_cast<std::uint16_t>(identity));
}

[[nodiscard]] inline std::uint32_t read_identity(ByteReader& reader) {
    const std::uint32_t upper = reader.u8();
    return upper << 16 | reader.u16();
}

[[nodiscard]] inline std::uint8_t flag(bool set, std::uint8_t bit) {
    return set ? bit : std::uint8_t{0};
}

[[nodiscard]] inline bool within(std::initializer_list<double> values, double largest) {
    return std::all_of(values.begin(), values.end(), [largest](double value) {
        return std::isfinite(value) && value >= 0 && value <= largest;
    });
}

}  // namespace weir::sync

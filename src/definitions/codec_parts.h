#pragma once
// What the two halves of the codec share: codec.cpp reads and writes the part that every definition
// has, codec_fields.cpp the numbered fields after it. Private to these two. Pure functions.

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "limiter/definition.h"

namespace weir::definitions {

/// Encodes the numbered fields of the table in fields.h, which were added after the first form of
/// definitions. Empty when all of them have their default.
[[nodiscard]] std::string encode_fields(const limiter::QuotaDefinition& definition);
/// Reads these fields into a definition whose other part has been read. Unknown fields are skipped.
void read_fields(ByteReader& reader, limiter::QuotaDefinition& definition);

inline void write_border(ByteWriter& writer, const std::optional<limiter::BurstSpec>& border) {
    writer.u8(border ? static_cast<std::uint8_t>(1 + static_cast<int>(border->kind)) : 0);
    if (border) {
        writer.f64(border->value);
    }
}

inline double read_amount(ByteReader& reader) {
    const double value = reader.f64();
    if (!std::isfinite(value) || value < 0) {
        reader.fail();
        return 0;
    }
    return value;
}

/// Reads the index of one of `words` words.
inline std::size_t read_word(ByteReader& reader, std::size_t words) {
    const std::uint8_t word = reader.u8();
    if (word >= words) {
        reader.fail();
        return 0;
    }
    return word;
}

template <class Enumeration>
Enumeration read_enum(ByteReader& reader, std::size_t count) {
    return static_cast<Enumeration>(read_word(reader, count));
}

inline std::optional<limiter::BurstSpec> read_border(ByteReader& reader) {
    const std::uint8_t kind = reader.u8();
    if (kind == 0) {
        return std::nullopt;
    }
    if (kind > 2) {
        reader.fail();
        return std::nullopt;
    }
    return limiter::BurstSpec{static_cast<limiter::BurstSpec::Kind>(kind - 1), read_amount(reader)};
}

inline std::uint32_t read_u32(ByteReader& reader) {
    const std::uint64_t value = reader.varint();
    if (value > 0xffff'ffffU) {
        reader.fail();
        return 0;
    }
    return static_cast<std::uint32_t>(value);
}

}  // namespace weir::definitions

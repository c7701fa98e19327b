#pragma once
// Comparing and copying bytes eight at a time, for the sources of http and routing. Pure functions,
// thread-safe.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace weir::http {

inline constexpr std::uint64_t kOnes = 0x0101010101010101U;
inline constexpr std::uint64_t kHighs = 0x8080808080808080U;

/// Loads `size` bytes, at most 8, in memory's order; the other bytes of the word are 0.
constexpr std::uint64_t load(const char* bytes, std::size_t size) {
    std::array<char, 8> copy{};
    for (std::size_t i = 0; i < size; ++i) {
        copy[i] = bytes[i];
    }
    return std::bit_cast<std::uint64_t>(copy);
}

template <class Word>
constexpr Word load(const char* bytes) {
    if (std::is_constant_evaluated()) {
        return static_cast<Word>(load(bytes, sizeof(Word)));
    }
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

/// Whether one of the eight bytes is 0.
constexpr bool holds_zero(std::uint64_t word) { return ((word - kOnes) & ~word & kHighs) != 0; }

/// A text of at most 24 bytes in three words, which may overlap in the text: two texts of the same
/// length are equal exactly if their words are equal.
struct PackedText {
    std::uint64_t first = 0;
    std::uint64_t middle = 0;
    std::uint64_t last = 0;
};
inline constexpr std::size_t kMaxPacked = 24;

constexpr PackedText pack(std::string_view text) {
    const char* const begin = text.data();
    const std::size_t size = text.size();
    if (size >= 8) {
        return {.first = load<std::uint64_t>(begin),
                .middle = size > 16 ? load<std::uint64_t>(begin + 8) : 0,
                .last = load<std::uint64_t>(begin + size - 8)};
    }
    if (size >= 4) {
        return {.first = load<std::uint32_t>(begin), .last = load<std::uint32_t>(begin + size - 4)};
    }
    return {.first = load(begin, size)};
}

/// A mask of the bits that matter when case is ignored: all but the bit in which a lower-case
/// letter differs from its upper case.
constexpr std::uint64_t caseless_bits(std::uint64_t lower) {
    std::uint64_t bits = 0;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        const std::uint64_t byte = lower >> shift & 0xffU;
        if (byte >= 'a' && byte <= 'z') {
            bits |= std::uint64_t{0x20} << shift;
        }
    }
    return ~bits;
}

/// A lower-case name of at most 24 bytes with which other names are compared, ignoring case.
class PackedName {
  public:
    constexpr PackedName() = default;
    explicit constexpr PackedName(std::string_view lower)
        : text_(pack(lower)),
          compared_{caseless_bits(text_.first), caseless_bits(text_.middle),
                    caseless_bits(text_.last)} {}

    /// `packed` must be a text of the same length.
    [[nodiscard]] constexpr bool equals(const PackedText& packed) const {
        return ((text_.first ^ packed.first) & compared_.first) == 0 &&
               ((text_.last ^ packed.last) & compared_.last) == 0 &&
               ((text_.middle ^ packed.middle) & compared_.middle) == 0;
    }

  private:
    PackedText text_;
    PackedText compared_;
};

/// Copies bytes; for a few of them it is faster than calling memcpy. Returns the end of the copy.
inline char* copy_bytes(char* to, std::string_view from) {
    const std::size_t size = from.size();
    const char* const begin = from.data();
    if (size > 16) {
        std::memcpy(to, begin, size);
    } else if (size >= 8) {
        const auto last = load<std::uint64_t>(begin + size - 8);
        std::memcpy(to, begin, 8);
        std::memcpy(to + size - 8, &last, 8);
    } else if (size >= 4) {
        const auto last = load<std::uint32_t>(begin + size - 4);
        std::memcpy(to, begin, 4);
        std::memcpy(to + size - 4, &last, 4);
    } else {
        for (std::size_t i = 0; i < size; ++i) {
            to[i] = begin[i];
        }
    }
    return to + size;
}

}  // namespace weir::http

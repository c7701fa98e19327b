#pragma once
// Keyed 64-bit hashing (SipHash-2-4, Aumasson and Bernstein 2012) for tables whose keys an
// attacker may choose and for names on the wire. Pure functions, thread-safe.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

struct HashKey {
    std::array<std::byte, 16> bytes{};
};

/// SipHash-2-4 of the text under the key.
[[nodiscard]] std::uint64_t keyed_hash(std::string_view text, const HashKey& key);

/// A hash from which nobody can find the text (BLAKE2b of 128 bits, RFC 7693, without a key), other
/// than by trying all texts that it may be. Allocates nothing.
using Digest = std::array<std::uint8_t, 16>;
[[nodiscard]] Digest one_way_hash(std::string_view text);

/// A bijective mix of 64 bits (the last step of splitmix64), which spreads identifiers evenly over
/// a table. Not for keys that an attacker may choose.
[[nodiscard]] std::uint64_t mix(std::uint64_t value);

}  // namespace weir

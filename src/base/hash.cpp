#include "base/hash.h"

#include <sodium.h>

namespace weir {

static_assert(crypto_shorthash_siphash24_KEYBYTES == sizeof(HashKey::bytes));
static_assert(crypto_generichash_BYTES_MIN <= sizeof(Digest));

std::uint64_t keyed_hash(std::string_view text, const HashKey& key) {
    std::array<unsigned char, crypto_shorthash_siphash24_BYTES> out{};
    crypto_shorthash_siphash24(out.data(), reinterpret_cast<const unsigned char*>(text.data()),
                               text.size(),
                               reinterpret_cast<const unsigned char*>(key.bytes.data()));
    std::uint64_t value = 0;
    for (std::size_t i = out.size(); i-- > 0;) {
        value = (value << 8) | out[i];  // little-endian, as the algorithm defines it
    }
    return value;
}

Digest one_way_hash(std::string_view text) {
    Digest digest{};
    crypto_generichash(digest.data(), digest.size(),
                       reinterpret_cast<const unsigned char*>(text.data()), text.size(), nullptr,
                       0);
    return digest;
}

std::uint64_t mix(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
}

}  // namespace weir

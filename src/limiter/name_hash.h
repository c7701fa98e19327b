#pragma once
// The keyed hash of quota names inside one process: SipHash-1-3 (Aumasson and Bernstein 2012, with
// the number of rounds that the hash tables of other languages use). The key is secret and never
// leaves the process; names on the wire are hashed with base/hash.h instead. It is inline, because
// every request needs it. Pure functions, thread-safe.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace weir::limiter {

struct NameKey {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
};

class SipState {
  public:
    explicit SipState(const NameKey& key)
        : a_(key.low ^ 0x736f6d6570736575ULL),
          b_(key.high ^ 0x646f72616e646f6dULL),
          c_(key.low ^ 0x6c7967656e657261ULL),
          d_(key.high ^ 0x7465646279746573ULL) {}

    void absorb(std::uint64_t word) {
        d_ ^= word;
        round();
        a_ ^= word;
    }
    [[nodiscard]] std::uint64_t finish() {
        c_ ^= 0xff;
        round();
        round();
        round();
        return a_ ^ b_ ^ c_ ^ d_;
    }

  private:
    void round() {
        a_ += b_;
        b_ = std::rotl(b_, 13) ^ a_;
        a_ = std::rotl(a_, 32);
        c_ += d_;
        d_ = std::rotl(d_, 16) ^ c_;
        a_ += d_;
        d_ = std::rotl(d_, 21) ^ a_;
        c_ += b_;
        b_ = std::rotl(b_, 17) ^ c_;
        c_ = std::rotl(c_, 32);
    }
    std::uint64_t a_;
    std::uint64_t b_;
    std::uint64_t c_;
    std::uint64_t d_;
};

[[nodiscard]] inline std::uint64_t name_hash(std::string_view name, const NameKey& key) {
    SipState state(key);
    const char* text = name.data();
    std::size_t left = name.size();
    std::uint64_t word = 0;
    for (; left >= sizeof(word); left -= sizeof(word), text += sizeof(word)) {
        std::memcpy(&word, text, sizeof(word));
        state.absorb(word);
    }
    word = 0;
    if (left > 0 && name.size() >= sizeof(word)) {
        // Reads the last eight bytes of the name and shifts out those that the loop has absorbed.
        static_assert(std::endian::native == std::endian::little);
        std::memcpy(&word, text + left - sizeof(word), sizeof(word));
        word >>= 8 * (sizeof(word) - left);
    } else if (left > 0) {
        std::memcpy(&word, text, left);
    }
    state.absorb(word | static_cast<std::uint64_t>(name.size()) << 56);
    return state.finish();
}

}  // namespace weir::limiter

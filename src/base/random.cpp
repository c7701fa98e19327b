#include "base/random.h"

#include <bit>
#include <cmath>

#include "base/assert.h"

namespace weir {
namespace {

std::uint64_t splitmix64(std::uint64_t& state) {
    state += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
        word = splitmix64(seed);
    }
}

std::uint64_t Random::next() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
}

double Random::unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

std::uint64_t Random::below(std::uint64_t bound) {
    WEIR_ASSERT(bound > 0);
    // Values below the threshold are rejected, so that the remainder is exactly uniform. At most
    // one value in two is rejected.
    const std::uint64_t threshold = (0 - bound) % bound;
    std::uint64_t value = next();
    while (value < threshold) {
        value = next();
    }
    return value % bound;
}

double Random::exponential(double rate) {
    WEIR_ASSERT(rate > 0);
    return -std::log1p(-unit()) / rate;
}

Random Random::fork() { return Random(next()); }

}  // namespace weir

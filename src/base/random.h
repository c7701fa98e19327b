#pragma once
// A small, fast, seeded generator (xoshiro256++, Blackman and Vigna 2019, seeded by splitmix64).
// Deterministic for a seed on every machine, unlike the distributions of <random>.
// Not thread-safe: each thread or state machine has a generator of its own. Not for secrets.

#include <cstdint>

namespace weir {

class Random {
  public:
    explicit Random(std::uint64_t seed);

    /// 64 uniform bits.
    std::uint64_t next();
    /// Uniform in [0, 1).
    double unit();
    /// Uniform in [0, bound); bound must be above 0.
    std::uint64_t below(std::uint64_t bound);
    /// Exponentially distributed with the given rate (mean 1/rate); rate must be above 0.
    double exponential(double rate);
    /// A new generator, seeded by this one, for a part that draws on its own.
    Random fork();

  private:
    std::uint64_t state_[4];
};

}  // namespace weir

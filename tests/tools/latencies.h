#pragma once
// A histogram of latencies with eight buckets an octave (error below 13 %), from 1 µs up. Pure.

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::tools {

class Latencies {
  public:
    void add(std::int64_t latency_ns);
    /// Upper border of the bucket of the given quantile, in milliseconds; 0 when empty.
    [[nodiscard]] double quantile_ms(double quantile) const;
    [[nodiscard]] double max_ms() const { return static_cast<double>(max_ns_) * 1e-6; }
    [[nodiscard]] std::uint64_t count() const { return count_; }

  private:
    static constexpr std::size_t kBuckets = 8 * 40;

    std::array<std::uint64_t, kBuckets> buckets_{};
    std::uint64_t count_ = 0;
    std::int64_t max_ns_ = 0;
};

}  // namespace weir::tools

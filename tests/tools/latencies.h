#pragma once
// A histogram of latencies from 1 µs up, with eight buckets for each doubling (an error below 13
// %). Reads no clock; not thread-safe.

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::tools {

class Latencies {
  public:
    void add(std::int64_t latency_ns);
    /// The upper border, in milliseconds, of the bucket with this quantile; 0 when the histogram is
    /// empty.
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

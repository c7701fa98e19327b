#include "tools/latencies.h"

#include <algorithm>
#include <cmath>

namespace weir::tools {

void Latencies::add(std::int64_t latency_ns) {
    const double microseconds = std::max(1.0, static_cast<double>(latency_ns) * 1e-3);
    const auto bucket = static_cast<std::size_t>(8.0 * std::log2(microseconds));
    ++buckets_[std::min(bucket, kBuckets - 1)];
    ++count_;
    max_ns_ = std::max(max_ns_, latency_ns);
}

double Latencies::quantile_ms(double quantile) const {
    const double wanted = quantile * static_cast<double>(count_);
    double seen = 0;
    for (std::size_t i = 0; i < kBuckets && count_ > 0; ++i) {
        seen += static_cast<double>(buckets_[i]);
        if (seen >= wanted) {
            return std::min(std::exp2((static_cast<double>(i) + 1) / 8.0) * 1e-3, max_ms());
        }
    }
    return max_ms();
}

}  // namespace weir::tools

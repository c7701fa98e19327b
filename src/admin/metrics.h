#pragma once
// /metrics: sums the sources' figures at scrape and writes them in Prometheus' text format.
//
// Thread-safety: none; control thread. Number and size of series are bounded: at most
// max_quota_series quotas have series of their own, the rest share quota="__other__", whose
// counters never fall although quotas come and go; label values are valid UTF-8 of bounded length.
// The sources must outlive it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "admin/sources.h"
#include "base/instant.h"

namespace prometheus {
class Collectable;
}

namespace weir::admin {

/// A scrape that took longer than this is given again for ten times as long as it took, so that
/// scraping cannot take more than a tenth of the control thread, however many quotas there are.
inline constexpr Duration kCheapScrape = std::chrono::milliseconds(20);

class Metrics {
  public:
    explicit Metrics(MetricsSources sources);
    /// For tests: `clock` instead of net::now tells how long a scrape took.
    Metrics(MetricsSources sources, std::function<Instant()> clock);
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;
    ~Metrics();

    /// Prometheus' text format, version 0.0.4.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] const prometheus::Collectable& collectable() const;

  private:
    class Collector;
    std::unique_ptr<Collector> collector_;
};

}  // namespace weir::admin

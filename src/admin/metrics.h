#pragma once
// The page /metrics. At each scrape it sums the sources' figures and writes them in Prometheus'
// text format. Number and size of the series are bounded: at most max_quota_series quotas have
// series of their own. The other quotas share quota="__other__", whose counters never fall although
// quotas come and go. Label values are valid UTF-8 of bounded length.
//
// Thread-safety: none; control thread. Ownership: what the sources call must outlive it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "admin/sources.h"
#include "base/instant.h"

namespace weir::admin {

/// If a scrape took longer than this, its page is served again for ten times as long as it took. So
/// scraping takes at most a tenth of the control thread's time, however many quotas there are. The
/// page itself says when its counters were read (weir_page_timestamp_seconds).
inline constexpr Duration kCheapScrape = std::chrono::milliseconds(20);

class Metrics {
  public:
    explicit Metrics(MetricsSources sources);
    /// For tests: measures the time of a scrape by `clock` instead of net::now.
    Metrics(MetricsSources sources, std::function<Instant()> clock);
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;
    ~Metrics();

    /// Prometheus' text format, version 0.0.4.
    [[nodiscard]] std::string text() const;

  private:
    class Collector;
    std::unique_ptr<Collector> collector_;
};

}  // namespace weir::admin

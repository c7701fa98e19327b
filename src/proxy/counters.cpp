#include "proxy/counters.h"

#include <algorithm>

namespace weir::proxy {

void HistogramCounters::record(Duration duration) {
    const auto clamped = std::max(duration, Duration(0));
    const auto place = std::lower_bound(bounds_->begin(), bounds_->end(), to_seconds(clamped));
    counts_[static_cast<std::size_t>(place - bounds_->begin())].add(1);
    nanoseconds_.add(static_cast<std::uint64_t>(clamped.count()));
}

void HistogramCounters::add_to(Histogram& sum) const {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        sum.counts[i] += counts_[i].get();
    }
    sum.sum_seconds += static_cast<double>(nanoseconds_.get()) * 1e-9;
}

ProxyCounters::ProxyCounters()
    : request_{HistogramCounters(kDurationBounds), HistogramCounters(kDurationBounds),
               HistogramCounters(kDurationBounds), HistogramCounters(kDurationBounds),
               HistogramCounters(kDurationBounds)},
      upstream_(kDurationBounds),
      wait_(kDurationBounds),
      decision_(kDecisionBounds) {}

void ProxyCounters::record_request(unsigned status, Duration duration) {
    if (status < 100) {
        return;
    }
    const auto class_index = std::min<std::size_t>(status / 100 - 1, request_.size() - 1);
    request_[class_index].record(duration);
}

void ProxyCounters::add_to(ProxyStatistics& sum) const {
    for (std::size_t i = 0; i < kEndings; ++i) {
        sum.requests[i] += requests_[i].get();
    }
    for (std::size_t i = 0; i < kEndings; ++i) {
        sum.checks[i] += checks_[i].get();
    }
    for (std::size_t i = 0; i < kEvents; ++i) {
        sum.events[i] += events_[i].get();
    }
    for (std::size_t i = 0; i < kRoutePlaces; ++i) {
        sum.unlimited[i] += unlimited_[i].get();
        sum.partly_unlimited[i] += partly_unlimited_[i].get();
    }
    for (std::size_t i = 0; i < request_.size(); ++i) {
        request_[i].add_to(sum.request_seconds[i]);
    }
    upstream_.add_to(sum.upstream_seconds);
    wait_.add_to(sum.wait_seconds);
    decision_.add_to(sum.decision_seconds);
}

}  // namespace weir::proxy

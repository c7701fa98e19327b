#pragma once
// The counters of one worker thread. Only that thread writes them; any thread may read them. Loads
// and stores are relaxed atomics, so counting needs no locked instruction. A worker owns its
// counters; the bounds of a histogram must outlive them.

#include <array>
#include <atomic>
#include <cstdint>

#include "proxy/statistics.h"

namespace weir::proxy {

class Counter {
  public:
    void add(std::uint64_t amount) {
        value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_ = 0;
};

class HistogramCounters {
  public:
    using Bounds = std::array<double, kDurationBounds.size()>;
    explicit HistogramCounters(const Bounds& bounds) : bounds_(&bounds) {}

    void record(Duration duration);
    void add_to(Histogram& sum) const;

  private:
    const Bounds* bounds_;
    std::array<Counter, kDurationBounds.size() + 1> counts_;
    Counter nanoseconds_;
};

class ProxyCounters {
  public:
    ProxyCounters();

    void count(Event event) { add(event, 1); }
    void add(Event event, std::uint64_t amount) {
        events_[static_cast<std::size_t>(event)].add(amount);
    }
    void count(Ending ending) { requests_[static_cast<std::size_t>(ending)].add(1); }
    void count_check(Ending ending) { checks_[static_cast<std::size_t>(ending)].add(1); }
    /// Counts a request that no quota limits. `place`: as of Statistics::unlimited.
    void count_unlimited(std::size_t place) { unlimited_[place].add(1); }
    /// Counts a request that only some lists of its route limit.
    void count_partly_unlimited(std::size_t place) { partly_unlimited_[place].add(1); }
    /// Adds to the histogram of the status's class. Status 0 (nothing was answered) is in none.
    void record_request(unsigned status, Duration duration);
    void record_upstream(Duration duration) { upstream_.record(duration); }
    void record_wait(Duration duration) { wait_.record(duration); }
    void record_decision(Duration duration) { decision_.record(duration); }

    void add_to(ProxyStatistics& sum) const;

  private:
    std::array<Counter, kEndings> requests_;
    std::array<Counter, kEndings> checks_;
    std::array<Counter, kEvents> events_;
    std::array<Counter, kRoutePlaces> unlimited_;
    std::array<Counter, kRoutePlaces> partly_unlimited_;
    std::array<HistogramCounters, 5> request_;
    HistogramCounters upstream_;
    HistogramCounters wait_;
    HistogramCounters decision_;
};

}  // namespace weir::proxy

#pragma once
// One stream of a load: names under one prefix that are used at a rate, as planned. A stream
// belongs to the thread that uses it; its counts may be read by any other thread meanwhile.

#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/random.h"
#include "tools/arrivals.h"
#include "weir/weir.hpp"

namespace weir::bench {

struct StreamPlan {
    /// Names are this text and a number.
    std::string prefix;
    std::uint64_t first = 0;
    std::uint64_t names = 1;
    /// Requests a second, all names together.
    double rate = 0;
    /// True: every name is used at random times of its own (a Poisson process). False: the names
    /// take turns at even intervals.
    bool poisson = true;
    /// The turn with which the first round begins, so that members do not use a name at one moment.
    std::uint64_t turn = 0;
    /// Ends the stream after so many requests; 0 does not.
    std::uint64_t most = 0;
    double weight = 1;
};

/// Throws nlohmann's exceptions and std::invalid_argument if the plan cannot be understood.
[[nodiscard]] StreamPlan read_stream_plan(const nlohmann::json& plan);

class Stream {
  public:
    Stream(StreamPlan plan, Random random);

    /// Sends what has been due since the last call, however slow the library is: the load is open
    /// loop. Only what was due more than kStoodStillSeconds ago is not sent, but counted as
    /// skipped: this process stood still, and users whom it does not answer do not ask again all at
    /// once.
    void use_due(Worker& worker, double elapsed_s);
    [[nodiscard]] bool ended() const { return plan_.most != 0 && used_ == plan_.most; }
    /// What was counted, as the program prints it.
    [[nodiscard]] nlohmann::json counts() const;

    static constexpr double kStoodStillSeconds = 0.5;
    /// Streams of more names are counted as a whole only.
    static constexpr std::uint64_t kMostCountedByName = 1000;

  private:
    void use(Worker& worker, std::uint64_t name);

    /// One thread adds, others read.
    class Counter {
      public:
        void add(std::uint64_t n) {
            value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
        }
        void raise_to(std::uint64_t n) {
            if (n > value()) {
                value_.store(n, std::memory_order_relaxed);
            }
        }
        [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

      private:
        std::atomic<std::uint64_t> value_{0};
    };

    StreamPlan plan_;
    tools::Arrivals arrivals_;
    Random random_;
    std::uint64_t used_ = 0;
    std::string name_;
    Counter admitted_;
    Counter refused_;
    Counter isolated_;
    Counter failed_;
    Counter skipped_;
    Counter latest_us_;
    std::vector<Counter> admitted_by_name_;
};

}  // namespace weir::bench

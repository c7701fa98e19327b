#pragma once
// A load that a thread of its own makes through the library: some streams, for some seconds. The
// thread wakes every millisecond and sends what has become due, which costs less than a wake-up for
// each request. Its processor time is its own: the thread is named `weir-load`.

#include <atomic>
#include <deque>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <thread>

#include "stream.h"
#include "weir/weir.hpp"

namespace weir::bench {

class Load {
  public:
    /// Begins at once; throws if the plan cannot be understood. The fleet must outlive the load.
    Load(Fleet& fleet, const nlohmann::json& plan);

    [[nodiscard]] nlohmann::json counts() const;

  private:
    void run(const std::stop_token& stop, Worker worker);

    double seconds_;
    std::deque<Stream> streams_;
    std::atomic<bool> running_{true};
    std::jthread thread_;  ///< the last, so that it ends first
};

}  // namespace weir::bench

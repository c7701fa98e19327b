#pragma once
// The faults of a virtual network, all in one place, drawn from one seeded generator. Decides for
// each datagram when it arrives, if at all, and how often. Not thread-safe.

#include <cstdint>
#include <vector>

#include "base/instant.h"
#include "base/random.h"

namespace weir::sim {

struct NetworkFaults {
    Duration delay = std::chrono::microseconds(500);  // each way, times 0.5 to 1.5
    /// Whether hosts answer for a process that is gone: "nobody listens here".
    bool refusals = false;
    double loss = 0;
    double duplication = 0;
    double reordering = 0;  // share of datagrams that are held up
    Duration reordering_delay = std::chrono::seconds(2);
};

/// While it lasts nothing passes between the sides; one-way: only from `true` to `false`.
struct Cut {
    Instant from;
    Instant to;
    std::vector<bool> side;  // by sidecar
    bool one_way = false;
};

class Network {
  public:
    Network(const NetworkFaults& faults, Random random) : faults_(faults), random_(random) {}

    void set_faults(const NetworkFaults& faults) { faults_ = faults; }
    void add(Cut cut) { cuts_.push_back(std::move(cut)); }
    void end_cuts() { cuts_.clear(); }
    /// When copies of a datagram sent at `now` arrive; empty: lost or cut off.
    [[nodiscard]] std::vector<Instant> deliveries(std::uint32_t from, std::uint32_t to,
                                                  Instant now);
    [[nodiscard]] bool is_cut(std::uint32_t from, std::uint32_t to, Instant now) const;

  private:
    [[nodiscard]] Instant arrival(Instant now);

    NetworkFaults faults_;
    Random random_;
    std::vector<Cut> cuts_;
};

}  // namespace weir::sim

#pragma once
// The faults of a virtual network, all in one place, drawn from one seeded generator. For each
// datagram the network decides whether it arrives, when, and how often. Not thread-safe.

#include <cstdint>
#include <vector>

#include "base/instant.h"
#include "base/random.h"

namespace weir::sim {

struct NetworkFaults {
    /// One way, times a random factor of 0.5 to 1.5.
    Duration delay = std::chrono::microseconds(500);
    /// Whether the host of a process that has ended answers that nobody listens there.
    bool refusals = false;
    double loss = 0;
    double duplication = 0;
    double reordering = 0;  // share of datagrams that are delayed by up to reordering_delay
    Duration reordering_delay = std::chrono::seconds(2);
};

/// A cut of the network: between `from` and `to` no datagram passes between the two sides. A
/// one-way cut stops only datagrams from the side with `true` to the other one.
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
    /// The instants at which copies of a datagram sent at `now` arrive; empty if it is lost or cut
    /// off.
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

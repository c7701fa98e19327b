#pragma once
// What protects a receiver against replayed and late datagrams of one peer: a window of 1,024
// sequence numbers, and the age of a packet as its clock difference above the smallest one of the
// last 10 to 20 seconds (two half-windows: clocks drift, so a minimum kept for ever would call
// every packet old after some hours). Pure values, not thread-safe.

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>

#include "base/instant.h"
#include "gossip/rejection.h"

namespace weir::gossip {

class SequenceWindow {
  public:
    static constexpr std::uint64_t kSize = 1024;
    /// Accepts each number once; refuses those seen and those left of the window.
    [[nodiscard]] std::optional<Rejection> accept(std::uint64_t sequence);

  private:
    std::bitset<kSize> seen_;
    std::uint64_t highest_ = 0;
    bool any_ = false;
};

class PacketAge {
  public:
    static constexpr Duration kHalfWindow = std::chrono::seconds(10);
    /// The packet's age, and remembers its clock difference. Nothing when the sending time is
    /// beyond reason (2^62 microseconds).
    [[nodiscard]] std::optional<Duration> age(std::uint64_t sent_at_us, Instant now);

  private:
    void turn(Instant now);

    std::optional<std::int64_t> smallest_us_;           // of the running half-window
    std::optional<std::int64_t> previous_smallest_us_;  // of the one before
    Instant half_began_{};
};

/// Both directions with one member.
struct Session {
    SequenceWindow window;
    PacketAge age;
    std::uint64_t next_sequence = 0;  // 0: nothing sent yet
};

}  // namespace weir::gossip

#pragma once
// Protects a receiver against replayed and late datagrams of one peer, by a window of the last
// 1,024 sequence numbers and by the age of each datagram. Two processes have no common clock, so an
// age is computed from differences of their clocks: the difference at this datagram, less the
// smallest difference of the last 10 to 20 seconds. The smallest one is kept for two half-windows
// and not without end, because clocks drift: after some hours every datagram would seem old. Plain
// values, not thread-safe.

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
    /// Accepts each number once. Returns `duplicate` for a number that was accepted before, and
    /// `too_old` for one below the window.
    [[nodiscard]] std::optional<Rejection> accept(std::uint64_t sequence);

  private:
    std::bitset<kSize> seen_;
    std::uint64_t highest_ = 0;
    bool any_ = false;
};

class PacketAge {
  public:
    static constexpr Duration kHalfWindow = std::chrono::seconds(10);
    /// The age of a datagram. Remembers its difference of clocks. Nothing when the sending time is
    /// impossible, which means above 2^62 microseconds.
    [[nodiscard]] std::optional<Duration> age(std::uint64_t sent_at_us, Instant now);

  private:
    void turn(Instant now);

    std::optional<std::int64_t> smallest_us_;           // difference in the present half-window
    std::optional<std::int64_t> previous_smallest_us_;  // difference in the one before
    Instant half_began_{};
};

/// What this process remembers about the datagrams to and from one member.
struct Session {
    SequenceWindow window;
    PacketAge age;
    std::uint64_t last_sequence = 0;  // of the datagrams to the member; 0: none was sent yet
};

}  // namespace weir::gossip

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
    [[nodiscard]] std::optional<DatagramRejection> accept(std::uint64_t sequence);

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
    /// Our clock was moved forward by `by`.
    void caught_up(Duration by);

  private:
    void turn(Instant now);

    std::optional<std::int64_t> smallest_us_;           // difference in the present half-window
    std::optional<std::int64_t> previous_smallest_us_;  // difference in the one before
    Instant half_began_{};
};

/// By how much a sender's clock has run ahead of ours of late: that is how long our machine was
/// paused if our own clock stood still meanwhile. What waited in the socket is read within
/// milliseconds, so the smallest difference of clocks in the present half-second is compared with
/// the smallest one of 10 to 20 seconds before it. A delay that ends is not taken for a lead,
/// unless it lasted for longer.
class ClockLead {
  public:
    static constexpr Duration kWindow = std::chrono::milliseconds(500);
    /// No lead is larger.
    static constexpr Duration kLargest = std::chrono::hours(24);
    void note(std::uint64_t sent_at_us, Instant now);
    /// Nothing when the sender was not heard in this window and in the one before.
    [[nodiscard]] std::optional<Duration> lead(Instant now) const;
    /// Our clock was moved forward: what was noted since the pause counts no more.
    void caught_up() { smallest_us_.reset(); }

  private:
    // Smallest differences of clocks: of this window, and of the half-windows before it.
    std::optional<std::int64_t> smallest_us_;
    std::optional<std::int64_t> recent_us_;
    std::optional<std::int64_t> older_us_;
    Instant began_{};
    Instant half_began_{};
    bool heard_before_ = false;  // in the window before this one
};

/// What this process remembers about the datagrams to and from one member.
struct Session {
    SequenceWindow window;
    PacketAge age;
    ClockLead lead;
    std::uint64_t last_sequence = 0;  // of the datagrams to the member; 0: none was sent yet
};

}  // namespace weir::gossip

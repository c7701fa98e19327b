#pragma once
// The dials of membership, with the reasons for their values. Plain values.

#include <cstddef>
#include <cstdint>

#include "base/instant.h"

namespace weir::gossip {

inline constexpr std::size_t kMaximumMembers = 4096;
inline constexpr std::size_t kMaximumHints = 1000;

struct MembershipSettings {
    /// One probe per period. Half a second finds a dead peer among ten within about one second,
    /// for two small datagrams each way.
    Duration probe_period = std::chrono::milliseconds(500);
    /// How long a direct answer may take before others are asked.
    Duration probe_timeout = std::chrono::milliseconds(150);
    std::uint32_t indirect_probes = 3;
    /// Suspicion lasts at least factor * max(1, log10(members)) * period, at most four times that;
    /// three independent confirmations bring it down to the least. Long enough for a refutation
    /// to arrive through 30 % loss, short enough that ten peers know a death within five seconds.
    double suspicion_factor = 3;
    double suspicion_spread = 4;
    std::uint32_t confirmations = 3;
    std::uint32_t maximum_local_health = 8;
    /// While there are rumours, they go to so many members every interval.
    Duration rumour_interval = std::chrono::milliseconds(100);
    std::uint32_t rumour_fanout = 3;
    /// Each rumour is told factor * ceil(log10(members + 1)) times by each who knows it.
    std::uint32_t rumour_factor = 4;
    /// Seeds (and addresses of the lately dead) without a live member are pinged so often, for
    /// ever: a healed split joins within about this.
    Duration seed_interval = std::chrono::seconds(1);
    std::uint32_t seeds_at_once = 3;
    /// Member lists are compared by a hash in each ping; where they differ one is fetched, at most
    /// this often.
    Duration list_interval = std::chrono::seconds(2);
    /// A tick that is late by more means that the process had been stopped.
    Duration pause_threshold = std::chrono::milliseconds(500);
    /// Answers to pings a second: to pings that named us and to those that did not.
    double answers_per_second = 2000;
    double open_answers_per_second = 200;
    /// A process takes a new incarnation at most this often.
    Duration renewal_interval = std::chrono::seconds(1);
};

}  // namespace weir::gossip

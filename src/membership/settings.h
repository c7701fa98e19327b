#pragma once
// The settings of membership, with the reasons for their values. Plain values; no user sets them,
// but tests and the simulator do.

#include <cstddef>
#include <cstdint>

#include "base/instant.h"

namespace weir::membership {

/// The largest number of members; more are refused and counted.
inline constexpr std::size_t kMaximumMembers = 8192;
/// The largest size of the hints that travel with a ping, in bytes.
inline constexpr std::size_t kMaximumHints = 1000;

struct MembershipSettings {
    /// One member is probed per period. Half a second finds a dead peer among ten within about one
    /// second, and costs two small datagrams each way.
    Duration probe_period = std::chrono::milliseconds(500);
    /// How long a direct answer may take before others are asked.
    Duration probe_timeout = std::chrono::milliseconds(150);
    /// How many other members are asked to ping a member that did not answer.
    std::uint32_t indirect_probes = 3;
    /// A suspicion lasts at least factor * max(1, log10(members)) * period, and at most `spread`
    /// times that; `confirmations` independent ones shorten it to the least time. That is long
    /// enough for a refutation to arrive through 30 % loss, and short enough that ten peers know of
    /// a death within five seconds.
    double suspicion_factor = 3;
    double suspicion_spread = 4;
    std::uint32_t confirmations = 3;
    /// The largest value of local health. A process that seems slow waits for answers (local health
    /// + 1) times as long.
    std::uint32_t maximum_local_health = 8;
    /// About how many of the members that hear of a suspicion probe the suspect next. If all of a
    /// thousand did, their pings alone would be more than a member may answer, which would cause
    /// the next suspicion.
    std::uint32_t suspicion_probers = 16;
    /// While there are rumours, rumour_fanout members get them in separate datagrams in every
    /// interval.
    Duration rumour_interval = std::chrono::milliseconds(100);
    std::uint32_t rumour_fanout = 3;
    /// Each member that knows a rumour tells it factor * ceil(log10(members + 1)) times.
    std::uint32_t rumour_factor = 4;
    /// Seeds without a live member are pinged in rounds, without end. The time from one round to
    /// the next begins at the interval and doubles after each round in which a seed was missing, up
    /// to the limit: when thousands ask a seed that answers some hundred pings per second, most
    /// pings are in vain.
    Duration seed_interval = std::chrono::seconds(1);
    Duration seed_interval_limit = std::chrono::seconds(2);
    std::uint32_t seeds_at_once = 3;  // how many seeds one round pings
    /// How many pings per second all members together send to the addresses of members that they
    /// have given up. Each of them pings at least once per seed_interval and at most once per
    /// lost_interval. Until the first ping gets through, each side of a healed split admits the
    /// whole limit.
    double lost_pings_per_second = 16;
    Duration lost_interval = std::chrono::milliseconds(100);
    /// Lists of members are compared by a hash in each ping. If they differ, the other's list is
    /// fetched, at most once in this time.
    Duration list_interval = std::chrono::seconds(2);
    /// Whether members tell each other of others. Without it a member knows only those whom it
    /// meets itself, and tells of nobody but itself.
    bool lists = true;
    /// A tick that is late by more than this means that the process had been stopped.
    Duration pause_threshold = std::chrono::milliseconds(500);
    /// How many pings per second are answered: those of members and, as open answers, those of
    /// unknown senders. The number of open answers grows with each member, because a large fleet
    /// starts all at once. At their limit, open answers and the messages that follow from them take
    /// half of membership's bytes, so that members that probe this process meanwhile are answered,
    /// too.
    double answers_per_second = 2000;
    double open_answers_per_second = 200;
    double open_answers_per_member = 2;
    double open_answers_limit = 500;
    /// How many challenges may be under way; a quarter of the number of members if that is more, up
    /// to the limit. Half of them may begin in answers to pings.
    std::size_t challenges = 64;
    std::size_t challenges_limit = 256;
    /// Bytes a second of rumours in answers. Most rumours travel with pings or by themselves.
    double answered_news_per_second = 8192;
    /// A process takes a new incarnation at most this often.
    Duration renewal_interval = std::chrono::seconds(1);
};

}  // namespace weir::membership

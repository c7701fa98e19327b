#pragma once
// The dials of membership, with the reasons for their values. Plain values.

#include <cstddef>
#include <cstdint>

#include "base/instant.h"

namespace weir::membership {

inline constexpr std::size_t kMaximumMembers = 8192;
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
    /// Of all who hear of a suspicion about so many probe the suspect next. If all of a thousand
    /// did, their questions alone would be more than a member may answer, and the next suspicion
    /// would follow from that.
    std::uint32_t suspicion_probers = 16;
    /// While there are rumours, they go to so many members every interval.
    Duration rumour_interval = std::chrono::milliseconds(100);
    std::uint32_t rumour_fanout = 3;
    /// Each rumour is told factor * ceil(log10(members + 1)) times by each who knows it.
    std::uint32_t rumour_factor = 4;
    /// Seeds without a live member are pinged so often, for ever; twice as long after each round in
    /// which one was missing, up to the limit: where thousands ask a seed that answers some hundred
    /// a second, most of what they ask is in vain.
    Duration seed_interval = std::chrono::seconds(1);
    Duration seed_interval_limit = std::chrono::seconds(2);
    std::uint32_t seeds_at_once = 3;
    /// Addresses of the lately dead too. All who miss them ping together so often a second, each at
    /// least every seed_interval and at most every lost_interval: until the first of them gets
    /// through, both sides of a healed split let the whole limit pass, the small as the large.
    double lost_pings_per_second = 16;
    Duration lost_interval = std::chrono::milliseconds(100);
    /// Member lists are compared by a hash in each ping; where they differ one is fetched, at most
    /// this often.
    Duration list_interval = std::chrono::seconds(2);
    /// Else a member knows only whom it meets itself, and tells of nobody but itself.
    bool lists = true;
    /// A tick that is late by more means that the process had been stopped.
    Duration pause_threshold = std::chrono::milliseconds(500);
    /// Answers to pings a second: to members, and to whoever is not known. The latter are more by
    /// so many for each member, since a large fleet begins all at once, up to the limit: with what
    /// follows from each they take half of the bytes that membership has, so that members who probe
    /// us meanwhile are answered too.
    double answers_per_second = 2000;
    double open_answers_per_second = 200;
    double open_answers_per_member = 2;
    double open_answers_limit = 500;
    /// Challenges under way; or a quarter of the members, if that is more, up to the limit. Half of
    /// them may begin in answers to pings.
    std::size_t challenges = 64;
    std::size_t challenges_limit = 256;
    /// Bytes a second of news in answers; pings, and rumours by themselves, carry most of them.
    double answered_news_per_second = 8192;
    /// A process takes a new incarnation at most this often.
    Duration renewal_interval = std::chrono::seconds(1);
};

}  // namespace weir::membership

#pragma once
// The settings of the counter synchronisation, with the reasons for their values. Plain values.

#include <cstddef>
#include <cstdint>

#include "base/instant.h"

namespace weir::sync {

using namespace std::chrono_literals;

struct SyncSettings {
    /// The share of a limit's width (`high` less `low`) by which all origins together may differ
    /// from what the owners reckon. A larger share saves traffic and costs exactness.
    double error_budget = 0.05;
    /// The window over which rates are estimated (the limiter's).
    Duration rate_window = 300ms;
    /// On average at most one round of deltas is sent to one owner in minimum_interval. After a
    /// pause interval_burst more may follow at once, so that a jump of the load is reported while
    /// it happens.
    Duration minimum_interval = 50ms;
    int interval_burst = 7;
    /// The interval to an owner of many limits that are in use here: it grows by twice
    /// minimum_interval for each limit above few_limits, up to longest_interval. The more limits
    /// share a datagram, the less each of them costs.
    std::size_t few_limits = 3;
    Duration longest_interval = 400ms;
    /// An owner that is told of many limits hears of each of them in turn. For each limit it is
    /// told of the time grows by which one may not be mentioned, from its keep-alive up to
    /// mention_limit. Packets come at least every keep-alive, or every interval of rounds.
    Duration mention_each = 60ms;
    Duration mention_limit = 600ms;
    /// For each so many limits that an owner is told of, an error may be once as large before it is
    /// worth a delta, up to coarsest times.
    double coarse_each = 10;
    double coarsest = 3;
    /// An owner of at least crowd_of_limits limits that do not rest is crowded.
    /// Its publications wait up to publication_wait to share a datagram with the answer to a delta
    /// or with other publications to the same user. It publishes only when the error is
    /// crowded_error times as large, and up to most_crowded_error times when it has more limits,
    /// because answers reach most users sooner anyway.
    std::size_t crowd_of_limits = 8;
    Duration publication_wait = 400ms;
    double crowded_error = 2;
    double most_crowded_error = 4;
    /// The keep-alive of a reporter with a small share of the load. A large share shortens it down
    /// to keep_alive_floor, so that the reporter's silence is noticed soon.
    Duration keep_alive = 1s;
    Duration keep_alive_floor = 200ms;
    /// The keep-alive between two owners of a limit while nothing is lost between them, as long as
    /// silence_floor allows. All origins tell both of their load, so that neither depends on the
    /// other's totals. Their answers may wait for the next delta (kAnswerMayWait).
    Duration owners_keep_alive = 320ms;
    /// For so long nothing must have been lost before.
    Duration steady_after = 5s;
    /// The longest keep-alive that a pacing owner may ask for.
    Duration keep_alive_limit = 3s;
    /// The largest pace that an owner may ask for, in tenths by which keep-alive and error budget
    /// grow.
    std::uint8_t largest_pace = 20;
    /// Keep-alives are shortened from this share of the fleet's offered rate on.
    double big_share = 0.05;
    /// A member is silent when it was not heard for so many keep-alives, and for at least
    /// silence_floor.
    double silence_factor = 2.5;
    Duration silence_floor = 800ms;
    /// The rate of a limit that its origin does not mention, although it is heard, counts for as
    /// long as this.
    Duration unmentioned_memory = 10s;
    /// A view is believed for silence_factor keep-alives, and at least for this time.
    Duration view_floor = 1s;
    /// A delta without an answer is sent again after the round trip and resend_after; after
    /// quick_resends attempts the wait grows.
    Duration resend_after = 60ms;
    std::uint32_t quick_resends = 8;
    /// By how many standard deviations an origin's offered weight may differ from the rate that it
    /// reported.
    double offered_deviations = 4;
    /// An owner publishes when the discard probability or the level that its users reckon is wrong
    /// by this share.
    double publish_error = 0.05;
    /// The users of a limit are the members that reported it within this time.
    Duration user_memory = 60s;
    /// An owner forgets a limit that it knows only from others after this time without a message,
    /// even if its level is still high. Whoever rests with it asks sooner.
    Duration told_memory = 2h;
    /// The owners of a limit at rest are asked at least so often, which is more often than
    /// told_memory.
    Duration rest_memory = 1h;
    /// A run that began less than this ago, and after the owner took the shard over, counts in
    /// full.
    Duration fresh_run = 60s;
    /// A new owner receives the sums of others during this time, and its totals are not believed
    /// until then.
    Duration refill_time = 1s;
    /// A tick that is late by more than this means that the process was stopped.
    Duration stop_threshold = 500ms;
    /// The hold time: for how long the rates of members that are cut off still count (mode `safe`).
    /// With 0 only members that are heard count (mode `optimistic`). A quota may have another one.
    Duration hold = 10s;
    /// A member that hears nobody holds on for as long as this after the others fell silent, while
    /// its seeds name members that lived within seeds_memory.
    Duration hold_alone = 60s;
    Duration seeds_memory = 10min;
    /// Which side of a split is the larger one is judged by the largest membership of this time.
    Duration census_memory = 60s;
    /// Two silent members whose last packets came within this time plus the shorter keep-alive of
    /// each other are taken for cut off.
    Duration split_window = 1s;

    /// Whether anchors serve requests as others do, so that they count among the members that share
    /// limits. Only in simulations in which anchors are the centre of a star.
    bool anchors_serve = false;
    /// Whether others are to be expected, before the addresses of seeds are known.
    bool expects_others = false;

    std::size_t maximum_synced_limits = 65'536;
    std::size_t maximum_owned_limits = 262'144;
    std::size_t maximum_quiet_limits = 262'144;
    std::size_t maximum_cells_per_limit = 16'384;
    std::size_t hot_limits = 64;
    /// The datagrams with counters a second, in each direction, above which an owner asks its
    /// origins for longer keep-alives.
    std::uint32_t datagrams_per_second = 5'000;
    /// The bytes of counters that a member sends in a second at most, until it leaves. Above two
    /// thirds of it an owner asks for longer keep-alives, too.
    double counter_bytes = 1'000'000;
};

}  // namespace weir::sync

#pragma once
// The dials of the counter synchronisation, with the reasons for their values. Plain values.

#include <cstddef>
#include <cstdint>

#include "base/instant.h"

namespace weir::sync {

using namespace std::chrono_literals;

struct SyncSettings {
    /// Traffic against exactness: the share of a limit's width by which all origins together may
    /// differ from what the owners reckon.
    double error_budget = 0.05;
    /// The window over which rates are estimated (the limiter's).
    Duration rate_window = 300ms;
    /// At most one round of deltas to one owner in this time, on average: after a pause this many
    /// more may follow at once, since a jump of the load is worth telling while it happens.
    Duration minimum_interval = 50ms;
    int interval_burst = 7;
    /// The same to an owner who hears of many limits in use here: twice as much more for each
    /// beyond the first few, up to the longest. The more limits share a datagram, the less each
    /// costs.
    std::size_t few_limits = 3;
    Duration longest_interval = 400ms;
    /// An owner of at least so many limits used in the last minute is crowded: a publication waits
    /// so long for the answer to a delta, or for other publications to the same user, to share
    /// their datagram; and for an error so much larger, since answers tell most users sooner
    /// anyway.
    std::size_t crowd_of_limits = 8;
    Duration publication_wait = 400ms;
    double crowded_error = 2;
    /// Keep-alive of a reporter with a small share; a big share shortens it to the floor, so that
    /// its silence shows soon.
    Duration keep_alive = 1s;
    Duration keep_alive_floor = 200ms;
    /// The longest keep-alive that a pacing owner may ask for.
    Duration keep_alive_limit = 3s;
    /// How far an owner may slow its origins down, in tenths on top of keep-alive and error budget.
    std::uint8_t largest_pace = 20;
    /// From this share of the fleet's offered rate on keep-alives shorten.
    double big_share = 0.05;
    /// Silent = nothing heard for so many keep-alives, at least silence_floor.
    double silence_factor = 2.5;
    Duration silence_floor = 800ms;
    /// A view is believed for silence_factor keep-alives, at least this long.
    Duration view_floor = 1s;
    /// An unanswered delta is sent again after this and the round trip; after so many tries the
    /// wait grows.
    Duration resend_after = 60ms;
    std::uint32_t quick_resends = 8;
    /// Standard deviations by which an origin's offered weight may stray from its told rate.
    double offered_deviations = 4;
    /// An owner publishes when the discard probability or level that others reckon is off by this.
    double publish_error = 0.05;
    /// Users of a limit = reporters of this time.
    Duration user_memory = 60s;
    /// A limit that others told an owner of is forgotten after this time without a word, however
    /// full they say that it still is; by then its origins have given up what they knew as well.
    Duration told_memory = 10min;
    /// A cell's run that began less than this ago, after its owner took over, counts whole.
    Duration fresh_run = 60s;
    /// A new owner is filled by others for so long; until then its totals are not believed.
    Duration refill_time = 1s;
    /// A tick that is late by more means that the process had been stopped.
    Duration stop_threshold = 500ms;
    /// How long the silent halves of a split keep their reckoned share (mode `safe`). Zero is the
    /// mode `optimistic`: only what is heard counts.
    Duration split_hold = 10s;
    /// Two members whose last packets came within this (plus the shorter keep-alive) are taken for
    /// a split.
    Duration split_window = 1s;

    std::size_t maximum_synced_limits = 65'536;
    std::size_t maximum_owned_limits = 262'144;
    std::size_t maximum_cells_per_limit = 16'384;
    std::size_t hot_limits = 64;
    /// Datagrams with counters a second, each way; past it owners ask for longer keep-alives.
    std::uint32_t datagrams_per_second = 5'000;
};

}  // namespace weir::sync

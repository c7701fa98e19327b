#pragma once
// The laws of quiet limits. A limit is quiet while it is so far below its limit that no sidecar has
// to know what the others do with it. Each origin keeps its share of the bucket, and tells the
// limit's first owner only when the share fills; the owner keeps the sum of what it was told.
//
// Why nothing can be refused meanwhile: the fleet's bucket drains at `rate`. The N shares drain at
// rate/2N each, and the owner's sum drains at rate/2, so that together they never drain faster than
// the bucket. Each admitted weight is in a share or in the sum, so the bucket is at most their sum.
// While each share is at most low/2N and the owner's sum at most low/2, the bucket is at most
// `low`, where nothing is refused. If the shares drained at rate/N and the sum at rate, both at
// once, the bucket could be higher than their sum.
//
// Plain values and pure functions. Belongs to the control thread.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/assert.h"
#include "base/instant.h"
#include "limiter/laws.h"

namespace weir::sync {

/// The number of shares into which a limit is divided among this many members: the next power of
/// two, so that most changes of membership change nothing.
[[nodiscard]] inline double shares_among(std::size_t members) {
    return static_cast<double>(std::bit_ceil(std::max<std::size_t>(1, members)));
}

/// Up to this level of its share an origin may say nothing.
[[nodiscard]] inline double silent_share(double low, double shares) {
    WEIR_ASSERT(shares >= 1);
    return low / (2 * shares);
}

/// An origin may forget a limit whose bucket it has not filled above this level, so that all
/// origins together forget at most a quarter of `low`.
[[nodiscard]] inline double forgotten_share(double low, double shares) {
    WEIR_ASSERT(shares >= 1);
    return low / (4 * shares);
}

/// What has to be told soon waits for others up to the next multiple of this time.
inline constexpr Duration kTellingRound = std::chrono::milliseconds(50);
/// Whether a multiple of it lies after `previous`, and not after `now`.
[[nodiscard]] inline bool begins_telling_round(Instant previous, Instant now) {
    return now.time_since_epoch() / kTellingRound != previous.time_since_epoch() / kTellingRound;
}

/// First use is told within this time at the latest, and sooner where the limit could fill by then.
inline constexpr Duration kFirstUse = std::chrono::seconds(1);
/// An origin that goes on using a limit says so at least so often, so that the owner can wake it.
inline constexpr Duration kSayAgain = std::chrono::seconds(30);

/// What an origin keeps of its own admitted weight under a quiet limit. Weights are those of the
/// limit's unit, `shares` is shares_among().
struct QuietShare {
    double admitted = 0;      // since the run began; only grows
    double acknowledged = 0;  // of `admitted`, what the owner has confirmed
    double untold = 0;        // the share: not confirmed yet, draining at rate/2N
    double fresh = 0;         // of it, what no former owner has confirmed either
    double untold_full = 0;   // the share, draining at the full rate
    double own = 0;           // told or not, draining at rate/N: what a new owner is told
    double own_full = 0;      // told or not, draining at the full rate
    /// Confirmed weight that was given back since. `admitted` never falls, so that the owner has it
    /// too much, until it has drained there at the full rate.
    double excess = 0;
    Instant at{};

    void advance(double rate, double shares, Instant now) {
        WEIR_ASSERT(rate >= 0 && shares >= 1);
        const double drained = rate * std::max(0.0, to_seconds(now - at));
        untold = std::max(0.0, untold - drained / (2 * shares));
        fresh = std::max(0.0, fresh - drained / (2 * shares));
        untold_full = std::max(0.0, untold_full - drained);
        own = std::max(0.0, own - drained / shares);
        own_full = std::max(0.0, own_full - drained);
        excess = std::max(0.0, excess - drained);
        at = std::max(at, now);
    }
    /// Adds admitted weight, or takes refunded weight off. What the owner has not confirmed is told
    /// to it less what was given back; only of what it has confirmed is something in excess.
    void add(double weight) {
        const double held = own_full;  // by the owner's sum, too, if it was confirmed
        untold = std::max(0.0, untold + weight);
        fresh = std::max(0.0, fresh + weight);
        untold_full = std::max(0.0, untold_full + weight);
        own = std::max(0.0, own + weight);
        own_full = std::max(0.0, own_full + weight);
        if (weight < 0) {
            excess +=
                std::clamp(-weight - (admitted - acknowledged), 0.0, std::max(0.0, held - excess));
            return;
        }
        const double known = std::min(excess, weight);
        excess -= known;
        admitted += weight - known;
        WEIR_ASSERT(acknowledged <= admitted && excess >= 0);
    }
    /// The owner has confirmed `admitted` up to this value. What is left in the buckets is at most
    /// what it has not confirmed.
    void acknowledge(double confirmed) {
        acknowledged = std::max(acknowledged, std::min(confirmed, admitted));
        const double left = admitted - acknowledged;
        WEIR_ASSERT(left >= 0);
        untold = std::min(untold, left);
        fresh = std::min(fresh, left);
        untold_full = std::min(untold_full, left);
    }
    /// While a limit is quiet the fleet's bucket is at most `low`, and so is what is said to a new
    /// owner: an origin with more than its share of a load that fills nothing adds up for ever.
    void bound(double low) {
        own = std::min(own, low);
        own_full = std::min(own_full, own);
        WEIR_ASSERT(own <= low && own_full <= own);
    }
    /// A former owner has confirmed `admitted` up to this value, and hands it over.
    void acknowledge_former(double confirmed) {
        fresh = std::min(fresh, std::max(0.0, admitted - confirmed));
        WEIR_ASSERT(fresh >= 0);
    }
    /// Another owner has taken the place of the one that was told: it is told all that has not
    /// drained.
    void begin_anew() {
        acknowledged = excess = 0;
        untold = own;
        untold_full = own_full;
    }
};

/// What the first owner of a quiet limit keeps: the sum of what it was told, which says when to
/// wake the limit, and two estimates of the level that the limit has then. The first one is never
/// too high, and exact where single requests count. The second one is exact where a steady load
/// fills the limit, which the first one does not see: each origin's share drains at the full rate.
struct QuietSum {
    double sum = 0;       // draining at rate/2: bounds what the fleet's bucket holds
    double full = 0;      // what was told at the full rate, draining at it
    double reckoned = 0;  // with the load that origins are expected to have between their words

    /// So many seconds have passed, in which the origins are expected to have admitted this weight.
    void advance(double rate, double expected, double seconds) {
        WEIR_ASSERT(rate >= 0 && expected >= 0 && seconds >= 0);
        const double drained = rate * seconds;
        sum = std::max(0.0, sum - drained / 2);
        full = std::max(0.0, full - drained);
        reckoned = std::max(0.0, reckoned + expected - drained);
    }
    void clear() { sum = full = reckoned = 0; }
    /// So much of it is counted elsewhere.
    void take(double weight) {
        WEIR_ASSERT(weight >= 0);
        sum = std::max(0.0, sum - weight);
        full = std::max(0.0, full - weight);
        reckoned = std::max(0.0, reckoned - weight);
    }
};

/// How long the rates that origins have told count when the owner looks ahead.
inline constexpr double kLookAheadSeconds = 0.2;

/// Whether a limit must not be quiet any more: the owner's sum is above half of `low`, or will be
/// in a moment at the rates that it was told.
[[nodiscard]] inline bool has_to_wake(double low, double sum, double rates) {
    WEIR_ASSERT(sum >= 0 && rates >= 0);
    return sum + kLookAheadSeconds * rates > low / 2;
}

}  // namespace weir::sync

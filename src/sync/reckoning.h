#pragma once
// What reporters and owners derive alike from the model of a limit that they run between messages
// (ReckonedLimit, in limiter/reckoned_limit.h): what of it may be believed, and how long a sidecar
// may be quiet about it. Pure functions of plain values.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/assert.h"
#include "base/instant.h"
#include "limiter/reckoned_limit.h"
#include "sync/settings.h"

namespace weir::sync {

using limiter::ReckonedLimit;

/// The heaviest weight of another member that is believed, in seconds of the rate. It bounds the
/// harm of a lie.
inline constexpr double kLongestDebt = 60;
[[nodiscard]] inline double largest_weight(const limiter::LimitParameters& limit) {
    return std::max(limit.high, kLongestDebt * limit.rate);
}

/// The most that a crowd at a hard edge counts as W (OwnedLimit::make_room_for_crowd): half of what
/// level_can_be() lets pass.
[[nodiscard]] inline double largest_crowd(const limiter::LimitParameters& limit) {
    constexpr double kCrowd = 5;
    return kCrowd * largest_weight(limit);
}

/// Whether an owner can have such a level: none is above the ceiling. A factor of ten allows for
/// owners that have an older or newer definition for a moment, and for crowds.
[[nodiscard]] inline bool level_can_be(const limiter::LimitParameters& limit, double level,
                                       double typical, double heaviest) {
    WEIR_ASSERT(typical >= 0 && heaviest >= 0);
    constexpr double kLeap = 10;
    const double believed = std::min(heaviest, largest_weight(limit));
    return level <= kLeap * limiter::ceiling(limit, typical, believed);
}

/// What still counts of a weight that is told `age` seconds late: all but what the limit drains in
/// that time, and the share of the last second at least. Of a limit that drains within seconds it
/// is that share; a limit of an hour has drained next to nothing meanwhile. The same holds of
/// weight that is given back, which is negative.
[[nodiscard]] inline double kept_of_late(double weight, double age, double rate) {
    WEIR_ASSERT(age > 0 && rate >= 0);
    const double earlier = std::abs(weight) * (1 - std::min(1.0, 1 / age));
    return weight - std::copysign(std::min(earlier, rate * age), weight);
}

/// Whether a limit is hot: its level is above half of `low`, or it sheds. Only then are
/// publications and questions worth their traffic.
[[nodiscard]] inline bool is_hot(const limiter::LimitParameters& limit,
                                 const ReckonedLimit& bucket) {
    return bucket.level > 0.5 * limit.low || bucket.probability(limit) > 0;
}

/// How long an origin may be silent. An origin with a large share of the load may for less, so that
/// its silence is noticed soon. `pace` adds tenths when an overloaded owner asks for it.
[[nodiscard]] inline Duration keep_alive_of(const SyncSettings& settings, double rate,
                                            double fleet_rate, std::uint8_t pace) {
    const double share = fleet_rate > 0 ? std::min(1.0, rate / fleet_rate) : 1.0;
    const double factor = std::min(1.0, settings.big_share / std::max(1e-9, share));
    const double seconds = to_seconds(settings.keep_alive) * factor * (1 + pace * 0.1);
    WEIR_ASSERT(settings.keep_alive_floor <= settings.keep_alive_limit);
    return std::clamp(from_seconds(seconds), settings.keep_alive_floor, settings.keep_alive_limit);
}

/// How long an owner that is told of this many limits may hear nothing of one of them.
[[nodiscard]] inline Duration mention_time(const SyncSettings& settings, Duration keep_alive,
                                           std::size_t limits) {
    const auto count = static_cast<Duration::rep>(limits);
    return std::max(keep_alive, std::min(settings.mention_limit, settings.mention_each * count));
}

/// After this time a limit is mentioned if a packet goes to its owner anyway. Packets to an owner
/// of many limits are up to longest_interval apart: who lets the last one before the end of the
/// keep-alive go without a word is late, and so is the owner's answer.
[[nodiscard]] inline Duration ride_along_time(const SyncSettings& settings, Duration keep_alive,
                                              std::size_t limits) {
    const Duration of_many = mention_time(settings, Duration::zero(), limits);
    WEIR_ASSERT(of_many <= settings.mention_limit);
    return std::max(keep_alive * 3 / 5, of_many * 4 / 5);
}

/// How much larger an error may be before it is worth a delta to an owner that is told of this many
/// limits.
[[nodiscard]] inline double coarseness(const SyncSettings& settings, std::size_t limits) {
    return std::clamp(static_cast<double>(limits) / settings.coarse_each, 1.0, settings.coarsest);
}

/// How long an owner keeps the counts of an origin that says nothing: for longer than an origin
/// goes on with its run, and than a run counts as young.
[[nodiscard]] inline Duration cell_memory(const SyncSettings& settings) {
    return settings.user_memory * 5 / 4;
}

/// Whether the rate at a limit, which is `rate` now, has grown by more than chance if it has grown
/// by `more`: then load of members that are silent has come here.
[[nodiscard]] inline bool has_grown(double more, double typical, double rate) {
    constexpr double kDeviations = 1;
    return more > kDeviations * limiter::rate_noise(typical, rate);
}

/// After how long without a message a member with this keep-alive counts as silent.
[[nodiscard]] inline Duration silent_after(const SyncSettings& settings, Duration keep_alive) {
    return std::max(settings.silence_floor,
                    from_seconds(settings.silence_factor * to_seconds(keep_alive)));
}

/// After how long without a word of a limit an origin that is heard counts as one that does not
/// mention it: longer than it takes to mention each of many limits in turn.
[[nodiscard]] inline Duration unmentioned_after(const SyncSettings& settings, Duration keep_alive) {
    return silent_after(settings, std::max(keep_alive, settings.mention_limit));
}

}  // namespace weir::sync

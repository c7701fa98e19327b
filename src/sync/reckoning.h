#pragma once
// Dead reckoning: the small model of a limit that reporters and owners run alike between messages.
// The fleet is offered so much, of which the law lets 1 - p pass; the level moves by that less the
// drain. Plain values and pure functions, not thread-safe as any value.

#include <algorithm>
#include <cmath>

#include "base/instant.h"
#include "limiter/laws.h"
#include "sync/settings.h"

namespace weir::sync {

/// Longest step of the model: within it p counts as constant.
inline constexpr double kReckoningStep = 0.02;
/// After so many steps they grow: a limit that slept for a minute does not cost 3,000 of them.
inline constexpr int kMaximumSteps = 64;

struct ReckonedLimit {
    double level = 0;
    double offered_rate = 0;  // the whole fleet's
    double heaviest = 0;
    double typical = 1;
    double tau = limiter::kSettleTime;
    bool shedding = false;

    [[nodiscard]] limiter::LawState law_state() const {
        return {level, offered_rate, typical, tau, shedding};
    }
    [[nodiscard]] double probability(const limiter::LimitParameters& limit) const {
        return limiter::discard_probability(limit, law_state(), typical);
    }
    [[nodiscard]] double ceiling(const limiter::LimitParameters& limit) const {
        return limiter::ceiling(limit, typical, heaviest);
    }
    void clamp(const limiter::LimitParameters& limit) {
        level = std::clamp(level, limiter::level_floor(limit, typical), ceiling(limit));
    }
    /// Adds admitted weight, or takes some away if negative.
    void add(const limiter::LimitParameters& limit, double weight) {
        level = (weight > 0 ? std::max(0.0, level) : level) + weight;
        clamp(limit);
    }
    /// Moves on by `seconds`, of the offered rate `inflow` being counted here. Returns the
    /// integral of reckoned_share(), which is 1 - p but for small edges, over the time.
    double advance(const limiter::LimitParameters& limit, double inflow, double seconds);
};

inline double ReckonedLimit::advance(const limiter::LimitParameters& limit, double inflow,
                                     double seconds) {
    double open = 0;
    const int steps =
        std::clamp(static_cast<int>(std::ceil(seconds / kReckoningStep)), 1, kMaximumSteps);
    const double step = seconds / steps;
    for (int i = 0; i < steps; ++i) {
        const double pass = limiter::reckoned_share(limit, law_state());
        heaviest = std::max(0.0, heaviest - limit.rate * step);
        level = limiter::reckon(limit, level, inflow * pass, step,
                                limiter::level_floor(limit, typical), ceiling(limit));
        shedding = limiter::next_shedding(limit, shedding, level, typical);
        open += pass * step;
    }
    return open;
}

/// The heaviest weight that is believed from others, in seconds of the rate: it bounds the harm of
/// a lie.
inline constexpr double kLongestDebt = 60;
[[nodiscard]] inline double largest_weight(const limiter::LimitParameters& limit) {
    return std::max(limit.high, kLongestDebt * limit.rate);
}

/// Whether an owner can have counted so much: no level is above the ceiling. Owners may go by an
/// older or newer definition for a moment.
[[nodiscard]] inline bool level_can_be(const limiter::LimitParameters& limit, double level,
                                       double typical, double heaviest) {
    constexpr double kLeap = 10;
    const double believed = std::min(heaviest, largest_weight(limit));
    return level <= kLeap * limiter::ceiling(limit, typical, believed);
}

/// A level is hot above half of low: then publications and polls are worth their traffic.
[[nodiscard]] inline bool is_hot(const limiter::LimitParameters& limit,
                                 const ReckonedLimit& bucket) {
    return bucket.level > 0.5 * limit.low || bucket.probability(limit) > 0;
}

/// How long an origin may be quiet: less for whoever carries a big share, so that its silence
/// shows soon. `pace` is in tenths on top, as an owner under pressure asks.
[[nodiscard]] inline Duration keep_alive_of(const SyncSettings& settings, double rate,
                                            double fleet_rate, std::uint8_t pace) {
    const double share = fleet_rate > 0 ? std::min(1.0, rate / fleet_rate) : 1.0;
    const double factor = std::min(1.0, settings.big_share / std::max(1e-9, share));
    const double seconds = to_seconds(settings.keep_alive) * factor * (1 + pace * 0.1);
    return std::clamp(from_seconds(seconds), settings.keep_alive_floor, settings.keep_alive_limit);
}

/// After how long without a word whoever promised such a keep-alive is taken for silent.
[[nodiscard]] inline Duration silent_after(const SyncSettings& settings, Duration keep_alive) {
    return std::max(settings.silence_floor,
                    from_seconds(settings.silence_factor * to_seconds(keep_alive)));
}

}  // namespace weir::sync

#pragma once
// Dead reckoning: what a member believes of a limit in the time between messages, when it knows
// what others offer and not yet what they have admitted. The limiter, reporters and owners all use
// this model, so that each can compute what the others believe. Weights are in the limit's unit,
// rates per second, times in seconds. Plain values and pure functions, which belong to whoever
// holds them.

#include <algorithm>

#include "limiter/laws.h"

namespace weir::limiter {

/// The longest step of dead reckoning, in seconds. The discard probability counts as constant
/// within one step, unless what flows in changes it sooner: many times the limit fills a burst of a
/// tenth of a second within milliseconds.
inline constexpr double kReckoningStep = 0.02;
/// The largest number of steps; a longer time is divided into longer steps. So a limit that was at
/// rest for a minute does not cost 3,000 steps.
inline constexpr double kMaximumSteps = 64;

/// A hard edge counts requests one by one when fewer than this many are offered in the window, or
/// its `low` has room for fewer than this many, unless it is quick (see counts_singly()).
inline constexpr double kFewRequests = 10;
/// An edge is quick whose `low` is at most so many seconds of the rate, if kFewRequests or more
/// drain in the window. What drains so soon is filled again between two messages.
inline constexpr double kQuickEdgeSeconds = 0.1;

/// How much may be added until the level is just above the border from which on typical requests
/// may be refused; less than 0 if it is above already.
[[nodiscard]] double room_to_border(const LimitParameters& limit, const LawState& state);

/// Which part of the weight that others offer counts as admitted in the time between messages. It
/// is 1 - p; but it is 0 at a hard edge that counts requests one by one (see counts_singly()).
/// There an estimated rate is off by whole requests: one request too many in the estimate would
/// make the edge refuse, shed, and hand out the rest of its burst over seconds; and while it sheds,
/// what is reckoned would use up its credit. At such an edge every admitted request is told to the
/// others at once, so that the known counts are enough.
[[nodiscard]] double reckoned_share(const LimitParameters& limit, const LawState& state);

/// Whether the edge counts requests one by one, so that reckoned_share() is 0: fewer than
/// kFewRequests are offered in the window, or it has room for fewer than that and is not quick.
[[nodiscard]] inline bool counts_singly(const LimitParameters& limit, const LawState& state) {
    const double few = kFewRequests * state.typical;
    const bool quick =
        limit.rate * kRateWindow >= few && limit.low <= kQuickEdgeSeconds * limit.rate;
    return limit.edge() && ((limit.low < few && !quick) || state.offered_rate * kRateWindow < few);
}

/// One step of dead reckoning: drains, then clamps to [floor, ceiling]. inflow = the weight per
/// second that is expected to be admitted.
[[nodiscard]] inline double reckon(const LimitParameters& limit, double level, double inflow,
                                   double seconds, double floor, double ceiling) {
    return std::min(ceiling, std::max(floor, level + (inflow - limit.rate) * seconds));
}

/// The model of one limit: of the weight that the fleet is offered the law admits the share 1 - p;
/// the level rises by that and falls by the drain.
struct ReckonedLimit : LawState {
    double heaviest = 0;  // W: the heaviest admitted weight that has not drained yet

    /// The chance that a typical request is refused.
    [[nodiscard]] double probability(const LimitParameters& limit) const {
        return discard_probability(limit, *this, typical);
    }
    [[nodiscard]] double ceiling(const LimitParameters& limit) const {
        return limiter::ceiling(limit, typical, heaviest);
    }
    void clamp(const LimitParameters& limit) {
        level = std::clamp(level, level_floor(limit, typical), ceiling(limit));
    }
    /// The level to which admitted weight is added that has come within the last `seconds`, or from
    /// which some is taken if negative. What an empty bucket does not drain is lost; but before the
    /// last of several typical requests came, the bucket was not empty and drained what the others
    /// had filled.
    [[nodiscard]] double level_before(const LimitParameters& limit, double weight,
                                      double seconds) const {
        if (weight <= 0) {
            return level;
        }
        const double drained = std::clamp(weight - typical, 0.0, limit.rate * seconds);
        return std::max(lowest_to_charge(typical, shedding) - drained, level);
    }
    /// Adds admitted weight that has come within the last `seconds`, or takes some away if
    /// negative.
    void add(const LimitParameters& limit, double weight, double seconds = 0) {
        level = level_before(limit, weight, seconds) + weight;
        clamp(limit);
    }
    /// Advances the model by `seconds`, in which weight is offered at the rate `inflow` by the
    /// members whose admissions are estimated. Returns the integral of reckoned_share() over the
    /// time: the open time, in seconds. The level may begin above its ceiling, for instance because
    /// weight was charged to a record after its anchor: then it only drains until it is below the
    /// ceiling, and is clamped at the end.
    double advance(const LimitParameters& limit, double inflow, double seconds);
};

}  // namespace weir::limiter

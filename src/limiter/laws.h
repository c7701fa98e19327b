#pragma once
// The laws of a leaky bucket and of shedding: pure functions of plain numbers, shared by limiter,
// engine and simulator, so that everybody who reckons with a limit reckons the same.
// Weights are in the limit's unit, rates per second, times in seconds. Thread-safe: no state.

#include <algorithm>
#include <cstdint>

namespace weir::limiter {

/// How a limit sheds between its borders.
enum class Law : std::uint8_t { linear, adaptive };

/// Window over which offered rates are estimated (an exponential mean), seconds.
inline constexpr double kRateWindow = 0.3;
/// Time constant of the adaptive law, seconds, unless the round trip asks for more.
inline constexpr double kSettleTime = 0.5;
/// With fewer requests than this in the window the adaptive law gives way to the linear one. More
/// would make it change sides all the time where many origins offer little each, whose sum is
/// estimated too low (docs/decisions/0016).
inline constexpr double kAdaptiveFrom = 3;
/// With fewer requests than this, in the window or of room, a hard edge counts them one by one.
inline constexpr double kFewRequests = 10;
/// Default debt: the larger of this many seconds of the rate ...
inline constexpr double kDebtSeconds = 0.2;
/// ... and this many typical requests.
inline constexpr double kDebtRequests = 3;
/// Rounding slack where a level is compared with a border.
inline constexpr double kLevelSlack = 1e-9;

struct LimitParameters {
    double rate = 0;   // weight per second
    double low = 0;    // at or below it nothing is shed
    double high = 0;   // at or above it everything is
    double debt = -1;  // room above high; negative = by default (see default_debt)
    Law law = Law::adaptive;

    /// low = high: a hard edge, which has its own rule.
    [[nodiscard]] bool edge() const { return high <= low; }
    /// A limit of 0 refuses everything.
    [[nodiscard]] bool zero() const { return !(rate > 0); }
    friend bool operator==(const LimitParameters&, const LimitParameters&) = default;
};

/// What a law looks at besides the parameters.
struct LawState {
    double level = 0;          // of the bucket now, before the request
    double offered_rate = 0;   // of this level by the whole fleet, over kRateWindow
    double typical = 1;        // running mean of admitted weights
    double tau = kSettleTime;  // settle_time(round trip)
    bool shedding = false;     // state of a hard edge: see next_shedding
};

/// Time constant for a round trip in seconds: at least four of them.
[[nodiscard]] inline double settle_time(double round_trip) {
    return std::max(kSettleTime, 4 * round_trip);
}

/// Where a request of this weight is judged: level + min(weight, low).
[[nodiscard]] inline double judged_level(const LimitParameters& limit, double level,
                                         double weight) {
    return level + std::min(weight, limit.low);
}

/// Chance that a request of `weight` is refused, 0 to 1. For reckoning what a fleet admits, use
/// weight = state.typical.
[[nodiscard]] double discard_probability(const LimitParameters& limit, const LawState& state,
                                         double weight);

/// The three laws by themselves, at the judged level v.
[[nodiscard]] double linear_probability(const LimitParameters& limit, double judged);
[[nodiscard]] double adaptive_probability(const LimitParameters& limit, double judged,
                                          double offered_rate, double tau);
/// A hard edge that hands out free room: p = 1 - A/offered, A = rate + (low - v)/tau, 1 above low.
[[nodiscard]] double shedding_edge_probability(const LimitParameters& limit, double judged,
                                               double offered_rate, double tau);

/// Debt when none is set: max(0.2 s of the rate, 3 typical requests).
[[nodiscard]] inline double debt(const LimitParameters& limit, double typical) {
    return limit.debt >= 0 ? limit.debt
                           : std::max(kDebtSeconds * limit.rate, kDebtRequests * typical);
}

/// high + max(debt, W): no level counts for more. W = heaviest admitted weight not yet drained.
[[nodiscard]] inline double ceiling(const LimitParameters& limit, double typical, double heaviest) {
    return limit.high + std::max(debt(limit, typical), heaviest);
}

/// (high - low) as thresholds of the sync protocol use it.
[[nodiscard]] inline double threshold_width(const LimitParameters& limit, double typical) {
    return std::max({limit.high - limit.low, limit.rate, 2 * typical});
}

/// Room below low at which a hard edge stops shedding: two typical requests, as the design has it,
/// but at least kSheddingSeconds of the rate. At 1000/s two requests are far less than the noise of
/// the level around its balance: shedding would end and begin again all the time, and each time
/// every sidecar lets everything in at once (50 sidecars at 10x: seconds from 0.31 to 1.62 of the
/// limit, with this 0.9 to 1.1).
inline constexpr double kSheddingSeconds = 0.2;
[[nodiscard]] inline double shedding_room(const LimitParameters& limit, double typical) {
    return std::max(2 * typical, kSheddingSeconds * limit.rate);
}

/// How far down a level may drain. 0, except at a hard edge smaller than the room above: there it
/// runs below 0 to where shedding ends. Add weight to max(0, level) always.
[[nodiscard]] inline double level_floor(const LimitParameters& limit, double typical) {
    return limit.edge() ? std::min(0.0, limit.low - shedding_room(limit, typical)) : 0.0;
}

/// The shedding state of a hard edge: begins with the first refusal (or when an owner says so),
/// ends when the level is shedding_room() below low. Always false for other limits.
[[nodiscard]] inline bool next_shedding(const LimitParameters& limit, bool shedding, double level,
                                        double typical) {
    return shedding && limit.edge() &&
           level > limit.low - shedding_room(limit, typical) + kLevelSlack;
}

/// Which part of the weight that others offer is reckoned as admitted between messages: 1 - p, but
/// nothing at an edge that has not refused yet while single requests count (room for fewer than
/// kFewRequests, or fewer than that offered in the window). An estimate of such a rate is off by
/// whole requests, and one reckoned too many makes the edge refuse, shed, and hand out the rest of
/// its burst over seconds. There every admitted request is told at once, so that what is known is
/// enough.
[[nodiscard]] double reckoned_share(const LimitParameters& limit, const LawState& state);

/// Whether reckoned_share() is nothing for that reason.
[[nodiscard]] inline bool counts_singly(const LimitParameters& limit, const LawState& state) {
    const double few = kFewRequests * state.typical;
    return limit.edge() && !state.shedding &&
           (limit.low < few || state.offered_rate * kRateWindow < few);
}

/// One step of dead reckoning: drains, then clamps to [floor, ceiling]. inflow = weight per second
/// that is expected to be admitted by those who are reckoned with.
[[nodiscard]] inline double reckon(const LimitParameters& limit, double level, double inflow,
                                   double seconds, double floor, double ceiling) {
    return std::min(ceiling, std::max(floor, level + (inflow - limit.rate) * seconds));
}

}  // namespace weir::limiter

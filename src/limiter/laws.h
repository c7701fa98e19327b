#pragma once
// The laws of a leaky bucket and of shedding, as pure functions of plain numbers. Limiter, sync and
// simulator share them, so that all who compute with a limit compute the same. Weights are in the
// limit's unit, rates per second, times in seconds. Thread-safe: there is no state.

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace weir::limiter {

/// How the discard probability rises between `low` and `high`. linear: with the level alone;
/// adaptive: so that the admitted rate settles at the limit's rate, whatever is offered.
enum class Law : std::uint8_t { linear, adaptive };

/// Window over which offered rates are estimated (an exponential mean), seconds.
inline constexpr double kRateWindow = 0.3;
/// Time constant of the adaptive law, seconds, unless the round trip asks for more.
inline constexpr double kSettleTime = 0.5;
/// With fewer requests than this in the window the adaptive law gives way to the linear one. A
/// larger number would make it switch back and forth when each of many origins offers little,
/// because the sum of such rates is estimated too low (docs/decisions/0016).
inline constexpr double kAdaptiveFrom = 3;
/// Default debt: the larger of this many seconds of the rate ...
inline constexpr double kDebtSeconds = 0.2;
/// ... and this many typical requests.
inline constexpr double kDebtRequests = 3;
/// Rounding slack where a level is compared with a border.
inline constexpr double kLevelSlack = 1e-9;

/// The standard deviation of an offered rate that is estimated over kRateWindow, when requests of
/// this weight arrive at random.
[[nodiscard]] inline double rate_noise(double typical, double rate) {
    return std::sqrt(typical * std::max(0.0, rate) / (2 * kRateWindow));
}

struct LimitParameters {
    double rate = 0;   // weight per second
    double low = 0;    // at or below it nothing is shed
    double high = 0;   // at or above it everything is shed
    double debt = -1;  // room above high; negative = by default (see default_debt)
    Law law = Law::adaptive;
    /// The level is the number of requests in flight: it does not drain, and low equals high.
    bool in_flight = false;
    /// The level is what was admitted in a window: it does not drain, and low equals high.
    bool window = false;

    /// Whether the level does not drain: its law is a hard edge without lots, and it has no rate.
    [[nodiscard]] bool only_counts() const { return in_flight || window; }
    /// Whether low equals high: a hard edge, which has a rule of its own.
    [[nodiscard]] bool edge() const { return high <= low; }
    /// Whether the limit is 0 and so refuses everything.
    [[nodiscard]] bool zero() const { return !(rate > 0) && !(only_counts() && low > 0); }
    /// Whether this edge hands out its room by lots once it has refused (see next_shedding()). That
    /// is for room that comes with time.
    [[nodiscard]] bool can_shed() const { return edge() && !only_counts(); }
    friend bool operator==(const LimitParameters&, const LimitParameters&) = default;
};

/// Whether the bucket of a rate, filled to `low`, takes longer than so many seconds to drain.
[[nodiscard]] inline bool drains_slowly(const LimitParameters& limit, double seconds) {
    return !limit.only_counts() && limit.rate > 0 && limit.low > seconds * limit.rate;
}

/// The quantities that a law depends on besides the parameters.
struct LawState {
    double level = 0;          // of the bucket now, before the request
    double offered_rate = 0;   // offered to this level by the whole fleet, over kRateWindow
    double typical = 1;        // running mean of admitted weights
    double tau = kSettleTime;  // settle_time(round trip)
    bool shedding = false;     // state of a hard edge: see next_shedding
};

/// The time constant of the adaptive law for this round trip, both in seconds: at least four round
/// trips.
[[nodiscard]] inline double settle_time(double round_trip) {
    return std::max(kSettleTime, 4 * round_trip);
}

/// The level at which a request of this weight is judged: level + min(weight, low).
[[nodiscard]] inline double judged_level(const LimitParameters& limit, double level,
                                         double weight) {
    return level + std::min(weight, limit.low);
}

/// The chance that a request of `weight` is refused, 0 to 1. To compute what a fleet admits, use
/// weight = state.typical.
[[nodiscard]] double discard_probability(const LimitParameters& limit, const LawState& state,
                                         double weight);

/// Whether a limit without a hard edge is judged by the linear law: it is that limit's own, or
/// there are too few requests for the adaptive one (see kAdaptiveFrom).
[[nodiscard]] bool is_linear(const LimitParameters& limit, const LawState& state);

/// The laws one by one, at the judged level v (see judged_level()).
[[nodiscard]] double linear_probability(const LimitParameters& limit, double judged);
[[nodiscard]] double adaptive_probability(const LimitParameters& limit, double judged,
                                          double offered_rate, double tau);
/// The law of a hard edge that is shedding, which hands out the room below `low` bit by bit: p = 1
/// - A/offered with A = rate + (low - v)/tau, and p = 1 above low.
[[nodiscard]] double shedding_edge_probability(const LimitParameters& limit, double judged,
                                               double offered_rate, double tau);

/// The debt of the limit. When none is set it is the larger of kDebtSeconds of the rate and
/// kDebtRequests typical requests.
[[nodiscard]] inline double debt(const LimitParameters& limit, double typical) {
    return limit.debt >= 0 ? limit.debt
                           : std::max(kDebtSeconds * limit.rate, kDebtRequests * typical);
}

/// The highest level that counts: high + max(debt, W). W is the heaviest admitted weight that has
/// not drained yet.
[[nodiscard]] inline double ceiling(const LimitParameters& limit, double typical, double heaviest) {
    return limit.high + std::max(debt(limit, typical), heaviest);
}

/// The width (high - low) from which the sync protocol derives its thresholds, but at least one
/// second of the rate and two typical requests.
[[nodiscard]] inline double threshold_width(const LimitParameters& limit, double typical) {
    return std::max({limit.high - limit.low, limit.rate, 2 * typical});
}

/// How much room below low there must be for a hard edge to stop shedding: four typical requests,
/// but at least kSheddingSeconds of the rate. At 1000/s two requests are far less than the noise of
/// the level around its balance: shedding would end and begin again all the time, and each time
/// every sidecar would let everything in at once. (With 50 sidecars that were offered ten times the
/// limit, single seconds admitted 0.31 to 1.62 of the limit; with kSheddingSeconds 0.9 to 1.1.)
inline constexpr double kSheddingSeconds = 0.2;
inline constexpr double kSheddingRequests = 4;
[[nodiscard]] inline double shedding_room(const LimitParameters& limit, double typical) {
    return std::max(kSheddingRequests * typical, kSheddingSeconds * limit.rate);
}

/// The credit of a hard edge, in typical requests: while it sheds, its level may be below 0 by so
/// much, so that room that nobody took by chance is given to the next requests. Without it a limit
/// of one request waits twice, until it has drained and then until a request draws its lot; on ten
/// sidecars `1r/20s` admitted a quarter of its limit. It is a little less than two, so that with a
/// request that two sidecars admit at the same moment a limit of one admits eight in five periods.
inline constexpr double kCreditRequests = 1.9;
/// How far below 0 it may drain, in typical requests; what is below the credit is lost. A limit of
/// one request stops to shed there: at twice the limit chance seldom leaves it alone for so long.
inline constexpr double kRestRequests = 3;

/// How far down a level may drain: to 0, and below it at a hard edge, at least to where shedding
/// ends.
[[nodiscard]] inline double level_floor(const LimitParameters& limit, double typical) {
    return limit.can_shed()
               ? std::min(-kRestRequests * typical, limit.low - shedding_room(limit, typical))
               : 0.0;
}

/// The lowest level to which weight is added: what has drained below it is lost. A level below 0 is
/// a credit only while the edge sheds.
[[nodiscard]] inline double lowest_to_charge(double typical, bool shedding) {
    return shedding ? -kCreditRequests * typical : 0.0;
}
/// The level to which weight is added.
[[nodiscard]] inline double level_to_charge(double level, double typical, bool shedding) {
    return std::max(lowest_to_charge(typical, shedding), level);
}

/// Shedding goes on for as long as the offered rate is above this many times the limit's rate.
/// Otherwise a limit of one request would stop before it has used its credit.
inline constexpr double kSheddingLoad = 1.05;

/// Whether a hard edge goes on shedding. Shedding begins with the first refusal (or when an owner
/// says so). It ends when the level is shedding_room() below low and the weight that the fleet
/// offers, per second, is not above the rate. Always false for other limits.
[[nodiscard]] inline bool next_shedding(const LimitParameters& limit, bool shedding, double level,
                                        double typical, double offered_rate) {
    if (!shedding || !limit.can_shed()) {
        return false;
    }
    return level > limit.low - shedding_room(limit, typical) + kLevelSlack ||
           offered_rate > kSheddingLoad * limit.rate;
}

}  // namespace weir::limiter

#include "limiter/reckoned_limit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/assert.h"

namespace weir::limiter {
namespace {

/// How far above the border the level comes where it is taken to it: at the border itself a typical
/// request is not refused yet.
double above_border(const LimitParameters& limit) {
    constexpr double kSeveralUlps = 4 * std::numeric_limits<double>::epsilon();
    const double little = 1e-6 * std::max(1.0, limit.low);
    return limit.edge()
               ? little
               : std::clamp(0.01 * (limit.high - limit.low), kSeveralUlps * limit.low, little);
}

/// Whether the share stays the same for as long as nobody charges. It does at an edge that counts
/// requests one by one, where it is 0; and where everything passes and drains at least as fast as
/// it arrives. A hard edge that sheds is excluded, because it may stop shedding meanwhile.
bool share_stays(const LimitParameters& limit, const LawState& state, double share, double inflow) {
    return !state.shedding &&
           ((share == 1 && inflow <= limit.rate) || (share == 0 && counts_singly(limit, state)));
}

/// Whether everything passes below the border and less above it. At an edge that sheds the share
/// falls bit by bit, and at one that counts requests one by one it is 0 on both sides.
bool has_border(const LimitParameters& limit, const LawState& state) {
    return !state.shedding && !counts_singly(limit, state);
}

/// Whether what flows in changes the share much within `seconds` by the linear law. (By the
/// adaptive law kSettleTime is how soon it changes, whatever flows in.)
bool share_falls_fast(const LimitParameters& limit, const LawState& state, double inflow,
                      double seconds) {
    constexpr double kMuch = 0.1;
    if (limit.edge() || inflow * seconds <= kMuch * (limit.high - limit.low)) {
        return false;
    }
    const double judged = judged_level(limit, state.level, state.typical);
    return judged > limit.low && judged < limit.high && is_linear(limit, state);
}

/// The mean of the share over the next seconds by the linear law between `low` and `high`: the
/// share comes nearer, as e^(-t * inflow/(high - low)), to the one at which as much flows in as
/// drains.
double mean_share(const LimitParameters& limit, const LawState& state, double inflow,
                  double seconds) {
    const double width = limit.high - limit.low;
    const double settled = limit.rate / inflow;  // the share at which as much flows in as drains
    const double change = inflow / width * seconds;
    const double judged = judged_level(limit, state.level, state.typical);
    const double away = (limit.high - judged) / width - settled;
    const double mean = settled - away * std::expm1(-change) / change;
    WEIR_ASSERT(change > 0 && std::isfinite(mean));
    return std::clamp(mean, 0.0, 1.0);
}

/// The mean of the share over a step that begins with this one.
double share_within(const LimitParameters& limit, const LawState& state, double share,
                    double inflow, double seconds) {
    if (inflow > limit.rate && inflow * share < limit.rate && has_border(limit, state) &&
        std::abs(room_to_border(limit, state)) <= above_border(limit)) {
        // Below the border everything passes, and above it too little to stay there. So the level
        // stays at the border, and what drains is what passes.
        return limit.rate / inflow;
    }
    return share_falls_fast(limit, state, inflow, seconds)
               ? mean_share(limit, state, inflow, seconds)
               : share;
}

}  // namespace

double reckoned_share(const LimitParameters& limit, const LawState& state) {
    return counts_singly(limit, state) ? 0 : 1 - discard_probability(limit, state, state.typical);
}

double room_to_border(const LimitParameters& limit, const LawState& state) {
    return limit.low - judged_level(limit, state.level, state.typical) + above_border(limit);
}

double ReckonedLimit::advance(const LimitParameters& limit, double inflow, double seconds) {
    double open = 0;
    level = std::max(level, level_floor(limit, typical));
    // Bounded as a double: the number of steps in a year would not fit an integer.
    const int steps =
        static_cast<int>(std::clamp(std::ceil(seconds / kReckoningStep), 1.0, kMaximumSteps));
    double left = seconds;
    const auto take = [&](double share, double step) {
        // The ceiling sinks with W. If it were clamped to where the ceiling is at the end, the
        // level would drain the same weight twice.
        heaviest = std::max(0.0, heaviest - limit.rate * step);
        const double bound = std::max(ceiling(limit), level - limit.rate * step);
        level = reckon(limit, level, inflow * share, step, level_floor(limit, typical), bound);
        shedding = next_shedding(limit, shedding, level, typical, offered_rate);
        open += share * step;
        left -= step;
    };
    for (int i = steps; i > 0; --i) {
        double share = reckoned_share(limit, *this);
        // Many times the limit fills a small burst within a fraction of a step.
        if (share == 1 && inflow > limit.rate && has_border(limit, *this)) {
            const double rise = room_to_border(limit, *this) / (inflow - limit.rate);
            if (rise > 0 && rise < left / i) {
                take(share, rise);
                share = reckoned_share(limit, *this);
            }
        }
        const bool last = i == 1 || share_stays(limit, *this, share, inflow);
        const double step = last ? left : left / i;
        take(share_within(limit, *this, share, inflow, step), step);
        if (last) {
            break;
        }
    }
    level = std::min(level, ceiling(limit));
    return open;
}

}  // namespace weir::limiter

#include "limiter/laws.h"

#include <cmath>

#include "base/assert.h"

namespace weir::limiter {

double linear_probability(const LimitParameters& limit, double judged) {
    if (judged <= limit.low) {
        return 0;
    }
    if (judged >= limit.high) {
        return 1;
    }
    const double p = (judged - limit.low) / (limit.high - limit.low);
    WEIR_ASSERT(!(p < 0) && !(p > 1));
    return p;
}

double adaptive_probability(const LimitParameters& limit, double judged, double offered_rate,
                            double tau) {
    if (judged <= limit.low) {
        return 0;
    }
    if (judged >= limit.high) {
        return 1;
    }
    const double middle = 0.5 * (limit.low + limit.high);
    const double aim = limit.rate + (middle - judged) / tau;
    if (aim <= 0) {
        return 1;
    }
    // No offered weight is known, so nothing can be too much.
    const double p = offered_rate > 0 ? std::max(0.0, 1 - aim / offered_rate) : 0.0;
    WEIR_ASSERT(!(p < 0) && !(p > 1));
    return p;
}

double shedding_edge_probability(const LimitParameters& limit, double judged, double offered_rate,
                                 double tau) {
    if (judged > limit.low + kLevelSlack) {
        return 1;
    }
    // When the level is above low, but within the slack, the aim of a very small rate would be
    // negative.
    const double aim = std::max(0.0, limit.rate + (limit.low - judged) / tau);
    const double p = offered_rate > 0 ? std::max(0.0, 1 - aim / offered_rate) : 0.0;
    WEIR_ASSERT(!(p < 0) && !(p > 1));
    return p;
}

double discard_probability(const LimitParameters& limit, const LawState& state, double weight) {
    if (limit.zero()) {
        return 1;
    }
    const double judged = judged_level(limit, state.level, weight);
    if (limit.edge()) {
        if (state.shedding) {
            return shedding_edge_probability(limit, judged, state.offered_rate, state.tau);
        }
        return judged > limit.low + kLevelSlack ? 1 : 0;
    }
    const double requests_in_window = state.offered_rate * kRateWindow / state.typical;
    if (limit.law == Law::linear || requests_in_window < kAdaptiveFrom) {
        return linear_probability(limit, judged);
    }
    return adaptive_probability(limit, judged, state.offered_rate, state.tau);
}

double reckoned_share(const LimitParameters& limit, const LawState& state) {
    return counts_singly(limit, state) ? 0 : 1 - discard_probability(limit, state, state.typical);
}

namespace {

/// Whether the share stays the same for as long as nobody charges. It does at an edge that counts
/// requests one by one, where it is 0; and where everything passes and drains at least as fast as
/// it arrives. A hard edge that sheds is excluded, because it may stop shedding meanwhile.
bool share_stays(const LimitParameters& limit, const LawState& state, double share, double inflow) {
    return !state.shedding &&
           ((share == 1 && inflow <= limit.rate) || (share == 0 && counts_singly(limit, state)));
}

}  // namespace

double ReckonedLimit::advance(const LimitParameters& limit, double inflow, double seconds) {
    double open = 0;
    // Bounded as a double: the number of steps in a year would not fit an integer.
    const int steps =
        static_cast<int>(std::clamp(std::ceil(seconds / kReckoningStep), 1.0, kMaximumSteps));
    double left = seconds;
    for (int i = steps; i > 0; --i) {
        const double share = reckoned_share(limit, *this);
        const bool last = i == 1 || share_stays(limit, *this, share, inflow);
        const double step = last ? left : left / i;
        // The ceiling sinks with W. If it were clamped to where the ceiling is at the end, the
        // level would drain the same weight twice.
        heaviest = std::max(0.0, heaviest - limit.rate * step);
        const double bound = std::max(ceiling(limit), level - limit.rate * step);
        level = reckon(limit, level, inflow * share, step, level_floor(limit, typical), bound);
        shedding = next_shedding(limit, shedding, level, typical, offered_rate);
        open += share * step;
        if (last) {
            break;
        }
        left -= step;
    }
    level = std::min(level, ceiling(limit));
    return open;
}

}  // namespace weir::limiter

#include "limiter/laws.h"

#include <algorithm>

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

bool is_linear(const LimitParameters& limit, const LawState& state) {
    const double requests_in_window = state.offered_rate * kRateWindow / state.typical;
    return limit.law == Law::linear || requests_in_window < kAdaptiveFrom;
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
    if (is_linear(limit, state)) {
        return linear_probability(limit, judged);
    }
    return adaptive_probability(limit, judged, state.offered_rate, state.tau);
}

}  // namespace weir::limiter

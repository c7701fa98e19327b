#include "limiter/laws.h"

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
    // Nobody offers anything that we know of: nothing can be too much.
    const double p = offered_rate > 0 ? std::max(0.0, 1 - aim / offered_rate) : 0.0;
    WEIR_ASSERT(!(p < 0) && !(p > 1));
    return p;
}

double shedding_edge_probability(const LimitParameters& limit, double judged, double offered_rate,
                                 double tau) {
    if (judged > limit.low + kLevelSlack) {
        return 1;
    }
    const double aim = limit.rate + (limit.low - judged) / tau;
    return offered_rate > 0 ? std::max(0.0, 1 - aim / offered_rate) : 0.0;
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

}  // namespace weir::limiter

#include "tools/arrivals.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace weir::tools {

Arrivals::Arrivals(Kind kind, std::vector<RateStep> steps, Random random)
    : kind_(kind), steps_(std::move(steps)), random_(random) {
    advance();
}

void Arrivals::advance() {
    // The integral of the rate between two arrivals is 1, or exponential with mean 1.
    double needed = kind_ == Kind::constant ? 1.0 : random_.exponential(1.0);
    while (step_ < steps_.size()) {
        const double rate = steps_[step_].per_second;
        const double end_s = step_ + 1 < steps_.size() ? steps_[step_ + 1].at_s
                                                       : std::numeric_limits<double>::infinity();
        if (rate > 0 && next_s_ + needed / rate <= end_s) {
            next_s_ += needed / rate;
            return;
        }
        needed -= rate > 0 ? rate * (end_s - next_s_) : 0;
        next_s_ = end_s;
        ++step_;
    }
    next_s_ = std::numeric_limits<double>::infinity();
}

void Arrivals::set_rate(double now_s, double per_second) {
    steps_ = {{now_s, per_second}};
    step_ = 0;
    next_s_ = now_s;
    advance();
}

Spread::Spread(Kind kind, std::vector<ShareStep> steps, Random random)
    : kind_(kind), steps_(std::move(steps)), random_(random) {
    credit_.assign(steps_.front().shares.size(), 0.0);
}

std::optional<std::size_t> Spread::pick(double now_s, const std::vector<bool>& paused) {
    while (step_ + 1 < steps_.size() && steps_[step_ + 1].at_s <= now_s) {
        ++step_;
    }
    weights_ = steps_[step_].shares;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
        if (paused[i]) {
            weights_[i] = 0;
        }
    }
    const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    if (sum <= 0) {
        return std::nullopt;
    }
    return kind_ == Kind::turns ? in_turn(weights_, sum) : by_lot(weights_, sum);
}

std::size_t Spread::in_turn(const std::vector<double>& weights, double sum) {
    std::size_t best = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        credit_[i] = weights[i] > 0 ? credit_[i] + weights[i] / sum : 0;
        if (weights[i] > 0 && (weights[best] <= 0 || credit_[i] > credit_[best])) {
            best = i;
        }
    }
    credit_[best] -= 1;
    return best;
}

std::size_t Spread::by_lot(const std::vector<double>& weights, double sum) {
    double point = random_.unit() * sum;
    std::size_t last = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (weights[i] <= 0) {
            continue;
        }
        last = i;
        if (point < weights[i]) {
            return i;
        }
        point -= weights[i];
    }
    return last;
}

}  // namespace weir::tools

#include "sim/counted_figures.h"

#include <algorithm>

namespace weir::sim {
namespace {

constexpr double kTimeRounding = 1e-6;  // seconds

}  // namespace

CountedFigures::CountedFigures(std::size_t sidecars, const FleetLimits& fleet)
    : limits_(fleet.limits),
      in_flight_(sidecars, fleet),
      areas_(fleet.limits.size()),
      most_(fleet.limits.size()) {}

/// Adds what was in flight since the last call.
void CountedFigures::advance(double at) {
    const double begin = std::clamp(at_, from_, to_);
    const double end = std::clamp(at, from_, to_);
    at_ = at;
    for (const LimitIndex limit : in_flight_.limits()) {
        const double count = in_flight_.in_flight(limit);
        if (end > begin) {
            areas_[limit] += count * (end - begin);
            most_[limit] = std::max(most_[limit], count);
        }
    }
}

void CountedFigures::request(const RequestFact& request) {
    advance(request.at);
    if (request.admitted) {
        in_flight_.begin(request);
    }
}

void CountedFigures::finished(const RequestFact& request) {
    advance(request.at);
    in_flight_.finish(request);
}

void CountedFigures::ending(const Facts& facts, const ProcessFact& process, Findings&) {
    advance(facts.at);
    in_flight_.end_all(facts.ever[process.process].sidecar);
}

void CountedFigures::sample(const Facts& facts, Findings&) {
    advance(facts.at);
    std::map<std::pair<LimitIndex, double>, double> sums;
    for (const auto& [place, truth] : facts.windows) {
        const double end = facts.at + static_cast<double>(place.end - facts.second);
        sums[{place.limit, end}] += truth.admitted;
    }
    // A window may have joined one that ends earlier.
    std::erase_if(windows_, [&](const auto& each) { return each.first.second > facts.at; });
    for (const auto& [window, sum] : sums) {
        windows_[window] = sum;
    }
}

CountedFigure CountedFigures::figure_of_windows(LimitIndex limit) const {
    const LimitFact& fact = limits_[limit];
    CountedFigure figure{fact.quota, true, fact.parameters.low};
    const double period = to_seconds(fact.counted->period);
    figure.least = std::numeric_limits<double>::infinity();
    for (const auto& [window, sum] : windows_) {
        const double begin = window.second - period;
        if (window.first != limit || begin < from_ - kTimeRounding ||
            window.second > to_ + kTimeRounding) {
            continue;
        }
        ++figure.count;
        figure.least = std::min(figure.least, sum);
        figure.most = std::max(figure.most, sum);
        figure.mean += sum;
    }
    figure.mean /= static_cast<double>(std::max<std::size_t>(1, figure.count));
    return figure;
}

std::vector<CountedFigure> CountedFigures::figures() const {
    std::vector<CountedFigure> figures;
    for (LimitIndex limit = 0; limit < limits_.size(); ++limit) {
        if (limits_[limit].parameters.window) {
            figures.push_back(figure_of_windows(limit));
        } else if (limits_[limit].parameters.in_flight) {
            CountedFigure& figure = figures.emplace_back();
            figure.quota = limits_[limit].quota;
            figure.limit = limits_[limit].parameters.low;
            figure.most = most_[limit];
            const double seconds = std::min(at_, to_) - from_;
            figure.mean = seconds > 0 ? areas_[limit] / seconds : 0;
        }
    }
    return figures;
}

}  // namespace weir::sim
